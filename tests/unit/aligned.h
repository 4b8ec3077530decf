/* Owns whether a text still has each well-formed character of the bytes that it was made of.
 * Must not know: core. Well-formed is what Unicode's table 3-7 has. */
#ifndef UTFEED_TESTS_ALIGNED_H
#define UTFEED_TESTS_ALIGNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The length of the well-formed sequence that begins here; 0: none does. */
static inline size_t aligned_sequence(const uint8_t *p, size_t len)
{
	static const struct {
		uint8_t lead_min, lead_max, second_min, second_max;
		size_t len;
	} rows[] = {
		{ 0x00, 0x7F, 0, 0, 1 }, { 0xC2, 0xDF, 0x80, 0xBF, 2 }, { 0xE0, 0xE0, 0xA0, 0xBF, 3 }, { 0xE1, 0xEC, 0x80, 0xBF, 3 },
		{ 0xED, 0xED, 0x80, 0x9F, 3 }, { 0xEE, 0xEF, 0x80, 0xBF, 3 }, { 0xF0, 0xF0, 0x90, 0xBF, 4 }, { 0xF1, 0xF3, 0x80, 0xBF, 4 },
		{ 0xF4, 0xF4, 0x80, 0x8F, 4 },
	};
	size_t row = 0, rows_len = sizeof(rows) / sizeof(rows[0]);

	while (row < rows_len && (p[0] < rows[row].lead_min || p[0] > rows[row].lead_max))
		row++;
	if (row == rows_len || rows[row].len > len || (rows[row].len > 1 && (p[1] < rows[row].second_min || p[1] > rows[row].second_max)))
		return 0;
	for (size_t i = 2; i < rows[row].len; i++)
		if ((p[i] & 0xC0) != 0x80)
			return 0;
	return rows[row].len;
}

/* The bytes from here on that are well-formed; with `ill`, the bytes before the next well-formed sequence. */
static inline size_t aligned_run(const uint8_t *p, size_t len, bool ill)
{
	size_t at = 0, n;

	while (at < len && ((n = aligned_sequence(p + at, len - at)) == 0) == ill)
		at += ill ? 1 : n;
	return at;
}

/* Where in a text one may be after what was read so far: a flag for each offset. */
struct aligned {
	const uint8_t *text;
	size_t len;
	uint8_t *may;
};

static inline struct aligned aligned_begin(const uint8_t *text, size_t len)
{
	struct aligned a = { text, len, calloc(len + 1, 1) };

	if (!a.may)
		abort();
	a.may[0] = 1;
	return a;
}

/* These very bytes come next. */
static inline void aligned_expect(struct aligned *a, const uint8_t *bytes, size_t n)
{
	for (size_t at = a->len + 1; at-- > 0;)
		a->may[at] = at >= n && a->may[at - n] && memcmp(a->text + at - n, bytes, n) == 0;
}

/* Up to so many characters may come next, whichever. */
static inline void aligned_allow(struct aligned *a, size_t most)
{
	size_t left = 0;

	for (size_t at = 0; at <= a->len; at++) {
		bool begins = at == a->len || (a->text[at] & 0xC0) != 0x80;

		if (a->may[at])
			left = most + 1;
		a->may[at] = begins && left > 0;
		left -= begins && left > 0;
	}
}

/* Whether the text can have ended here. */
static inline bool aligned_end(struct aligned *a)
{
	bool ends = a->may[a->len];

	free(a->may);
	return ends;
}

/* Whether the text has each well-formed character of the bytes, in order. Where the bytes are ill-formed, the text has at most as many
 * characters as there are such bytes. */
static inline bool aligned(const uint8_t *bytes, size_t len, const uint8_t *text, size_t text_len)
{
	struct aligned a = aligned_begin(text, text_len);

	for (size_t at = 0; at < len;) {
		size_t right = aligned_run(bytes + at, len - at, false), other = aligned_run(bytes + at + right, len - at - right, true);

		aligned_expect(&a, bytes + at, right);
		aligned_allow(&a, other);
		at += right + other;
	}
	return aligned_end(&a);
}

/* The bytes up to the next "<" or ">". */
static inline size_t aligned_node(const uint8_t *bytes, size_t len)
{
	size_t at = 0;

	while (at < len && bytes[at] != '<' && bytes[at] != '>')
		at++;
	return at;
}

/* The same by nodes: a node stands between two of "<" and ">". If a node is not well-formed, all characters behind its first byte
 * beyond ASCII may differ. */
static inline bool aligned_by_nodes(const uint8_t *bytes, size_t len, const uint8_t *text, size_t text_len)
{
	struct aligned a = aligned_begin(text, text_len);

	for (size_t at = 0, node; at < len; at += node + (at + node < len)) {
		size_t right = 0;

		node = aligned_node(bytes + at, len - at);
		while (right < node && bytes[at + right] < 0x80)
			right++;
		if (aligned_run(bytes + at, node, false) == node)
			right = node;
		aligned_expect(&a, bytes + at, right);
		aligned_allow(&a, node - right);
		aligned_expect(&a, bytes + at + node, at + node < len);
	}
	return aligned_end(&a);
}

#endif
