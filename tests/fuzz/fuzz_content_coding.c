/* Owns feeding arbitrary bytes to the content decoders. Input: a byte each for the coding, output room and cut, then the body.
 * Invariants: output and result do not depend on cut or room; no more than the room is written; what is over a cap is said to be;
 * a call either uses input, writes, or is done with what it has. */
#include "proxy/coding/content_coding.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_BYTES = 3, ROOM_MAX = 4096, MAX_OUTPUT = 1 << 20 };

struct seen {
	enum content_coding_result result;
	bool complete;
	uint8_t *out;
	size_t len, cap;
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void keep(struct seen *s, const uint8_t *bytes, size_t len)
{
	if (s->cap - s->len < len) {
		s->cap = 2 * (s->len + len);
		require((s->out = realloc(s->out, s->cap)) != NULL);
	}
	if (len)
		memcpy(s->out + s->len, bytes, len);
	s->len += len;
}

/* What comes between two layers counts too. */
static bool is_layered(const struct http_msg *m)
{
	return memchr(m->base, ',', m->fields[0].value_len);
}

static void run(struct seen *s, const struct http_msg *m, const struct content_coding_limits *limits, const uint8_t *in, size_t len,
	size_t step, size_t room)
{
	struct content_coding *d = content_coding_new(m, limits);

	require(d != NULL);
	for (size_t at = 0; at < len && s->result == DECODE_MORE; at += step) {
		size_t left = len - at < step ? len - at : step;
		const uint8_t *from = in + at;

		do {
			uint8_t out[ROOM_MAX];
			size_t before = left, n;

			s->result = content_coding_run(d, &from, &left, out, room, &n);
			require(n <= room && left <= before && (s->result != DECODE_MORE || left == 0));
			require(s->result != DECODE_ROOM || n == room);
			keep(s, out, n);
		} while (s->result == DECODE_ROOM || s->result == DECODE_PAUSE);
	}
	require(s->result == DECODE_MORE || s->result == DECODE_DAMAGED || s->result == DECODE_TOO_LARGE);
	require(s->result != DECODE_TOO_LARGE || s->len > limits->max || is_layered(m));
	require(s->result != DECODE_MORE || s->len <= limits->max);
	require(s->len <= limits->max + room);
	s->complete = content_coding_complete(d);
	content_coding_free(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const codings[] = { "gzip", "deflate", "gzip, gzip", "deflate, gzip", "gzip, deflate", "deflate, deflate",
		"br", "zstd", "br, gzip", "zstd, zstd" };
	/* The ratio is left out: it compares what was written with what was read so far, and so knows the cut */
	static const struct content_coding_limits limits = { .ratio = UINT64_MAX, .ratio_after = UINT64_MAX, .max = MAX_OUTPUT,
		.memory = UINT64_MAX };
	struct seen whole = { .result = DECODE_MORE }, cut = { .result = DECODE_MORE };
	struct http_field field = { .id = H_CONTENT_ENCODING };
	struct http_msg m = { .max_fields = 1, .fields = &field };

	if (size < HEAD_BYTES)
		return 0;
	http_msg_add(&m);
	m.base = codings[data[0] % (sizeof(codings) / sizeof(codings[0]))];
	field.value_len = (uint32_t)strlen(m.base);
	require(content_coding_kind(&m) == CODING_KNOWN);
	run(&whole, &m, &limits, data + HEAD_BYTES, size - HEAD_BYTES, size, ROOM_MAX);
	run(&cut, &m, &limits, data + HEAD_BYTES, size - HEAD_BYTES, data[2] + 1u, data[1] + 1u);
	require(whole.result == cut.result);
	if (whole.result == DECODE_MORE) {
		require(whole.len == cut.len && whole.complete == cut.complete);
		require(whole.len == 0 || memcmp(whole.out, cut.out, whole.len) == 0);
	}
	free(whole.out);
	free(cut.out);
	return 0;
}
