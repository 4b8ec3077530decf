/* Owns CDN-Loop: counting a name in a request's fields, and writing the field that an origin gets.
 * Must not know: when it is sent in the place of Via, how many passes are too many.
 * Source: RFC 8586. Invariant: what is written is well-formed, so that our name in it is found again. */
#ifndef UTFEED_PROXY_HTTP_CDN_LOOP_H
#define UTFEED_PROXY_HTTP_CDN_LOOP_H

#include "proxy/http/http_msg.h"

/* How often the pseudonym stands in the fields. */
unsigned cdn_loop_count(const struct http_msg *, const char *name);
/* Writes one line with the members of the request's fields and the pseudonym behind them. NULL: without the pseudonym;
 * then a request without members gets no line. Members that are not well-formed are left out: a quote without end would
 * hide what follows it. */
void cdn_loop_add(struct text *, const struct http_msg *, const char *name);

#endif
