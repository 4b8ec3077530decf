/* Whole gzip bodies; see gzip_whole.h. The only file that includes libdeflate's header. */
#include "proxy/coding/gzip_whole.h"

#include <string.h>

#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

enum {
	HEADER_BYTES = 10, TRAILER_BYTES = 8,
	/* libdeflate cannot be stopped, and a block of seven bytes may take it a microsecond: 3.4 ms in all */
	AT_ONCE_MOST = 24 * 1024
};

size_t gzip_unpacked_size(const uint8_t *gzip, size_t len)
{
	static const uint8_t plain[] = { 0x1f, 0x8b, 8, 0 };   /* the magic, the method, and no flag */
	const uint8_t *end = gzip + len;

	if (len <= HEADER_BYTES + TRAILER_BYTES || memcmp(gzip, plain, sizeof plain))
		return 0;
	return end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16 | (size_t)end[-1] << 24;
}

#ifdef HAVE_LIBDEFLATE
static bool unpack_at_once(const uint8_t *gzip, size_t len, uint8_t *text, size_t size)
{
	struct libdeflate_decompressor *tool = libdeflate_alloc_decompressor();
	size_t used = 0;

	if (!tool)
		return false;
	/* without a place for the size, fewer bytes than `size` are an error, too */
	bool good = libdeflate_gzip_decompress_ex(tool, gzip, len, text, size, &used, NULL) == LIBDEFLATE_SUCCESS &&
	    used == len;
	libdeflate_free_decompressor(tool);
	return good;
}
#endif

bool gzip_unpack(const uint8_t *gzip, size_t len, uint8_t *text, size_t size)
{
#ifdef HAVE_LIBDEFLATE
	if (len <= AT_ONCE_MOST)
		return unpack_at_once(gzip, len, text, size);
#endif
	return gzip_unpack_blocks(gzip, len, text, size);
}
