/* Owns decoding zstd (RFC 8878), with the largest window that RFC 9659 allows in a content coding. The only file that
 * includes zstd's header. */
#include "proxy/coding/codec.h"

#include <stdbool.h>
#include <stdlib.h>

#include <zstd.h>
#include <zstd_errors.h>

#include "proxy/coding/decoding_memory.h"

enum { ZSTD_WINDOW_LOG_MAX = 23 };     /* 8 MiB: RFC 9659 section 3 */

struct codec_zstd {
	ZSTD_DCtx *context;
	bool begun, ended;             /* a first frame has begun; the last frame has ended */
	size_t state, counted;         /* bytes of the context without windows; bytes of windows that are counted */
	uint64_t memory;
};

static void zstd_close(void *state)
{
	struct codec_zstd *self = state;

	ZSTD_freeDCtx(self->context);
	decoding_give(self->counted);
	free(self);
}

static void *zstd_open(const struct codec_limits *limits)
{
	struct codec_zstd *self = calloc(1, sizeof *self);

	if (!self)
		return NULL;
	self->memory = limits->memory;
	self->context = ZSTD_createDCtx();
	self->state = self->context ? ZSTD_sizeof_DCtx(self->context) : 0;
	if (self->context &&
	    !ZSTD_isError(ZSTD_DCtx_setParameter(self->context, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX)))
		return self;
	zstd_close(self);
	return NULL;
}

/* Whether c is the first byte of a frame, or of a skippable one (RFC 8878 section 3.1). This is checked here because
 * the library also reads formats older than the RFC. */
static bool is_magic(uint8_t c)
{
	return c == 0x28 || c >> 4 == 5;
}

/* Counts the window that the decoder has now. Its pages take memory only once they are written to, which is later. */
static bool zstd_count(struct codec_zstd *self)
{
	size_t now = ZSTD_sizeof_DCtx(self->context), window = now > self->state ? now - self->state : 0;

	if (window <= self->counted || window <= DECODING_LEAST)
		return true;
	if (!decoding_take(window - self->counted, self->memory))
		return false;
	self->counted = window;
	return true;
}

/* A stream has one or more frames (RFC 8878 section 3.1). Other bytes after the last one are padding and ignored, as
 * for gzip. */
static enum codec_result zstd_run(void *state, const uint8_t **in, size_t *in_len, uint8_t *out, size_t cap,
    size_t *written)
{
	struct codec_zstd *self = state;
	ZSTD_inBuffer from = { *in, *in_len, 0 };
	ZSTD_outBuffer to = { out, cap, 0 };

	*written = 0;
	if (self->ended && (!*in_len || !is_magic(**in)))
		return CODEC_END;
	if (!self->begun && *in_len && !is_magic(**in))
		return CODEC_BAD;
	self->begun |= *in_len;
	size_t r = ZSTD_decompressStream(self->context, &to, &from);
	*in += from.pos;
	*in_len -= from.pos;
	*written = to.pos;
	if (ZSTD_isError(r))
		return ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation ? CODEC_NO_MEMORY : CODEC_BAD;
	if (!zstd_count(self))
		return CODEC_CROWDED;
	self->ended = r == 0;
	return self->ended && !(*in_len && is_magic(**in)) ? CODEC_END : CODEC_MORE;
}

const struct codec codec_zstd = { { "zstd", NULL }, zstd_open, zstd_run, zstd_close, NULL, NULL };
