/* Base64; see base64.h. */
#include "proxy/base/base64.h"

static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

size_t base64_read(struct slice text, char *out, size_t cap)
{
	unsigned bits = 0, n_bits = 0;
	size_t n = 0;

	while (text.len && text.at[text.len - 1] == '=')
		text.len--;
	for (size_t i = 0; i < text.len; i++) {
		int digit = base64_digit(text.at[i]);

		if (digit < 0)
			return 0;
		bits = bits << 6 | (unsigned)digit;
		n_bits += 6;
		if (n_bits < 8)
			continue;
		if (n == cap)
			return 0;
		n_bits -= 8;
		out[n++] = (char)(bits >> n_bits & 0xff);
	}
	return n;
}

static void base64_write_with(struct text *t, struct slice bytes, const char digits[64], bool padded)
{
	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
		uint32_t bits = 0;
		char four[] = "====";

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (k < n ? (unsigned char)bytes.at[i + k] : 0);
		for (size_t k = 0; k <= n; k++)
			four[k] = digits[bits >> (18 - 6 * k) & 63];
		text_add(t, four, padded ? 4 : n + 1);
	}
}

void base64_write(struct text *t, struct slice bytes)
{
	base64_write_with(t, bytes, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", true);
}

void base64_write_url(struct text *t, struct slice bytes)
{
	base64_write_with(t, bytes, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", false);
}
