/* What the last hour was like; see history.h. */
#include "proxy/admin/history.h"

enum { HISTORY_ROOM = HISTORY_SAMPLES + 1 };

void history_add(struct history *history, const struct history_sample *sample)
{
	history->samples[history->n++ % HISTORY_ROOM] = *sample;
}

size_t history_steps(const struct history *history)
{
	size_t there = history->n < HISTORY_ROOM ? history->n : HISTORY_ROOM;

	return there ? there - 1 : 0;
}

static struct history_sample history_added(const struct history_sample *from, const struct history_sample *to)
{
	struct history_sample s = { .at = to->at,
		.requests = to->requests - from->requests,
		.hits = to->hits - from->hits,
		.errors = to->errors - from->errors,
		.bytes = to->bytes - from->bytes,
		.duration_us = to->duration_us - from->duration_us,
		.timed = to->timed - from->timed,
		.resident = to->resident };

	for (size_t b = 0; b <= HISTOGRAM_BUCKETS; b++)
		s.durations[b] = to->durations[b] - from->durations[b];
	return s;
}

static size_t history_oldest(const struct history *history)
{
	return history->n < HISTORY_ROOM ? 0 : history->n - HISTORY_ROOM;
}

struct history_sample history_step(const struct history *history, size_t i)
{
	size_t first = history_oldest(history);

	return history_added(&history->samples[(first + i) % HISTORY_ROOM],
	    &history->samples[(first + i + 1) % HISTORY_ROOM]);
}

struct history_sample history_since(const struct history *history, const struct history_sample *now)
{
	static const struct history_sample nothing;

	return history_added(history->n ? &history->samples[history_oldest(history) % HISTORY_ROOM] : &nothing, now);
}

/* The latest sample at that moment or before; NULL: there is none. */
static const struct history_sample *history_at(const struct history *history, int64_t at)
{
	for (size_t i = history->n; i > history_oldest(history); i--)
		if (history->samples[(i - 1) % HISTORY_ROOM].at <= at)
			return &history->samples[(i - 1) % HISTORY_ROOM];
	return NULL;
}

int64_t history_between(const struct history *history, int64_t from, int64_t to, struct history_sample *added)
{
	const struct history_sample *first = history_at(history, from), *last = history_at(history, to);

	if (!first && last)
		first = &history->samples[history_oldest(history) % HISTORY_ROOM];
	if (!first || first->at >= last->at)
		return 0;
	*added = history_added(first, last);
	return last->at - first->at;
}

int64_t history_latest(const struct history *history)
{
	return history->n ? history->samples[(history->n - 1) % HISTORY_ROOM].at : 0;
}

int64_t history_earliest(const struct history *history)
{
	return history->n ? history->samples[history_oldest(history) % HISTORY_ROOM].at : 0;
}

double history_mean_ms(const struct history_sample *step)
{
	return step->timed ? (double)step->duration_us / (double)step->timed / 1000 : 0;
}

double history_quantile_ms(const struct history_sample *step, double share)
{
	return stats_quantile(HISTOGRAM_REQUEST_DURATION, step->durations, share) / 1000;
}
