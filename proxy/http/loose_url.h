/* Owns what people and programs write where a URL belongs: percent-encoded, with a slash too few, as feed: URL, or
 * without a scheme. Must not know: routes, whether there is such a host.
 * Invariant: what comes out is still to be checked as a URL; nothing is decoded twice. */
#ifndef UTFEED_PROXY_HTTP_LOOSE_URL_H
#define UTFEED_PROXY_HTTP_LOOSE_URL_H

#include <stdbool.h>

#include "proxy/base/slice.h"
#include "proxy/base/text.h"

/* Writes the URL that is meant: for
 *   http%3A%2F%2Fhost%2Ffeed and http%3A%2F%2Fhost/feed  http://host/feed; what stands behind the scheme is decoded, up
 *                                                        to a '?', where all of it was encoded, so that it has no '/'
 *   https:/host/feed                                     https://host/feed
 *   feed://host/feed, feed:https://host/feed             http://host/feed, https://host/feed
 *   host.example/feed                                    https://host.example/feed: a name with a dot whose last label
 *                                                        has letters only, of any script, and a '/' behind it
 * escapes: text is not decoded yet, so that the first two can stand there. False: text is nothing of that, and nothing
 * was written. */
bool loose_url(struct text *, struct slice, bool escapes);

/* Appends text with its percent-encoded bytes decoded; what is no %XX stays as it is. */
void loose_url_decode(struct text *, struct slice);

#endif
