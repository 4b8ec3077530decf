/* What the last hour was like; see history.h. */
#include "proxy/admin/history.h"

enum { HISTORY_ROOM = HISTORY_SAMPLES + 1 };

void history_add(struct history *h, const struct history_sample *s)
{
	h->samples[h->n++ % HISTORY_ROOM] = *s;
}

size_t history_steps(const struct history *h)
{
	size_t there = h->n < HISTORY_ROOM ? h->n : HISTORY_ROOM;

	return there ? there - 1 : 0;
}

struct history_sample history_step(const struct history *h, size_t i)
{
	size_t first = h->n < HISTORY_ROOM ? 0 : h->n - HISTORY_ROOM;
	const struct history_sample *from = &h->samples[(first + i) % HISTORY_ROOM],
	                            *to = &h->samples[(first + i + 1) % HISTORY_ROOM];

	return (struct history_sample){ .at = to->at,
		.requests = to->requests - from->requests,
		.hits = to->hits - from->hits,
		.errors = to->errors - from->errors,
		.bytes = to->bytes - from->bytes,
		.duration_us = to->duration_us - from->duration_us,
		.timed = to->timed - from->timed,
		.resident = to->resident };
}
