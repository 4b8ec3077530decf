/* Owns finding and hiding the user information of URLs where these are shown: in the access log, above all for refused
 * URLs.
 * Must not know: where the URL is shown. Pure.
 * Invariant: text before an '@' that belongs, or may belong, to an authority is not shown, nor is a segment that may be
 * a name and a password (http/credentials.h), however often it is percent-encoded. Source: RFC 3986 section 3.2.1. */
#ifndef UTFEED_PROXY_BASE_URL_MASK_H
#define UTFEED_PROXY_BASE_URL_MASK_H

#include <stdbool.h>
#include <stddef.h>

/* The character at a place of a URL. */
struct url_sign {
	unsigned char is;
	unsigned depth;                /* how many times it is percent-encoded: %3D once, %253D twice */
	size_t width;                  /* the bytes it takes */
};

struct url_sign url_sign_at(const char *text, size_t len);

/* Whether text can contain user information at all; other text is shown as it is. */
bool url_has_userinfo_sign(const char *text, size_t len);
/* Whether url_mask() hides a part of text. */
bool url_has_userinfo(const char *text, size_t len);

/* Copies as much of text as fits cap, terminated, with *** in the place of user information. text is a URL or
 * HOST:PORT, percent-encoded or not. The beginning of a request target ("/", "/?url=") may stand before it. Returns
 * the length. */
size_t url_mask(char *out, size_t cap, const char *text, size_t len);

#endif
