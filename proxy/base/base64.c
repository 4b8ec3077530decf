/* Reading base64; see base64.h. */
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
