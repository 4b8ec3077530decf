/* Owns choosing the pieces of a text by which its charset is judged; see sample.h. */
#include "core/evidence/sample.h"

#include <string.h>

#include "core/text/utf8.h"

enum {
	SEGMENTS = 8,        /* the text is cut into so many, so that no part of it speaks alone */
	SEGMENT_BEYOND = 48, /* bytes beyond ASCII for each; a later one may use what earlier ones left */
	CONTEXT = 24,        /* ASCII bytes before and behind */
	PIECE = 256,
	/* pieces that one word may be the reason for: a word that is said often is no more evidence */
	REPEATS = 2,
	WORDS = 512,
	SAFE = 0x30 /* bytes below never belong to a longer character in any charset of the ASCII family */
};

/* Markup ends a piece: what stands beyond it is another text. */
static bool is_edge(uint8_t c)
{
	return c < 0x20 || c == '<' || c == '>' || c == '&' || c == '"';
}

static size_t next_wanted(const uint8_t *bytes, size_t at, size_t end, const bool wanted[256])
{
	for (;;) {
		at += utf8_ascii_prefix(bytes + at, end - at);
		if (at == end || !wanted || wanted[bytes[at]])
			return at;
		at++;
	}
}

/* Takes the piece around the byte at `at`, which starts at `floor` at the earliest; returns where it ends. */
static size_t take_piece(struct sample *s, const uint8_t *bytes, size_t len, size_t floor, size_t at)
{
	size_t from = at, to, last = at;

	while (from > floor && at - from < CONTEXT && !is_edge(bytes[from - 1]))
		from--;
	for (to = at; to < len && to - from < PIECE && to - last < CONTEXT && !is_edge(bytes[to]); to++)
		if (bytes[to] >= 0x80) {
			last = to;
			s->beyond++;
			s->has[bytes[to]] = true;
		}
	memcpy(s->bytes + s->len, bytes + from, to - from);
	s->len += to - from;
	s->bytes[s->len++] = '\n';
	return to;
}

/* With `wanted` the place may be anywhere in a run of long characters, so the piece starts behind the last safe
 * byte. */
static size_t piece_floor(const uint8_t *bytes, size_t floor, size_t at)
{
	size_t from = at;

	while (from > floor && bytes[from - 1] >= SAFE)
		from--;
	return from == floor || at - from <= PIECE / 2 ? from : at;
}

/* Where a walk through the text is, and what is behind it for good: the piece before, or a byte within a character. */
struct walk {
	const uint8_t *bytes;
	size_t len, at, floor;
	const bool *wanted;
	uint32_t words[WORDS];      /* hashes of words, with how often in the low bits; 0: a free place */
};

static bool is_in_word(uint8_t c)
{
	return c >= 0x80 || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Whether the word at w->at has been the reason for pieces often enough; then it is stepped over. A table that is full
 * knows no more words. */
static bool is_repeated(struct walk *w)
{
	enum { COUNT = 3 };
	size_t from = w->at, to = w->at;
	uint32_t hash = 2166136261u, *place;

	while (from > w->floor && w->at - from < PIECE && is_in_word(w->bytes[from - 1]))
		from--;
	for (to = from; to < w->len && to - from < PIECE && is_in_word(w->bytes[to]); to++)
		hash = (hash ^ w->bytes[to]) * 16777619u;
	hash = (hash << 2) | 4;
	for (size_t tries = 0; tries < 8; tries++) {
		place = &w->words[((hash >> 3) + tries) % WORDS];
		if (*place == 0)
			*place = hash;
		if ((*place & ~(uint32_t)COUNT) != hash)
			continue;
		if ((*place & COUNT) == REPEATS) {
			w->at = to > w->at ? to : w->at + 1;
			return true;
		}
		++*place;
		return false;
	}
	return false;
}

/* Takes the pieces around bytes before `end`, as long as there are fewer than `beyond` bytes beyond ASCII. */
static void take_segment(struct sample *s, struct walk *w, size_t end, size_t beyond)
{
	while (w->at < end) {
		w->at = next_wanted(w->bytes, w->at, end, w->wanted);
		if (w->at == end)
			return;
		if (s->beyond >= beyond || s->len + CONTEXT + PIECE + 1 > SAMPLE_BYTES) {
			s->whole = false;
			for (w->at = end; w->at < w->len && w->bytes[w->at] >= SAFE; w->at++)
				continue;
			w->floor = w->at;
			return;
		}
		if (is_repeated(w))
			continue;
		if (w->wanted)
			w->floor = piece_floor(w->bytes, w->floor, w->at);
		w->at = w->floor = take_piece(s, w->bytes, w->len, w->floor, w->at);
	}
}

void sample_take(struct sample *s, const uint8_t *bytes, size_t len, const bool wanted[256])
{
	struct walk w = { .bytes = bytes, .len = len, .wanted = wanted };
	size_t segment = len / SEGMENTS + 1;

	s->len = s->beyond = 0;
	memset(s->has, 0, sizeof s->has);
	s->whole = true;
	for (size_t k = 1; k <= SEGMENTS && w.at < len; k++)
		take_segment(s, &w, k * segment < len ? k * segment : len, k * SEGMENT_BEYOND);
}
