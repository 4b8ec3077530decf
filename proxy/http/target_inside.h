/* Owns finding the destination of a request that came inside an opened CONNECT, and judging that it is for the host the
 * CONNECT named.
 * Must not know: connections, certificates. Pure. Invariant: every destination from inside is an https URL of the
 * CONNECT's own authority, whatever the request's target and Host say. Otherwise a client would get another host's
 * responses under a false name, and store them there. */
#ifndef UTFEED_PROXY_HTTP_TARGET_INSIDE_H
#define UTFEED_PROXY_HTTP_TARGET_INSIDE_H

#include "proxy/http/target.h"

/* The authority of the CONNECT. */
struct inside {
	char host[sizeof ((struct destination *)0)->host];     /* lower case, without brackets and final dot */
	char authority[sizeof ((struct destination *)0)->authority];   /* as in a URL: without port 443 */
	uint16_t port;
};

void inside_set(struct inside *, const struct destination *connect);
/* As target_find(). TARGET_MISDIRECTED: it is for another host. */
enum target_error target_inside(struct target *, const struct conf *, const struct inside *, const struct http_msg *,
    char *room, size_t cap, const char **why);

#endif
