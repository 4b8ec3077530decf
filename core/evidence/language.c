/* Owns the models of languages; see language.h. */
#include "core/evidence/language.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "core/text/utf8.h"

enum {
	ASCII_CLASS = 1,        /* of ASCII letters in a script that has them all in one class */
	FIRST_CHARACTER = 0x40, /* stands for 0 in the strings of languages.def */
	CLASSES_MOST = 64,
	/* Costs beside those of the models, in LANGUAGE_NAT-ths. */
	ASCII_LETTER = 17, /* which one it is, in a script that has all ASCII letters in one class */
	QUOTE = 8,
	OWN_LETTER = 40,     /* at most, in whatever place */
	FOREIGN_LETTER = 30, /* at most, beside what it costs as a stranger: a letter in a name of another language */
	BEHIND_FOREIGN = 27, /* at most: what follows such a letter */
	NO_BREAK = 15,
	ALIEN = 40,          /* a letter of another script */
	UNKNOWN_LETTER = 90, /* a letter or sign of a language without a model */
	HAN_BEHIND_LETTER = 48,
	HAN_BEHIND_BREAK = 6,
	LETTER_BEHIND_HAN = 48,
	BREAK_BEHIND_HAN = 9,
	HALF_BEHIND_HALF = 22,
	HAN_LETTER = 12,
	HAN_WORD = 24,       /* the first letter of a word, of which a text of ideographs has few */
	HAN_BREAK = 3
};

#define LANGUAGE(id, tag, script, rarity, classes, own, class_of, ...) \
	_Static_assert(classes <= CLASSES_MOST, "language_cost() has room for all classes"); \
	static const char class_of_##id[TOKEN_COUNT + 1] = class_of; \
	static const char rows_##id[classes * classes + 1] = __VA_ARGS__;
#include "core/evidence/languages.def"
#undef LANGUAGE

static const struct {
	const char *tag;
	enum letter_script script;
	int rarity;
	unsigned classes, own; /* own: of the language's own letters, which cost nothing within their class */
	const char *class_of;  /* class of each token */
	const char *rows;      /* cost of each class behind each */
} models[] = {
#define LANGUAGE(id, tag, script, rarity, classes, own, class_of, ...) \
	{ tag, SCRIPT_##script, rarity, classes, own, class_of_##id, rows_##id },
#include "core/evidence/languages.def"
#undef LANGUAGE
};

#define HAN(id, tag, ...) static const uint16_t han_##id[][2] = { __VA_ARGS__ };
#include "core/evidence/han.def"
#undef HAN

static const struct {
	const char *tag;
	const uint16_t (*characters)[2]; /* code point and cost, in the order of code points */
	size_t n;
} hans[] = {
#define HAN(id, tag, ...) { tag, han_##id, sizeof han_##id / sizeof han_##id[0] },
#include "core/evidence/han.def"
#undef HAN
};

const char *language_tag(enum language l)
{
	if (l == LANGUAGE_NONE)
		return "";
	return l < LANGUAGE_HAN ? models[l].tag : hans[l - LANGUAGE_HAN].tag;
}

enum letter_script language_script(enum language l)
{
	return models[l].script;
}

int language_rarity(enum language l)
{
	return l == LANGUAGE_NONE || l >= LANGUAGE_HAN ? 0 : models[l].rarity;
}

/* Of models that no tag names: those of all languages of a script that have none of their own. */
static const char BACKGROUND[] = "mul";

/* Tags that name a language of which there is a model under another one. */
static const struct {
	const char *tag, *model;
} tags[] = {
	{ "zh-hant", "zh-TW" },
	{ "zh-hk", "zh-TW" },
	{ "zh-mo", "zh-TW" },
	{ "zh-tw", "zh-TW" },
	{ "no", "nb" },
	{ "iw", "he" },
	{ "bs", "hr" },
	{ "sh", "hr" },
	{ "sr-latn", "hr" },
	{ "mo", "ro" },
	{ "fil", "tl" },
	{ "ydd", "yi" },
	{ "ji", "yi" },
	{ "kmr", "ku" },
	{ "in", "id" },
};

static bool tag_begins(const char *tag, size_t len, const char *with)
{
	size_t n = strlen(with), i;

	/* POSIX locales, which some feeds have, write an underscore for the hyphen. */
	for (i = 0; i < n && i < len; i++)
		if (tolower((unsigned char)tag[i]) != tolower((unsigned char)with[i]) &&
		    !(with[i] == '-' && tag[i] == '_'))
			return false;
	return i == n && (len == n || tag[n] == '-' || tag[n] == '_');
}

enum language language_of_tag(const char *tag, size_t len)
{
	int l;

	for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
		if (tag_begins(tag, len, tags[i].tag)) {
			tag = tags[i].model;
			len = strlen(tag);
			break;
		}
	for (l = tag_begins(tag, len, BACKGROUND) ? -1 : LANGUAGE_COUNT - 1; l >= 0; l--)
		if (tag_begins(tag, len, language_tag((enum language)l)))
			return (enum language)l;
	return LANGUAGE_NONE;
}

/* The cost of a token within its class, for the languages of each script. A class is that of the signs, of the letters
 * of other languages, or of the ASCII letters in a script that has one class for all of them. */
#define LETTER(script, code, cost) [TOKEN_LETTER_##code] = SCRIPT_##script == THIS_SCRIPT ? cost : cost + ALIEN,
#define IN_CLASS_SIGNS \
	[TOKEN_A ... TOKEN_A + 25] = THIS_SCRIPT == SCRIPT_LATIN ? 0 : ASCII_LETTER, [TOKEN_OPEN] = QUOTE, \
	[TOKEN_CLOSE] = QUOTE, [TOKEN_SIGN] = 12, [TOKEN_SIGN_FEW] = 24, [TOKEN_SIGN_RARE] = 45, [TOKEN_CONTROL] = 90, \
	[TOKEN_HAN] = 60, [TOKEN_STRANGER] = 60, [TOKEN_BAD] = 90, [TOKEN_NO_BREAK] = NO_BREAK,
static const uint8_t in_class[SCRIPT_COUNT][TOKEN_COUNT] = {
	[SCRIPT_LATIN] = {
#define THIS_SCRIPT SCRIPT_LATIN
		IN_CLASS_SIGNS
#include "core/evidence/letters.def"
#undef THIS_SCRIPT
	},
	[SCRIPT_CYRILLIC] = {
#define THIS_SCRIPT SCRIPT_CYRILLIC
		IN_CLASS_SIGNS
#include "core/evidence/letters.def"
#undef THIS_SCRIPT
	},
	[SCRIPT_GREEK] = {
#define THIS_SCRIPT SCRIPT_GREEK
		IN_CLASS_SIGNS
#include "core/evidence/letters.def"
#undef THIS_SCRIPT
	},
	[SCRIPT_HEBREW] = {
#define THIS_SCRIPT SCRIPT_HEBREW
		IN_CLASS_SIGNS
#include "core/evidence/letters.def"
#undef THIS_SCRIPT
	},
	[SCRIPT_ARABIC] = {
#define THIS_SCRIPT SCRIPT_ARABIC
		IN_CLASS_SIGNS
#include "core/evidence/letters.def"
#undef THIS_SCRIPT
	},
	[SCRIPT_THAI] = {
#define THIS_SCRIPT SCRIPT_THAI
		IN_CLASS_SIGNS
#include "core/evidence/letters.def"
#undef THIS_SCRIPT
	},
};
#undef LETTER

static bool is_break(unsigned token)
{
	return token == TOKEN_BREAK || token == TOKEN_NO_BREAK;
}

/* Georgian, Armenian and others: their letters stand together, and the models do not know their order. */
static unsigned unknown_cost(const uint16_t *tokens, size_t n)
{
	enum { BREAK, LETTER, STRANGER } last = BREAK, now;
	static const uint8_t costs[3][3] = {
		[BREAK] = { 3, 10, 28 },
		[LETTER] = { 9, 10, 70 },
		[STRANGER] = { 9, 70, 24 },
	};
	unsigned sum = 0, token;

	for (size_t i = 0; i < n; i++) {
		token = tokens[i] & TOKEN_MASK;
		now = token == TOKEN_STRANGER ? STRANGER : is_break(token) ? BREAK : LETTER;
		sum += costs[last][now] + (token >= TOKEN_OPEN && now == LETTER ? UNKNOWN_LETTER : 0);
		last = now;
	}
	return sum;
}

static bool is_letter_of(enum language l, unsigned token)
{
	if (token >= TOKEN_LETTER)
		return letters_script(token) == models[l].script;
	return models[l].script == SCRIPT_LATIN && token >= TOKEN_A && token < TOKEN_OPEN;
}

/* The most that a token costs behind another: texts of a language have names from others that are written in the same
 * script. */
static unsigned most_of(enum language l, unsigned last, unsigned token, bool is_own)
{
	if (token >= TOKEN_LETTER && is_letter_of(l, token) &&
	    (is_break(last) || last >= TOKEN_OPEN || is_letter_of(l, last)))
		return is_own ? OWN_LETTER : FOREIGN_LETTER + in_class[models[l].script][token];
	if (last >= TOKEN_LETTER && is_letter_of(l, last) && (is_break(token) || is_letter_of(l, token)))
		return BEHIND_FOREIGN;
	return UINT_MAX;
}

/* Whether a word of ASCII letters begins in a text of another script, in which such words are few. */
static bool begins_alien(enum language l, unsigned last, unsigned class)
{
	return is_break(last) && class == ASCII_CLASS && models[l].script != SCRIPT_LATIN;
}

struct language_cost language_cost(enum language l, const uint16_t *tokens, size_t n)
{
	unsigned twice = 0, twice_ascii = 0, last_beyond = 0, last = TOKEN_BREAK;
	unsigned token, class, beyond, cost, most, counts_whole;
	/* A mask for each class: 0 for those of the language's own letters, which cost nothing within their class. */
	uint8_t counts[CLASSES_MOST];

	if (l == LANGUAGE_NONE)
		return (struct language_cost){ unknown_cost(tokens, n), 0 };
	const char *class_of = models[l].class_of;
	const char *rows = models[l].rows;
	const uint8_t *extra = in_class[models[l].script];
	memset(counts, 0xFF, sizeof counts);
	memset(counts + (models[l].script == SCRIPT_LATIN ? 27 : 2), 0, models[l].own);
	const char *row = rows;
	for (size_t i = 0; i < n; i++) {
		token = tokens[i] & TOKEN_MASK;
		class = (unsigned char)class_of[token] - (unsigned)FIRST_CHARACTER;
		cost = (unsigned char)row[class] - (unsigned)FIRST_CHARACTER + (extra[token] & counts[class]);
		beyond = token >= TOKEN_OPEN;
		if (beyond || last_beyond) {
			most = most_of(l, last, token, counts[class] == 0);
			cost = cost < most ? cost : most;
		}
		counts_whole = beyond || last_beyond || begins_alien(l, last, class);
		twice += cost << counts_whole;
		twice_ascii += beyond || last_beyond ? 0 : cost << counts_whole;
		row = rows + class * models[l].classes;
		last_beyond = beyond;
		last = token;
	}
	return (struct language_cost){ twice / 2, twice_ascii / 2 };
}

unsigned language_case_cost(const uint16_t *tokens, size_t n)
{
	enum { BREAK, SMALL, CAPITAL };
	/* costs of a small letter and of a capital behind each */
	static const uint8_t costs[3][2] = { [BREAK] = { 1, 11 }, [SMALL] = { 0, 36 }, [CAPITAL] = { 2, 8 } };
	unsigned last = BREAK, sum = 0, token;

	for (size_t i = 0; i < n; i++) {
		token = tokens[i] & TOKEN_MASK;
		if (tokens[i] & (TOKEN_SMALL | TOKEN_CAPITAL)) {
			if (token >= TOKEN_OPEN || last != BREAK)
				sum += costs[last][(tokens[i] & TOKEN_CAPITAL) != 0];
			last = tokens[i] & TOKEN_CAPITAL ? CAPITAL : SMALL;
		} else if (is_break(token) || (token >= TOKEN_OPEN && token < TOKEN_LETTER)) {
			last = BREAK;
		}
	}
	return sum;
}

/* Characters that are not in a language's list, by their last character: what they cost in it. */
static const struct {
	uint32_t last;
	uint8_t zh, ja, ko;
} else_costs[] = {
	{ 0x024F, 60, 60, 60 },
	{ 0x036F, 75, 75, 75 },
	{ 0x052F, 64, 64, 64 },
	{ 0x24FF, 75, 75, 75 },
	{ 0x259F, 80, 80, 80 },
	{ 0x303F, 75, 75, 75 },
	{ 0x30FF, 66, 50, 66 },
	{ 0x4DFF, 75, 75, 75 },
	{ 0x9FFF, 62, 62, 72 },
	{ 0xABFF, 75, 75, 75 },
	{ 0xD7A3, 90, 90, 58 },
	{ 0xDFFF, 75, 75, 75 },
	{ 0xF8FF, 100, 100, 100 },
	{ 0xFF60, 75, 75, 75 },
	{ 0xFF9F, 72, 72, 72 },
	{ 0xFFFC, 75, 75, 75 },
	{ 0xFFFD, 90, 90, 90 },
	{ 0x10FFFF, 75, 75, 75 },
};

static unsigned han_cost(enum language l, uint32_t c)
{
	const uint16_t(*list)[2] = hans[l - LANGUAGE_HAN].characters;
	size_t low = 0, high = hans[l - LANGUAGE_HAN].n, mid, i;

	while (low < high) {
		mid = (low + high) / 2;
		if (list[mid][0] < c)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < hans[l - LANGUAGE_HAN].n && list[low][0] == c)
		return list[low][1];
	for (i = 0; else_costs[i].last < c; i++)
		continue;
	return l == LANGUAGE_JA ? else_costs[i].ja : l == LANGUAGE_KO ? else_costs[i].ko : else_costs[i].zh;
}

/* Katakana of half width. Who writes one writes the whole word so. */
static bool is_half(uint32_t c)
{
	return c >= 0xFF61 && c <= 0xFF9F;
}

struct language_cost language_han_cost(enum language l, const uint8_t *text, size_t len)
{
	enum { BREAK, LETTER, HAN, HALF } last = BREAK, now;
	static const uint8_t behind[] = { [BREAK] = HAN_BEHIND_BREAK, [LETTER] = HAN_BEHIND_LETTER, [HALF] = 0 };
	const uint8_t *end = text + len;
	unsigned sum = 0, ascii = 0;
	uint32_t c;

	while (text < end) {
		if (*text < 0x80) {
			now = (letters_token(*text) & TOKEN_MASK) == TOKEN_BREAK ? BREAK : LETTER;
			if (last >= HAN)
				sum += now == LETTER ? LETTER_BEHIND_HAN : BREAK_BEHIND_HAN;
			else
				ascii += now != LETTER ? HAN_BREAK : last == BREAK ? HAN_WORD : HAN_LETTER;
			text++;
		} else {
			text += utf8_next(text, &c);
			now = is_half(c) ? HALF : HAN;
			sum += (now == HALF && last == HALF ? HALF_BEHIND_HALF : han_cost(l, c)) + behind[last];
		}
		last = now;
	}
	return (struct language_cost){ sum + ascii, ascii };
}
