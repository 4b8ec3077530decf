/* Owns hiding the user information of URLs where they are shown: in the access log, refused ones above all.
 * Must not know: who shows it. Pure.
 * Invariant: what stands before an '@' that belongs, or may belong, to an authority is not shown. Source: RFC 3986
 * section 3.2.1. */
#ifndef UTFEED_PROXY_BASE_URL_MASK_H
#define UTFEED_PROXY_BASE_URL_MASK_H

#include <stdbool.h>
#include <stddef.h>

/* Whether text can hold user information at all; what cannot is shown as it is. */
bool url_has_userinfo_sign(const char *text, size_t len);

/* Copies as much of text as fits cap, terminated, with *** in the place of user information. text: a URL, HOST:PORT, or
 * what comes before them in a request target ("/", "/?url=", percent-encoded or not). Returns the length. */
size_t url_mask(char *out, size_t cap, const char *text, size_t len);

#endif
