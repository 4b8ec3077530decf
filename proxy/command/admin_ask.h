/* Owns one blocking request to the admin listener of a running utfeed, over plain HTTP. Must not know: what is asked.
 * Invariant: it ends in time, whatever the other side does. */
#ifndef UTFEED_PROXY_COMMAND_ADMIN_ASK_H
#define UTFEED_PROXY_COMMAND_ADMIN_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"

/* Why a status of 404 came to /api. */
#define CMD_NO_ADMIN "what listens there is not an admin listener; write the address of admin-listen"

struct admin_target {
	char host[64];                 /* an address without brackets */
	char socket[CONF_UNIX_PATH_MAX + 1];   /* the path of a Unix socket in the place of an address; "": none */
	bool ipv6;
	uint16_t port;
	char path[256];
	bool post;                     /* POST; else GET */
	const char *token;             /* borrowed; NULL or "": no token is shown */
	int patience_s;                /* for the whole answer */
};

/* The address of the listener. If it stands for all addresses of this machine, loopback is asked. */
void admin_target_of_listener(struct admin_target *, const struct conf_listen *, const char *path);
/* http://ADDRESS:PORT[/PATH]; path counts if the URL has none. -1: it is not such a URL (told). */
int admin_target_of_url(struct admin_target *, const char *url, const char *path) __attribute__((warn_unused_result));
/* The same, or unix:/PATH. */
int admin_target_of_text(struct admin_target *, const char *text, const char *path) __attribute__((warn_unused_result));

/* Asks, and returns the status. The caller frees the whole answer, a text. -1: errno says why; the answer may be NULL
 * then. */
int admin_ask(const struct admin_target *, char **answer) __attribute__((warn_unused_result));
/* Where the answer's body begins. */
char *admin_body(char *answer);

#endif
