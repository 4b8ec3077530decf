/* Owns feeding arbitrary bodies to gzip_peel. Input: a byte for the cut, a Content-Type up to a line feed, then the body; where "z" stands
 * before the line feed, the body is packed first, so that mutations of feeds come through.
 * Invariants: the bytes that go on do not depend on the cut; they are the input, or what the decoder makes of it. */
#include "proxy/coding/content_coding.h"
#include "proxy/coding/gzip_peel.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

struct bytes {
	uint8_t *at;
	size_t len, cap;
};

static int on_bytes(void *arg, const uint8_t *bytes, size_t len)
{
	struct bytes *b = arg;

	if (b->cap - b->len < len) {
		b->cap = 2 * (b->len + len);
		require((b->at = realloc(b->at, b->cap)) != NULL);
	}
	memcpy(b->at + b->len, bytes, len);
	b->len += len;
	return 0;
}

static void pack(struct bytes *out, const uint8_t *text, size_t len)
{
	z_stream z = { .next_in = (uint8_t *)(uintptr_t)text, .avail_in = (unsigned)len };

	require(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	out->cap = deflateBound(&z, len);
	require((out->at = malloc(out->cap)) != NULL);
	z.next_out = out->at;
	z.avail_out = (unsigned)out->cap;
	require(deflate(&z, Z_FINISH) == Z_STREAM_END);
	out->len = out->cap - z.avail_out;
	deflateEnd(&z);
}

static int run(struct bytes *out, const struct normalise_options *o, const struct bytes *in, size_t step)
{
	struct gzip_peel *p = gzip_peel_new(o, (struct sink){ on_bytes, out });
	int rc = 0;

	require(p != NULL);
	for (size_t at = 0; rc == 0 && at < in->len; at += step)
		rc = gzip_peel_feed(p, in->at + at, in->len - at < step ? in->len - at : step);
	if (rc == 0)
		rc = gzip_peel_finish(p);
	gzip_peel_free(&p);
	require(rc == 0 || rc == GZIP_PEEL_DAMAGED);
	return rc;
}

static bool is_same(const struct bytes *a, const struct bytes *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->at, b->at, a->len) == 0);
}

/* Whether the bytes are the beginning of what the input unpacks to; all: and the end. */
static bool is_unpacked(const struct bytes *out, const struct bytes *in, bool all)
{
	static const struct content_coding_limits none = { .ratio = UINT64_MAX, .ratio_after = UINT64_MAX, .max = 0 };
	struct content_coding *d = content_coding_gzip(&none);
	const uint8_t *from = in->at;
	size_t left = in->len, at = 0, n;
	enum content_coding_result r;
	bool same = true;

	require(d != NULL);
	do {
		uint8_t piece[4096];
		size_t some;

		r = content_coding_run(d, &from, &left, piece, sizeof(piece), &n);
		some = n < out->len - at ? n : out->len - at;
		same = same && (some == 0 || memcmp(out->at + at, piece, some) == 0) && (!all || some == n);
		at += some;
	} while (r == DECODE_ROOM || r == DECODE_PAUSE);
	content_coding_free(&d);
	return same && at == out->len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = size > 1 ? memchr(data + 1, '\n', size - 1) : NULL;
	struct normalise_options o = { .http = true };
	struct bytes in = { 0 }, whole = { 0 }, cut = { 0 };
	int rc;

	if (line) {
		bool packs = line > data + 1 && line[-1] == 'z';

		o.content_type = (const char *)data + 1;
		o.content_type_len = (size_t)(line - data) - 1 - packs;
		if (packs)
			pack(&in, line + 1, size - (size_t)(line + 1 - data));
		else if (line + 1 < data + size)
			on_bytes(&in, line + 1, size - (size_t)(line + 1 - data));
		rc = run(&whole, &o, &in, in.len + 1);
		require(rc == run(&cut, &o, &in, 1u + data[0]));
		require(rc != 0 || is_same(&whole, &cut));
		require(is_same(&whole, &in) || is_unpacked(&whole, &in, rc == 0));
		free(in.at);
	}
	free(whole.at);
	free(cut.at);
	return 0;
}
