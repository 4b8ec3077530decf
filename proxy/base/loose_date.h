/* Owns reading dates as publishers write them. Items of RSS have those of RFC 822, which are written loosely. Atom,
 * Dublin Core and some servers' fields have a profile of ISO 8601 (RFC 3339, W3C-DTF). Pure.
 * Must not know: where the date stood. */
#ifndef UTFEED_PROXY_BASE_LOOSE_DATE_H
#define UTFEED_PROXY_BASE_LOOSE_DATE_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/base/slice.h"

/* Seconds since the epoch. A zone that is missing or not known counts as GMT. False: it is not a date. */
bool loose_date_read(struct slice, int64_t *seconds);

#endif
