/* Owns the cases of proxy/http/head_lines.c: rows that name their rule, and random pieces beside a reader of single bytes.
 * Must not know: steps and blocks. Invariant: the random bytes are the same in every run. */
#include "proxy/http/head_lines.h"
#include "tests/unit/unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_MAX = 70, ROUNDS = 400 };

/* The answer for a copy of just that length, so that a sanitizer tells of a byte read behind it. */
static bool lines_valid(const char *bytes, size_t len, char before)
{
	char *copy = malloc(len ? len : 1);
	bool valid;

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	if (len)
		memcpy(copy, bytes, len);
	valid = head_lines_valid(copy, len, before);
	free(copy);
	return valid;
}

static void rules(void)
{
	static const struct { const char *rule, *bytes; char before; bool valid; } cases[] = {
		{ "nothing", "", 0, true },
		{ "nothing behind a CR", "", '\r', true },
		{ "RFC 9112 section 2.2: CRLF", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0, true },
		{ "RFC 9112 section 2.2: LF alone", "GET / HTTP/1.1\nHost: a\r\n\r\n", 0, false },
		{ "RFC 9112 section 2.2: CR alone", "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 0, false },
		{ "RFC 9112 section 2.2: two CR", "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", 0, false },
		{ "RFC 9112 section 5.2: folded by a blank", "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 0, false },
		{ "RFC 9112 section 5.2: folded by a tab", "GET / HTTP/1.1\r\nHost: a\r\n\tb\r\n\r\n", 0, false },
		{ "a CR that waits for its LF", "GET / HTTP/1.1\r", 0, true },
		{ "its LF", "\nHost: a\r\n", '\r', true },
		{ "another byte than its LF", "Host: a\r\n", '\r', false },
		{ "a CR behind a CR", "\r\n", '\r', false },
		{ "a LF behind nothing", "\n", 0, false },
		{ "a LF behind a letter", "\n", 'a', false },
		{ "a blank behind a LF", " a\r\n", '\n', false },
		{ "a tab behind a LF", "\ta\r\n", '\n', false },
		{ "a blank at the head's start", " a\r\n", 0, true },
		{ "bytes that differ from CR and LF by the eighth bit", "a\x8d\x8a\r\n", 0, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *bytes = cases[i].bytes;

		UNIT_ROW(lines_valid(bytes, strlen(bytes), cases[i].before) == cases[i].valid, "%s", cases[i].rule);
	}
}

/* The same, byte by byte. */
static bool reads_valid(const char *bytes, size_t len, char before)
{
	for (size_t i = 0; i < len; before = bytes[i++]) {
		if ((before == '\r') != (bytes[i] == '\n'))
			return false;
		if (before == '\n' && (bytes[i] == ' ' || bytes[i] == '\t'))
			return false;
	}
	return true;
}

static uint64_t next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

/* Letters with an end of a line in one place of eight or so, mostly a right one: the shortest pieces are mostly valid, the longest
 * mostly not. */
static void fill(char *piece, size_t len, uint64_t *state)
{
	static const char odd[] = "\r\n \t\x8d\x8a\n\r";

	for (size_t i = 0; i < len; i++) {
		uint64_t n = next(state) % 256;

		if (n < 28 && i + 1 < len) {
			piece[i++] = '\r';
			piece[i] = '\n';
		} else
			piece[i] = n < 34 ? odd[n % 8] : 'a';
	}
}

/* Every length up to some blocks and a rest, each piece whole and cut at every place. */
static void random_pieces(void)
{
	unsigned valid = 0, broken = 0;
	uint64_t state = 1;
	char bytes[PIECE_MAX];

	for (size_t len = 0; len <= PIECE_MAX; len++)
		for (int round = 0; round < ROUNDS; round++) {
			bool want;

			fill(bytes, len, &state);
			want = reads_valid(bytes, len, 0);
			valid += want;
			broken += !want;
			for (size_t cut = 0; cut <= len; cut++) {
				bool got = lines_valid(bytes, cut, 0) && lines_valid(bytes + cut, len - cut, cut ? bytes[cut - 1] : 0);

				if (got != want)
					UNIT_ROW(false, "length %zu, round %d, cut at %zu: %d", len, round, cut, got);
			}
		}
	CU_ASSERT(valid > 5000 && broken > 5000);
}

UNIT_SUITE(head_lines, { "rules", rules }, { "random pieces", random_pieces })
