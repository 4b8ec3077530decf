/* Owns feeding arbitrary bytes to proxy/http/raw_target.c, as a connection would. Input: a byte that says how long the pieces are, then
 * the request.
 * Invariants: the verdict and the request that comes out do not depend on the pieces. Each %XX that was added stands for the byte that
 * was there, and nothing else changed. A target that was read to its end has no byte beyond ASCII. */
#include "proxy/http/raw_target.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Returns how long the request became; 0: refused, or empty. */
static size_t read_in_pieces(const uint8_t *data, size_t size, size_t step, char **out, struct raw_target *t)
{
	size_t len = 0;
	char *in = NULL;

	*t = (struct raw_target){ 0 };
	for (size_t at = 0, n; at < size; at += n) {
		struct raw_part part;

		n = size - at < step ? size - at : step;
		require((in = realloc(in, len + n)) != NULL);
		memcpy(in + len, data + at, n);
		if (!raw_target_read(t, in + len, n, &part)) {
			free(in);
			*out = NULL;
			return 0;
		}
		require(part.at + part.len <= n && part.beyond <= part.len);
		if (part.beyond) {
			require((in = realloc(in, len + n + 2 * part.beyond)) != NULL);
			raw_target_encode(in + len, n, &part);
		}
		len += n + 2 * part.beyond;
	}
	*out = in;
	return len;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void check_same_text(const uint8_t *data, size_t size, const char *text, size_t len)
{
	size_t at = 0;

	for (size_t i = 0; i < size; i++, at++) {
		require(at < len);
		if ((uint8_t)text[at] == data[i])
			continue;
		require(data[i] >= 0x80 && len - at >= 3 && text[at] == '%' && (digit(text[at + 1]) << 4 | digit(text[at + 2])) == data[i]);
		at += 2;
	}
	require(at == len);
}

static void check_target(const char *text, size_t len)
{
	const char *blank = memchr(text, ' ', len), *end = text + len;

	for (const char *at = blank; at && at < end && (at == blank || !memchr(" \r\n", *at, 3)); at++)
		require((uint8_t)*at < 0x80);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct raw_target a, b;
	char *whole, *cut;
	size_t whole_len, cut_len;

	if (size < 2)
		return 0;
	whole_len = read_in_pieces(data + 1, size - 1, size, &whole, &a);
	cut_len = read_in_pieces(data + 1, size - 1, data[0] + 1u, &cut, &b);
	require(!whole == !cut && whole_len == cut_len);
	if (whole) {
		require(!memcmp(whole, cut, whole_len));
		check_same_text(data + 1, size - 1, whole, whole_len);
		check_target(whole, whole_len);
	}
	free(whole);
	free(cut);
	return 0;
}
