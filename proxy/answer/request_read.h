/* Owns reading what a client's request says, except its sender (requester.h). Must not know: what is done with it.
 * Invariant: the message is not changed. */
#ifndef UTFEED_PROXY_ANSWER_REQUEST_READ_H
#define UTFEED_PROXY_ANSWER_REQUEST_READ_H

#include "proxy/http/request.h"

void request_read(struct request *, const struct http_msg *);

/* These fields matter to few requests: each function reads its field when it is called. */
struct slice request_method(const struct request *);
struct slice request_policy_name(const struct request *);      /* X-Encoding-Policy; empty: none */
struct slice request_purge_words(const struct request *);      /* X-Purge; at NULL: none */
/* How often our own name, via, stands in Via and CDN-Loop. A chain of a few utfeeds of one name is fine; a higher count
 * means that the request goes round. */
unsigned request_passes(const struct request *, const char *via);
/* Whether Max-Forwards lets the request go no further than here (RFC 9110 section 7.6.2). */
bool request_ends_here(const struct request *);
bool request_accepts_gzip(const struct request *);
bool request_wants_trailer(const struct request *);
bool request_awaits_continue(const struct request *);          /* RFC 9110 section 10.1.1 */

#endif
