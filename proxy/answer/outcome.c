/* Owns what an answer counts as: each request adds to exactly one of the counters from cache_hits to cache_bypasses, or
 * to none of them where it never reached the cache. Must not know: how the answer came about. */
#include "proxy/answer/answer_internal.h"

#include "proxy/cache/fill.h"
#include "proxy/settings/settings.h"

static const enum stats_counter answer_counters[] = {
	[ANSWER_NONE] = STAT_COUNT, [ANSWER_HIT] = STAT_CACHE_HITS, [ANSWER_STALE] = STAT_CACHE_STALE,
	[ANSWER_REVALIDATED] = STAT_CACHE_REVALIDATED, [ANSWER_COLLAPSED] = STAT_CACHE_COLLAPSED,
	[ANSWER_MISS] = STAT_CACHE_MISSES, [ANSWER_BYPASS] = STAT_CACHE_BYPASSES,
};

/* A request that waited for another request's fetch counts as collapsed, wherever the answer came from. */
enum answer_outcome answer_outcome(const struct answer *a)
{
	if (a->status.kept)
		return ANSWER_STALE;
	if (a->status.hit)
		return a->status.ttl > 0 ? ANSWER_HIT : ANSWER_STALE;
	if (a->status.collapsed)
		return ANSWER_COLLAPSED;
	if (a->source == SOURCE_SUBSTITUTED)
		return a->status.fwd_status == 304 ? ANSWER_REVALIDATED : ANSWER_STALE;
	if (a->status.fwd == FWD_BYPASS || a->status.fwd == FWD_METHOD)
		return ANSWER_BYPASS;
	return a->status.fwd == FWD_NONE ? ANSWER_NONE : ANSWER_MISS;
}

/* Only routes with a name have counters of their own. */
static void answer_count_route(const struct answer *a, enum answer_outcome outcome)
{
	struct route_counts *counts = settings_counts(a->ctx->settings, a->target.route);
	enum stats_route counter = ROUTE_REQUESTS;

	if (!counts)
		return;
	if (outcome == ANSWER_HIT || outcome == ANSWER_STALE)
		counter = ROUTE_HITS;
	else if (outcome != ANSWER_NONE && outcome != ANSWER_BYPASS)
		counter = ROUTE_MISSES;
	stats_add_route(&counts->of[a->ctx->worker], counter);
}

int64_t answer_next_fetch(const struct answer *a, const struct object *o)
{
	const struct filled *told = filled_of(o);

	if (a->status.kept) /* the next request asks, or the next one behind a pause */
		return 0;
	switch (a->source) {
	case SOURCE_STORED:
		return freshness_end(&a->freshness);
	case SOURCE_SUBSTITUTED:
		/* A 304 may have said that the response is not to be stored any more. */
		return a->status.fwd_status == 304 && !a->status.stored ? 0 : freshness_end(&a->freshness);
	case SOURCE_FILL:
	case SOURCE_COLLAPSED:
		return told && a->status.stored ? atomic_load_explicit(&told->expires, memory_order_relaxed) : 0;
	case SOURCE_PAST:
		break;
	}
	return 0;
}

/* Whether the origin got no request for this one, though it would have without the cache. */
static bool answer_saves(const struct answer *a)
{
	return !a->asks && (a->source == SOURCE_STORED || a->status.collapsed || a->paused);
}

/* Whether the origin is not asked because of an interval alone: it did not fail. */
static bool answer_is_spaced(const struct answer *a)
{
	return a->paused && !a->why && !a->status.fwd_status;
}

const char *answer_kept_cause(const struct answer *a, char room[FAILURE_CAUSE_MAX])
{
	const char *cause = failure_cause(a->status.fwd_status, a->why, room);

	return !a->status.kept || answer_is_spaced(a) ? NULL : cause ? cause : "slow";
}

/* When the origin gave or confirmed the feed that answered; 0: no feed did, or not what the origin has by now. */
static int64_t answer_good(const struct answer *a, const struct object_report *report)
{
	if (!report->decided || !report->verdict.feed)
		return 0;
	return a->source == SOURCE_STORED || a->source == SOURCE_SUBSTITUTED ? a->freshness.response_time : a->came;
}

/* Whether the origin failed, by its status or why. A refusal of a client's own credentials concerns that client
 * alone. */
static bool answer_origin_failed(const struct answer *a)
{
	int status = a->status.fwd_status;

	switch (a->source) {
	case SOURCE_FILL:
	case SOURCE_COLLAPSED:
		return a->why || (status >= 400 && !(a->request->authorization && status <= 403));
	case SOURCE_SUBSTITUTED:
		return a->why || status >= 400;
	case SOURCE_STORED:
	case SOURCE_PAST:
		break;
	}
	return false;
}

void answer_account(const struct answer *a, const struct object_report *report, const struct answer_ended *end,
    struct feed_state *state)
{
	uint64_t now_us = loop_now_us(a->ctx->loop);
	bool failed = answer_origin_failed(a) || end->why;

	state->saved = answer_saves(a);
	state->good = end->status < 400 && !end->cut ? answer_good(a, report) : 0;
	if (a->status.kept && !answer_is_spaced(a)) {
		state->kept_us = state->kept_last_us = now_us;
		state->kept_since = state->kept_last = answer_now(a);
		state->kept_asked_us = end->asked_us;
		state->kept_until = freshness_kept_until(&a->freshness);
	} else if (!a->status.kept && answer_outcome(a) != ANSWER_STALE && !end->cut &&
	    (state->good || a->paused || failed))
		state->unkept_us = now_us;
	if (!failed)
		return;
	state->failed_us = now_us;
	state->failed_at = answer_now(a);
	state->failed_status = a->status.fwd_status;
	state->failed_why = end->why ? end->why : a->why;
}

void answer_count(const struct answer *a)
{
	enum answer_outcome outcome = answer_outcome(a);

	if (a->status.kept && !answer_is_spaced(a))
		stats_add(loop_stats(a->ctx->loop), STAT_CACHE_KEPT, 1);
	if (answer_saves(a))
		stats_add(loop_stats(a->ctx->loop), STAT_ORIGIN_SAVED, 1);
	if (outcome != ANSWER_NONE)
		stats_add(loop_stats(a->ctx->loop), answer_counters[outcome], 1);
	if (a->target.mode == TARGET_ROUTE)
		answer_count_route(a, outcome);
}
