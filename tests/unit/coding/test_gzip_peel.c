/* Owns the cases of proxy/coding/gzip_peel.c: what goes on of a stream that may be gzip with a feed in it.
 * Invariant: it is the same wherever the stream is cut. */
#include "proxy/coding/gzip_peel.h"
#include "tests/unit/packed.h"

#define FEED "<?xml version='1.0'?><rss><title>news</title></rss>"

static int on_bytes(void *arg, const uint8_t *bytes, size_t len)
{
	bytes_add(arg, bytes, len);
	return 0;
}

static int run(struct bytes *out, const char *type, const struct bytes *in, size_t cut, size_t step)
{
	const struct normalise_options options = { .http = type != NULL, .content_type = type, .content_type_len = type ? strlen(type) : 0 };
	struct gzip_peel *p = gzip_peel_new(&options, (struct sink){ on_bytes, out });
	int rc;

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	rc = gzip_peel_feed(p, in->at, cut);
	for (size_t at = cut, n; rc == 0 && at < in->len; at += n) {
		struct bytes piece;

		n = in->len - at < step ? in->len - at : step;
		piece = bytes_of(in->at + at, n);
		rc = gzip_peel_feed(p, piece.at, n);
		free(piece.at);
	}
	if (rc == 0)
		rc = gzip_peel_finish(p);
	gzip_peel_free(&p);
	CU_ASSERT_PTR_NULL(p);
	return rc;
}

static void expect(const char *rule, const char *type, const struct bytes *in, const struct bytes *want, size_t cut, size_t step)
{
	struct bytes out = bytes_of("", 0);
	int rc = run(&out, type, in, cut, step);

	UNIT_ROW(rc == 0 && out.len == want->len && memcmp(out.at, want->at, out.len) == 0, "%s, cut at %zu by %zu: %d, %zu bytes", rule, cut, step, rc, out.len);
	free(out.at);
}

static void bodies(void)
{
	static const struct {
		const char *rule, *type, *recipe, *text;
		bool unpacked;
		size_t dropped;
	} cases[] = {
		{ "a feed", "application/rss+xml", "g", FEED, true, 0 },
		{ "a file", NULL, "g", FEED, true, 0 },
		{ "a download", "application/octet-stream", "g", FEED, false, 0 },
		{ "its own type", "application/gzip", "g", FEED, false, 0 },
		{ "another document", "text/xml", "g", "<?xml version='1.0'?><kml/>", false, 0 },
		{ "words", "text/xml", "g", "news", false, 0 },
		{ "nothing", "text/xml", "g", "", false, 0 },
		{ "gzip again", "text/xml", "gg", FEED, false, 0 },
		{ "cut", "text/xml", "g", FEED, false, 1 },
		{ "zlib", "text/xml", "z", FEED, false, 0 },
		{ "a feed as it is", "text/xml", "", FEED, false, 0 },
		{ "an empty body", "text/xml", "", "", false, 0 },
		{ "three bytes of gzip", "text/xml", "", "\x1f\x8b\x08", false, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes in = packed(cases[i].recipe, cases[i].text, strlen(cases[i].text)), want;

		in.len -= cases[i].dropped;
		want = cases[i].unpacked ? bytes_of(cases[i].text, strlen(cases[i].text)) : bytes_of(in.at, in.len);
		for (size_t cut = 0; cut <= in.len; cut++) {
			expect(cases[i].rule, cases[i].type, &in, &want, cut, in.len + 1);
			expect(cases[i].rule, cases[i].type, &in, &want, cut, 1);
		}
		free(in.at);
		free(want.at);
	}
}

/* Longer than the window: what has gone on is not taken back. */
static void long_bodies(void)
{
	static const size_t steps[] = { 1, 1000, 1 << 20 };
	struct bytes text = bytes_of("<rss>", 5), bomb = bytes_of("<rss>", 5), in, packed_bomb, out;

	for (unsigned n = 0; n < 20000; n++) {
		char number[32];

		bytes_add(&text, number, (size_t)snprintf(number, sizeof(number), "<a>%u</a>", n * 2654435761u));
	}
	while (bomb.len < 3 << 20)
		bytes_add(&bomb, "                ", 16);
	in = packed("g", text.at, text.len);
	packed_bomb = packed("g", bomb.at, bomb.len);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		expect("long", "text/xml", &in, &text, 0, steps[i]);
	in.at[in.len - 8] ^= 1;
	out = bytes_of("", 0);
	CU_ASSERT_EQUAL(run(&out, "text/xml", &in, 0, 1000), GZIP_PEEL_DAMAGED);
	CU_ASSERT(out.len > NORMALISE_SNIFF_BYTES);
	CU_ASSERT_EQUAL(run(&out, "text/xml", &packed_bomb, 0, 1000), GZIP_PEEL_DAMAGED);
	free(out.at);
	free(in.at);
	free(packed_bomb.at);
	free(bomb.at);
	free(text.at);
}

UNIT_SUITE(gzip_peel, { "bodies", bodies }, { "long bodies", long_bodies })
