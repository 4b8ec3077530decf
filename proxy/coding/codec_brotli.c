/* Owns br (RFC 7932). The only file that includes brotli's header. Large windows (not in the RFC) stay off.
 *
 * The decoder of the library fills its window, up to 16 MiB, before it returns a byte, so that limits on its output
 * stop a bomb too late. It allocates a window that fits the length which the stream announces. A window over
 * WINDOW_FREE is granted only when so much input has come that ratio allows that output. Until then the input is kept,
 * and the allocation fails; after that a new decoder gets the input from the start.
 * Invariant: kept has all input so far, as long as a window may still be refused. */
#include "proxy/coding/codec.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <brotli/decode.h>

enum { WINDOW_FREE = 2 << 20, WINDOW_MAX = 1 << 24 /* RFC 7932 section 9.1 */ };

struct codec_brotli {
	BrotliDecoderState *decoder;   /* NULL: there is not enough input yet for the window it asked for */
	uint64_t ratio, in_bytes, out_bytes;
	size_t window;                 /* bytes of the window that was refused; 0: none was */
	bool no_memory;
	bool keeping;
	uint8_t *kept;
	size_t kept_at, kept_len, kept_cap;
};

/* Whether there is enough input for the window. The stream announces more than half of it, or the decoder would have
 * asked for a smaller one. */
static bool is_paid(const struct codec_brotli *s, size_t window)
{
	return window / 2 / s->ratio <= s->in_bytes;
}

static void *window_alloc(void *opaque, size_t size)
{
	struct codec_brotli *s = opaque;
	void *memory;

	if (size > WINDOW_FREE + WINDOW_FREE / 2 && !is_paid(s, size)) {
		s->window = size;
		return NULL;
	}
	memory = malloc(size);
	s->no_memory |= !memory;
	return memory;
}

static void window_free(void *opaque, void *memory)
{
	(void)opaque;
	free(memory);
}

static void *brotli_open(uint64_t ratio)
{
	struct codec_brotli *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->ratio = ratio;
	s->keeping = true;
	s->decoder = BrotliDecoderCreateInstance(window_alloc, window_free, s);
	if (!s->decoder) {
		free(s);
		return NULL;
	}
	return s;
}

static void brotli_close(void *state)
{
	struct codec_brotli *s = state;

	if (s->decoder)
		BrotliDecoderDestroyInstance(s->decoder);
	free(s->kept);
	free(s);
}

static int keep(struct codec_brotli *s, const uint8_t *in, size_t len)
{
	if (s->kept_cap - s->kept_len < len) {
		size_t cap = 2 * (s->kept_len + len);
		uint8_t *kept = realloc(s->kept, cap);

		if (!kept)
			return -1;
		s->kept = kept;
		s->kept_cap = cap;
	}
	if (len)
		memcpy(s->kept + s->kept_len, in, len);
	s->kept_len += len;
	return 0;
}

static enum codec_result brotli_decode(struct codec_brotli *s, const uint8_t **in, size_t *in_len, uint8_t *out,
    size_t *room)
{
	switch (BrotliDecoderDecompressStream(s->decoder, in_len, in, room, &out, NULL)) {
	case BROTLI_DECODER_RESULT_SUCCESS:
		return CODEC_END;
	case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT:
	case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT:
		return CODEC_MORE;
	default:
		if (!s->window)
			return s->no_memory ? CODEC_NO_MEMORY : CODEC_BAD;
		BrotliDecoderDestroyInstance(s->decoder);
		s->decoder = NULL;
		return CODEC_MORE;
	}
}

/* Makes a new decoder and brings it to where the old one was. */
static enum codec_result start_again(struct codec_brotli *s)
{
	const uint8_t *at = s->kept;
	size_t left = s->kept_len;

	s->window = 0;
	if (!(s->decoder = BrotliDecoderCreateInstance(window_alloc, window_free, s)))
		return CODEC_NO_MEMORY;
	for (uint64_t skip = s->out_bytes; skip; ) {
		size_t none = 0, n = skip < WINDOW_MAX ? (size_t)skip : WINDOW_MAX;
		enum codec_result r = brotli_decode(s, &at, &left, NULL, &none);

		if (r != CODEC_MORE || !s->decoder)
			return r;
		BrotliDecoderTakeOutput(s->decoder, &n);
		if (!n)
			return CODEC_BAD;
		skip -= n;
	}
	s->kept_at = s->kept_len - left;
	return CODEC_MORE;
}

static enum codec_result run_kept(struct codec_brotli *s, uint8_t *out, size_t *room)
{
	const uint8_t *at;
	size_t left;
	enum codec_result r;

	if (!s->decoder && !is_paid(s, s->window))
		return CODEC_MORE;
	if (!s->decoder && ((r = start_again(s)) != CODEC_MORE || !s->decoder))
		return r;
	at = s->kept + s->kept_at;
	left = s->kept_len - s->kept_at;
	r = brotli_decode(s, &at, &left, out, room);
	s->kept_at = s->kept_len - left;
	if (s->decoder && !left && is_paid(s, 2 * WINDOW_MAX)) {
		s->keeping = false;
		free(s->kept);
		s->kept = NULL;
		s->kept_at = s->kept_len = s->kept_cap = 0;
	}
	return r;
}

static enum codec_result brotli_run(void *state, const uint8_t **in, size_t *in_len, uint8_t *out, size_t cap,
    size_t *written)
{
	struct codec_brotli *s = state;
	size_t room = cap;
	enum codec_result r;

	*written = 0;
	if (s->decoder && BrotliDecoderIsFinished(s->decoder))
		return CODEC_END;
	s->in_bytes += *in_len;
	if (s->keeping) {
		if (keep(s, *in, *in_len))
			return CODEC_NO_MEMORY;
		*in += *in_len;
		*in_len = 0;
		r = run_kept(s, out, &room);
	} else {
		r = brotli_decode(s, in, in_len, out, &room);
		s->in_bytes -= *in_len;
	}
	*written = cap - room;
	s->out_bytes += *written;
	return r;
}

static bool brotli_withholds(const void *state)
{
	const struct codec_brotli *s = state;

	return !s->decoder;
}

const struct codec codec_brotli = { { "br", NULL }, brotli_open, brotli_run, brotli_close, brotli_withholds };
