/* Owns the second part of a cache key: which request fields a response depends on, and a request's values of them,
 * normalised. Pure: heads in, text out. Must not know: stores, the first part of the key. Source: RFC 9111 section 4.1,
 * RFC 9110 section 12.5.5. Accept-Encoding never counts: utfeed asks every origin the same. Fields by which utfeed
 * itself asks for less than the whole (Range and the preconditions) are never a client's own: who varies by them cannot
 * be stored. */
#ifndef UTFEED_PROXY_HTTP_VARY_H
#define UTFEED_PROXY_HTTP_VARY_H

#include "proxy/base/text.h"
#include "proxy/http/http_msg.h"

enum vary { VARY_NOTHING, VARY_FIELDS, VARY_ALL };

/* Writes the names in lower case, sorted, each once, with commas between: "accept-language,user-agent". Nothing unless
 * VARY_FIELDS. */
enum vary vary_names(struct text *names, const struct http_msg *response);
/* The same for a response that several led to, as redirects do: all that any of them names. */
enum vary vary_union(struct text *names, const struct http_msg *response, struct slice others);

/* Whether they may be names that vary_names() wrote: what a store brings back need not be. */
bool vary_names_valid(struct slice names);

/* A request's values for names as vary_names() wrote them: equal text means the stored response was selected by an
 * equal request. sent: its field lines as the origin gets them (request_head_sent()), not as the client wrote them. A
 * field that is absent differs from an empty one. */
void vary_key(struct text *key, struct slice names, struct slice sent);

#endif
