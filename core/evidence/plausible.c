/* Owns one question: whether bytes decoded as this charset read like text at all.
 * Must not know: labels, policies, languages.
 * Flaws are features that a wrong charset gives to any text and that hardly any text has by itself: controls and
 * private characters; letters of two alphabets in one word; symbols inside words; capitals after small letters, or more
 * capitals than small letters; four accented Latin letters in a row. The two-byte sets sort their common characters
 * first (JIS X 0208, GB 2312, Big5, KS X 1001: "level 1"). There flaws are also characters beyond these (where such are
 * few, only those next to ASCII letters), Japanese without kana, and Chinese from one half of its rows only. */
#include "core/evidence/plausible.h"

#include <stdbool.h>
#include <string.h>

#include "core/decode/decoder.h"
#include "core/evidence/scan.h"
#include "core/text/utf8.h"

enum {
	PLAUSIBLE_MAX_BYTES = 16384,
	PLAUSIBLE_ENOUGH = 1024,    /* bytes beyond ASCII that are enough of a sample */
	PLAUSIBLE_LEAD = 16,        /* bytes of context before the first that is not ASCII: its word may start there */
	RUN = 4,                    /* accented Latin letters in a row that no language writes often */
	FEW = 8,                    /* with fewer characters a share of them means nothing */
	MANY = 20                   /* with so many characters it means something that a kind of them is missing */
};

enum glyph {
	G_BREAK,                    /* between words: space, digits, ASCII punctuation */
	G_ASCII, G_LATIN, G_GREEK, G_CYRILLIC, G_HEBREW, G_ARABIC, G_THAI, G_CJK, G_HANGUL,
	G_MARK, G_THAI_MARK,        /* combining marks, which belong to the letter before */
	G_INNER,                    /* may stand in a word: apostrophe, middle dot, soft hyphen, ordinal signs */
	G_PUNCTUATION,              /* beside a word, not inside: quotes, dashes, inverted marks, trade marks */
	G_SYMBOL,                   /* stands apart from words */
	G_HALF,                     /* half-width katakana */
	G_BAD                       /* does not occur in text */
};

/* Ranges by their last character (Unicode's blocks, joined where they count alike). */
static const struct {
	uint32_t last;
	enum glyph glyph;
} glyphs[] = {
	{ 0x7F, G_BREAK /* ascii_glyph() */ }, { 0x9F, G_BAD },
	{ 0xA0, G_BREAK }, { 0xA1, G_PUNCTUATION }, { 0xA8, G_SYMBOL }, { 0xA9, G_PUNCTUATION }, { 0xAA, G_INNER },
	{ 0xAB, G_PUNCTUATION }, { 0xAC, G_SYMBOL }, { 0xAD, G_INNER }, { 0xAE, G_PUNCTUATION }, { 0xB6, G_SYMBOL },
	{ 0xB7, G_INNER }, { 0xB9, G_SYMBOL }, { 0xBA, G_INNER }, { 0xBB, G_PUNCTUATION }, { 0xBE, G_SYMBOL },
	{ 0xBF, G_PUNCTUATION }, { 0xD6, G_LATIN }, { 0xD7, G_SYMBOL }, { 0xF6, G_LATIN }, { 0xF7, G_SYMBOL },
	{ 0x024F, G_LATIN }, { 0x02FF, G_SYMBOL }, { 0x036F, G_MARK }, { 0x0383, G_SYMBOL }, { 0x03FF, G_GREEK },
	{ 0x052F, G_CYRILLIC }, { 0x058F, G_BAD }, { 0x05FF, G_HEBREW }, { 0x06FF, G_ARABIC }, { 0x0E00, G_BAD },
	{ 0x0E30, G_THAI }, { 0x0E31, G_THAI_MARK }, { 0x0E33, G_THAI }, { 0x0E3A, G_THAI_MARK }, { 0x0E3E, G_BAD },
	{ 0x0E3F, G_SYMBOL }, { 0x0E46, G_THAI }, { 0x0E4E, G_THAI_MARK }, { 0x0E5B, G_THAI }, { 0x10FF, G_BAD },
	{ 0x11FF, G_HANGUL }, { 0x1DFF, G_BAD }, { 0x1EFF, G_LATIN }, { 0x1FFF, G_GREEK }, { 0x200F, G_INNER },
	{ 0x2018, G_PUNCTUATION }, { 0x2019, G_INNER }, { 0x203A, G_PUNCTUATION }, { 0x2121, G_SYMBOL },
	{ 0x2122, G_PUNCTUATION }, { 0x2FFF, G_SYMBOL }, { 0x3004, G_SYMBOL }, { 0x3007, G_CJK },
	{ 0x303F, G_PUNCTUATION },
	{ 0x312F, G_CJK }, { 0x318F, G_HANGUL }, { 0x33FF, G_SYMBOL }, { 0x9FFF, G_CJK }, { 0xABFF, G_BAD },
	{ 0xD7FF, G_HANGUL }, { 0xF8FF, G_BAD }, { 0xFAFF, G_CJK }, { 0xFE2F, G_BAD }, { 0xFEFE, G_SYMBOL },
	{ 0xFEFF, G_BREAK }, { 0xFF5E, G_CJK }, { 0xFF60, G_PUNCTUATION }, { 0xFF9F, G_HALF }, { 0xFFEF, G_SYMBOL },
	{ 0x1FFFF, G_BAD }, { 0x2FFFF, G_CJK }, { 0x10FFFF, G_BAD },
};

/* The range of a character. Text mostly stays within one range, so the latest is tried first. */
static size_t range_of(uint32_t c, size_t latest)
{
	size_t low = 0, high = sizeof glyphs / sizeof glyphs[0] - 1, mid;

	if (c <= glyphs[latest].last && (latest == 0 || c > glyphs[latest - 1].last))
		return latest;
	while (low < high) {
		mid = (low + high) / 2;
		if (c <= glyphs[mid].last)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* Case is known only for the letters that single-byte sets have in different places. */
enum letter_case { CASELESS, SMALL, CAPITAL };

static const uint8_t cases[0x0460] = {
	['a' ... 'z'] = SMALL, [0xDF ... 0xFF] = SMALL, [0x03AC ... 0x03CE] = SMALL, [0x0430 ... 0x045F] = SMALL,
	['A' ... 'Z'] = CAPITAL, [0xC0 ... 0xDE] = CAPITAL, [0x0386 ... 0x03AB] = CAPITAL,
	[0x0400 ... 0x042F] = CAPITAL,
};

static enum letter_case case_of(uint32_t c)
{
	return c < sizeof cases ? cases[c] : CASELESS;
}

static bool is_alphabet(enum glyph g)
{
	return g >= G_LATIN && g <= G_THAI;
}

struct reading {
	enum glyph before, before_that;     /* the last two glyphs, without combining marks */
	enum letter_case case_before;
	size_t run;                 /* accented Latin letters in a row */
	size_t small, capital;      /* letters beyond ASCII */
	size_t characters, flaws;   /* characters beyond ASCII, and all flaws */
	size_t faults;              /* the flaws that no writer makes (is_fault()) */
	size_t range;               /* of the latest character beyond ASCII */
};

static bool is_letter(enum glyph g)
{
	return g >= G_ASCII && g <= G_THAI;
}

/* Whether two neighbours cannot stand in one word. */
static bool clash(enum glyph a, enum glyph b)
{
	enum glyph low = a < b ? a : b, high = a < b ? b : a;

	if (low == high || low == G_BREAK)
		return false;
	if (low == G_ASCII)
		return high == G_GREEK || high == G_CYRILLIC || high == G_HEBREW || high == G_ARABIC;
	if (is_alphabet(low))
		return (is_alphabet(high) || high == G_CJK || high == G_HANGUL);
	return low == G_CJK && high == G_HANGUL;
}

/* A flaw that no writer makes in any text. */
static bool is_fault(const struct reading *r, enum glyph g, bool beyond, enum letter_case k)
{
	if (g == G_BAD || g == G_HALF || clash(r->before, g))
		return true;
	return k == CAPITAL && r->case_before == SMALL && (beyond || r->before != G_ASCII);
}

/* A flaw that some writers make now and then: "km\u00b2" counts as one, though it is right. */
static bool is_oddity(const struct reading *r, enum glyph g)
{
	if ((g == G_SYMBOL && is_letter(r->before)) || (is_letter(g) && r->before == G_SYMBOL))
		return true;
	return is_letter(g) && r->before == G_PUNCTUATION && is_letter(r->before_that);
}

static enum glyph ascii_glyph(uint8_t c)
{
	return scan_is_letter(c) ? G_ASCII : G_BREAK;
}

static void read_glyph(struct reading *r, enum glyph g, enum letter_case k, bool beyond)
{
	bool fault;

	if (g == G_BREAK) {         /* it is never a flaw and never a letter */
		r->run = 0;
		r->before_that = r->before;
		r->before = g;
		r->case_before = k;
		return;
	}
	r->characters += beyond;
	if (g == G_MARK || g == G_THAI_MARK) {
		fault = g == G_MARK ? !is_letter(r->before) : r->before != G_THAI;
		r->faults += fault;
		r->flaws += fault;
		return;
	}
	fault = is_fault(r, g, beyond, k);
	r->faults += fault;
	r->flaws += fault || is_oddity(r, g);
	r->run = g == G_LATIN ? r->run + 1 : 0;
	if (r->run >= RUN)
		r->flaws += r->run == RUN ? RUN : 1;
	if (beyond) {
		r->small += k == SMALL;
		r->capital += k == CAPITAL;
	}
	r->before_that = r->before;
	r->before = g;
	r->case_before = k;
}

/* In a run of ASCII only the first character can be a flaw, and only the last two matter for the character behind
 * it. */
static const uint8_t *plausible_read_ascii(struct reading *r, const uint8_t *p, size_t len)
{
	size_t run = utf8_ascii_prefix(p, len), i;

	read_glyph(r, ascii_glyph(p[0]), case_of(p[0]), false);
	for (i = run > 3 ? run - 2 : 1; i < run; i++)
		read_glyph(r, ascii_glyph(p[i]), case_of(p[i]), false);
	return p + run;
}

/* Reads a character beyond ASCII, which is well-formed by the decoder's invariant. */
static uint32_t next_character(const uint8_t **p)
{
	const uint8_t *b = *p;
	size_t more = b[0] < 0xE0 ? 1 : b[0] < 0xF0 ? 2 : 3, i;
	uint32_t c = (b[0] & (0x3Fu >> more)) << 6 | (b[1] & 0x3F);

	for (i = 2; i <= more; i++)
		c = c << 6 | (b[i] & 0x3F);
	*p += 1 + more;
	return c;
}

struct letter {
	enum glyph glyph : 8;
	enum letter_case letter_case : 8;
};

/* Whether the letter is never a flaw behind another one of the same alphabet. */
static bool is_plain(struct letter l)
{
	return l.glyph >= G_GREEK && l.glyph <= G_HANGUL && l.letter_case != CAPITAL;
}

/* A short form of read_glyph() for plain letters behind one of their own alphabet, which most text consists of. */
static void read_more(struct reading *r, struct letter l, size_t count)
{
	if (count == 0)
		return;
	r->characters += count;
	r->small += l.letter_case == SMALL ? count : 0;
	r->before_that = l.glyph;
	r->case_before = l.letter_case;
}

static struct letter next_letter(struct reading *r, const uint8_t **p)
{
	uint32_t c = next_character(p);

	r->range = range_of(c, r->range);
	return (struct letter){ glyphs[r->range].glyph, case_of(c) };
}

static void read_letter(struct reading *r, struct letter l)
{
	if (l.glyph == r->before && is_plain(l))
		read_more(r, l, 1);
	else
		read_glyph(r, l.glyph, l.letter_case, true);
}

static void read_decoded(struct reading *r, struct decoder *d, const uint8_t *bytes, size_t len)
{
	uint8_t out[4096];
	const uint8_t *p;
	size_t used, n;

	while (len > 0) {
		n = decoder_feed(d, bytes, len, &used, out, sizeof out);
		bytes += used, len -= used;
		for (p = out; p < out + n;)
			if (*p < 0x80)
				p = plausible_read_ascii(r, p, (size_t)(out + n - p));
			else
				read_letter(r, next_letter(r, &p));
	}
}

/* Finds the letter of each byte from 0x80 on. False: the set is not one in which each such byte is one character and
 * the bytes below are ASCII. */
static bool know_letters(struct reading *r, struct decoder *d, struct letter letters[128])
{
	uint8_t bytes[256], out[1024];
	const uint8_t *p = out + 128;
	size_t used, n, i;

	for (i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)i;
	n = decoder_feed(d, bytes, sizeof bytes, &used, out, sizeof out);
	if (used < sizeof bytes || memcmp(out, bytes, 128) != 0)
		return false;
	for (i = 0; i < 128 && p < out + n && *p >= 0x80; i++)
		letters[i] = next_letter(r, &p);
	return i == 128 && p == out + n;
}

static bool same_letter(struct letter a, struct letter b)
{
	return a.glyph == b.glyph && a.letter_case == b.letter_case;
}

static void plausible_read_bytes(struct reading *r, const struct letter letters[128], const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len, *run;
	struct letter l;

	while (p < end) {
		if (*p < 0x80) {
			p = plausible_read_ascii(r, p, (size_t)(end - p));
			continue;
		}
		l = letters[*p++ - 0x80];
		read_letter(r, l);
		if (!is_plain(l))
			continue;
		for (run = p; p < end && *p >= 0x80 && same_letter(letters[*p - 0x80], l);)
			p++;
		read_more(r, l, (size_t)(p - run));
	}
}

static int read_text(struct reading *r, enum charset cs, const uint8_t *bytes, size_t len)
{
	struct decoder *d = decoder_new(cs, 0);
	struct letter letters[128];

	if (d == NULL)
		return -1;
	if (charset_info(cs)->kind == KIND_SINGLE_BYTE && know_letters(r, d, letters))
		plausible_read_bytes(r, letters, bytes, len);
	else
		read_decoded(r, d, bytes, len);
	decoder_free(&d);
	if (r->capital > r->small && r->capital >= MANY)
		r->flaws += r->capital - r->small;
	return 0;
}

/* Kinds of rows in the two-byte sets, by their first bytes. tail_from: the lowest second byte. */
static const struct {
	enum charset charset;
	uint8_t from, to, tail_from;
	enum { ROW_SIGN, ROW_LEVEL_1, ROW_LATE, ROW_KANA } row;
} rows[] = {
	{ CS_GB18030,   0xA1, 0xA3, 0xA1, ROW_SIGN }, { CS_GB18030,   0xB0, 0xC8, 0xA1, ROW_LEVEL_1 },
	{ CS_GB18030,   0xC9, 0xD7, 0xA1, ROW_LATE },
	{ CS_BIG5,      0xA1, 0xA3, 0x40, ROW_SIGN }, { CS_BIG5,      0xA4, 0xC6, 0x40, ROW_LEVEL_1 },
	{ CS_EUC_KR,    0xA1, 0xA3, 0xA1, ROW_SIGN }, { CS_EUC_KR,    0xB0, 0xC8, 0xA1, ROW_LEVEL_1 },
	{ CS_EUC_JP,    0xA1, 0xA3, 0xA1, ROW_SIGN }, { CS_EUC_JP,    0xB0, 0xCF, 0xA1, ROW_LEVEL_1 },
	{ CS_EUC_JP,    0xA4, 0xA5, 0xA1, ROW_KANA },
	{ CS_SHIFT_JIS, 0x81, 0x81, 0x40, ROW_SIGN }, { CS_SHIFT_JIS, 0x88, 0x98, 0x40, ROW_LEVEL_1 },
	{ CS_SHIFT_JIS, 0x82, 0x83, 0x40, ROW_KANA },
};

static bool is_half_kana(enum charset cs, uint8_t c)
{
	return cs == CS_SHIFT_JIS && c >= 0xA1 && c <= 0xDF;
}

/* Counts the flaws of two-byte sets. The decoder has accepted the bytes, so every lead byte has its second byte. */
static void read_rows(struct reading *r, enum charset cs, const uint8_t *b, size_t len)
{
	size_t seen[4] = { 0 }, total = 0, beyond = 0, glued = 0, i, k;
	const size_t n_rows = sizeof rows / sizeof rows[0];

	for (i = 0; i + 1 < len; i++) {
		if (b[i] < 0x80 || is_half_kana(cs, b[i]))
			continue;
		total++;
		for (k = 0; k < n_rows; k++)
			if (rows[k].charset == cs && b[i] >= rows[k].from && b[i] <= rows[k].to &&
			    b[i + 1] >= rows[k].tail_from)
				break;
		if (k < n_rows)
			seen[rows[k].row]++;
		else
			beyond++,
			    glued += (i > 0 && scan_is_letter(b[i - 1])) || (i + 2 < len && scan_is_letter(b[i + 2]));
		i++;
	}
	r->flaws += total >= FEW ? beyond : glued;
	r->faults += glued;
	if (total < MANY)
		return;
	if ((cs == CS_EUC_JP || cs == CS_SHIFT_JIS) && seen[ROW_KANA] < total / 20)
		r->flaws += total / 2;
	if (cs == CS_GB18030 && seen[ROW_LATE] < total / 10)
		r->flaws += total / 2;
}

static int read_sample(struct reading *r, enum charset cs, const uint8_t *bytes, size_t len)
{
	size_t first = utf8_ascii_prefix(bytes, len);

	if (first == len)
		return 0;
	first = first > PLAUSIBLE_LEAD ? first - PLAUSIBLE_LEAD : 0;
	bytes += first, len -= first;
	len = utf8_sample(bytes, len < PLAUSIBLE_MAX_BYTES ? len : PLAUSIBLE_MAX_BYTES, PLAUSIBLE_ENOUGH);
	if (read_text(r, cs, bytes, len) != 0)
		return -1;
	if (charset_info(cs)->kind == KIND_DOUBLE_BYTE)
		read_rows(r, cs, bytes, len);
	return 0;
}

int plausible_flaws(enum charset cs, const uint8_t *bytes, size_t len)
{
	struct reading r = { .before = G_BREAK };

	if (read_sample(&r, cs, bytes, len) != 0)
		return -1;
	if (r.characters == 0)
		return 0;
	return r.flaws >= r.characters ? PLAUSIBLE_WORST : (int)(r.flaws * PLAUSIBLE_WORST / r.characters);
}

int plausible_is_faultless(enum charset cs, const uint8_t *bytes, size_t len)
{
	struct reading r = { .before = G_BREAK };

	return read_sample(&r, cs, bytes, len) != 0 ? -1 : r.faults == 0;
}
