/* Owns making coded bodies for the tests of content_coding and transform. Must not know: how they are undone.
 * A recipe is a letter for each coding in the order applied: g gzip, z zlib, r raw deflate. */
#ifndef UTFEED_TESTS_PACKED_H
#define UTFEED_TESTS_PACKED_H

#include "tests/unit/unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct bytes { uint8_t *at; size_t len, room; };

static inline struct bytes bytes_of(const void *at, size_t len)
{
	struct bytes b = { malloc(len + 1), len, len };

	if (!b.at)
		abort();
	if (len)
		memcpy(b.at, at, len);
	return b;
}

static inline void bytes_add(struct bytes *b, const void *at, size_t len)
{
	if (b->len + len > b->room) {
		b->room = 2 * (b->len + len);
		if (!(b->at = realloc(b->at, b->room)))
			abort();
	}
	if (len)
		memcpy(b->at + b->len, at, len);
	b->len += len;
}

static inline void pack_once(struct bytes *b, char coding)
{
	z_stream z = { .next_in = b->at, .avail_in = (uInt)b->len };
	struct bytes out = { malloc(b->len + 256), b->len + 256, b->len + 256 };

	CU_ASSERT_EQUAL_FATAL(deflateInit2(&z, 9, Z_DEFLATED, coding == 'g' ? 31 : coding == 'z' ? 15 : -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = out.at;
	z.avail_out = (uInt)out.len;
	CU_ASSERT_EQUAL_FATAL(deflate(&z, Z_FINISH), Z_STREAM_END);
	out.len -= z.avail_out;
	deflateEnd(&z);
	free(b->at);
	*b = out;
}

static inline struct bytes packed(const char *recipe, const void *at, size_t len)
{
	struct bytes b = bytes_of(at, len);

	while (*recipe)
		pack_once(&b, *recipe++);
	return b;
}

#endif
