/* Owns what people and programs write where a URL belongs: percent-encoded, with a slash too few, as feed: URL, or
 * without a scheme. Must not know: routes, whether there is such a host.
 * Invariant: what comes out is still to be checked as a URL; nothing is decoded twice. */
#ifndef UTFEED_PROXY_HTTP_LOOSE_URL_H
#define UTFEED_PROXY_HTTP_LOOSE_URL_H

#include <stdbool.h>

#include "proxy/base/slice.h"
#include "proxy/base/text.h"

/* Writes the URL that is meant:
 *   http%3A%2F%2Fhost%2Ffeed, http%3A%2F%2Fhost/feed | http://host/feed. A text without '/' was encoded as a whole: it
 *                                                    | is decoded up to a '?'.
 *   https:/host/feed                                 | https://host/feed
 *   feed://host/feed, feed:https://host/feed         | http://host/feed, https://host/feed
 *   host.example/feed                                | https://host.example/feed, if the name has a dot, its last label
 *                                                    | consists of letters (of any script), and a '/' follows.
 * escapes: text is not decoded yet, so that the first two can stand there. False: text is not one of these, and nothing
 * was written. */
bool loose_url(struct text *, struct slice, bool escapes);

/* Appends text with its percent-encoded bytes decoded; all other bytes stay as they are. */
void loose_url_decode(struct text *, struct slice);

#endif
