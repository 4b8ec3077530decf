/* Internationalised host names; see idn.h. */
#include "conf/idn.h"

#include <idn2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/url.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

enum { IDN_HOST_MAX = 1024 };  /* 253 characters of up to 4 bytes, RFC 1035 section 2.3.4 */

/* Decodes %80 to %FF only: an encoded ASCII character does not belong in a host. False: there is nothing to convert, or
 * it is not a host. */
static bool idn_decode(const char *host, size_t len, char out[IDN_HOST_MAX])
{
	bool beyond = false;
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)host[i];

		if (c == '%') {
			bool whole = i + 2 < len;
			int hi = whole ? url_hex_digit(host[i + 1]) : -1, lo = whole ? url_hex_digit(host[i + 2]) : -1;

			if (hi < 8 || lo < 0)
				return false;
			c = (unsigned char)(hi << 4 | lo);
			i += 2;
		}
		if (!c || c == '[' || n == IDN_HOST_MAX - 1)
			return false;
		beyond |= c >= 0x80;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return beyond;
}

/* The name in A-labels, for the caller to idn2_free(). */
static char *name_convert(const char *name, size_t len)
{
	char u8[IDN_HOST_MAX], *a = NULL;

	if (!idn_decode(name, len, u8) ||
	    idn2_lookup_u8((const uint8_t *)u8, (uint8_t **)&a, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL) != IDN2_OK)
		return NULL;
	/* UTS 46 maps some characters to ASCII that no name may have, even to '/'. */
	if (!a[strspn(a, NAME_CHARACTERS)])
		return a;
	idn2_free(a);
	return NULL;
}

/* The text with its host converted; host: HOST or HOST:PORT within text. */
static char *text_convert(const char *text, size_t len, const char *host, size_t host_len, size_t *out_len)
{
	const char *colon = memchr(host, ':', host_len), *rest = colon ? colon : host + host_len;
	char *a = name_convert(host, (size_t)(rest - host)), *out;
	int n;

	if (!a)
		return NULL;
	n = asprintf(&out, "%.*s%s%.*s", (int)(host - text), text, a, (int)(text + len - rest), rest);
	idn2_free(a);
	if (n < 0)
		return NULL;
	*out_len = (size_t)n;
	return out;
}

char *idn_host(const char *text, size_t len, size_t *out_len)
{
	return text_convert(text, len, text, len, out_len);
}

char *idn_url(const char *text, size_t len, size_t *out_len)
{
	const char *scheme_end = memmem(text, len, "://", 3), *host, *end = text + len, *host_end;

	if (!scheme_end)
		return NULL;
	host = scheme_end + 3;
	for (host_end = host; host_end < end && !strchr("/?#", *host_end); host_end++)
		;
	if (memchr(host, '@', (size_t)(host_end - host)))
		return NULL;
	return text_convert(text, len, host, (size_t)(host_end - host), out_len);
}
