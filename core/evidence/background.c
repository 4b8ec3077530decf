/* Owns what a text costs as one in a language that nobody has modelled; see background.h. */
#include "core/evidence/background.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/evidence/letters.h"
#include "core/text/utf8.h"

enum kind {
	BREAK, ASCII, LATIN, CYRILLIC, GREEK, LEFTWARD, THAI, HAN, STRANGER, MARK, SPACE, OPEN, CLOSE, SIGN, FEW, RARE,
	NEVER, HALF, KINDS
};

/* What a kind (row) costs behind each (column). In any script a word holds to its letters: one of another script inside
 * it is hardly ever right, and a sign inside it seldom. */
static const uint8_t costs[KINDS][KINDS] = {
	/* behind   BREAK ASCII LATIN CYR  GR  LEFT THAI HAN STR MARK SPC OPEN CLO SIGN FEW RARE NEVER HALF */
	[BREAK] =    { 0,    0,    0,  0,  0,   0,   0,   6,  0,   0, 18, 24,  0,   0,  0,   0,   12,    0 },
	[ASCII] =    { 0,    0,    4, 60, 60,  60,  48,  42, 30,  18, 12,  0, 12,  30, 30,  36,   36,   42 },
	[LATIN] =    { 36,  30,   24, 66, 66,  66,  66,  60, 36,  42, 36, 30, 24,  48, 48,  54,   66,   60 },
	[CYRILLIC] = { 28,  66,   66, 18, 60,  66,  66,  60, 66,  30, 28, 24, 36,  40, 46,  46,   66,   60 },
	[GREEK] =    { 34,  66,   66, 60, 18,  66,  66,  60, 66,  30, 34, 30, 42,  46, 52,  52,   66,   60 },
	[LEFTWARD] = { 30,  66,   66, 66, 66,  18,  66,  60, 66,  24, 30, 26, 36,  42, 48,  48,   66,   60 },
	[THAI] =     { 30,  60,   66, 66, 66,  66,  18,  60, 66,  24, 30, 26, 36,  42, 48,  48,   66,   60 },
	[HAN] =      { 42,  66,   66, 60, 60,  60,  60,  30, 60,  60, 42, 36, 42,  48, 54,  54,   66,   30 },
	[STRANGER] = { 42,  56,   42, 66, 66,  66,  66,  60, 20,  24, 42, 36, 48,  54, 60,  60,   66,   60 },
	[MARK] =     { 60,  36,   36, 30, 30,  24,  24,  60, 24,  30, 60, 60, 60,  60, 60,  60,   66,   60 },
	[SPACE] =    { 18,  18,   18, 18, 18,  18,  18,  18, 18,  18, 12, 18, 18,  18, 18,  18,   36,   18 },
	[OPEN] =     { 20,  54,   54, 48, 48,  48,  48,  30, 40,  54, 20, 24, 36,  36, 42,  48,   60,   30 },
	[CLOSE] =    { 36,  18,   18, 18, 18,  18,  24,  30, 18,  24, 24, 36, 24,  36, 30,  36,   60,   30 },
	[SIGN] =     { 24,  48,   48, 48, 48,  48,  48,  42, 42,  48, 24, 30, 24,  24, 36,  36,   60,   42 },
	[FEW] =      { 36,  54,   60, 60, 60,  60,  60,  54, 54,  60, 36, 42, 42,  36, 36,  42,   60,   54 },
	[RARE] =     { 48,  66,   72, 72, 72,  72,  72,  60, 60,  66, 48, 54, 54,  54, 54,  24,   72,   60 },
	[NEVER] =    { 90,  90,   90, 90, 90,  90,  90,  90, 90,  90, 90, 90, 90,  90, 90,  90,   60,   90 },
	[HALF] =     { 42,   60,   66, 60, 60,  60,  60,  36, 60,  60, 42, 36, 42,  48, 54,  54,   66,   20 },
};

/* The extra cost of a capital behind each case, if one of the two characters is beyond ASCII. */
enum casing { CASE_NONE, CASE_SMALL, CASE_CAPITAL };
static const uint8_t capital_costs[] = { [CASE_NONE] = 8, [CASE_SMALL] = 36, [CASE_CAPITAL] = 6 };

/* The kinds of characters that have no token of their own (letters.h), by the last one of each of Unicode's ranges. */
static const struct {
	uint32_t last;
	enum kind kind;
} ranges[] = {
	{ 0x007F, BREAK },
	{ 0x009F, FEW },            /* C1 controls: typographic signs that were taken for Latin-1 and encoded */
	{ 0x00A0, SPACE },
	{ 0x00BF, RARE },
	{ 0x024F, LATIN },
	{ 0x02AF, STRANGER },       /* IPA, from which African orthographies took letters */
	{ 0x02FF, RARE },
	{ 0x036F, MARK },
	{ 0x03FF, GREEK },
	{ 0x052F, CYRILLIC },
	{ 0x058F, STRANGER },
	{ 0x08FF, LEFTWARD },
	{ 0x1DBF, STRANGER },
	{ 0x1DFF, MARK },
	{ 0x1EFF, LATIN },
	{ 0x1FFF, GREEK },
	{ 0x200A, SPACE },
	{ 0x206F, SIGN },           /* joiners, directions, dashes */
	{ 0x2BFF, RARE },
	{ 0x2E7F, STRANGER },
	{ 0x9FFF, HAN },
	{ 0xABFF, STRANGER },
	{ 0xD7FF, HAN },
	{ 0xF8FF, NEVER },          /* private use */
	{ 0xFAFF, HAN },
	{ 0xFB06, LATIN },          /* ligatures */
	{ 0xFDFF, LEFTWARD },
	{ 0xFE6F, SIGN },
	{ 0xFEFE, LEFTWARD },
	{ 0xFEFF, SIGN },           /* a joiner, and the mark of a text that was pasted in */
	{ 0xFF60, HAN },
	{ 0xFF9F, HALF },           /* katakana of half width */
	{ 0xFFEF, HAN },
	{ 0xFFFF, NEVER },
	{ 0x1EFFF, STRANGER },
	{ 0x1FAFF, RARE },          /* emoji */
	{ 0x3FFFF, HAN },
	{ 0x10FFFF, NEVER },
};

static const enum kind kind_of_script[SCRIPT_COUNT] = {
	[SCRIPT_LATIN] = LATIN, [SCRIPT_CYRILLIC] = CYRILLIC, [SCRIPT_GREEK] = GREEK, [SCRIPT_HEBREW] = LEFTWARD,
	[SCRIPT_ARABIC] = LEFTWARD, [SCRIPT_THAI] = THAI,
};

static enum kind kind_by_range(uint32_t c)
{
	size_t i = 0;

	while (ranges[i].last < c)
		i++;
	return ranges[i].kind;
}

static enum kind kind_of_character(uint32_t c, unsigned token)
{
	if (token >= TOKEN_LETTER)
		return c >= 0x0300 && c < 0x0370 ? MARK : kind_of_script[letters_script(token)];
	switch (token) {
	case TOKEN_HAN:
		return c < 0xA000 || c >= 0xAC00 ? HAN : kind_by_range(c);
	case TOKEN_OPEN:
		return OPEN;
	case TOKEN_CLOSE:
		return CLOSE;
	case TOKEN_SIGN:
		return SIGN;
	case TOKEN_SIGN_FEW:
		return FEW;
	default:
		return token >= TOKEN_A && token < TOKEN_OPEN ? ASCII : kind_by_range(c);
	}
}

/* The class of a character: its kind, and its case in the bits from KIND_BITS on. */
enum { KIND_BITS = 5, KIND_MASK = (1 << KIND_BITS) - 1 };
_Static_assert((int)KINDS <= (int)KIND_MASK, "a kind fits its bits");

static uint8_t classify(uint32_t c)
{
	uint16_t token = letters_token(c);
	enum casing casing = token & TOKEN_CAPITAL ? CASE_CAPITAL : token & TOKEN_SMALL ? CASE_SMALL : CASE_NONE;

	return (uint8_t)(kind_of_character(c, token & TOKEN_MASK) | casing << KIND_BITS);
}

/* The characters of alphabets, classified once: they are the most that texts have, and the dearest to classify. */
enum { ALPHABETS_END = 0x3000 };
static _Atomic(uint8_t *) alphabets;

/* NULL: out of memory. */
static const uint8_t *classified(void)
{
	uint8_t *table = atomic_load_explicit(&alphabets, memory_order_acquire);

	if (table)
		return table;
	uint8_t *built = malloc(ALPHABETS_END);
	if (!built)
		return NULL;
	for (uint32_t c = 0; c < ALPHABETS_END; c++)
		built[c] = classify(c);
	if (atomic_compare_exchange_strong(&alphabets, &table, built))
		return built;
	free(built);
	return table;
}

static unsigned read_character(struct background *b, uint32_t c, uint8_t class)
{
	enum kind kind = class & KIND_MASK;
	enum casing casing = class >> KIND_BITS;
	unsigned cost = costs[kind][b->last];

	if (casing == CASE_CAPITAL && (c >= 0x80 || (b->last != ASCII && b->last_case != CASE_NONE)))
		cost += capital_costs[b->last_case];
	b->last = (uint8_t)kind;
	b->last_case = (uint8_t)casing;
	return cost;
}

void background_read(struct background *b, const uint8_t *text, size_t len)
{
	const uint8_t *end = text + len, *table = classified();
	uint32_t c;

	while (text < end) {
		text += utf8_next(text, &c);
		b->cost += read_character(b, c, table && c < ALPHABETS_END ? table[c] : classify(c));
	}
}
