/* Owns weighing charsets against each other; see detector.h. A reading is a charset and a language. */
#include "core/evidence/detector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/evidence/charset_letters.h"
#include "core/evidence/detector_duel.h"
#include "core/evidence/detector_race.h"
#include "core/evidence/detector_trace.h"
#include "core/text/utf8.h"

enum {
	C1_BEGIN = 0x80, C1_END = 0xA0,
	CLEARLY = 4 * LANGUAGE_NAT /* by so much a label leads that needs no weight */
};

/* Whether another charset would be before the first without hints. */
static bool is_hinted(const struct race *race, const struct reading *first)
{
	int cost = first->cost + race_hint(race, first->language);

	for (size_t i = 0; i < race->n; i++)
		if (race->readings[i].charset != first->charset &&
		    race->readings[i].cost + race_hint(race, race->readings[i].language) < cost)
			return true;
	return false;
}

static int weigh(struct detection *d, struct detector_trace *trace, const uint8_t *bytes, size_t len,
    const struct hints *hints, const struct proposal *proposals, size_t n_proposals)
{
	struct race race;
	struct piece p;

	d->n = d->bytes = 0;
	d->hinted = d->is_text = false;
	race.hints = hints;
	race.trace = trace;
	sample_take(&race.sample, bytes, len, NULL);
	if (trace)
		trace_sample(trace, &race.sample);
	if (race.sample.beyond == 0)
		return 0;
	if (race_begin(&race, proposals, n_proposals) != 0 || race_run(&race, &p, &d->bytes) != 0)
		return -1;
	for (size_t i = 0; i < race.n; i++)
		detection_keep(d, &race.readings[i]);
	detection_sort(d);
	d->hinted = d->n > 0 && is_hinted(&race, &d->readings[0]);
	d->is_text = d->n > 0 && d->readings[0].cost <= (int)(RACE_NO_TEXT * d->bytes);
	if (d->n > 1 && !race.sample.whole && duel_settle(&race, &p, d, bytes, len) != 0)
		return -1;
	return duel_challenge(&race, &p, d, proposals, n_proposals, bytes, len);
}

/* Whether a token may be that of a byte under which no letter is; `before` and `behind` are its neighbours'. */
static bool is_sign_in_place(unsigned token, unsigned before, unsigned behind)
{
	token &= TOKEN_MASK;
	return token < TOKEN_SIGN || (token <= TOKEN_SIGN_RARE && !(before & behind & TOKEN_SMALL));
}

/* Marks the bytes that are signs in Windows' sets and C1 controls in this one. False: there are none, or the charset
 * has no letters to compare. */
static bool find_pasted(bool pasted[256], enum charset label)
{
	const uint16_t *windows = charset_letters(CS_WINDOWS_1252), *letters = charset_letters(label);
	bool any = false;

	memset(pasted, 0, 256 * sizeof *pasted);
	for (size_t i = C1_BEGIN; i < C1_END && windows && letters; i++) {
		pasted[i] = letters[i] == TOKEN_CONTROL && is_sign_in_place(windows[i], 0, 0);
		any |= pasted[i];
	}
	return any;
}

/* A copy of the text with ASCII quotes in place of those bytes; free() it. NULL: errno is ENOMEM, or 0 if it has none
 * of them. */
static uint8_t *without_pasted(const bool pasted[256], const uint8_t *bytes, size_t len)
{
	uint8_t *copy;
	size_t at = 0;

	while (at < len && !pasted[bytes[at]])
		at++;
	errno = 0;
	if (at == len || !(copy = malloc(len)))
		return NULL;
	for (at = 0; at < len; at++)
		copy[at] = pasted[bytes[at]] ? '"' : bytes[at];
	return copy;
}

/* Quotes and dashes of Windows' sets are pasted into texts of any charset. In an ISO set they are C1 controls, which no
 * model knows, and a few of them outweigh all letters. So they say nothing against a label whose letters need neither
 * them nor its weight. */
static int weigh_without_pasted(struct detection *d, struct detector_trace *trace, const uint8_t *bytes, size_t len,
    const struct hints *hints, const struct proposal *label)
{
	struct proposal weightless = { .charset = label->charset, .weight = 0 };
	struct detection others;
	bool pasted[256];
	uint8_t *copy;
	int rc;

	if (!race_is_single(label->charset) || !find_pasted(pasted, label->charset))
		return 0;
	copy = without_pasted(pasted, bytes, len);
	if (!copy)
		return errno == 0 ? 0 : -1;
	rc = weigh(&others, NULL, copy, len, hints, &weightless, 1);
	if (rc == 0 && others.n > 0 && others.readings[0].charset == label->charset &&
	    (others.n == 1 || others.readings[1].cost >= others.readings[0].cost + CLEARLY))
		rc = weigh(d, trace, copy, len, hints, &weightless, 1);
	free(copy);
	return rc;
}

/* Whether a proposal is the first reading, or there is nothing to read. */
static bool leads_any(const struct detection *d, const struct proposal *proposals, size_t n)
{
	size_t i = 0;

	while (i < n && d->n > 0 && proposals[i].charset != d->readings[0].charset)
		i++;
	return i < n || d->n == 0;
}

int detector_explain(struct detection *d, struct detector_trace *trace, const uint8_t *bytes, size_t len,
    const struct hints *hints, const struct proposal *proposals, size_t n_proposals)
{
	int rc = weigh(d, trace, bytes, len, hints, proposals, n_proposals);

	for (size_t i = 0; rc == 0 && i < n_proposals && !leads_any(d, proposals, n_proposals); i++)
		rc = weigh_without_pasted(d, trace, bytes, len, hints, &proposals[i]);
	if (trace)
		trace_found(trace, d, proposals, n_proposals);
	return rc;
}

int detector_weigh(struct detection *d, const uint8_t *bytes, size_t len, const struct hints *hints,
    const struct proposal *proposals, size_t n_proposals)
{
	return detector_explain(d, NULL, bytes, len, hints, proposals, n_proposals);
}

int detector_signs_only(bool *only, enum charset cs, const uint8_t *bytes, size_t len)
{
	size_t at;

	*only = false;
	if (!race_is_single(cs))
		return 0;
	const uint16_t *letters = charset_letters(cs);
	if (!letters)
		return errno == EINVAL ? 0 : -1;
	for (at = utf8_ascii_prefix(bytes, len); at < len; at += utf8_ascii_prefix(bytes + at, len - at)) {
		if (!is_sign_in_place(letters[bytes[at]], at > 0 ? letters[bytes[at - 1]] : 0,
		    at + 1 < len ? letters[bytes[at + 1]] : 0))
			return 0;
		at++;
	}
	*only = true;
	return 0;
}
