/* Owns the cases of proxy/coding/content_coding.c and codec_zlib.c. Must not know: what is done with decoded bytes.
 * Invariant: each row names its rule and holds wherever the input is cut and however little room there is. */
#include "proxy/coding/content_coding.h"
#include "tests/unit/packed.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define TEXT "<?xml version='1.0'?><rss>a feed, a feed, a feed, and another feed</rss>"

static const struct content_coding_limits no_limits = { .ratio = 1000000, .ratio_after = UINT64_MAX, .memory = UINT64_MAX };

struct outcome { enum content_coding_result result; bool complete; struct bytes out; size_t pauses; };

static void coded_as(struct http_msg *m, struct http_field *field, const char *codings)
{
	*field = (struct http_field){ .id = H_CONTENT_ENCODING, .value_len = (uint32_t)strlen(codings) };
	*m = (struct http_msg){ .base = codings, .max_fields = 1, .fields = field };
	http_msg_add(m);
}

static struct outcome decode(const char *codings, const struct content_coding_limits *limits, const struct bytes *in, size_t cut, size_t step,
	size_t room)
{
	struct outcome o = { DECODE_MORE, false, bytes_of("", 0), 0 };
	struct http_field field;
	struct http_msg m;
	struct content_coding *d;

	coded_as(&m, &field, codings);
	d = content_coding_new(&m, limits);
	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	for (size_t at = 0, n; at < in->len && o.result == DECODE_MORE; at += n) {
		struct bytes piece;
		const uint8_t *from;
		size_t left;

		n = at < cut ? cut - at : in->len - at;
		n = n < step ? n : step;
		piece = bytes_of(in->at + at, n);
		from = piece.at;
		left = n;
		do {
			uint8_t out[4096];
			size_t written;

			o.result = content_coding_run(d, &from, &left, out, room, &written);
			if (written > room || left > n || (o.result == DECODE_MORE && left))
				CU_FAIL_FATAL("more written or used than there was");
			bytes_add(&o.out, out, written);
			o.pauses += o.result == DECODE_PAUSE;
		} while (o.result == DECODE_ROOM || o.result == DECODE_PAUSE);
		free(piece.at);
	}
	o.complete = content_coding_complete(d);
	content_coding_free(&d);
	CU_ASSERT_PTR_NULL(d);
	return o;
}

static void codings(void)
{
	static const struct { const char *value; enum content_coding_kind is; } cases[] = {
		{ "", CODING_NONE }, { "identity", CODING_NONE }, { "Identity, identity", CODING_NONE }, { "utf-8", CODING_NONE },
		{ "gzip", CODING_KNOWN }, { "GZip", CODING_KNOWN }, { "x-gzip", CODING_KNOWN }, { "deflate", CODING_KNOWN },
		{ "gzip, deflate", CODING_KNOWN }, { "identity, gzip", CODING_KNOWN }, { ", gzip ,", CODING_KNOWN },
		{ "br", CODING_KNOWN }, { "gzip, br", CODING_KNOWN }, { "br, zstd", CODING_KNOWN }, { "gzip;q=1", CODING_UNKNOWN },
		{ "gzip deflate", CODING_UNKNOWN }, { "gzip, gzip, gzip", CODING_UNKNOWN }, { "compress", CODING_UNKNOWN },
	};
	struct http_field field;
	struct http_msg m;

	for (size_t i = 0; i < COUNT(cases); i++) {
		coded_as(&m, &field, cases[i].value);
		UNIT_ROW(content_coding_kind(&m) == cases[i].is, "%s: %d", cases[i].value, (int)content_coding_kind(&m));
	}
	http_msg_reset(&m);
	CU_ASSERT_EQUAL(content_coding_kind(&m), CODING_NONE);
}

#define BYTES(text) text, sizeof(text) - 1

static void bodies(void)
{
	enum { FINE, CUT_OFF, BAD };
	static const struct {
		const char *rule, *codings, *recipe;
		unsigned members;               /* how often TEXT stands in it, each a stream of its own; 0: the tail alone */
		size_t dropped;                 /* bytes off the end */
		long changed;                   /* byte that gets another value, from the end where negative; 0: none */
		const char *tail;
		size_t tail_len;
		int want;
	} cases[] = {
		{ "gzip", "gzip", "g", 1, 0, 0, BYTES(""), FINE },
		{ "its other name", "x-gzip", "g", 1, 0, 0, BYTES(""), FINE },
		{ "members (RFC 1952 2.2)", "gzip", "g", 3, 0, 0, BYTES(""), FINE },
		{ "deflate means zlib (9110 8.4.1.2)", "deflate", "z", 1, 0, 0, BYTES(""), FINE },
		{ "deflate without it", "deflate", "r", 1, 0, 0, BYTES(""), FINE },
		{ "gzip in gzip", "gzip, gzip", "gg", 1, 0, 0, BYTES(""), FINE },
		{ "zlib in gzip", "deflate, gzip", "zg", 1, 0, 0, BYTES(""), FINE },
		{ "gzip in raw", "gzip, deflate", "gr", 1, 0, 0, BYTES(""), FINE },
		{ "raw in gzip", "deflate, gzip", "rg", 1, 0, 0, BYTES(""), FINE },
		{ "raw in raw", "deflate, deflate", "rr", 1, 0, 0, BYTES(""), FINE },
		{ "outer members", "gzip, gzip", "gg", 2, 0, 0, BYTES(""), FINE },
		{ "identity does not count", "identity, gzip", "g", 1, 0, 0, BYTES(""), FINE },
		{ "padding", "gzip", "g", 1, 0, 0, BYTES("\0\0\0\0"), FINE },
		{ "padding after members", "gzip", "g", 2, 0, 0, BYTES("\0\0"), FINE },
		{ "padding like a member", "gzip", "g", 1, 0, 0, BYTES("\0\x1f\x8b\0"), FINE },
		{ "padding after zlib", "deflate", "z", 1, 0, 0, BYTES("\r\n"), FINE },
		{ "padding after raw", "deflate", "r", 1, 0, 0, BYTES("\r\n"), FINE },
		{ "padding after both", "gzip, gzip", "gg", 1, 0, 0, BYTES("\r\n"), FINE },
		{ "nothing at all", "gzip", "", 0, 0, 0, BYTES(""), FINE },
		{ "nothing at all, twice", "gzip, deflate", "", 0, 0, 0, BYTES(""), FINE },
		{ "a member of nothing", "gzip", "", 0, 0, 0, BYTES("\x1f\x8b\x08\0\0\0\0\0\0\3\3\0\0\0\0\0\0\0\0\0"), FINE },
		{ "raw deflate of nothing", "deflate", "", 0, 0, 0, BYTES("\3\0"), FINE },
		{ "a member with every optional field", "gzip", "", 0, 0, 0,
			BYTES("\x1f\x8b\x08\x1e\0\0\0\0\0\3\2\0ab" "name\0comment\0" "\xa0\xf0" "\3\0\0\0\0\0\0\0\0\0"), FINE },
		{ "length cut off", "gzip", "g", 1, 1, 0, BYTES(""), CUT_OFF },
		{ "checksum cut off", "gzip", "g", 1, 8, 0, BYTES(""), CUT_OFF },
		{ "data cut off", "gzip", "g", 1, 20, 0, BYTES(""), CUT_OFF },
		{ "second member cut off", "gzip", "g", 2, 4, 0, BYTES(""), CUT_OFF },
		{ "second member cut to a byte", "gzip", "g", 1, 0, 0, BYTES("\x1f"), CUT_OFF },
		{ "zlib cut off", "deflate", "z", 1, 1, 0, BYTES(""), CUT_OFF },
		{ "raw cut off", "deflate", "r", 1, 1, 0, BYTES(""), CUT_OFF },
		{ "outer cut off", "gzip, gzip", "gg", 1, 1, 0, BYTES(""), CUT_OFF },
		{ "header alone", "gzip", "", 0, 0, 0, BYTES("\x1f\x8b"), CUT_OFF },
		{ "one byte", "deflate", "", 0, 0, 0, BYTES("\x78"), CUT_OFF },
		{ "magic number", "gzip", "g", 1, 0, 1, BYTES(""), BAD },
		{ "method", "gzip", "g", 1, 0, 2, BYTES(""), BAD },
		{ "reserved flags (RFC 1952 2.3.1.2)", "gzip", "", 0, 0, 0, BYTES("\x1f\x8b\x08\xe0\0\0\0\0\0\3\3\0\0\0\0\0\0\0\0\0"), BAD },
		{ "checksum", "gzip", "g", 1, 0, -8, BYTES(""), BAD },
		{ "length", "gzip", "g", 1, 0, -1, BYTES(""), BAD },
		{ "checksum of the last member", "gzip", "g", 2, 0, -8, BYTES(""), BAD },
		{ "checksum of zlib", "deflate", "z", 1, 0, -1, BYTES(""), BAD },
		{ "outer checksum", "gzip, gzip", "gg", 1, 0, -8, BYTES(""), BAD },
		{ "a preset dictionary", "deflate", "", 0, 0, 0, BYTES("\x78\xbb\0\0\0\1\3\0"), BAD },
		{ "plain text as gzip", "gzip", "", 0, 0, 0, BYTES(TEXT), BAD },
		{ "plain text as deflate", "deflate", "", 0, 0, 0, BYTES("\x07" TEXT), BAD },
		{ "zlib as gzip", "gzip", "z", 1, 0, 0, BYTES(""), BAD },
		{ "once, said twice", "gzip, gzip", "g", 1, 0, 0, BYTES(""), BAD },
		{ "wrong order", "gzip, deflate", "rg", 1, 0, 0, BYTES(""), BAD },
		{ "two streams where one is allowed: the rest is padding", "deflate", "z", 1, 0, 0, BYTES("\x78\x9c\3"), FINE },
	};
	static const size_t rooms[] = { 1, 2, 3, 64, 4096 };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bytes in = bytes_of("", 0), want = bytes_of("", 0);

		for (unsigned n = 0; n < cases[i].members; n++) {
			struct bytes member = packed(cases[i].recipe, TEXT, sizeof(TEXT) - 1);

			bytes_add(&in, member.at, member.len);
			bytes_add(&want, TEXT, sizeof(TEXT) - 1);
			free(member.at);
		}
		in.len -= cases[i].dropped;
		if (cases[i].changed)
			in.at[cases[i].changed < 0 ? (long)in.len + cases[i].changed : cases[i].changed] ^= 0x55;
		bytes_add(&in, cases[i].tail, cases[i].tail_len);
		for (size_t n = 0; n < (in.len + 1) * COUNT(rooms); n++) {
			size_t cut = n / COUNT(rooms), room = rooms[n % COUNT(rooms)];
			struct outcome o = decode(cases[i].codings, &no_limits, &in, cut, cut == in.len ? 1 : in.len, room);
			bool held = UNIT_ROW(o.result == (cases[i].want == BAD ? DECODE_DAMAGED : DECODE_MORE), "%s, cut at %zu, room %zu: %d",
				cases[i].rule, cut, room, (int)o.result);

			if (cases[i].want != BAD)
				held &= UNIT_ROW(o.complete == (cases[i].want == FINE), "%s, cut at %zu, room %zu", cases[i].rule, cut, room);
			if (cases[i].want == FINE)
				held &= UNIT_ROW(o.out.len == want.len && memcmp(o.out.at, want.at, want.len) == 0, "%s, cut at %zu, room %zu: %zu bytes",
					cases[i].rule, cut, room, o.out.len);
			else
				held &= UNIT_ROW(o.out.len <= want.len && memcmp(o.out.at, want.at, o.out.len) == 0, "%s, cut at %zu, room %zu",
					cases[i].rule, cut, room);
			free(o.out.at);
			if (!held)
				break;
		}
		free(in.at);
		free(want.at);
	}
}

/* A repetition at the end of a stream without a trailer: output still to come when all input is used. */
static void pending(void)
{
	static const struct { const char *codings, *recipe; } cases[] = {
		{ "deflate", "r" }, { "gzip", "g" }, { "deflate, gzip", "rg" }, { "deflate, deflate", "rr" }, { "gzip, deflate", "gr" },
	};
	char text[400];

	memset(text, 'a', sizeof(text));
	for (size_t i = 0; i < COUNT(cases) * sizeof(text); i++) {
		size_t len = i / COUNT(cases) + 1;
		struct bytes in = packed(cases[i % COUNT(cases)].recipe, text, len);
		struct outcome o = decode(cases[i % COUNT(cases)].codings, &no_limits, &in, 0, in.len, 1);

		UNIT_ROW(o.result == DECODE_MORE && o.complete && o.out.len == len, "%s, %zu: %d, %zu bytes", cases[i % COUNT(cases)].codings, len,
			(int)o.result, o.out.len);
		free(o.out.at);
		free(in.at);
	}
}

/* Zeroes: a thousand times smaller when packed. */
static void caps(void)
{
	enum { LARGE = 1000000 };
	static const struct {
		const char *rule, *codings, *recipe;
		struct content_coding_limits limits;
		bool fine;
	} cases[] = {
		{ "none", "gzip", "g", { 1000000, UINT64_MAX, 0, 0 }, true },
		{ "just the most", "gzip", "g", { 1000000, UINT64_MAX, LARGE, 0 }, true },
		{ "one byte over", "gzip", "g", { 1000000, UINT64_MAX, LARGE - 1, 0 }, false },
		{ "far over", "deflate", "z", { 1000000, UINT64_MAX, 5000, 0 }, false },
		{ "ratio", "gzip", "g", { 100, 5000, 0, 0 }, false },
		{ "ratio, but not before so much", "gzip", "g", { 100, LARGE, 0, 0 }, true },
		{ "ratio, one byte more", "gzip", "g", { 100, LARGE - 1, 0, 0 }, false },
		{ "ratio from the first byte", "deflate", "r", { 100, 0, 0, 0 }, false },
		{ "ratio large enough", "gzip", "g", { 2000, 0, 0, 0 }, true },
		{ "ratio of both layers", "gzip, gzip", "gg", { 2000, 5000, 0, 0 }, false },
		{ "the most of both layers", "gzip, gzip", "gg", { 1000000, UINT64_MAX, 5000, 0 }, false },
	};
	static const size_t steps[] = { 1, 100, LARGE }, rooms[] = { 1000, 4096 };
	static uint8_t zeroes[LARGE];

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bytes in = packed(cases[i].recipe, zeroes, LARGE);

		for (size_t n = 0; n < COUNT(steps) * COUNT(rooms); n++) {
			size_t room = rooms[n % COUNT(rooms)];
			struct outcome o = decode(cases[i].codings, &cases[i].limits, &in, 0, steps[n / COUNT(rooms)], room);

			UNIT_ROW(o.result == (cases[i].fine ? DECODE_MORE : DECODE_TOO_LARGE), "%s: %d, %zu bytes", cases[i].rule, (int)o.result, o.out.len);
			UNIT_ROW(!cases[i].fine || (o.complete && o.out.len == LARGE), "%s: %zu", cases[i].rule, o.out.len);
			UNIT_ROW(!cases[i].limits.max || o.out.len <= cases[i].limits.max + room, "%s: %zu", cases[i].rule, o.out.len);
			free(o.out.at);
		}
		free(in.at);
	}
}

static struct bytes members(size_t n)
{
	struct bytes all = { malloc(n * 32), 0, n * 32 }, one = packed("g", "", 0);

	for (size_t i = 0; i < n; i++, all.len += one.len)
		memcpy(all.at + all.len, one.at, one.len);
	free(one.at);
	return all;
}

/* 100,000 members of nothing, two megabytes, are seven kilobytes when packed: what comes between two layers is bounded as what comes out
 * is, and no call goes through all of it. */
static void trust_12_layers(void)
{
	enum { MEMBERS = 100000, MIDDLE = 20 * MEMBERS };
	static const struct {
		const char *rule, *codings, *recipe;
		struct content_coding_limits limits;
		bool fine;
		size_t pauses;             /* at least */
	} cases[] = {
		{ "the ratio of the first layer", "gzip, gzip", "g", { 100, 100000, 0, 0 }, false, 0 },
		{ "not before so much", "gzip, gzip", "g", { 100, MIDDLE, 0, 0 }, true, 50 },
		{ "one byte more", "gzip, gzip", "g", { 100, MIDDLE - 1, 0, 0 }, false, 0 },
		{ "the most between layers", "gzip, gzip", "g", { 1000000, UINT64_MAX, MIDDLE - 1, 0 }, false, 0 },
		{ "just the most", "gzip, gzip", "g", { 1000000, UINT64_MAX, MIDDLE, 0 }, true, 50 },
		{ "one layer pauses too", "gzip", "", { 1, 0, 1, 0 }, true, 50 },
		{ "behind another coding", "gzip, deflate", "z", { 100, 100000, 0, 0 }, false, 0 },
	};
	static const size_t steps[] = { 100, MIDDLE };
	struct bytes all = members(MEMBERS);

	for (size_t i = 0; i < COUNT(cases) * COUNT(steps); i++) {
		size_t c = i / COUNT(steps);
		struct bytes in = packed(cases[c].recipe, all.at, all.len);
		struct outcome o = decode(cases[c].codings, &cases[c].limits, &in, 0, steps[i % COUNT(steps)], 4096);

		UNIT_ROW(o.result == (cases[c].fine ? DECODE_MORE : DECODE_TOO_LARGE) && !o.out.len, "trust 12: %s: %d", cases[c].rule, (int)o.result);
		UNIT_ROW(!cases[c].fine || (o.complete && o.pauses >= cases[c].pauses), "trust 12: %s: %zu pauses", cases[c].rule, o.pauses);
		free(o.out.at);
		free(in.at);
	}
	free(all.at);
}

UNIT_SUITE(content_coding, { "codings", codings }, { "bodies", bodies }, { "pending", pending }, { "caps", caps },
	{ "trust 12: layers", trust_12_layers })
