/* Owns Max-Forwards: how many more proxies may pass an OPTIONS or TRACE request on. Must not know: who answers it.
 * Source: RFC 9110 section 7.6.2. */
#ifndef UTFEED_PROXY_HTTP_MAX_FORWARDS_H
#define UTFEED_PROXY_HTTP_MAX_FORWARDS_H

#include "proxy/http/http_msg.h"

/* False: the request has no such limit. *left 0: the request must not be passed on. */
bool max_forwards(const struct http_msg *, uint64_t *left);

#endif
