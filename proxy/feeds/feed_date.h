/* Owns reading the dates of items in feeds. RSS has those of RFC 822, which publishers write loosely; Atom and Dublin
 * Core have a profile of ISO 8601 (RFC 3339, W3C-DTF). Pure. Must not know: elements. */
#ifndef UTFEED_PROXY_FEEDS_FEED_DATE_H
#define UTFEED_PROXY_FEEDS_FEED_DATE_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/base/slice.h"

/* Seconds since the epoch. A zone that is missing or not known counts as GMT. False: it is not a date. */
bool feed_date_read(struct slice, int64_t *seconds);

#endif
