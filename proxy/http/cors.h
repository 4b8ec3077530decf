/* Owns what lets web pages of other sites read responses: the fields of the CORS protocol for the origins that
 * cors-allow names.
 * Must not know: routes, stored responses. Pure. Source: Fetch Standard section 3.3.
 * Invariant: credentials are never allowed. */
#ifndef UTFEED_PROXY_HTTP_CORS_H
#define UTFEED_PROXY_HTTP_CORS_H

#include "proxy/http/http_msg.h"

/* Origins as browsers write them, NULL at the end; or "*" alone, which means any. */
typedef const char *const *cors_origins;

/* Whether the page that asks is one of these origins. */
bool cors_allows(cors_origins, const struct http_msg *request);
/* Whether the request asks what a page may ask for. */
bool cors_is_preflight(const struct http_msg *request);
/* Appends the lines for a response to the request. */
void cors_add(struct text *, cors_origins, const struct http_msg *request);
/* Whether a response field is one of this protocol, so that cors_add() takes its place. */
bool cors_is_field(struct slice name);

#endif
