/* Owns guessing which URL is meant by a word that is not a URL of http or https: to ask back, not to fetch it.
 * Must not know: files, commands. Pure.
 * Invariant: a guess begins with https:// or http://. The gateway takes less, and does not ask back (loose_url.h). */
#ifndef UTFEED_PROXY_HTTP_MEANT_URL_H
#define UTFEED_PROXY_HTTP_MEANT_URL_H

#include "proxy/base/slice.h"
#include "proxy/base/text.h"

enum meant_url {
	MEANT_NO_URL,
	MEANT_URL,              /* written to the text */
	MEANT_OTHER_SCHEME      /* a URL of a scheme that is neither http nor https */
};

/* Reads
 *   host.example/feed, host.example:8443/feed, [2001:db8::1]/feed, www.host.example, //host.example/feed
 *   feed:https://host/feed, feed://host/feed, itpc://host/feed, htpp://host/feed, https:/host/feed, https//host/feed
 *   https%3A%2F%2Fhost%2Ffeed
 * as URLs, with https where http is not named, and as other schemes ftp://host/feed, file:/feed, mailto:name. */
enum meant_url meant_url(struct text *, struct slice word);

#endif
