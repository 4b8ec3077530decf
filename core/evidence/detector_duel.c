/* Owns deciding between two readings by the bytes in which they differ; see detector_duel.h. */
#include "core/evidence/detector_duel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/evidence/charset_letters.h"

enum {
	/* The bytes in which two readings differ decide between them if the costs differ by less. */
	CLOSE = 10 * LANGUAGE_NAT,
	DECISIVE = 40 * LANGUAGE_NAT    /* more of the text would not turn such a lead */
};

void detection_keep(struct detection *d, const struct reading *r)
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

void detection_sort(struct detection *d)
{
	qsort(d->readings, d->n, sizeof d->readings[0], by_cost);
}

/* All of the text, and which bytes beyond ASCII it has. */
struct duel_text {
	const uint8_t *bytes;
	size_t len;
	bool has[256];
};

static void text_look(struct duel_text *text, const uint8_t *bytes, size_t len)
{
	enum { WORD = sizeof(uint64_t) };
	size_t at;
	uint64_t word;

	*text = (struct duel_text){ .bytes = bytes, .len = len };
	for (at = 0; len - at >= WORD; at += WORD) {
		memcpy(&word, bytes + at, WORD);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		word = __builtin_bswap64(word);
#endif
		for (word &= UINT64_C(0x8080808080808080); word != 0; word &= word - 1)
			text->has[bytes[at + (size_t)__builtin_ctzll(word) / 8]] = true;
	}
	for (; at < len; at++)
		text->has[bytes[at]] = true;
	memset(text->has, 0, 0x80);
}

/* The bytes of a text that two charsets read differently. */
struct differing {
	bool is[256];
	bool any;
};

static int find_differing(struct differing *d, const struct duel_text *text, enum charset left, enum charset right)
{
	const uint16_t *a = charset_letters(left), *b = charset_letters(right);

	d->any = false;
	if (!a || !b)
		return errno == EINVAL ? 0 : -1;
	for (size_t i = 0; i < 256; i++) {
		d->is[i] = text->has[i] && a[i] != b[i];
		d->any |= d->is[i];
	}
	return 0;
}

static size_t count_differing(const uint8_t *bytes, size_t len, const struct differing *d)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += d->is[bytes[i]];
	return n;
}

/* By how much these bytes and what stands around them speak for the first of two readings. *odd: how many of the bytes
 * were read. */
static int weigh_differing(struct race *race, struct piece *p, const struct reading *first,
    const struct reading *second, const struct duel_text *text, const struct differing *d, size_t *odd, int *lead)
{
	static const size_t rounds[] = { 192, 1024 }; /* bytes of the sample */
	const struct reading *const both[] = { first, second };
	size_t len = 0;
	int cost[2];

	sample_take(&race->sample, text->bytes, text->len, d->is);
	*lead = 0;
	for (size_t round = 0; round < sizeof rounds / sizeof rounds[0] && len < race->sample.len; round++) {
		len = race->sample.len < rounds[round] ? race->sample.len : rounds[round];
		for (size_t i = 0; i < 2; i++) {
			p->charset = CS_NONE;
			if (piece_read(p, both[i]->charset, &race->sample, len) != 0)
				return -1;
			cost[i] = piece_cost(p, both[i]->language);
		}
		*lead = cost[1] - cost[0];
		if (abs(*lead) >= DECISIVE)
			break;
	}
	*odd = count_differing(race->sample.bytes, len, d);
	return 0;
}

/* If a sample left something out, the bytes that two close readings read differently are weighed once more. Sets of one
 * alphabet differ in a few letters, which the sample may have missed. Leaves the better of both first. */
static int settle(struct race *race, struct piece *p, struct reading *first, struct reading *second,
    const struct duel_text *text)
{
	struct differing differing;
	struct reading swap;
	size_t odd;
	int lead;

	if (find_differing(&differing, text, first->charset, second->charset) != 0)
		return -1;
	if (!differing.any)
		return 0;
	if (weigh_differing(race, p, first, second, text, &differing, &odd, &lead) != 0)
		return -1;
	if (-lead > second->cost - first->cost) {
		swap = *first;
		*first = *second;
		*second = swap;
		first->cost = second->cost + lead;
	}
	return 0;
}

int duel_settle(struct race *race, struct piece *p, struct detection *d, const uint8_t *bytes, size_t len)
{
	int best = d->readings[0].cost;
	struct duel_text text;

	if (d->readings[1].cost >= best + CLOSE)
		return 0;
	text_look(&text, bytes, len);
	for (size_t i = 1; i < d->n && d->readings[i].cost < best + CLOSE; i++)
		if (d->readings[0].language != LANGUAGE_NONE && d->readings[i].language != LANGUAGE_NONE &&
		    race_is_single(d->readings[0].charset) && race_is_single(d->readings[i].charset) &&
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
	size_t letters = 0, same = 0;

	for (size_t i = 0xC0; i < 0x100 && a && b; i++)
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
	struct duel_text text = { .bytes = NULL };
	const struct race_candidate *c = NULL;
	size_t odd;
	int lead;

	while ((c = race_next_single(c))) {
		rival.charset = c->charset;
		if (!race_is_used_for(c, winner.language) || has_reading(d, rival.charset) ||
		    !are_sisters(winner.charset, rival.charset))
			continue;
		if (!text.bytes)
			text_look(&text, bytes, len);
		if (find_differing(&differing, &text, winner.charset, rival.charset) != 0)
			return -1;
		if (!differing.any)
			continue;
		if (weigh_differing(race, p, &winner, &rival, &text, &differing, &odd, &lead) != 0)
			return -1;
		rival.cost = winner.cost + lead + label->weight + c->cost +
		    race_label_grows(winner.charset, label->weight, odd, true);
		if (rival.cost < winner.cost + RACE_BEHIND)
			detection_keep(d, &rival);
	}
	detection_sort(d);
	return 0;
}

int duel_challenge(struct race *race, struct piece *p, struct detection *d, const struct proposal *proposals,
    size_t n, const uint8_t *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < n && d->n > 0 && proposals[i].charset != d->readings[0].charset; i++)
		continue;
	if (i == n || d->n == 0 || !race_is_single(proposals[i].charset) || d->readings[0].language == LANGUAGE_NONE)
		return 0;
	return challenge(race, p, d, &proposals[i], bytes, len);
}

