/* Owns weighing charsets against each other; see detector.h.
 *
 * A reading is a charset and a language. All readings begin with a short piece of the sample; those that fall far
 * behind the best are left out of the next, longer one. */
#include "core/evidence/detector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/decoder.h"
#include "core/evidence/charset_letters.h"
#include "core/evidence/sample.h"
#include "core/text/utf8.h"

enum {
	BEHIND = 18 * LANGUAGE_NAT, /* a reading that costs so much more than the best is given up */
	/* Two readings that differ by less are told apart by the bytes in which they differ. */
	CLOSE = 10 * LANGUAGE_NAT,
	/* A text of which even the best reading costs more for each byte is none that the models know. */
	NO_TEXT = 27,
	STRANGERS = 1 << SCRIPT_COUNT,
	READINGS = 192
};

#define L(id) (UINT64_C(1) << LANGUAGE_##id)
static const struct candidate {
	enum charset charset;
	int cost;
	uint64_t languages;
} candidates[] = {
#define CANDIDATE(charset, cost, languages) { CS_##charset, cost, languages },
#include "core/evidence/candidates.def"
#undef CANDIDATE
};

/* For a charset that is proposed any language comes into question whose script it has. */
static const uint64_t all_languages = (UINT64_C(1) << LANGUAGE_COUNT) - 1;

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
	size_t good = 0, bad = 0, i, k;
	const uint8_t *b;

	for (k = 0; pairs[k].charset != cs; k++)
		if (k + 1 == sizeof pairs / sizeof pairs[0])
			return true;
	for (i = 0; i < s->len; i++) {
		b = s->bytes + i; /* a line feed ends the sample, so there is a second byte */
		if (b[0] < 0x80 || (b[0] >= pairs[k].alone && b[0] <= pairs[k].alone_to))
			continue;
		if (b[0] >= pairs[k].first && b[1] >= pairs[k].second && b[1] <= pairs[k].second_to) {
			good++;
			i++;
		} else {
			bad++;
		}
	}
	return good > 8 * bad;
}

struct race {
	struct sample sample;
	const struct hints *hints;
	struct reading readings[READINGS];
	int base[READINGS]; /* what each costs before the text is read; without hints */
	size_t n;
};

static bool is_single(enum charset cs)
{
	return charset_info(cs)->kind == KIND_SINGLE_BYTE;
}

/* The scripts that have a letter in what the charset makes of the sample, as bits; STRANGERS: there is an alphabet that
 * letters.def does not have. Latin where there is no letter. */
static unsigned scripts_in(const uint16_t *letters, const struct sample *s)
{
	unsigned scripts = 0, token;
	size_t i;

	for (i = 0; i < s->len; i++) {
		token = letters[s->bytes[i]] & TOKEN_MASK;
		if (token >= TOKEN_LETTER)
			scripts |= 1u << letters_script(token);
		if (token == TOKEN_STRANGER)
			scripts |= STRANGERS;
	}
	return scripts != 0 ? scripts : 1u << SCRIPT_LATIN;
}

static void enter(struct race *race, enum charset cs, enum language l, int base)
{
	size_t i;

	for (i = 0; i < race->n; i++)
		if (race->readings[i].charset == cs && race->readings[i].language == l) {
			race->base[i] = base < race->base[i] ? base : race->base[i];
			return;
		}
	if (race->n == READINGS)
		return;
	race->readings[race->n] = (struct reading){ .charset = cs, .language = l };
	race->base[race->n++] = base;
}

static void enter_all(struct race *race, enum charset cs, uint64_t languages, unsigned scripts, int base)
{
	int l;

	for (l = 0; l < LANGUAGE_COUNT; l++)
		if ((languages >> l & 1) && is_single(cs) == (l < LANGUAGE_HAN) &&
		    (l >= LANGUAGE_HAN || (scripts >> language_script((enum language)l) & 1)))
			enter(race, cs, (enum language)l, base);
}

/* -1: out of memory. A charset without a converter on this machine does not take part. */
static int enter_proposal(struct race *race, const struct proposal *p)
{
	const uint16_t *letters;
	unsigned scripts;

	if (!is_single(p->charset)) {
		enter_all(race, p->charset, all_languages, 0, -p->weight);
		return 0;
	}
	letters = charset_letters(p->charset);
	if (letters == NULL)
		return errno == EINVAL ? 0 : -1;
	scripts = scripts_in(letters, &race->sample);
	enter_all(race, p->charset, all_languages, scripts, -p->weight);
	if (scripts & STRANGERS)
		enter(race, p->charset, LANGUAGE_NONE, -p->weight);
	return 0;
}

/* A piece of the sample as a charset reads it. */
struct piece {
	enum charset charset;
	size_t bytes;
	unsigned case_cost;
	size_t n;
	union {
		uint16_t tokens[SAMPLE_BYTES];
		uint8_t text[SAMPLE_BYTES * 3 + DECODER_MIN_OUT]; /* a byte makes at most three, a pair four */
	} u;
};

static int read_piece(struct piece *p, enum charset cs, const struct sample *s, size_t len)
{
	const uint16_t *letters;
	struct decoder *d;
	size_t i;

	if (p->charset == cs && p->bytes == len)
		return 0;
	p->charset = cs;
	p->bytes = len;
	if (!is_single(cs)) {
		d = decoder_new(cs, 0);
		if (d == NULL)
			return -1;
		p->n = decoder_feed(d, s->bytes, len, &i, p->u.text, sizeof p->u.text);
		decoder_free(&d);
		return 0;
	}
	letters = charset_letters(cs);
	if (letters == NULL)
		return -1;
	for (i = 0; i < len; i++)
		p->u.tokens[i] = letters[s->bytes[i]];
	p->n = len;
	p->case_cost = language_case_cost(p->u.tokens, len);
	return 0;
}

static int piece_cost(const struct piece *p, enum language l)
{
	if (l >= LANGUAGE_HAN)
		return (int)language_han_cost(l, p->u.text, p->n);
	return (int)(language_cost(l, p->u.tokens, p->n) + p->case_cost);
}

static int hint_for(const struct race *race, enum language l)
{
	return race->hints == NULL || l == LANGUAGE_NONE ? 0 : race->hints->weight[l];
}

static void leave_out(struct race *race, size_t i)
{
	race->n--;
	memmove(race->readings + i, race->readings + i + 1, (race->n - i) * sizeof race->readings[0]);
	memmove(race->base + i, race->base + i + 1, (race->n - i) * sizeof race->base[0]);
}

/* Reads the first len bytes of the sample in every reading, and leaves out those that fall behind. */
static int race_run(struct race *race, struct piece *p, size_t len)
{
	struct reading *r;
	int best = INT32_MAX;
	size_t i;

	for (i = 0; i < race->n;) {
		r = &race->readings[i];
		if (read_piece(p, r->charset, &race->sample, len) != 0) {
			if (errno != EINVAL)
				return -1;
			leave_out(race, i);
			continue;
		}
		r->cost = piece_cost(p, r->language) + race->base[i] - hint_for(race, r->language);
		best = r->cost < best ? r->cost : best;
		i++;
	}
	for (i = race->n; i-- > 0;)
		if (race->readings[i].cost > best + BEHIND)
			leave_out(race, i);
	return 0;
}

static void keep_best(struct detection *d, const struct reading *r)
{
	size_t i;

	for (i = 0; i < d->n && d->readings[i].charset != r->charset; i++)
		continue;
	if (i == DETECTOR_READINGS)
		return;
	if (i == d->n)
		d->readings[d->n++] = *r;
	else if (r->cost < d->readings[i].cost)
		d->readings[i] = *r;
}

static int by_cost(const void *left, const void *right)
{
	const struct reading *a = left, *b = right;

	if (a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	return a->charset < b->charset ? -1 : a->charset > b->charset;
}

/* Whether another charset would be before the first without hints. */
static bool is_hinted(const struct race *race, const struct reading *first)
{
	int cost = first->cost + hint_for(race, first->language);
	size_t i;

	for (i = 0; i < race->n; i++)
		if (race->readings[i].charset != first->charset &&
		    race->readings[i].cost + hint_for(race, race->readings[i].language) < cost)
			return true;
	return false;
}

/* All of the text, and which bytes beyond ASCII it has. */
struct text {
	const uint8_t *bytes;
	size_t len;
	bool has[256];
};

static void text_look(struct text *text, const uint8_t *bytes, size_t len)
{
	size_t at;

	*text = (struct text){ .bytes = bytes, .len = len };
	for (at = utf8_ascii_prefix(bytes, len); at < len; at += utf8_ascii_prefix(bytes + at, len - at))
		text->has[bytes[at++]] = true;
}

/* Where a sample left something out, two close readings are weighed once more by the bytes that they read differently:
 * sets of one alphabet differ in a few letters, which the sample may have missed. Leaves the better of both first. */
static int settle(struct race *race, struct piece *p, struct reading *first, struct reading *second,
    const struct text *text)
{
	const uint16_t *a = charset_letters(first->charset), *b = charset_letters(second->charset);
	int cost[2];
	bool differ[256], any = false;
	struct reading swap;
	size_t i;

	if (a == NULL || b == NULL)
		return errno == EINVAL ? 0 : -1;
	for (i = 0; i < 256; i++) {
		differ[i] = a[i] != b[i] && text->has[i];
		any |= differ[i];
	}
	if (!any)
		return 0;
	sample_take(&race->sample, text->bytes, text->len, differ);
	for (i = 0; i < 2; i++) {
		p->charset = CS_NONE;
		if (read_piece(p, i == 0 ? first->charset : second->charset, &race->sample, race->sample.len) != 0)
			return -1;
		cost[i] = piece_cost(p, i == 0 ? first->language : second->language);
	}
	if (cost[0] - cost[1] > second->cost - first->cost) {
		swap = *first;
		*first = *second;
		*second = swap;
		first->cost = second->cost - (cost[0] - cost[1]);
	}
	return 0;
}

static int settle_all(struct race *race, struct piece *p, struct detection *d, const uint8_t *bytes, size_t len)
{
	int best = d->readings[0].cost;
	struct text text;
	size_t i;

	if (d->readings[1].cost >= best + CLOSE)
		return 0;
	text_look(&text, bytes, len);
	for (i = 1; i < d->n && d->readings[i].cost < best + CLOSE; i++)
		if (d->readings[0].language != LANGUAGE_NONE && d->readings[i].language != LANGUAGE_NONE &&
		    is_single(d->readings[0].charset) && is_single(d->readings[i].charset) &&
		    settle(race, p, &d->readings[0], &d->readings[i], &text) != 0)
			return -1;
	return 0;
}

int detector_weigh(struct detection *d, const uint8_t *bytes, size_t len, const struct hints *hints,
    const struct proposal *proposals, size_t n_proposals)
{
	static const size_t rounds[] = { 24, 96, SAMPLE_BYTES }; /* bytes of the sample */
	struct race race;
	struct piece p;
	size_t i;

	d->n = d->bytes = 0;
	d->hinted = d->is_text = false;
	race.n = 0;
	race.hints = hints;
	sample_take(&race.sample, bytes, len, NULL);
	if (race.sample.beyond == 0)
		return 0;
	for (i = 0; i < n_proposals; i++)
		if (enter_proposal(&race, &proposals[i]) != 0)
			return -1;
	for (i = 0; i < sizeof candidates / sizeof candidates[0]; i++)
		if (is_single(candidates[i].charset) || are_pairs(candidates[i].charset, &race.sample))
			enter_all(&race, candidates[i].charset, candidates[i].languages, ~0u, candidates[i].cost);
	p.charset = CS_NONE;
	for (i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
		if (race_run(&race, &p, race.sample.len < rounds[i] ? race.sample.len : rounds[i]) != 0)
			return -1;
		if (race.sample.len <= rounds[i])
			break;
	}
	for (i = 0; i < race.n; i++)
		keep_best(d, &race.readings[i]);
	qsort(d->readings, d->n, sizeof d->readings[0], by_cost);
	d->bytes = race.sample.len;
	d->hinted = d->n > 0 && is_hinted(&race, &d->readings[0]);
	d->is_text = d->n > 0 && d->readings[0].cost <= (int)(NO_TEXT * d->bytes);
	return d->n > 1 && !race.sample.whole ? settle_all(&race, &p, d, bytes, len) : 0;
}

int detector_has_signs_only(enum charset cs, const uint8_t *bytes, size_t len)
{
	const uint16_t *letters;
	struct sample s;
	unsigned token;
	size_t i;

	if (!is_single(cs))
		return 0;
	letters = charset_letters(cs);
	if (letters == NULL)
		return errno == EINVAL ? 0 : -1;
	sample_take(&s, bytes, len, NULL);
	for (i = 0; i < s.len; i++) {
		token = letters[s.bytes[i]] & TOKEN_MASK;
		if (token < TOKEN_OPEN)
			continue;
		if (token > TOKEN_SIGN_RARE)
			return 0;
		if (token >= TOKEN_SIGN && i > 0 && (letters[s.bytes[i - 1]] & TOKEN_SMALL) &&
		    (letters[s.bytes[i + 1]] & TOKEN_SMALL))
			return 0;
	}
	return 1;
}
