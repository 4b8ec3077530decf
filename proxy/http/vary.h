/* Owns the second part of a cache key: the request fields that a response depends on, and a request's values of them,
 * normalised. Pure: heads in, text out. Must not know: stores, the first part of the key. Source: RFC 9111 section 4.1,
 * RFC 9110 section 12.5.5. Accept-Encoding never counts, because utfeed sends every origin the same one. A response
 * that varies by Range or a precondition cannot be stored: utfeed writes these fields itself, to ask for less than the
 * whole. */
#ifndef UTFEED_PROXY_HTTP_VARY_H
#define UTFEED_PROXY_HTTP_VARY_H

#include "proxy/base/text.h"
#include "proxy/http/http_msg.h"

enum vary { VARY_NOTHING, VARY_FIELDS, VARY_ALL };

/* Writes the names of the fields in Vary in lower case, sorted, each once, with commas between them:
 * "accept-language,user-agent". Writes nothing unless it returns VARY_FIELDS. */
enum vary vary_names(struct text *names, const struct http_msg *response);
/* The same for a response that redirects led to: writes all names in its Vary and in others, the names of the
 * redirects. */
enum vary vary_union(struct text *names, const struct http_msg *response, struct slice others);

/* Whether vary_names() can have written this. Names that come from a store have to be checked. */
bool vary_names_valid(struct slice names);

/* Writes a request's values of the fields in names, which vary_names() wrote. If two requests give the same text, a
 * response stored for one answers the other. sent: the request's field lines as the origin gets them, not as the client
 * wrote them (request_head_sent()). An absent field differs from an empty one. */
void vary_key(struct text *key, struct slice names, struct slice sent);

#endif
