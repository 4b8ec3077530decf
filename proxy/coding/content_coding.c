/* The chain of content codings; see content_coding.h. */
#include "proxy/coding/content_coding.h"

#include <stdlib.h>

#include "proxy/coding/codec.h"

enum { LAYER_BYTES = 16 * 1024 };

/* The work from one pause to the next, in units of a byte of output. A byte of input counts as more, because a few
 * bytes can make a decoder build new tables. So does each call of a decoder, because it may bring next to nothing
 * (empty members). In the worst cases known this takes two or three milliseconds. */
enum { WORK_TURN = 128 * 1024, WORK_IN = 16, WORK_CALL = 64 };

static const struct codec *const codecs[] = { &codec_gzip, &codec_deflate, &codec_brotli, &codec_zstd };

struct layer {
	const struct codec *codec;
	void *state;
	bool ended;
	/* bytes have followed the end: no further input is part of the stream, whatever it looks like */
	bool padded;
	uint64_t in_bytes, out_bytes;
};

struct content_coding {
	struct layer layers[CONTENT_CODING_LAYERS];      /* in the order they are undone */
	size_t n_layers;
	struct content_coding_limits limits;
	uint64_t work;                                 /* done since the last pause */
	size_t between_at, between_len;
	bool holds_output;                             /* layer 1 goes on without further input */
	uint8_t between[LAYER_BYTES];                  /* output of layer 0 on its way into layer 1 */
};

static const struct codec *codec_find(struct slice name)
{
	for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
		for (const char *const *n = codecs[i]->names; *n; n++)
			if (slice_is(name, *n))
				return codecs[i];
	return NULL;
}

/* Values that some servers send as Content-Encoding though they name no coding: the body is not encoded. */
static bool coding_is_identity(struct slice name)
{
	return slice_is(name, "identity") || slice_is(name, "utf-8") || slice_is(name, "utf8") ||
	    slice_is(name, "none") || slice_is(name, "binary") || slice_is(name, "8bit");
}

static size_t coding_list(const struct http_msg *m, const struct codec **list, size_t cap, bool *unknown)
{
	struct http_list it = { 0, 0 };
	struct slice name;
	size_t n = 0;

	*unknown = false;
	while (http_msg_next_member(m, H_CONTENT_ENCODING, &it, &name)) {
		const struct codec *codec;

		if (coding_is_identity(name))
			continue;
		if (!(codec = codec_find(name)) || n == cap) {
			*unknown = true;
			return 0;
		}
		list[n++] = codec;
	}
	return n;
}

enum content_coding_kind content_coding_kind(const struct http_msg *m)
{
	const struct codec *list[CONTENT_CODING_LAYERS];
	bool unknown;
	size_t n = coding_list(m, list, CONTENT_CODING_LAYERS, &unknown);

	return unknown ? CODING_UNKNOWN : n ? CODING_KNOWN : CODING_NONE;
}

bool content_coding_is_gzip(const struct http_msg *m)
{
	const struct codec *list[CONTENT_CODING_LAYERS];
	bool unknown;

	return coding_list(m, list, CONTENT_CODING_LAYERS, &unknown) == 1 && list[0] == &codec_gzip;
}

bool content_coding_accepted(const struct http_msg *response, const struct content_coding_codings *client)
{
	const struct codec *list[CONTENT_CODING_LAYERS];
	bool unknown;
	size_t n = coding_list(response, list, CONTENT_CODING_LAYERS, &unknown);

	for (size_t i = 0; i < n; i++)
		for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++)
			if (list[i] == codecs[c] && !(client->accepted & 1u << c))
				return false;
	return !unknown;
}

struct content_coding_codings content_coding_accepts(const struct http_msg *request)
{
	struct content_coding_codings client = { 0 };

	for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
		if (http_msg_accepts_coding(request, codecs[i]->names))
			client.accepted |= 1u << i;
	return client;
}

bool content_coding_takes_gzip(const struct http_msg *request)
{
	return http_msg_accepts_coding(request, codec_gzip.names);
}

/* list: in the order in which the codings were applied. */
static struct content_coding *coding_open(const struct codec *const *list, size_t n,
    const struct content_coding_limits *limits)
{
	struct content_coding *decode = malloc(sizeof *decode);
	struct codec_limits codec_limits;

	if (!decode)
		return NULL;
	*decode = (struct content_coding){ .limits = *limits, .n_layers = n };
	codec_limits = (struct codec_limits){ .ratio = limits->ratio, .memory = limits->memory };
	for (size_t i = 0; i < decode->n_layers; i++) {
		decode->layers[i].codec = list[decode->n_layers - 1 - i];      /* named last: applied last */
		if (!(decode->layers[i].state = decode->layers[i].codec->open(&codec_limits))) {
			content_coding_free(&decode);
			return NULL;
		}
	}
	return decode;
}

struct content_coding *content_coding_new(const struct http_msg *m, const struct content_coding_limits *limits)
{
	const struct codec *list[CONTENT_CODING_LAYERS];
	bool unknown;
	size_t n = coding_list(m, list, CONTENT_CODING_LAYERS, &unknown);

	return coding_open(list, n, limits);
}

struct content_coding *content_coding_gzip(const struct content_coding_limits *limits)
{
	static const struct codec *const list[] = { &codec_gzip };

	return coding_open(list, 1, limits);
}

void content_coding_free(struct content_coding **dp)
{
	struct content_coding *decode = *dp;

	if (!decode)
		return;
	for (size_t i = 0; i < decode->n_layers; i++)
		if (decode->layers[i].state)
			decode->layers[i].codec->close(decode->layers[i].state);
	free(decode);
	*dp = NULL;
}

static enum codec_result layer_step(struct content_coding *decode, struct layer *layer, const uint8_t **in,
    size_t *in_len, uint8_t *out, size_t cap, size_t *written)
{
	size_t before = *in_len;
	enum codec_result r = layer->codec->run(layer->state, in, in_len, out, cap, written);

	layer->in_bytes += before - *in_len;
	layer->out_bytes += *written;
	decode->work += WORK_CALL + WORK_IN * (before - *in_len) + *written;
	return r;
}

static bool layer_goes_on(const struct layer *layer)
{
	return layer->codec->goes_on && layer->codec->goes_on(layer->state);
}

/* Runs one layer. It pauses only where input is left, its own or other. */
static enum content_coding_result layer_run(struct content_coding *decode, struct layer *layer, const uint8_t **in,
    size_t *in_len, uint8_t *out, size_t cap, size_t *written)
{
	size_t total = 0;

	*written = 0;
	if (layer->padded) {
		*in_len = 0;
		return DECODE_MORE;
	}
	for (;;) {
		size_t n, before = *in_len;
		enum codec_result r = layer_step(decode, layer, in, in_len, out + total, cap - total, &n);

		total += n;
		*written = total;
		switch (r) {
		case CODEC_END:
			layer->ended = true;
			layer->padded = *in_len;
			*in_len = 0;
			return DECODE_MORE;
		case CODEC_BAD:
			return DECODE_DAMAGED;
		case CODEC_CROWDED:
			return DECODE_CROWDED;
		case CODEC_NO_MEMORY:
			return DECODE_NO_MEMORY;
		case CODEC_MORE:
			layer->ended = false;
			if (total == cap)
				return DECODE_ROOM;
			if (!layer_goes_on(layer) && !*in_len)
				return DECODE_MORE;
			if (!layer_goes_on(layer) && !n && *in_len == before)
				return DECODE_DAMAGED;
			if (decode->work >= WORK_TURN)
				return DECODE_PAUSE;
		}
	}
}

static bool is_over(const struct content_coding_limits *limits, uint64_t in, uint64_t out)
{
	return (limits->max && out > limits->max) || (out > limits->ratio_after && out / limits->ratio > in);
}

bool content_coding_allows(const struct content_coding_limits *limits, uint64_t in, uint64_t out)
{
	return !is_over(limits, in, out);
}

static enum content_coding_result decode_two(struct content_coding *decode, const uint8_t **in, size_t *in_len,
    uint8_t *out, size_t cap, size_t *written)
{
	size_t total = 0;

	for (;;) {
		const uint8_t *at = decode->between + decode->between_at;
		size_t left = decode->between_len - decode->between_at, room = sizeof decode->between, n;
		enum content_coding_result r;

		if (left || decode->holds_output) {
			r = layer_run(decode, &decode->layers[1], &at, &left, out + total, cap - total, &n);
			decode->holds_output = r == DECODE_ROOM ||
			    (r == DECODE_PAUSE && layer_goes_on(&decode->layers[1]));
			decode->between_at = decode->between_len - left;
			total += n;
			*written = total;
			if (r != DECODE_MORE)
				return r;
		}
		if (is_over(&decode->limits, decode->layers[0].in_bytes, decode->layers[0].out_bytes))
			return DECODE_TOO_LARGE;
		/* room for the first byte over the limit, too: damage before it is found however the input was cut */
		if (decode->limits.max && decode->limits.max + 1 - decode->layers[0].out_bytes < room)
			room = (size_t)(decode->limits.max + 1 - decode->layers[0].out_bytes);
		r = layer_run(decode, &decode->layers[0], in, in_len, decode->between, room, &decode->between_len);
		decode->between_at = 0;
		if (r == DECODE_DAMAGED || r == DECODE_CROWDED || r == DECODE_NO_MEMORY)
			return r;
		if (!decode->between_len && r == DECODE_MORE)
			return DECODE_MORE;
		if (decode->work >= WORK_TURN)
			return DECODE_PAUSE;
	}
}

enum content_coding_result content_coding_run(struct content_coding *decode, const uint8_t **in, size_t *in_len,
    uint8_t *out, size_t cap, size_t *written)
{
	const struct layer *first = &decode->layers[0], *last = &decode->layers[decode->n_layers - 1];
	enum content_coding_result r = DECODE_PAUSE;

	*written = 0;
	if (decode->work < WORK_TURN)
		r = decode->n_layers == 1
		    ? layer_run(decode, &decode->layers[0], in, in_len, out, cap, written)
		    : decode_two(decode, in, in_len, out, cap, written);
	if (is_over(&decode->limits, first->in_bytes, last->out_bytes) ||
	    is_over(&decode->limits, last->in_bytes, last->out_bytes))
		return DECODE_TOO_LARGE;
	if (r == DECODE_PAUSE)
		decode->work = 0;
	return r;
}

bool content_coding_complete(const struct content_coding *decode)
{
	if (!decode->layers[0].in_bytes)
		return true;
	for (size_t i = 0; i < decode->n_layers; i++)
		if (!decode->layers[i].ended)
			return false;
	return decode->between_at == decode->between_len;
}

bool content_coding_withheld(const struct content_coding *decode)
{
	for (size_t i = 0; i < decode->n_layers; i++)
		if (decode->layers[i].codec->withholds && decode->layers[i].codec->withholds(decode->layers[i].state))
			return true;
	return false;
}
