/* Owns the trace of a weighing; see detector_trace.h. */
#include "core/evidence/detector_trace.h"

#include <stdlib.h>
#include <string.h>

void trace_sample(struct detector_trace *t, const struct sample *s)
{
	t->weighed = true;
	t->n = t->pieces = 0;
	t->bytes = s->len;
	t->beyond = s->beyond;
	t->whole = s->whole;
	for (size_t i = 0; i < s->len; i++)
		t->pieces += s->bytes[i] == '\n';
}

static bool is_same(const struct reading *a, const struct reading *b)
{
	return a->charset == b->charset && a->language == b->language;
}

void trace_reading(struct detector_trace *t, const struct traced *r)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		if (is_same(&t->readings[i].reading, &r->reading))
			break;
	if (i == DETECTOR_TRACED)
		return;
	t->n = i == t->n ? i + 1 : t->n;
	t->readings[i] = *r;
}

static int by_fate(const void *left, const void *right)
{
	const struct traced *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->behind != b->behind)
		return a->behind < b->behind ? -1 : 1;
	return a->reading.charset < b->reading.charset ? -1 : a->reading.charset > b->reading.charset;
}

bool trace_has_kept(const struct detector_trace *t, const struct reading *r)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->readings[i].kept && is_same(&t->readings[i].reading, r))
			return true;
	return false;
}

void trace_found(struct detector_trace *t, const struct detection *d, const struct proposal *proposals, size_t n)
{
	t->found = *d;
	t->n_proposals = n;
	if (n > 0)
		memcpy(t->proposals, proposals, n * sizeof *proposals);
	qsort(t->readings, t->n, sizeof t->readings[0], by_fate);
}
