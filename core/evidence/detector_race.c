/* Owns entering and reading; see detector_race.h.
 *
 * All readings begin with a short piece of the sample; those that fall far behind the best are left out of the next,
 * longer one. */
#include "core/evidence/detector_race.h"

#include <errno.h>
#include <string.h>

#include "core/evidence/charset_letters.h"
#include "core/evidence/scan.h"
#include "core/text/utf8.h"

enum {
	PAIRS_BYTES = 384,      /* of the sample, which tell whether it may be in pairs */
	STRANGERS = 1 << SCRIPT_COUNT,
	ENGLISH = 8 * LANGUAGE_NAT, /* that the words of a text in another script are English */
	/* By so many bytes beyond ASCII the weight of a label doubles; by fewer where somebody chose it and such bytes
	 * are few, as in the Latin alphabet. */
	LABEL_DOUBLES = 160, CHOSEN_DOUBLES = 40,
	FEW = 4,                /* bytes beyond ASCII, and what each one less costs in an alphabet of its own */
	FEWER = 2 * LANGUAGE_NAT
};

#define L(id) LANGUAGE_##id
static const struct race_candidate candidates[] = {
#define CANDIDATE(charset, cost, ...) { CS_##charset, cost, (const int8_t[]){ __VA_ARGS__, LANGUAGE_NONE } },
#include "core/evidence/candidates.def"
#undef CANDIDATE
};
#undef L

enum { CANDIDATES = sizeof candidates / sizeof candidates[0] };

/* Where the bytes of two-byte sets may stand: from which one on the first does, the range of the second, and that of
 * bytes that stand alone. */
static const struct pairs {
	enum charset charset;
	uint8_t first, second, second_to, alone, alone_to;
} pairs[] = {
	{ CS_SHIFT_JIS, 0x81, 0x40, 0xFC, 0xA1, 0xDF },
	{ CS_EUC_JP, 0x8E, 0xA1, 0xFE, 0, 0 },
	{ CS_GB18030, 0x81, 0x30, 0xFE, 0, 0 },
	{ CS_BIG5, 0x81, 0x40, 0xFE, 0, 0 },
	{ CS_EUC_KR, 0x81, 0x41, 0xFE, 0, 0 },
};

/* Whether the sample may be text of a two-byte set at all. This spares opening its decoder, whose table is large. */
static bool are_pairs(enum charset cs, const struct sample *s)
{
	size_t len = s->len < PAIRS_BYTES ? s->len : PAIRS_BYTES, good = 0, bad = 0, k;
	const uint8_t *b;

	for (k = 0; pairs[k].charset != cs; k++)
		if (k + 1 == sizeof pairs / sizeof pairs[0])
			return true;
	for (size_t i = 0; i < len; i++) {
		b = s->bytes + i; /* a line feed ends the sample, so there is a second byte */
		if (b[0] < 0x80) {
			i += utf8_ascii_prefix(b, len - i) - 1;
			continue;
		}
		if (b[0] >= pairs[k].alone && b[0] <= pairs[k].alone_to)
			continue;
		if (b[0] >= pairs[k].first && b[1] >= pairs[k].second && b[1] <= pairs[k].second_to) {
			good++;
			i++;
		} else if (8 * ++bad >= good + len - i) {
			return false; /* the rest cannot make up for it */
		}
	}
	return good > 8 * bad;
}

bool race_is_single(enum charset cs)
{
	return charset_info(cs)->kind == KIND_SINGLE_BYTE;
}

/* The scripts that have a letter in what the charset makes of the sample, as bits; STRANGERS: there is an alphabet that
 * letters.def does not have. Latin if it has no letter. */
static unsigned scripts_in(const uint16_t *letters, const struct sample *s)
{
	unsigned scripts = 0, token;

	for (size_t i = 0x80; i < 256; i++) {
		token = s->has[i] ? letters[i] & TOKEN_MASK : TOKEN_BREAK;
		if (token >= TOKEN_LETTER)
			scripts |= 1u << letters_script(token);
		if (token == TOKEN_STRANGER)
			scripts |= STRANGERS;
	}
	return scripts != 0 ? scripts : 1u << SCRIPT_LATIN;
}

/* label: the weight of the label that names the charset; 0: there is none. */
static void enter(struct race *race, enum charset cs, enum language l, int cost, int label)
{
	int base = cost + language_rarity(l);

	for (size_t i = 0; i < race->proposed; i++)
		if (race->readings[i].charset == cs && race->readings[i].language == l) {
			race->label[i] = label > race->label[i] ? label : race->label[i];
			return;
		}
	if (race->n == RACE_READINGS)
		return;
	race->readings[race->n] = (struct reading){ .charset = cs, .language = l };
	race->label[race->n] = label;
	race->base[race->n++] = base;
}

static bool is_latin(enum language l)
{
	return l != LANGUAGE_NONE && l < LANGUAGE_HAN && language_script(l) == SCRIPT_LATIN;
}

static bool is_of_word(uint8_t byte)
{
	return byte >= 0x80 || scan_is_letter(byte);
}

/* What it costs that a text has so little beyond ASCII in words of two letters or more. In another alphabet than Latin
 * that is seldom: nearly all its letters are. */
static int few_cost(const struct sample *s)
{
	int n = 0;

	for (size_t i = 0; i < s->len && n < FEW; i++)
		n += s->bytes[i] >= 0x80 && ((i > 0 && is_of_word(s->bytes[i - 1])) ||
						(i + 1 < s->len && is_of_word(s->bytes[i + 1])));
	return (FEW - n) * FEWER;
}

/* Vietnamese is modelled as windows-1258 alone writes it, with tones behind their letters. */
static bool may_write(enum charset cs, enum language l)
{
	return l != LANGUAGE_VI || cs == CS_WINDOWS_1258;
}

/* For a charset that is proposed any language comes into question whose script it has. */
static void enter_all(struct race *race, enum charset cs, unsigned scripts, int label)
{
	for (int l = 0; l < LANGUAGE_COUNT; l++)
		if (race_is_single(cs) == (l < LANGUAGE_HAN) && may_write(cs, (enum language)l) &&
		    (l >= LANGUAGE_HAN || (scripts >> language_script((enum language)l) & 1)))
			enter(race, cs, (enum language)l, 0, label);
}

/* -1: out of memory. A charset without a converter on this machine does not take part. */
static int enter_proposal(struct race *race, const struct proposal *p)
{
	if (!race_is_single(p->charset)) {
		enter_all(race, p->charset, 0, p->weight);
		return 0;
	}
	const uint16_t *letters = charset_letters(p->charset);
	if (!letters)
		return errno == EINVAL ? 0 : -1;
	unsigned scripts = scripts_in(letters, &race->sample);
	enter_all(race, p->charset, scripts, p->weight);
	if (scripts & STRANGERS)
		enter(race, p->charset, LANGUAGE_NONE, 0, p->weight);
	return 0;
}

int race_begin(struct race *race, const struct proposal *proposals, size_t n)
{
	/* It protects labels, so it is nothing without one, nor for a language that the feed names. */
	int few = n > 0 ? few_cost(&race->sample) : 0;

	race->n = race->proposed = 0;
	memset(race->last, 0, sizeof race->last);
	for (size_t i = 0; i < n; i++) {
		if (enter_proposal(race, &proposals[i]) != 0)
			return -1;
		race->proposed = race->n;
	}
	for (const struct race_candidate *c = candidates; c < candidates + CANDIDATES; c++)
		if (race_is_single(c->charset) || are_pairs(c->charset, &race->sample))
			for (const int8_t *at = c->languages; *at != LANGUAGE_NONE; at++) {
				enum language l = (enum language)*at;

				enter(race, c->charset, l, c->cost + (is_latin(l) || race_hint(race, l) ? 0 : few), 0);
			}
	return 0;
}

const struct race_candidate *race_next_single(const struct race_candidate *last)
{
	const struct race_candidate *c = last ? last + 1 : candidates;

	while (c < candidates + CANDIDATES && !race_is_single(c->charset))
		c++;
	return c < candidates + CANDIDATES ? c : NULL;
}

bool race_is_used_for(const struct race_candidate *c, enum language l)
{
	const int8_t *one = c->languages;

	while (*one != LANGUAGE_NONE && *one != l)
		one++;
	return *one == l;
}

/* A hash of the tokens and of their number. It is never 0, which stands for no text. */
static uint64_t hash_of(const uint16_t *tokens, size_t n)
{
	enum { EACH = sizeof(uint64_t) / sizeof *tokens };
	uint64_t hash = n, word;

	for (size_t i = 0; i < n; i += EACH) {
		word = 0;
		memcpy(&word, tokens + i, (n - i < EACH ? n - i : EACH) * sizeof *tokens);
		hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
		hash ^= hash >> 32;
	}
	return hash | 1;
}

static int read_characters(struct piece *p, enum charset cs, const struct sample *s, size_t len)
{
	struct decoder *d = decoder_new(cs, 0);
	size_t used;

	if (!d)
		return -1;
	p->n = decoder_feed(d, s->bytes, len, &used, p->u.text, sizeof p->u.text);
	decoder_free(&d);
	p->text = 0;
	return 0;
}

static int read_tokens(struct piece *p, enum charset cs, const struct sample *s, size_t len)
{
	const uint16_t *letters = charset_letters(cs);
	uint64_t before = p->text;

	if (!letters)
		return -1;
	for (size_t i = 0; i < len; i++)
		p->u.tokens[i] = letters[s->bytes[i]];
	p->n = len;
	p->text = hash_of(p->u.tokens, len);
	if (p->text != before)
		p->case_cost = language_case_cost(p->u.tokens, len);
	return 0;
}

int piece_read(struct piece *p, enum charset cs, const struct sample *s, size_t len)
{
	if (p->charset == cs && p->bytes == len)
		return 0;
	int rc = race_is_single(cs) ? read_tokens(p, cs, s, len) : read_characters(p, cs, s, len);
	p->charset = rc == 0 ? cs : CS_NONE; /* a reading that fails leaves garbage here */
	p->bytes = len;
	return rc;
}

static struct language_cost piece_costs(const struct piece *p, enum language l)
{
	if (l >= LANGUAGE_HAN)
		return language_han_cost(l, p->u.text, p->n);
	struct language_cost cost = language_cost(l, p->u.tokens, p->n);
	cost.all += p->case_cost;
	return cost;
}

int piece_cost(const struct piece *p, enum language l)
{
	return (int)piece_costs(p, l).all;
}

/* What the piece costs in a language. Where the charset that was read in this language before made the same text of
 * the sample, the cost is known. */
static struct language_cost race_costs(struct race *race, const struct piece *p, enum language l)
{
	if (!race_is_single(p->charset) || l == LANGUAGE_NONE)
		return piece_costs(p, l);
	if (race->last[l].text != p->text) {
		race->last[l].text = p->text;
		race->last[l].cost = piece_costs(p, l);
	}
	return race->last[l].cost;
}

/* What the ASCII of a piece costs in English. */
static unsigned english_cost(const struct piece *p)
{
	uint16_t tokens[SAMPLE_BYTES];
	size_t at = 0, n = 0;
	uint32_t c;

	if (race_is_single(p->charset))
		return language_cost(LANGUAGE_EN, p->u.tokens, p->n).ascii;
	for (; at < p->n && n < SAMPLE_BYTES; n++) {
		at += utf8_next(p->u.text + at, &c);
		tokens[n] = c < 0x80 ? letters_token(c) : TOKEN_HAN;
	}
	return language_cost(LANGUAGE_EN, tokens, n).ascii;
}

/* A feed in English may have a few characters of another script, and a label that names its charset. */
static bool may_be_english(const struct race *race, size_t i)
{
	enum language l = race->readings[i].language;

	return race->label[i] > 0 && l != LANGUAGE_NONE && (l >= LANGUAGE_HAN || language_script(l) != SCRIPT_LATIN);
}

static int race_cost(struct race *race, const struct piece *p, size_t i)
{
	struct language_cost cost = race_costs(race, p, race->readings[i].language);
	unsigned english = may_be_english(race, i) ? english_cost(p) + ENGLISH : cost.ascii;

	return (int)(cost.ascii > english ? cost.all - (cost.ascii - english) : cost.all);
}

int race_hint(const struct race *race, enum language l)
{
	return !race->hints || l == LANGUAGE_NONE ? 0 : race->hints->weight[l];
}

/* The models err a little with each letter of a language that none of them is of, so a label weighs more, the more
 * letters it has to outweigh. The languages of two-byte sets all have a model. */
int race_label_grows(enum charset cs, int label, size_t beyond, bool few)
{
	int doubles = few && !charset_is_thoughtless(cs) ? CHOSEN_DOUBLES : LABEL_DOUBLES;

	return race_is_single(cs) ? label * (int)beyond / doubles : 0;
}

/* The weight of the label that names a reading, once the first len bytes of the sample are read. */
static int label_weight(const struct race *race, size_t i, size_t len)
{
	const struct reading *r = &race->readings[i];
	size_t beyond = race->sample.beyond * len / race->sample.len;

	return race->label[i] + race_label_grows(r->charset, race->label[i], beyond, is_latin(r->language));
}

static void trace_round(const struct race *race, size_t len, int best)
{
	const struct reading *r = race->readings;

	for (size_t i = 0; race->trace && i < race->n; i++)
		if (r[i].cost != INT32_MAX)
			trace_reading(race->trace, &(struct traced){ r[i], race->base[i], label_weight(race, i, len),
			    race_hint(race, r[i].language), len, r[i].cost - best, r[i].cost <= best + RACE_BEHIND });
}

/* Reads the first len bytes of the sample in every reading, and leaves out those that fall behind. */
static int run_round(struct race *race, struct piece *p, size_t len)
{
	struct reading *r;
	int best = INT32_MAX - RACE_BEHIND;
	size_t left = 0;

	for (size_t i = 0; i < race->n; i++) {
		r = &race->readings[i];
		r->cost = INT32_MAX;
		if (piece_read(p, r->charset, &race->sample, len) == 0)
			r->cost = race_cost(race, p, i) + race->base[i] - label_weight(race, i, len) -
			    race_hint(race, r->language);
		else if (errno != EINVAL)
			return -1;
		best = r->cost < best ? r->cost : best;
	}
	trace_round(race, len, best);
	for (size_t i = 0; i < race->n; i++)
		if (race->readings[i].cost <= best + RACE_BEHIND && race->readings[i].cost < INT32_MAX) {
			race->readings[left] = race->readings[i];
			race->label[left] = race->label[i];
			race->base[left++] = race->base[i];
		}
	race->n = left;
	return 0;
}

/* Whether two charsets read the sample alike. */
static bool read_alike(const struct sample *s, enum charset left, enum charset right)
{
	const uint16_t *a, *b;
	size_t i;

	if (left == right)
		return true;
	if (!race_is_single(left) || !race_is_single(right) || !(a = charset_letters(left)) ||
	    !(b = charset_letters(right)))
		return false;
	for (i = 0x80; i < 256 && (!s->has[i] || a[i] == b[i]); i++)
		continue;
	return i == 256;
}

/* True if one of the remaining readings is likely enough for a text, and all of them decode the sample to the same
 * text. Reading more of the sample would not change that. */
static bool is_decided(const struct race *race, size_t bytes)
{
	bool is_text = false;

	for (size_t i = 0; i < race->n; i++)
		is_text |= race->readings[i].cost <= (int)(RACE_NO_TEXT * bytes);
	for (size_t i = 1; i < race->n && is_text; i++)
		if (race->readings[i].charset != race->readings[i - 1].charset &&
		    !read_alike(&race->sample, race->readings[i].charset, race->readings[0].charset))
			return false;
	return is_text;
}

int race_run(struct race *race, struct piece *p, size_t *bytes)
{
	static const size_t rounds[] = { 24, 96, 384, SAMPLE_BYTES }; /* bytes of the sample */

	p->charset = CS_NONE;
	p->text = 0;
	for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
		*bytes = race->sample.len < rounds[i] ? race->sample.len : rounds[i];
		if (run_round(race, p, *bytes) != 0)
			return -1;
		if (*bytes == race->sample.len || is_decided(race, *bytes))
			break;
	}
	return 0;
}
