/* Owns reading and writing base64. Must not know: what it encodes. Source: RFC 4648 sections 4 and 5. */
#ifndef UTFEED_PROXY_BASE_BASE64_H
#define UTFEED_PROXY_BASE_BASE64_H

#include "proxy/base/slice.h"
#include "proxy/base/text.h"

/* Returns the length; 0 where it is no base64, or does not fit. The signs of equality at its end may be left out. */
size_t base64_read(struct slice, char *out, size_t cap);
void base64_write(struct text *, struct slice);
/* The alphabet of URLs, without signs of equality. */
void base64_write_url(struct text *, struct slice);

#endif
