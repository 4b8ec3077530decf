/* Owns weighing charsets against each other; see detector.h. A reading is a charset and a language. */
#include "core/evidence/detector.h"

#include <errno.h>

#include "core/evidence/charset_letters.h"
#include "core/evidence/detector_duel.h"
#include "core/evidence/detector_race.h"
#include "core/evidence/detector_trace.h"
#include "core/text/utf8.h"

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

int detector_explain(struct detection *d, struct detector_trace *trace, const uint8_t *bytes, size_t len,
    const struct hints *hints, const struct proposal *proposals, size_t n_proposals)
{
	int rc = weigh(d, trace, bytes, len, hints, proposals, n_proposals);

	if (trace)
		trace_found(trace, d, proposals, n_proposals);
	return rc;
}

int detector_weigh(struct detection *d, const uint8_t *bytes, size_t len, const struct hints *hints,
    const struct proposal *proposals, size_t n_proposals)
{
	return weigh(d, NULL, bytes, len, hints, proposals, n_proposals);
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
