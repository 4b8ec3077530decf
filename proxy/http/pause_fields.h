/* Owns how long a response asks its client to wait: Retry-After, RateLimit and what stood in its place before. Pure.
 * Must not know: which responses are asked, what is made of the answer.
 * Sources: RFC 9110 section 10.2.3; draft-ietf-httpapi-ratelimit-headers-03, -07 and -10. The fields that begin with X-
 * have no specification: the reading here is that of the servers that send them. */
#ifndef UTFEED_PROXY_HTTP_PAUSE_FIELDS_H
#define UTFEED_PROXY_HTTP_PAUSE_FIELDS_H

#include <stdint.h>

#include "proxy/http/http_msg.h"

enum { PAUSE_FIELDS_MAX_S = 24 * 3600, PAUSE_FIELDS_SPACE_MAX_MS = 3600 * 1000 };

/* The seconds that the first readable of the fields asks to wait, PAUSE_FIELDS_MAX_S at most; wall_s: the time of day.
 * 0: none asks for a wait. */
uint32_t pause_fields_wait_s(const struct http_msg *, int64_t wall_s);
/* The time between two requests by which none of its policies (RateLimit-Policy, in revision 03 RateLimit-Limit) is
 * ever used up, PAUSE_FIELDS_SPACE_MAX_MS at most. 0: it names none. */
uint32_t pause_fields_space_ms(const struct http_msg *);

#endif
