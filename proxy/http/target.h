/* Owns finding out what a request target asks for: a route's origin, or the URL a client names (gateway, forward
 * proxy).
 * Must not know: how it is fetched. Pure, over configuration and the request head. */
#ifndef UTFEED_PROXY_HTTP_TARGET_H
#define UTFEED_PROXY_HTTP_TARGET_H

#include "conf/conf.h"
#include "proxy/http/destination.h"
#include "proxy/http/http_msg.h"

enum target_mode { TARGET_ROUTE, TARGET_GATEWAY, TARGET_FORWARD };

struct target {
	enum target_mode mode;
	const struct conf_route *route;    /* its settings; conf->direct for gateway and forward */
	bool cookies, authorization;       /* those fields of the client's go along */
	struct destination to;             /* last: the texts at its end need no clearing */
};

enum target_error {
	TARGET_OK, TARGET_NO_MEMORY, TARGET_BAD_HOST, TARGET_BAD_TARGET, TARGET_BAD_URL, TARGET_NO_ROUTE,
	TARGET_FORWARD_OFF, TARGET_BAD_PATH,
	TARGET_BAD_AUTHORITY, TARGET_NOT_SERVED
};

/* port: that of a Host that names none (RFC 9110 section 7.2): its scheme's. On TARGET_BAD_URL *why says what is wrong
 * with it. A route's path that fits into room lies there. */
enum target_error target_find(struct target *, const struct conf *, const struct http_msg *, uint16_t port, char *room,
    size_t cap,
    const char **why);
/* host:port of a CONNECT; only these two of the destination are set, its path is NULL. Source: RFC 9112 section
 * 3.2.3. */
enum target_error target_authority(struct destination *, const struct http_msg *);
void target_free(struct target *);

#endif
