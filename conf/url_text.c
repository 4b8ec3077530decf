/* Text beyond ASCII in URLs; see url_text.h. */
#include "conf/url_text.h"

#include <stdint.h>
#include <stdlib.h>

#include "core/text/utf8.h"

size_t url_text_beyond(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += (unsigned char)text[i] >= 0x80;
	return n;
}

char *url_text_write(char *end, const char *text, size_t len)
{
	static const char digits[] = "0123456789ABCDEF";

	while (len) {
		unsigned char c = (unsigned char)text[--len];

		if (c >= 0x80) {
			*--end = digits[c & 15];
			*--end = digits[c >> 4];
			*--end = '%';
		} else
			*--end = (char)c;
	}
	return end;
}

char *url_text_encode(const char *text, size_t len, size_t *out_len)
{
	const uint8_t *bytes = (const uint8_t *)text;
	char *out;

	if (utf8_ascii_prefix(bytes, len) == len || utf8_valid_prefix(bytes, len) < len)
		return NULL;
	*out_len = len + 2 * url_text_beyond(text, len);
	if (!(out = malloc(*out_len + 1)))
		return NULL;
	out[*out_len] = '\0';
	url_text_write(out + *out_len, text, len);
	return out;
}
