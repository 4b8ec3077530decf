/* Owns what a lookup counts as: each request adds to exactly one of the counters from cache_hits to cache_bypasses, or
 * to none of them where it never reached the cache. Must not know: how the lookup is decided. */
#include "proxy/answer/lookup_internal.h"

#include "proxy/settings/settings.h"

/* A request that waited for another one's fetch counts as collapsed, wherever the answer came from. STAT_COUNT: the
 * request never reached the cache. */
static enum stats_counter lookup_outcome(const struct lookup *l)
{
	if (l->status.kept)
		return STAT_CACHE_STALE;
	if (l->status.hit)
		return l->status.ttl > 0 ? STAT_CACHE_HITS : STAT_CACHE_STALE;
	if (l->status.collapsed)
		return STAT_CACHE_COLLAPSED;
	if (l->source == SOURCE_SUBSTITUTED)
		return l->status.fwd_status == 304 ? STAT_CACHE_REVALIDATED : STAT_CACHE_STALE;
	if (l->status.fwd == FWD_BYPASS || l->status.fwd == FWD_METHOD)
		return STAT_CACHE_BYPASSES;
	return l->status.fwd == FWD_NONE ? STAT_COUNT : STAT_CACHE_MISSES;
}

/* Only routes with a name have counters of their own. */
static void lookup_count_route(const struct lookup *l, enum stats_counter outcome)
{
	struct route_counts *c = settings_counts(l->ctx->settings, l->target.route);
	enum stats_route counter = ROUTE_REQUESTS;

	if (!c)
		return;
	if (outcome == STAT_CACHE_HITS || outcome == STAT_CACHE_STALE)
		counter = ROUTE_HITS;
	else if (outcome != STAT_COUNT && outcome != STAT_CACHE_BYPASSES)
		counter = ROUTE_MISSES;
	stats_add_route(&c->of[l->ctx->worker], counter);
}

enum answer_outcome lookup_answer(const struct lookup *l)
{
	switch (lookup_outcome(l)) {
	case STAT_CACHE_HITS:
		return ANSWER_HIT;
	case STAT_CACHE_STALE:
		return ANSWER_STALE;
	case STAT_CACHE_REVALIDATED:
		return ANSWER_REVALIDATED;
	case STAT_CACHE_COLLAPSED:
		return ANSWER_COLLAPSED;
	case STAT_CACHE_MISSES:
		return ANSWER_MISS;
	case STAT_CACHE_BYPASSES:
		return ANSWER_BYPASS;
	default:
		return ANSWER_NONE;
	}
}

int64_t lookup_next_fetch(const struct lookup *l, const struct object *o)
{
	if (l->status.kept) /* the next request asks, or the next one behind a pause */
		return 0;
	switch (l->source) {
	case SOURCE_STORED:
		return freshness_end(&l->freshness);
	case SOURCE_SUBSTITUTED:
		/* A 304 may have said that the response is not to be stored any more. */
		return l->status.fwd_status == 304 && !l->status.stored ? 0 : freshness_end(&l->freshness);
	case SOURCE_FILL:
	case SOURCE_COLLAPSED:
		return object_expires(o);
	case SOURCE_PAST:
		break;
	}
	return 0;
}

/* Whether the origin got no request for this one, though it would have without the cache. */
static bool lookup_saves(const struct lookup *l)
{
	return !l->asks && (l->source == SOURCE_STORED || l->status.collapsed || l->paused);
}

const char *lookup_kept_cause(const struct lookup *l, char room[FAILURE_CAUSE_MAX])
{
	const char *cause = failure_cause(l->status.fwd_status, l->why, room);

	return !l->status.kept ? NULL : cause ? cause : "slow";
}

/* When the origin gave or confirmed the feed that answered; 0: no feed did, or not what the origin has by now. */
static int64_t lookup_good(const struct lookup *l, const struct object_report *r)
{
	if (!r->decided || !r->verdict.feed)
		return 0;
	return l->source == SOURCE_STORED || l->source == SOURCE_SUBSTITUTED ? l->freshness.response_time : r->came;
}

/* Whether the origin failed, with *status or *why. A refusal of a client's own credentials concerns that client
 * alone. */
static bool lookup_failed(const struct lookup *l, const struct object_report *r, int *status, enum failure_kind *why)
{
	*status = r->fwd_status;
	*why = r->failure;
	switch (l->source) {
	case SOURCE_FILL:
	case SOURCE_COLLAPSED:
		return *why || (*status >= 400 && !(l->request->authorization && *status <= 403));
	case SOURCE_SUBSTITUTED:
		*status = l->status.fwd_status;
		*why = l->why;
		return *why || *status >= 400;
	case SOURCE_STORED:
	case SOURCE_PAST:
		break;
	}
	return false;
}

void lookup_account(const struct lookup *l, const struct object_report *r, const struct lookup_end *end,
    struct feed_state *s)
{
	uint64_t now_us = loop_now_us(l->ctx->loop);
	bool failed = lookup_failed(l, r, &s->failed_status, &s->failed_why) || end->why;

	s->saved = lookup_saves(l);
	s->good = end->status < 400 && !end->cut ? lookup_good(l, r) : 0;
	if (l->status.kept) {
		s->kept_us = s->kept_last_us = now_us;
		s->kept_since = s->kept_last = lookup_now(l);
		s->kept_asked_us = end->asked_us;
		s->kept_until = freshness_kept_until(&l->freshness);
	} else if (lookup_outcome(l) != STAT_CACHE_STALE && !end->cut && (s->good || l->paused || failed))
		s->unkept_us = now_us;
	if (!failed)
		return;
	s->failed_us = now_us;
	s->failed_at = lookup_now(l);
	if (end->why)
		s->failed_why = end->why;
}

void lookup_count(const struct lookup *l)
{
	enum stats_counter outcome = lookup_outcome(l);

	if (l->status.kept)
		stats_add(loop_stats(l->ctx->loop), STAT_CACHE_KEPT, 1);
	if (lookup_saves(l))
		stats_add(loop_stats(l->ctx->loop), STAT_ORIGIN_SAVED, 1);
	if (outcome != STAT_COUNT)
		stats_add(loop_stats(l->ctx->loop), outcome, 1);
	if (l->target.mode == TARGET_ROUTE)
		lookup_count_route(l, outcome);
}

/* When this is logged a fetch has only begun, and its result is not known yet. */
static const char *lookup_word(const struct lookup *l)
{
	switch (l->source) {
	case SOURCE_STORED:
		return l->status.kept ? "kept" : l->status.ttl > 0 ? "hit" : "stale";
	case SOURCE_COLLAPSED:
		return "collapsed";
	case SOURCE_FILL:
		return l->entry ? "revalidate" : "miss";
	case SOURCE_SUBSTITUTED:
	case SOURCE_PAST:
		break;
	}
	return "none, the answer is utfeed's own";
}

void lookup_tell(const struct lookup *l)
{
	if (lookup_waits(l))
		log_step(&l->ctx->id, "lookup: the store behind memory is asked");
	else
		log_step(&l->ctx->id, "lookup: %s", lookup_word(l));
}
