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
#include "core/evidence/detector_trace.h"
#include "core/evidence/sample.h"
#include "core/text/utf8.h"

enum {
	BEHIND = 18 * LANGUAGE_NAT, /* a reading that costs so much more than the best is given up */
	/* Two readings that differ by less are told apart by the bytes in which they differ. */
	CLOSE = 10 * LANGUAGE_NAT,
	/* A text of which even the best reading costs more for each byte is none that the models know. */
	NO_TEXT = 27,
	PAIRS_BYTES = 384,      /* of the sample, which tell whether it may be in pairs */
	DIFFERING_BYTES = 1024, /* of a sample around bytes that two charsets read differently */
	STRANGERS = 1 << SCRIPT_COUNT,
	READINGS = DETECTOR_TRACED
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
	for (i = 0; i < s->len && i < PAIRS_BYTES; i++) {
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
	size_t proposed; /* the first so many are of charsets that somebody named */
	struct detector_trace *trace; /* NULL: nobody asks */
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

	for (i = 0; i < race->proposed; i++)
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

static void trace_round(const struct race *race, size_t len, int best)
{
	const struct reading *r = race->readings;
	size_t i;

	for (i = 0; race->trace != NULL && i < race->n; i++)
		if (r[i].cost != INT32_MAX)
			trace_reading(race->trace, &(struct traced){ r[i], race->base[i], hint_for(race, r[i].language),
			    len, r[i].cost - best, r[i].cost <= best + BEHIND });
}

/* Reads the first len bytes of the sample in every reading, and leaves out those that fall behind. */
static int race_run(struct race *race, struct piece *p, size_t len)
{
	struct reading *r;
	int best = INT32_MAX - BEHIND;
	size_t i, left = 0;

	for (i = 0; i < race->n; i++) {
		r = &race->readings[i];
		r->cost = INT32_MAX;
		if (read_piece(p, r->charset, &race->sample, len) == 0)
			r->cost = piece_cost(p, r->language) + race->base[i] - hint_for(race, r->language);
		else if (errno != EINVAL)
			return -1;
		best = r->cost < best ? r->cost : best;
	}
	trace_round(race, len, best);
	for (i = 0; i < race->n; i++)
		if (race->readings[i].cost <= best + BEHIND && race->readings[i].cost < INT32_MAX) {
			race->readings[left] = race->readings[i];
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
	if (!is_single(left) || !is_single(right) || (a = charset_letters(left)) == NULL ||
	    (b = charset_letters(right)) == NULL)
		return false;
	for (i = 0; i < s->len && a[s->bytes[i]] == b[s->bytes[i]]; i++)
		continue;
	return i == s->len;
}

/* Whether all readings that are left make the same text of the sample, which more of it would not tell apart, and one
 * of them is likely enough for a text. */
static bool is_decided(const struct race *race, size_t bytes)
{
	bool is_text = false;
	size_t i;

	for (i = 0; i < race->n; i++)
		is_text |= race->readings[i].cost <= (int)(NO_TEXT * bytes);
	for (i = 1; i < race->n && is_text; i++)
		if (race->readings[i].charset != race->readings[i - 1].charset &&
		    !read_alike(&race->sample, race->readings[i].charset, race->readings[0].charset))
			return false;
	return is_text;
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
	enum { WORD = sizeof(uint64_t) };
	size_t at = 0, end;
	uint64_t word;

	*text = (struct text){ .bytes = bytes, .len = len };
	for (; at < len; at = end) {
		end = len - at < WORD ? len : at + WORD;
		word = ~UINT64_C(0);
		if (end - at == WORD)
			memcpy(&word, bytes + at, WORD);
		for (; (word & UINT64_C(0x8080808080808080)) != 0 && at < end; at++)
			text->has[bytes[at]] = true;
	}
	memset(text->has, 0, 0x80);
}

/* The bytes of a text that two charsets read differently. */
struct differing {
	bool is[256];
	bool any;
};

static int find_differing(struct differing *d, const struct text *text, enum charset left, enum charset right)
{
	const uint16_t *a = charset_letters(left), *b = charset_letters(right);
	size_t i;

	d->any = false;
	if (a == NULL || b == NULL)
		return errno == EINVAL ? 0 : -1;
	for (i = 0; i < 256; i++) {
		d->is[i] = text->has[i] && a[i] != b[i];
		d->any |= d->is[i];
	}
	return 0;
}

/* By how much these bytes and what stands around them speak for the first of two readings. */
static int weigh_differing(struct race *race, struct piece *p, const struct reading *first,
    const struct reading *second, const struct text *text, const struct differing *d, int *lead)
{
	const struct reading *const both[] = { first, second };
	size_t i, len;
	int cost[2];

	sample_take(&race->sample, text->bytes, text->len, d->is);
	len = race->sample.len < DIFFERING_BYTES ? race->sample.len : DIFFERING_BYTES;
	for (i = 0; i < 2; i++) {
		p->charset = CS_NONE;
		if (read_piece(p, both[i]->charset, &race->sample, len) != 0)
			return -1;
		cost[i] = piece_cost(p, both[i]->language);
	}
	*lead = cost[1] - cost[0];
	return 0;
}

/* Where a sample left something out, two close readings are weighed once more by the bytes that they read differently:
 * sets of one alphabet differ in a few letters, which the sample may have missed. Leaves the better of both first. */
static int settle(struct race *race, struct piece *p, struct reading *first, struct reading *second,
    const struct text *text)
{
	struct differing differing;
	struct reading swap;
	int lead;

	if (find_differing(&differing, text, first->charset, second->charset) != 0)
		return -1;
	if (!differing.any)
		return 0;
	if (weigh_differing(race, p, first, second, text, &differing, &lead) != 0)
		return -1;
	if (-lead > second->cost - first->cost) {
		swap = *first;
		*first = *second;
		*second = swap;
		first->cost = second->cost + lead;
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

static bool has_reading(const struct detection *d, enum charset cs)
{
	size_t i;

	for (i = 0; i < d->n && d->readings[i].charset != cs; i++)
		continue;
	return i < d->n;
}

/* Whether most letters of a charset are where the other has them, too, as in iso-8859-2 and windows-1250. */
static bool are_sisters(enum charset left, enum charset right)
{
	const uint16_t *a = charset_letters(left), *b = charset_letters(right);
	size_t i, letters = 0, same = 0;

	for (i = 0xC0; i < 0x100 && a != NULL && b != NULL; i++)
		if ((a[i] & TOKEN_MASK) >= TOKEN_LETTER) {
			letters++;
			same += a[i] == b[i];
		}
	return same * 4 >= letters * 3 && same > 0;
}

/* A label's weight leaves a sister of its charset behind before the text comes to the bytes that both read differently:
 * quotes and a few letters. So the label has to win by these bytes, too. */
static int challenge(struct race *race, struct piece *p, struct detection *d, const struct proposal *label,
    const uint8_t *bytes, size_t len)
{
	const struct reading winner = d->readings[0];
	struct differing differing;
	struct reading rival = winner;
	struct text text = { .bytes = NULL };
	size_t i;
	int lead;

	for (i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
		rival.charset = candidates[i].charset;
		if (!is_single(rival.charset) || !(candidates[i].languages >> winner.language & 1) ||
		    has_reading(d, rival.charset) || !are_sisters(winner.charset, rival.charset))
			continue;
		if (text.bytes == NULL)
			text_look(&text, bytes, len);
		if (find_differing(&differing, &text, winner.charset, rival.charset) != 0)
			return -1;
		if (!differing.any)
			continue;
		if (weigh_differing(race, p, &winner, &rival, &text, &differing, &lead) != 0)
			return -1;
		rival.cost = winner.cost + lead + label->weight + candidates[i].cost;
		if (rival.cost < winner.cost + BEHIND)
			keep_best(d, &rival);
	}
	qsort(d->readings, d->n, sizeof d->readings[0], by_cost);
	return 0;
}

static int challenge_label(struct race *race, struct piece *p, struct detection *d, const struct proposal *proposals,
    size_t n, const uint8_t *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < n && d->n > 0 && proposals[i].charset != d->readings[0].charset; i++)
		continue;
	if (i == n || d->n == 0 || !is_single(proposals[i].charset) || d->readings[0].language == LANGUAGE_NONE)
		return 0;
	return challenge(race, p, d, &proposals[i], bytes, len);
}

static int weigh(struct detection *d, struct detector_trace *trace, const uint8_t *bytes, size_t len,
    const struct hints *hints, const struct proposal *proposals, size_t n_proposals)
{
	static const size_t rounds[] = { 24, 96, 384, SAMPLE_BYTES }; /* bytes of the sample */
	struct race race;
	struct piece p;
	size_t i;

	d->n = d->bytes = 0;
	d->hinted = d->is_text = false;
	race.n = race.proposed = 0;
	race.hints = hints;
	race.trace = trace;
	sample_take(&race.sample, bytes, len, NULL);
	if (trace != NULL)
		trace_sample(trace, &race.sample);
	if (race.sample.beyond == 0)
		return 0;
	for (i = 0; i < n_proposals; i++) {
		if (enter_proposal(&race, &proposals[i]) != 0)
			return -1;
		race.proposed = race.n;
	}
	for (i = 0; i < sizeof candidates / sizeof candidates[0]; i++)
		if (is_single(candidates[i].charset) || are_pairs(candidates[i].charset, &race.sample))
			enter_all(&race, candidates[i].charset, candidates[i].languages, ~0u, candidates[i].cost);
	p.charset = CS_NONE;
	for (i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
		d->bytes = race.sample.len < rounds[i] ? race.sample.len : rounds[i];
		if (race_run(&race, &p, d->bytes) != 0)
			return -1;
		if (d->bytes == race.sample.len || is_decided(&race, d->bytes))
			break;
	}
	for (i = 0; i < race.n; i++)
		keep_best(d, &race.readings[i]);
	qsort(d->readings, d->n, sizeof d->readings[0], by_cost);
	d->hinted = d->n > 0 && is_hinted(&race, &d->readings[0]);
	d->is_text = d->n > 0 && d->readings[0].cost <= (int)(NO_TEXT * d->bytes);
	if (d->n > 1 && !race.sample.whole && settle_all(&race, &p, d, bytes, len) != 0)
		return -1;
	return challenge_label(&race, &p, d, proposals, n_proposals, bytes, len);
}

/* Whether a token may be that of a byte under which no letter is; `before` and `behind` are its neighbours'. */
static bool is_sign_in_place(unsigned token, unsigned before, unsigned behind)
{
	token &= TOKEN_MASK;
	return token < TOKEN_SIGN || (token <= TOKEN_SIGN_RARE && !(before & behind & TOKEN_SMALL));
}

int detector_explain(struct detection *d, struct detector_trace *trace, const uint8_t *bytes, size_t len,
    const struct hints *hints, const struct proposal *proposals, size_t n_proposals)
{
	int rc = weigh(d, trace, bytes, len, hints, proposals, n_proposals);

	if (trace != NULL)
		trace_found(trace, d, proposals, n_proposals);
	return rc;
}

int detector_weigh(struct detection *d, const uint8_t *bytes, size_t len, const struct hints *hints,
    const struct proposal *proposals, size_t n_proposals)
{
	return weigh(d, NULL, bytes, len, hints, proposals, n_proposals);
}

int detector_has_signs_only(enum charset cs, const uint8_t *bytes, size_t len)
{
	const uint16_t *letters;
	size_t at;

	if (!is_single(cs))
		return 0;
	letters = charset_letters(cs);
	if (letters == NULL)
		return errno == EINVAL ? 0 : -1;
	for (at = utf8_ascii_prefix(bytes, len); at < len; at += utf8_ascii_prefix(bytes + at, len - at)) {
		if (!is_sign_in_place(letters[bytes[at]], at > 0 ? letters[bytes[at - 1]] : 0,
		    at + 1 < len ? letters[bytes[at + 1]] : 0))
			return 0;
		at++;
	}
	return 1;
}
