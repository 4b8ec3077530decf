/* Owns finding the destination that a request target asks for: a route's origin, or the URL that a client names
 * (gateway, forward proxy).
 * Must not know: how it is fetched. Pure, over configuration and the request head. */
#ifndef UTFEED_PROXY_HTTP_TARGET_H
#define UTFEED_PROXY_HTTP_TARGET_H

#include "conf/conf.h"
#include "proxy/http/destination.h"
#include "proxy/http/http_msg.h"

enum target_mode { TARGET_ROUTE, TARGET_GATEWAY, TARGET_FORWARD };

struct target {
	enum target_mode mode;
	/* the settings that count; of conf: by_url for the gateway, direct for the forward proxy */
	const struct conf_route *route;
	bool cookies, authorization;       /* the client's Cookie, Authorization are sent on */
	struct destination to;             /* the last member, because the texts at its end are not cleared */
};

enum target_error {
	TARGET_OK, TARGET_NO_MEMORY, TARGET_BAD_HOST, TARGET_BAD_TARGET, TARGET_BAD_URL, TARGET_NO_ROUTE,
	TARGET_FORWARD_OFF, TARGET_BAD_PATH,
	TARGET_BAD_AUTHORITY, TARGET_NOT_SERVED, TARGET_MISDIRECTED,
	TARGET_PAC,            /* not an error: the client asks for the file of pac.h */
	TARGET_KEYS            /* likewise, for the key directory */
};

/* port: the port of a Host that names none, by the scheme (RFC 9110 section 7.2). On TARGET_BAD_URL *why says what is
 * wrong with the URL. The path of a route is written to room, if it fits there. */
enum target_error target_find(struct target *, const struct conf *, const struct http_msg *, uint16_t port, char *room,
    size_t cap,
    const char **why);
/* Finds the destination that a URL names, and no route. *why as in target_find(). */
enum target_error target_read_url(struct target *, struct slice url, const char **why);
/* Reads the host:port of a CONNECT. Of the destination only these two are set, and its path is NULL. Source: RFC 9112
 * section 3.2.3. */
enum target_error target_authority(struct destination *, const struct http_msg *);
void target_free(struct target *);

#endif
