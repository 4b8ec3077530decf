/* Owns running a decoder over bytes cut anywhere, into any room. Must not know: what should come out.
 * Invariant: each piece lies in memory of just its size, so that reading past it is seen. */
#ifndef UTFEED_TESTS_DECODING_H
#define UTFEED_TESTS_DECODING_H

#include "core/decode/decoder.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

/* Bytes from what is written as "C3A9 20"; how many. */
static inline size_t decoding_hex(const char *hex, uint8_t *bytes)
{
	size_t n = 0;

	for (; *hex; hex++) {
		int value = *hex >= 'A' ? *hex - 'A' + 10 : *hex - '0';

		if (*hex == ' ')
			continue;
		if (n % 2 == 0)
			bytes[n / 2] = (uint8_t)(value << 4);
		else
			bytes[n / 2] |= (uint8_t)value;
		n++;
	}
	return n / 2;
}

/* Feeds one piece through room of `cap` bytes a call; returns the bytes added to out. */
static inline size_t decoding_feed(struct decoder *decoder, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	size_t got = 0;

	while (len > 0) {
		uint8_t room[4096];
		size_t used, n = decoder_feed(decoder, in, len, &used, room, cap);

		if (used == 0 && n == 0) {
			UNIT_ROW(false, "no progress with %zu bytes left", len);
			break;
		}
		memcpy(out + got, room, n);
		got += n;
		in += used;
		len -= used;
	}
	return got;
}

/* One whole stream, its input cut at `cut` and then every `step` bytes. */
static inline size_t decoding_whole(enum charset cs, unsigned flags, const uint8_t *in, size_t len, size_t cut, size_t step, size_t cap,
    uint8_t *out, uint64_t *malformed)
{
	struct decoder *decoder = decoder_new(cs, flags);
	size_t got = 0, piece = cut;

	CU_ASSERT_PTR_NOT_NULL_FATAL(decoder);
	for (size_t at = 0; at <= len; at += piece, piece = step) {
		/* A copy of exactly its size: a sanitizer sees a read past the end */
		size_t n = len - at < piece ? len - at : piece;
		uint8_t *copy = malloc(n ? n : 1);

		memcpy(copy, in + at, n);
		got += decoding_feed(decoder, copy, n, out + got, cap);
		free(copy);
		if (n < piece)
			break;
	}
	got += decoder_finish(decoder, out + got, DECODER_MIN_OUT);
	*malformed = decoder_malformed(decoder);
	decoder_free(&decoder);
	CU_ASSERT_PTR_NULL(decoder);
	return got;
}

#endif
