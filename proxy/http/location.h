/* Owns reading a Location (or another reference that an origin sent) as user agents read it.
 * Must not know: whether it is followed. Pure. Invariant: what comes out is visible ASCII without a backslash, whatever
 * came in, and each byte that was escaped for it is a %XX of that byte alone.
 * Source: WHATWG URL, "basic URL parser" for http and https; RFC 9110 section 10.2.2; RFC 3986 section 5.2. */
#ifndef UTFEED_PROXY_HTTP_LOCATION_H
#define UTFEED_PROXY_HTTP_LOCATION_H

#include "proxy/http/destination.h"

/* Whether the reference begins with a scheme. */
bool location_has_scheme(struct slice);
/* Fills a destination, whose path must be NULL or freed, with where the reference leads from base. On
 * DESTINATION_BAD_URL *why says what is wrong. */
enum destination_error location_follow(struct destination *, const struct destination *base, struct slice reference,
    const char **why);

#endif
