/* Owns hiding the user information of URLs where these are shown: in the access log, above all for refused URLs.
 * Must not know: where the URL is shown. Pure.
 * Invariant: text before an '@' that belongs, or may belong, to an authority is not shown, nor is a first segment of a
 * path that may be a name and a password (http/credentials.h). Source: RFC 3986 section 3.2.1. */
#ifndef UTFEED_PROXY_BASE_URL_MASK_H
#define UTFEED_PROXY_BASE_URL_MASK_H

#include <stdbool.h>
#include <stddef.h>

/* Whether text can contain user information at all; other text is shown as it is. */
bool url_has_userinfo_sign(const char *text, size_t len);

/* Copies as much of text as fits cap, terminated, with *** in the place of user information. text is a URL or
 * HOST:PORT, percent-encoded or not. The beginning of a request target ("/", "/?url=") may stand before it. Returns
 * the length. */
size_t url_mask(char *out, size_t cap, const char *text, size_t len);

#endif
