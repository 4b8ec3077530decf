/* Owns feeding arbitrary bytes to gzip_unpack(). Input: the gzip body; where its first byte is not gzip's, a deflate stream, which gets the
 * header and trailer that fit if it is sound, so that mutations come through.
 * Invariants: what is unpacked as a whole, the decoder of pieces unpacks to the same bytes, to its end and completely;
 * room is not overrun (the memory is of exactly that size). */
#include "proxy/coding/content_coding.h"
#include "proxy/coding/gzip_whole.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE_MAX_UNPACKED = 1 << 18, OUT_BYTES = 4096 };

static void require(int holds)
{
	if (!holds)
		abort();
}

/* What the decoder of pieces makes of it must be these bytes. */
static void check_same(const uint8_t *gzip, size_t len, const uint8_t *whole, size_t size)
{
	static const struct content_coding_limits none = { .ratio = UINT64_MAX, .ratio_after = UINT64_MAX, .max = 0 };
	struct http_field field = { .id = H_CONTENT_ENCODING, .value_len = 4 };
	struct http_msg m = { .base = "gzip", .max_fields = 1, .fields = &field };
	struct content_coding *d;
	enum content_coding_result r;
	size_t at = 0, n;

	http_msg_add(&m);
	d = content_coding_new(&m, &none);
	require(d != NULL);
	do {
		uint8_t out[OUT_BYTES];

		r = content_coding_run(d, &gzip, &len, out, sizeof(out), &n);
		require(n <= size - at && (n == 0 || memcmp(whole + at, out, n) == 0));
		at += n;
	} while (r == DECODE_ROOM || r == DECODE_PAUSE);
	require(r == DECODE_MORE && len == 0 && at == size && content_coding_complete(d));
	content_coding_free(&d);
}

static void unpack(const uint8_t *gzip, size_t len)
{
	size_t size = gzip_unpacked_size(gzip, len);
	uint8_t *out;

	if (size == 0 || size > SIZE_MAX_UNPACKED)
		return;
	out = malloc(size);
	require(out != NULL);
	if (gzip_unpack(gzip, len, out, size))
		check_same(gzip, len, out, size);
	free(out);
}

static void put32(uint8_t *at, uint32_t n)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(n >> 8 * i);
}

/* Puts a deflate stream between a header and a trailer. What zlib makes of it is what the trailer says. */
static void wrap(const uint8_t *deflated, size_t len)
{
	static const uint8_t header[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3 };
	uint8_t *gzip = malloc(sizeof(header) + len + 8), *out = malloc(SIZE_MAX_UNPACKED);
	z_stream z = { .next_in = (uint8_t *)(uintptr_t)deflated, .avail_in = (unsigned)len, .next_out = out, .avail_out = SIZE_MAX_UNPACKED };
	size_t n;

	require(gzip && out && inflateInit2(&z, -15) == Z_OK);
	n = inflate(&z, Z_FINISH) == Z_STREAM_END ? SIZE_MAX_UNPACKED - z.avail_out : 0;
	inflateEnd(&z);
	memcpy(gzip, header, sizeof(header));
	memcpy(gzip + sizeof(header), deflated, len);
	put32(gzip + sizeof(header) + len, (uint32_t)crc32(0, out, (unsigned)n));
	put32(gzip + sizeof(header) + len + 4, (uint32_t)n);
	unpack(gzip, sizeof(header) + len + 8);
	free(gzip);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0 && data[0] == 0x1f)
		unpack(data, size);
	else if (size > 0)
		wrap(data, size);
	return 0;
}
