/* Owns the cases of proxy/coding/gzip_writer.c and its packers. Must not know: which library packs.
 * Invariant: a row holds for every effort, however text and room are cut, and zlib unpacks to the text. */
#include "proxy/coding/gzip_writer.h"
#include "tests/unit/packed.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { TEXT_MAX = 300000, ROOM_MAX = 32 * 1024, SEEDS = 40, SMALL_SHARE = 33 /* what is packed small may be longer than by zlib's level 6 by 1 / SMALL_SHARE */ };

static const struct { const char *name; enum gzip_effort effort; } efforts[] = { { "fast", GZIP_FAST }, { "small", GZIP_SMALL } };

static unsigned dice(unsigned *seed, unsigned sides)
{
	*seed = *seed * 1103515245 + 12345;
	return (*seed >> 8) % sides;
}

/* Text of three kinds: words that come again, bytes that are all alike, and bytes that nothing is gained by packing. */
static struct bytes text_of(const char *kind, size_t len)
{
	static const char *const words[] = { "<item>", "<title>", "Погода", " на ", "завтра", "</title>", "news ", "\n", "日本", "</item>" };
	struct bytes b = bytes_of("", 0);
	unsigned seed = 7;

	while (b.len < len) {
		const char *word = words[dice(&seed, COUNT(words))];
		uint8_t any = (uint8_t)dice(&seed, 256);

		if (*kind == 'w')
			bytes_add(&b, word, strlen(word));
		else
			bytes_add(&b, *kind == 'a' ? (const uint8_t *)"a" : &any, 1);
	}
	b.len = len;
	return b;
}

/* Packs len bytes with this flush into pieces of room bytes; room 0: each piece has a random size. */
static void pack_part(struct gzip_writer *w, struct bytes *out, const uint8_t *at, size_t len, enum gzip_flush flush, size_t room, unsigned *seed)
{
	uint8_t piece[ROOM_MAX];
	bool all;

	do {
		size_t n, cap = room ? room : 1 + dice(seed, ROOM_MAX);

		all = gzip_write(w, &at, &len, flush, piece, cap, &n);
		if (n > cap)
			CU_FAIL_FATAL("more written than there was room");
		bytes_add(out, piece, n);
	} while (!all);
	CU_ASSERT_EQUAL(len, 0);
}

/* What zlib makes of it; *whole: the member has ended, and nothing is behind it. */
static struct bytes unpacked(const struct bytes *gzip, size_t most, bool *whole)
{
	struct bytes b = { malloc(most + 1), 0, most + 1 };
	z_stream z = { .next_in = gzip->at, .avail_in = (uInt)gzip->len };
	int r;

	CU_ASSERT_EQUAL_FATAL(inflateInit2(&z, 31), Z_OK);
	z.next_out = b.at;
	z.avail_out = (uInt)b.room;
	r = inflate(&z, Z_SYNC_FLUSH);
	*whole = r == Z_STREAM_END && !z.avail_in;
	b.len = b.room - z.avail_out;
	inflateEnd(&z);
	return b;
}

static bool same(const struct bytes *a, const void *at, size_t len)
{
	return a->len == len && (!len || !memcmp(a->at, at, len));
}

static void cuts(void)
{
	static const struct { const char *rule; size_t len, step, room; } cases[] = {
		{ "words: nothing at all", 0, 1, 64 },
		{ "words: one byte", 1, 1, 64 },
		{ "words: all at once", TEXT_MAX, TEXT_MAX, ROOM_MAX },
		{ "words: pieces of 16 KiB", TEXT_MAX, 16384, 16384 },
		{ "words: byte by byte", 20000, 1, ROOM_MAX },
		{ "words: little room", 20000, 20000, 1 },
		{ "words: little of both", 5000, 3, 2 },
		{ "all alike", TEXT_MAX, 65536, 7 },
		{ "random bytes do not grow much", 70000, 9000, 4096 },
	};

	for (size_t i = 0; i < COUNT(cases) * COUNT(efforts); i++) {
		size_t c = i / COUNT(efforts), e = i % COUNT(efforts), step = cases[c].step;
		struct bytes text = text_of(cases[c].rule, cases[c].len), out = bytes_of("", 0), back;
		struct gzip_writer *w = gzip_writer_new(efforts[e].effort);
		unsigned seed = 1;
		bool whole;

		CU_ASSERT_PTR_NOT_NULL_FATAL(w);
		for (size_t at = 0; at < text.len; at += step)
			pack_part(w, &out, text.at + at, text.len - at < step ? text.len - at : step, GZIP_MORE, cases[c].room, &seed);
		pack_part(w, &out, text.at, 0, GZIP_FINISH, cases[c].room, &seed);
		back = unpacked(&out, text.len, &whole);
		UNIT_ROW(whole && same(&back, text.at, text.len), "RFC 1952: %s, %s: %zu of %zu bytes", efforts[e].name, cases[c].rule, back.len, text.len);
		UNIT_ROW(out.len < text.len + text.len / 100 + 100, "%s, %s: %zu became %zu", efforts[e].name, cases[c].rule, text.len, out.len);
		gzip_writer_free(&w);
		CU_ASSERT_PTR_NULL(w);
		free(back.at);
		free(out.at);
		free(text.at);
	}
}

/* Parts of any length are packed with or without a flush, into any room. What was flushed can be unpacked before more follows, also when the
 * same bytes were flushed twice. */
static void flushes(void)
{
	struct bytes text = text_of("words", TEXT_MAX);

	for (unsigned i = 0; i < SEEDS * COUNT(efforts); i++) {
		unsigned seed = i;
		struct gzip_writer *w = gzip_writer_new(efforts[i % COUNT(efforts)].effort);
		struct bytes out = bytes_of("", 0), back;
		size_t at = 0, most = dice(&seed, 3) ? 70000 : 50;
		bool whole;

		CU_ASSERT_PTR_NOT_NULL_FATAL(w);
		for (unsigned parts = 0; parts < 40; parts++) {
			enum gzip_flush flush = dice(&seed, 2) ? GZIP_FLUSH : GZIP_MORE;
			size_t n = dice(&seed, (unsigned)most);

			n = n < text.len - at ? n : text.len - at;
			pack_part(w, &out, text.at + at, n, flush, 0, &seed);
			at += n;
			if (flush != GZIP_FLUSH)
				continue;
			back = unpacked(&out, text.len, &whole);
			UNIT_ROW(!whole && same(&back, text.at, at), "streams stay streams: seed %u: %zu of %zu bytes", i, back.len, at);
			free(back.at);
		}
		pack_part(w, &out, text.at + at, 0, GZIP_FINISH, 0, &seed);
		back = unpacked(&out, text.len, &whole);
		UNIT_ROW(whole && same(&back, text.at, at), "seed %u: %zu of %zu bytes", i, back.len, at);
		gzip_writer_free(&w);
		free(back.at);
		free(out.at);
	}
	free(text.at);
}

/* Options gzip and gzip-fast say how long the packed text is. */
static size_t packed_by(enum gzip_effort effort, const struct bytes *text)
{
	struct gzip_writer *w = gzip_writer_new(effort);
	struct bytes out = bytes_of("", 0);
	unsigned seed = 1;
	size_t len;

	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	pack_part(w, &out, text->at, text->len, GZIP_FINISH, ROOM_MAX, &seed);
	len = out.len;
	gzip_writer_free(&w);
	free(out.at);
	return len;
}

static size_t packed_by_zlib(int level, const struct bytes *text)
{
	uLongf len = compressBound(text->len);
	uint8_t *out = malloc(len);

	CU_ASSERT_EQUAL_FATAL(compress2(out, &len, text->at, text->len, level), Z_OK);
	free(out);
	return len;
}

static void lengths(void)
{
	struct bytes text = text_of("words", TEXT_MAX);
	size_t fast = packed_by(GZIP_FAST, &text), small = packed_by(GZIP_SMALL, &text), by_1 = packed_by_zlib(1, &text), by_6 = packed_by_zlib(6, &text);

	UNIT_ROW(small <= by_6 + by_6 / SMALL_SHARE, "issue 16: small is within 3 %% of zlib's level 6: %zu, %zu", small, by_6);
	UNIT_ROW(fast <= by_1 + by_1 / 10, "issue 16: fast is about as long as zlib's level 1: %zu, %zu", fast, by_1);
	free(text.at);
}

UNIT_SUITE(gzip_writer, { "cuts", cuts }, { "flushes", flushes }, { "lengths", lengths })
