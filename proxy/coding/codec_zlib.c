/* Owns what zlib does: packing and unpacking gzip (RFC 1952), and unpacking deflate, both the zlib-wrapped kind (RFC
 * 1950) that the name means and the bare kind (RFC 1951) that some servers send. The only file that includes zlib's
 * header. */
#include "proxy/coding/codec.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#define ZLIB_CONST             /* next_in points to const */
#include <zlib.h>

#include "proxy/coding/gzip_whole.h"
#include "proxy/coding/packer.h"

enum { WINDOW_GZIP = 15 + 16, WINDOW_ZLIB = 15, WINDOW_RAW = -15 };

struct codec_zlib {
	z_stream z;
	bool open, ended;
	bool padding;                  /* gzip: the bytes after the last member are not a member */
	unsigned held;                 /* deflate: bytes of the two-byte header seen so far */
	uint8_t head[2];
};

static void *gzip_open(const struct codec_limits *limits)
{
	struct codec_zlib *self = calloc(1, sizeof *self);

	(void)limits;
	if (self && inflateInit2(&self->z, WINDOW_GZIP) != Z_OK) {
		free(self);
		return NULL;
	}
	if (self)
		self->open = true;
	return self;
}

/* The library is opened later: the first two bytes tell which kind of deflate it is. */
static void *deflate_open(const struct codec_limits *limits)
{
	(void)limits;
	return calloc(1, sizeof(struct codec_zlib));
}

static void zlib_close(void *state)
{
	struct codec_zlib *self = state;

	if (self->open)
		inflateEnd(&self->z);
	free(self);
}

static enum codec_result zlib_inflate(struct codec_zlib *self, const uint8_t **in, size_t *in_len, uint8_t *out,
    size_t cap, size_t *written)
{
	assert(*in_len <= UINT32_MAX && cap <= UINT32_MAX);
	self->z.next_in = *in;
	self->z.avail_in = (uInt)*in_len;
	self->z.next_out = out;
	self->z.avail_out = (uInt)cap;
	int r = inflate(&self->z, Z_NO_FLUSH);
	*in = self->z.next_in;
	*in_len = self->z.avail_in;
	*written = cap - self->z.avail_out;
	switch (r) {
	case Z_OK:
	case Z_BUF_ERROR:
		return CODEC_MORE;
	case Z_STREAM_END:
		return CODEC_END;
	case Z_MEM_ERROR:
		return CODEC_NO_MEMORY;
	default:
		return CODEC_BAD;
	}
}

/* A stream has one or more members (RFC 1952 section 2.2). Other bytes after the last one are padding and ignored, as
 * by gzip(1). */
static enum codec_result gzip_run(void *state, const uint8_t **in, size_t *in_len, uint8_t *out, size_t cap,
    size_t *written)
{
	struct codec_zlib *self = state;

	*written = 0;
	if (self->ended) {
		self->padding |= *in_len && **in != 0x1f;
		if (!*in_len || self->padding)
			return CODEC_END;
		if (inflateReset2(&self->z, WINDOW_GZIP) != Z_OK)
			return CODEC_BAD;
		self->ended = false;
	}
	enum codec_result r = zlib_inflate(self, in, in_len, out, cap, written);
	self->ended = r == CODEC_END;
	self->padding = self->ended && *in_len && **in != 0x1f;
	return self->ended && *in_len && !self->padding ? CODEC_MORE : r;
}

static enum codec_result deflate_run(void *state, const uint8_t **in, size_t *in_len, uint8_t *out, size_t cap,
    size_t *written)
{
	struct codec_zlib *self = state;
	const uint8_t *head = self->head;
	size_t head_len = 2;
	enum codec_result r;

	*written = 0;
	if (self->ended)
		return CODEC_END;
	if (!self->open) {
		bool wrapped;

		for (; self->held < 2 && *in_len; (*in)++, (*in_len)--)
			self->head[self->held++] = **in;
		if (self->held < 2)
			return CODEC_MORE;
		wrapped = (self->head[0] & 0x0f) == Z_DEFLATED && self->head[0] >> 4 <= 7 &&
		    (self->head[0] << 8 | self->head[1]) % 31 == 0;
		if (inflateInit2(&self->z, wrapped ? WINDOW_ZLIB : WINDOW_RAW) != Z_OK)
			return CODEC_NO_MEMORY;
		self->open = true;
		r = zlib_inflate(self, &head, &head_len, out, cap, written);
		self->ended = r == CODEC_END;
		if (r != CODEC_MORE)
			return r;
		out += *written;
		cap -= *written;
	}
	size_t n = *written;
	r = zlib_inflate(self, in, in_len, out, cap, written);
	self->ended = r == CODEC_END;
	*written += n;
	return r;
}

const struct codec codec_gzip = { { "gzip", "x-gzip", NULL }, gzip_open, gzip_run, zlib_close, NULL, NULL };
const struct codec codec_deflate = { { "deflate", NULL, NULL }, deflate_open, deflate_run, zlib_close, NULL, NULL };

/* ---- packing ---- */

static void *zlib_open(int level)
{
	enum { MEMORY_DEFAULT = 8 };
	z_stream *z = calloc(1, sizeof *z);

	if (z && deflateInit2(z, level, Z_DEFLATED, WINDOW_GZIP, MEMORY_DEFAULT, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(z);
		return NULL;
	}
	return z;
}

static void *zlib_open_1(void)
{
	return zlib_open(1);
}

static void *zlib_open_6(void)
{
	return zlib_open(6);
}

static void zlib_close_packer(void *state)
{
	deflateEnd(state);
	free(state);
}

static bool zlib_write(void *state, const uint8_t **in, size_t *in_len, enum gzip_flush flush, uint8_t *out, size_t cap,
    size_t *written)
{
	static const int modes[] = { [GZIP_MORE] = Z_NO_FLUSH, [GZIP_FLUSH] = Z_SYNC_FLUSH, [GZIP_FINISH] = Z_FINISH };
	z_stream *z = state;

	assert(*in_len <= UINT32_MAX && cap <= UINT32_MAX);
	z->next_in = *in;
	z->avail_in = (uInt)*in_len;
	z->next_out = out;
	z->avail_out = (uInt)cap;
	int r = deflate(z, modes[flush]);
	*in = z->next_in;
	*in_len = z->avail_in;
	*written = cap - z->avail_out;
	return flush == GZIP_FINISH ? r == Z_STREAM_END : !z->avail_in && z->avail_out;
}

const struct gzip_packer packer_zlib_1 = { zlib_open_1, zlib_write, zlib_close_packer };
const struct gzip_packer packer_zlib_6 = { zlib_open_6, zlib_write, zlib_close_packer };

/* ---- a whole body ---- */

/* Each block may bring tables that take some microseconds to make, and be ten bytes long. */
enum { BLOCKS_MOST = 256 };

bool gzip_unpack_blocks(const uint8_t *gzip, size_t len, uint8_t *text, size_t size)
{
	z_stream z = { .next_in = gzip, .avail_in = (unsigned)len, .next_out = text, .avail_out = (unsigned)size };
	int r = Z_OK;

	if (len > UINT32_MAX || size > UINT32_MAX || inflateInit2(&z, WINDOW_GZIP) != Z_OK)
		return false;
	/* the header counts as one */
	for (unsigned left = BLOCKS_MOST + 1; left && r == Z_OK; left--)
		r = inflate(&z, Z_BLOCK);
	inflateEnd(&z);
	return r == Z_STREAM_END && !z.avail_in && !z.avail_out;
}
