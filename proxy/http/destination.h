/* Owns the destination of a request: scheme, host, port, Host field and path, made from a URL.
 * Must not know: routes, clients, what led there. Pure. */
#ifndef UTFEED_PROXY_HTTP_DESTINATION_H
#define UTFEED_PROXY_HTTP_DESTINATION_H

#include <stdint.h>

#include "conf/url.h"
#include "proxy/base/text.h"

enum { DESTINATION_HOST_MAX = URL_MAX_HOST + 1, DESTINATION_AUTHORITY_MAX = DESTINATION_HOST_MAX + 10 };

struct destination {
	bool tls;
	bool lent;                                     /* path belongs to somebody else */
	uint16_t port;
	char *path;                                    /* path and query, terminated; owned unless lent */
	size_t path_len;
	char host[DESTINATION_HOST_MAX];               /* the host to connect to, without brackets, lower case */
	char authority[DESTINATION_AUTHORITY_MAX];     /* the value of the Host field */
};

enum destination_error { DESTINATION_OK, DESTINATION_NO_MEMORY, DESTINATION_BAD_URL };

/* Fills a destination whose path must be NULL or freed. Valid UTF-8 is written as %XX, in the host as A-labels. On
 * DESTINATION_BAD_URL *why says what is wrong. */
enum destination_error destination_from_url(struct destination *, struct slice url, const char **why);
/* -1: out of memory */
int destination_set_path(struct destination *, const char *path, size_t len) __attribute__((warn_unused_result));
void destination_free(struct destination *);

bool destination_same_origin(const struct destination *, const struct destination *);
/* Appends the destination's URL. */
void destination_url(struct text *, const struct destination *);

#endif
