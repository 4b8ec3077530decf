/* Owns hiding the values of query parameters whose names say that they are secret, where URLs are shown: in logs.
 * Must not know: where the URL is shown. Pure.
 * Invariant: no byte of such a value is shown, however often the URL, or a URL within it, is percent-encoded. */
#ifndef UTFEED_PROXY_BASE_URL_SECRETS_H
#define UTFEED_PROXY_BASE_URL_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether text can have such a parameter, or user information, at all; other text url_show() shows as it is. */
bool url_has_secret_sign(const char *text, size_t len);

/* Copies as much of text as fits cap, terminated, with *** in the place of secret values. Returns the length. */
size_t url_hide_secrets(char *out, size_t cap, const char *text, size_t len);

/* Copies text as logs may show it, without user information (url_mask.h) and without secret values; its bytes are not
 * escaped. Text of more than URL_SHOWN_MAX - 1 bytes is cut. Returns the length. */
enum { URL_SHOWN_MAX = 2048 };
size_t url_show(char out[URL_SHOWN_MAX], const char *text, size_t len);

#endif
