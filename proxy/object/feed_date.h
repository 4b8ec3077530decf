/* Owns reading the dates of items in feeds: RFC 822 as RSS has it, with what publishers make of it, and the profile of
 * ISO 8601 that Atom and Dublin Core have (RFC 3339, W3C-DTF). Pure. Must not know: elements. */
#ifndef UTFEED_PROXY_OBJECT_FEED_DATE_H
#define UTFEED_PROXY_OBJECT_FEED_DATE_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/base/slice.h"

/* Seconds since the epoch. A zone that is missing or not known counts as GMT. False: it is no date. */
bool feed_date_read(struct slice, int64_t *seconds);

#endif
