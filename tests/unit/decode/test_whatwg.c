/* Owns the proof that every decoder of the Encoding Standard (WHATWG) but `replacement` reads every string as the standard does: a digest of
 * all that it writes, for each of the 39, and the same strings one by one beside encoding_rs, where that is installed.
 * Must not know: any mapping.
 * Invariant: the strings do not depend on what the decoders do, so that a digest tells two ways of decoding apart.
 *
 * The strings: every one of one and two bytes up to the end of the input; every one of three bytes from 80 on, before a line feed; gb18030's
 * codes of four bytes, UTF-8's sequences of four; every string of the bytes that mean most to the encoding, up to a length; ISO-2022-JP's also
 * behind each escape sequence; and long ones at random, cut at random. A digest has what was written and how many sequences were malformed.
 *
 * tests/check-whatwg.sh builds the peer, and with --record writes the digests (whatwg.def) where it has found no difference. */
#include "tests/unit/decoding.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <stdio.h>

enum sort { SINGLE, DOUBLE, GB18030, UTF_8, UTF_16, ISO_2022_JP };

static const struct encoding {
	const char *name;
	enum sort sort;
	uint64_t digest;
} encodings[] = {
#define WHATWG(name, sort, digest) { name, sort, digest },
#include "tests/unit/decode/whatwg.def"
#undef WHATWG
};

enum { ENCODING_COUNT = sizeof encodings / sizeof encodings[0], SHOWN = 5 };

/* What the strings of one encoding are given to. */
struct reader {
	const struct encoding *encoding;
	enum charset charset;
	uint64_t digest;
	uint64_t random;            /* where the sequence of random strings stands */
	unsigned long strings, different;
};

/* encoding_rs by tests/bench/rival_encoding_rs.rs; NULL: it is not here, and digests are made. */
typedef int64_t whatwg_decode_fn(const char *name, const uint8_t *in, size_t len, uint8_t *out, size_t cap, uint64_t *malformed);
static whatwg_decode_fn *peer;

enum { STREAM_MAX = 65536 * 9, OUT_MAX = 4 * STREAM_MAX };
static uint8_t stream[STREAM_MAX], ours[OUT_MAX], theirs[OUT_MAX];

/* The next of a fixed sequence of random numbers (SplitMix64). */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
	z = (z ^ z >> 27) * 0x94D049BB133111EB;
	return z ^ z >> 31;
}

/* FNV-1a of 64 bits. */
static uint64_t digest_bytes(uint64_t digest, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		digest = (digest ^ bytes[i]) * 0x100000001B3;
	return digest;
}

static uint64_t digest_number(uint64_t digest, uint64_t number)
{
	for (unsigned i = 0; i < 64; i += 8)
		digest = (digest ^ (number >> i & 0xFF)) * 0x100000001B3;
	return digest;
}

/* How long the next piece is: mostly a few bytes. */
static size_t random_piece(uint64_t *random)
{
	uint64_t number = random_next(random);

	return 1 + (number >> 3) % (number % 8 ? 8 : 4096);
}

/* Decodes one string, where `cuts` is not NULL in pieces of random length. */
static size_t decode(enum charset charset, const uint8_t *in, size_t len, uint64_t *cuts, uint64_t *malformed)
{
	struct decoder *decoder = decoder_new(charset, 0);
	size_t got = 0, used;

	CU_ASSERT_PTR_NOT_NULL_FATAL(decoder);
	for (size_t at = 0; at < len; at += used) {
		size_t piece = cuts ? random_piece(cuts) : len;

		got += decoder_feed(decoder, in + at, piece < len - at ? piece : len - at, &used, ours + got, sizeof ours - got);
	}
	got += decoder_finish(decoder, ours + got, sizeof ours - got);
	*malformed = decoder_malformed(decoder);
	decoder_free(&decoder);
	return got;
}

static void hex_of(const uint8_t *bytes, size_t len, char *text, size_t cap)
{
	text[0] = '\0';
	for (size_t i = 0, at = 0; i < len && at + 4 < cap; i++)
		at += (size_t)snprintf(text + at, cap - at, "%02X ", bytes[i]);
}

static bool compare(struct reader *r, const uint8_t *in, size_t len, size_t got, uint64_t malformed, bool show)
{
	uint64_t peer_malformed;
	int64_t peer_got = peer(r->encoding->name, in, len, theirs, sizeof theirs, &peer_malformed);
	char in_hex[64], our_hex[64], their_hex[64];

	CU_ASSERT_FATAL(peer_got >= 0);
	if (got == (size_t)peer_got && malformed == peer_malformed && memcmp(ours, theirs, got) == 0)
		return true;
	if (!show || r->different++ >= SHOWN)
		return false;
	hex_of(in, len, in_hex, sizeof in_hex);
	hex_of(ours, got, our_hex, sizeof our_hex);
	hex_of(theirs, (size_t)peer_got, their_hex, sizeof their_hex);
	UNIT_ROW(false, "%s: %sbecomes %s(%u malformed), not %s(%u)", r->encoding->name, in_hex, our_hex, (unsigned)malformed, their_hex,
	    (unsigned)peer_malformed);
	return false;
}

static void read_string(struct reader *r, const uint8_t *in, size_t len)
{
	uint64_t malformed;
	size_t got = decode(r->charset, in, len, NULL, &malformed);

	r->strings++;
	if (peer)
		compare(r, in, len, got, malformed, true);
	else
		r->digest = digest_number(digest_bytes(r->digest, ours, got), malformed);
}

/* Strings of `each` bytes one behind another, the last bytes of each such that the next is read as by a new decoder. */
static void read_stream(struct reader *r, size_t len, size_t each)
{
	uint64_t malformed;
	size_t got = decode(r->charset, stream, len, NULL, &malformed);

	r->strings += len / each;
	if (!peer)
		r->digest = digest_number(digest_bytes(r->digest, ours, got), malformed);
	else if (!compare(r, stream, len, got, malformed, false))
		for (size_t at = 0; at < len; at += each)
			read_string(r, stream + at, each);
}

static void all_of_one_and_two_bytes(struct reader *r)
{
	read_string(r, NULL, 0);
	for (unsigned first = 0; first < 256; first++) {
		uint8_t bytes[2] = { (uint8_t)first, 0 };

		read_string(r, bytes, 1);
		for (unsigned second = 0; second < 256; second++) {
			bytes[1] = (uint8_t)second;
			read_string(r, bytes, 2);
		}
	}
}

static void all_of_three_bytes(struct reader *r)
{
	for (unsigned first = 0x80; first < 0x100; first++) {
		for (unsigned i = 0; i < 65536; i++)
			memcpy(stream + (size_t)4 * i, (const uint8_t[]){ (uint8_t)first, (uint8_t)(i >> 8), (uint8_t)i, '\n' }, 4);
		read_stream(r, (size_t)65536 * 4, 4);
	}
}

static void all_pairs_of_iso_2022_jp(struct reader *r)
{
	static const char escapes[4] = { 'B', '@', 'J', 'I' };

	for (size_t escape = 0; escape < sizeof escapes; escape++) {
		for (unsigned i = 0; i < 65536; i++) {
			const uint8_t string[] = { 0x1B, escape < 2 ? '$' : '(', (uint8_t)escapes[escape], (uint8_t)(i >> 8), (uint8_t)i, 0x1B,
				'(', 'B', '\n' };

			memcpy(stream + sizeof string * i, string, sizeof string);
		}
		read_stream(r, (size_t)65536 * 9, 9);
	}
}

static void all_four_byte_codes_of_gb18030(struct reader *r)
{
	for (unsigned pair = 0; pair < 1260; pair++) {
		for (unsigned i = 0; i < 1260; i++)
			memcpy(stream + (size_t)5 * i, (const uint8_t[]){ (uint8_t)(0x81 + pair / 10), (uint8_t)(0x30 + pair % 10),
			    (uint8_t)(0x81 + i / 10), (uint8_t)(0x30 + i % 10), '\n' }, 5);
		read_stream(r, (size_t)1260 * 5, 5);
	}
}

static void all_four_byte_sequences_of_utf_8(struct reader *r)
{
	static const uint8_t last[] = { 0x7F, 0x80, 0xBF, 0xC0 };

	for (unsigned i = 0; i < sizeof last * 6 * 256; i++) {
		for (unsigned third = 0; third < 256; third++)
			memcpy(stream + (size_t)5 * third, (const uint8_t[]){ (uint8_t)(0xF0 + i / 256 % 6), (uint8_t)i, (uint8_t)third,
			    last[i / 256 / 6], '\n' }, 5);
		read_stream(r, (size_t)256 * 5, 5);
	}
}

/* The bytes at which the decoders of a sort do something else than at their neighbours, and up to how many of them are in a string. */
static const struct alphabet {
	const char *bytes;
	unsigned count, longest;
} alphabets[] = {
	[SINGLE] = { "\x00\x41\x80\xFF", 4, 4 },
	[DOUBLE] = { "\x0A\x40\x7E\x7F\x80\x81\x8E\x8F\xA1\xC6\xFE\xFF", 12, 4 },
	[GB18030] = { "\x0A\x30\x39\x40\x80\x81\x84\xE3\xFE\xFF", 10, 5 },
	[UTF_8] = { "\x0A\x7F\x80\x8F\x90\x9F\xA0\xBF\xC2\xE0\xED\xF0\xF4", 13, 4 },
	[UTF_16] = { "\x00\x0A\xD7\xD8\xDB\xDC\xDF\xE0\xFE\xFF", 10, 5 },
	[ISO_2022_JP] = { "\x0A\x0E\x1B\x20\x21\x24\x28\x40\x42\x44\x49\x4A\x5C\x7E\x7F\x80", 16, 4 },
};

static const struct prefix {
	const char *bytes;
	size_t len;
} prefixes[] = { { "", 0 }, { "\x1B(B", 3 }, { "\x1B(J", 3 }, { "\x1B(I", 3 }, { "\x1B$@", 3 }, { "\x1B$B!", 4 } };

static void all_of_the_alphabet(struct reader *r)
{
	const struct alphabet *alphabet = &alphabets[r->encoding->sort];
	size_t prefix_count = r->encoding->sort == ISO_2022_JP ? sizeof prefixes / sizeof prefixes[0] : 1;
	unsigned longest = alphabet->longest;
	unsigned long count = 1;

	if (peer)
		longest++;
	for (unsigned len = 1; len <= longest; len++) {
		count *= alphabet->count;
		for (unsigned long i = 0; i < count * prefix_count; i++) {
			const struct prefix *prefix = &prefixes[i / count];
			uint8_t string[16];
			unsigned long rest = i % count;

			memcpy(string, prefix->bytes, prefix->len);
			for (unsigned k = 0; k < len; k++, rest /= alphabet->count)
				string[prefix->len + k] = (uint8_t)alphabet->bytes[rest % alphabet->count];
			read_string(r, string, prefix->len + len);
		}
	}
}

/* Rounds of all bytes, of those from 80 on, and of ASCII; half of the bytes, or one in 1024 of the ASCII, from the alphabet. */
static uint8_t random_byte(const struct alphabet *alphabet, unsigned round, uint64_t number)
{
	static const struct {
		uint64_t often;         /* a byte of the alphabet unless number has one of these bits */
		uint8_t set, kept;
	} rounds[] = { { 1 << 8, 0, 0xFF }, { 1 << 8, 0x80, 0xFF }, { 0x3FF << 8, 0x40, 0x7F } };
	unsigned kind = round % 3;

	if ((number & rounds[kind].often) == 0)
		return (uint8_t)alphabet->bytes[(number >> 32) % alphabet->count];
	return (uint8_t)((number | rounds[kind].set) & rounds[kind].kept);
}

static void long_ones_at_random(struct reader *r)
{
	const struct alphabet *alphabet = &alphabets[r->encoding->sort];

	for (unsigned round = 0; round < 18; round++) {
		uint64_t malformed, cuts;
		size_t got;

		for (size_t i = 0; i < 65536; i++) {
			stream[i] = random_byte(alphabet, round, random_next(&r->random));
		}
		cuts = r->random;
		got = decode(r->charset, stream, 65536, &cuts, &malformed);
		r->strings++;
		if (peer)
			compare(r, stream, 65536, got, malformed, true);
		else
			r->digest = digest_number(digest_bytes(r->digest, ours, got), malformed);
	}
}

static void read_all(struct reader *r)
{
	enum sort sort = r->encoding->sort;

	all_of_one_and_two_bytes(r);
	if (sort == DOUBLE || sort == GB18030 || sort == UTF_8)
		all_of_three_bytes(r);
	if (sort == GB18030)
		all_four_byte_codes_of_gb18030(r);
	if (sort == UTF_8)
		all_four_byte_sequences_of_utf_8(r);
	if (sort == ISO_2022_JP)
		all_pairs_of_iso_2022_jp(r);
	all_of_the_alphabet(r);
	long_ones_at_random(r);
}

static struct reader reader_of(const struct encoding *encoding)
{
	return (struct reader){ .encoding = encoding, .charset = charset_lookup(encoding->name, strlen(encoding->name))->charset,
		.digest = 0xCBF29CE484222325 };
}

/* A row of whatwg.def as it would have to be. */
static void record(FILE *file, const struct reader *r)
{
	static const char *const sorts[] = { "SINGLE", "DOUBLE", "GB18030", "UTF_8", "UTF_16", "ISO_2022_JP" };

	fprintf(file, "WHATWG(\"%s\", %s, 0x%016llX)\n", r->encoding->name, sorts[r->encoding->sort], (unsigned long long)r->digest);
}

static void digests(void)
{
	const char *path = getenv("UTFEED_WHATWG_RECORD");
	FILE *file;

	if (UNIT_RACES_ONLY)
		UNIT_SKIP("one thread has no races");
	file = path ? fopen(path, "w") : NULL;
	CU_ASSERT_FATAL(!path || file);
	for (size_t i = 0; i < ENCODING_COUNT; i++) {
		struct reader r = reader_of(&encodings[i]);

		read_all(&r);
		if (file)
			record(file, &r);
		else
			UNIT_ROW(r.digest == encodings[i].digest, "%s: 0x%016llX over %lu strings", encodings[i].name, (unsigned long long)r.digest,
		    r.strings);
	}
	if (file)
		CU_ASSERT_EQUAL(fclose(file), 0);
}

/* tests/check-whatwg.sh names the library, and the encodings that its version reads otherwise. */
static void beside_encoding_rs(void)
{
	const char *path = getenv("UTFEED_WHATWG_PEER"), *without = getenv("UTFEED_WHATWG_WITHOUT");
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	void *symbol = library ? dlsym(library, "whatwg_decode") : NULL;

	if (!path)
		UNIT_SKIP("no encoding_rs (tests/check-whatwg.sh)");
	CU_ASSERT_PTR_NOT_NULL_FATAL(symbol);
	memcpy(&peer, &symbol, sizeof peer);
	for (size_t i = 0; i < ENCODING_COUNT; i++) {
		struct reader r = reader_of(&encodings[i]);

		if (without && strstr(without, encodings[i].name))
			continue;
		read_all(&r);
		UNIT_ROW(r.different == 0, "%s: %lu of %lu strings differ", encodings[i].name, r.different, r.strings);
	}
	peer = NULL;
}

UNIT_SUITE(whatwg, { "digests", digests }, { "beside encoding_rs", beside_encoding_rs })
