/* Owns writing values of Structured Fields, strictly: what such a field cannot hold is not written. Pure.
 * Must not know: which field. Source: RFC 9651 section 4.1. */
#ifndef UTFEED_PROXY_HTTP_SF_WRITE_H
#define UTFEED_PROXY_HTTP_SF_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/base/slice.h"
#include "proxy/base/text.h"

/* False: the text has other bytes than printable ASCII. */
bool sf_write_string(struct text *, struct slice) __attribute__((warn_unused_result));
/* False: the number has more than 15 digits. */
bool sf_write_integer(struct text *, int64_t) __attribute__((warn_unused_result));
void sf_write_bytes(struct text *, struct slice);

#endif
