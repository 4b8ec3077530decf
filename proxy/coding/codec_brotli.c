/* Owns br (RFC 7932). The only file that includes brotli's header. Large windows (not in the RFC) stay off.
 *
 * The decoder of the library fills its window, up to 16 MiB, before it returns a byte, so that limits on its output
 * stop a bomb too late. It allocates a window that fits the length which the stream announces. A window over
 * WINDOW_FREE is granted only when so much input has come that ratio allows that output. Until then the input is kept,
 * and the allocation fails; after that a new decoder gets the input from the start. So that no call takes long, the
 * decoder gets STEP_BYTES of input at a time.
 * Invariant: kept has all input so far, as long as a window may still be refused. */
#include "proxy/coding/codec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <brotli/decode.h>

#include "proxy/coding/decoding_memory.h"

enum { WINDOW_FREE = 2 << 20, WINDOW_MAX = 1 << 24 /* RFC 7932 section 9.1 */, STEP_BYTES = 2048 };

/* Stands before each piece of memory that the library gets. */
struct window_head { _Alignas(max_align_t) size_t counted; };

struct codec_brotli {
	BrotliDecoderState *decoder;   /* NULL: there is not enough input yet for the window it asked for */
	uint64_t ratio, memory, in_bytes, out_bytes;
	uint64_t skip;                 /* bytes that a new decoder brings once more: they went out already */
	size_t window;                 /* bytes of the window that was refused; 0: none was */
	bool no_memory, crowded;
	bool keeping;
	uint8_t *kept;
	size_t kept_at, kept_len, kept_cap;
};

/* Whether there is enough input for the window. The stream announces more than half of it, or the decoder would have
 * asked for a smaller one. */
static bool is_paid(const struct codec_brotli *self, size_t window)
{
	return window / 2 / self->ratio <= self->in_bytes;
}

static void *window_alloc(void *opaque, size_t size)
{
	struct codec_brotli *self = opaque;
	size_t counted = size > DECODING_LEAST ? size : 0;
	struct window_head *head;

	if (size > WINDOW_FREE + WINDOW_FREE / 2 && !is_paid(self, size)) {
		self->window = size;
		return NULL;
	}
	if (counted && !decoding_take(counted, self->memory)) {
		self->crowded = true;
		return NULL;
	}
	if (!(head = malloc(sizeof *head + size))) {
		decoding_give(counted);
		self->no_memory = true;
		return NULL;
	}
	head->counted = counted;
	return head + 1;
}

static void window_free(void *opaque, void *memory)
{
	struct window_head *head = memory;

	(void)opaque;
	if (!memory)
		return;
	head--;
	decoding_give(head->counted);
	free(head);
}

static void *brotli_open(const struct codec_limits *limits)
{
	struct codec_brotli *self = calloc(1, sizeof *self);

	if (!self)
		return NULL;
	self->ratio = limits->ratio;
	self->memory = limits->memory;
	self->keeping = true;
	self->decoder = BrotliDecoderCreateInstance(window_alloc, window_free, self);
	if (!self->decoder) {
		free(self);
		return NULL;
	}
	return self;
}

static void brotli_close(void *state)
{
	struct codec_brotli *self = state;

	if (self->decoder)
		BrotliDecoderDestroyInstance(self->decoder);
	free(self->kept);
	free(self);
}

static int keep(struct codec_brotli *self, const uint8_t *in, size_t len)
{
	if (self->kept_cap - self->kept_len < len) {
		size_t cap = 2 * (self->kept_len + len);
		uint8_t *kept = realloc(self->kept, cap);

		if (!kept)
			return -1;
		self->kept = kept;
		self->kept_cap = cap;
	}
	if (len)
		memcpy(self->kept + self->kept_len, in, len);
	self->kept_len += len;
	return 0;
}

static enum codec_result brotli_decode(struct codec_brotli *self, const uint8_t **in, size_t *in_len, uint8_t *out,
    size_t *room)
{
	switch (BrotliDecoderDecompressStream(self->decoder, in_len, in, room, &out, NULL)) {
	case BROTLI_DECODER_RESULT_SUCCESS:
		return CODEC_END;
	case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT:
	case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT:
		return CODEC_MORE;
	default:
		if (!self->window)
			return self->no_memory ? CODEC_NO_MEMORY : self->crowded ? CODEC_CROWDED : CODEC_BAD;
		BrotliDecoderDestroyInstance(self->decoder);
		self->decoder = NULL;
		return CODEC_MORE;
	}
}

/* Makes a new decoder, which is to come to where the old one was. */
static enum codec_result start_again(struct codec_brotli *self)
{
	self->window = 0;
	self->kept_at = 0;
	self->skip = self->out_bytes;
	self->decoder = BrotliDecoderCreateInstance(window_alloc, window_free, self);
	return self->decoder ? CODEC_MORE : CODEC_NO_MEMORY;
}

/* One step of what was decoded before, which goes nowhere. */
static enum codec_result skip_step(struct codec_brotli *self, const uint8_t **in, size_t *in_len)
{
	size_t none = 0, before = *in_len, n = self->skip < WINDOW_MAX ? (size_t)self->skip : WINDOW_MAX;
	enum codec_result r = brotli_decode(self, in, in_len, NULL, &none);

	if (r != CODEC_MORE || !self->decoder)
		return r == CODEC_END ? CODEC_BAD : r;
	BrotliDecoderTakeOutput(self->decoder, &n);
	self->skip -= n;
	return n || *in_len < before ? CODEC_MORE : CODEC_BAD;
}

static enum codec_result run_kept(struct codec_brotli *self, uint8_t *out, size_t *room)
{
	size_t left;
	enum codec_result r;

	if (!self->decoder && !is_paid(self, self->window))
		return CODEC_MORE;
	if (!self->decoder && (r = start_again(self)) != CODEC_MORE)
		return r;
	const uint8_t *at = self->kept + self->kept_at;
	size_t step = left = self->kept_len - self->kept_at < STEP_BYTES ? self->kept_len - self->kept_at : STEP_BYTES;
	r = self->skip ? skip_step(self, &at, &left) : brotli_decode(self, &at, &left, out, room);
	self->kept_at += step - left;
	if (self->decoder && !self->skip && self->kept_at == self->kept_len && is_paid(self, 2 * WINDOW_MAX)) {
		self->keeping = false;
		free(self->kept);
		self->kept = NULL;
		self->kept_at = self->kept_len = self->kept_cap = 0;
	}
	return r;
}

/* Whether kept has input that the decoder has not had yet. */
static bool brotli_goes_on(const void *state)
{
	const struct codec_brotli *self = state;

	return self->keeping &&
	    (self->decoder ? self->kept_at < self->kept_len || self->skip : is_paid(self, self->window));
}

static enum codec_result run_on(struct codec_brotli *self, const uint8_t **in, size_t *in_len, uint8_t *out,
    size_t *room)
{
	size_t rest = *in_len > STEP_BYTES ? *in_len - STEP_BYTES : 0;

	*in_len -= rest;
	enum codec_result r = brotli_decode(self, in, in_len, out, room);
	*in_len += rest;
	return r;
}

static enum codec_result brotli_run(void *state, const uint8_t **in, size_t *in_len, uint8_t *out, size_t cap,
    size_t *written)
{
	struct codec_brotli *self = state;
	size_t room = cap, before = *in_len;
	enum codec_result r;

	*written = 0;
	if (self->decoder && BrotliDecoderIsFinished(self->decoder))
		return CODEC_END;
	if (!self->keeping) {
		r = run_on(self, in, in_len, out, &room);
	} else {
		if (!brotli_goes_on(self)) {
			if (keep(self, *in, *in_len))
				return CODEC_NO_MEMORY;
			*in += *in_len;
			*in_len = 0;
		}
		self->in_bytes += before - *in_len;
		before = *in_len;
		r = run_kept(self, out, &room);
	}
	self->in_bytes += before - *in_len;
	*written = cap - room;
	self->out_bytes += *written;
	return r;
}

static bool brotli_withholds(const void *state)
{
	const struct codec_brotli *self = state;

	return !self->decoder;
}

const struct codec codec_brotli = { { "br", NULL }, brotli_open, brotli_run, brotli_close, brotli_withholds,
	brotli_goes_on };
