/* A request's steps through the cache, in the order of lookup.h. */
#include "proxy/answer/lookup_internal.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/answer/gateway.h"
#include "proxy/answer/request_head.h"
#include "proxy/base/container_of.h"
#include "proxy/http/vary.h"

static enum lookup_step lookup_step_key(struct answer *);
static enum lookup_step lookup_step_find(struct answer *);
static enum lookup_step lookup_step_parts(struct answer *);
static enum lookup_step lookup_step_decide(struct answer *);

/* run NULL: the lookup stops at this step. next: bits of the steps that may follow. */
#define TO(step) (1u << LOOKUP_##step)
static const struct {
	enum lookup_step (*run)(struct answer *);
	unsigned next;
} lookup_steps[LOOKUP_STEPS] = {
	[LOOKUP_KEY] = { lookup_step_key, TO(FIND) | TO(DONE) },
	[LOOKUP_FIND] = { lookup_step_find, TO(WAIT) | TO(PARTS) | TO(DECIDE) },
	[LOOKUP_WAIT] = { NULL, TO(FIND) | TO(PARTS) | TO(DECIDE) },
	[LOOKUP_PARTS] = { lookup_step_parts, TO(COLLAPSE) | TO(DONE) },
	[LOOKUP_DECIDE] = { lookup_step_decide, TO(FIND) | TO(COLLAPSE) | TO(DONE) },
	[LOOKUP_COLLAPSE] = { lookup_step_collapse, TO(DECIDE) | TO(FILL) | TO(DONE) },
	[LOOKUP_FILL] = { lookup_step_fill, TO(COLLAPSE) | TO(DONE) },
	[LOOKUP_DONE] = { NULL, TO(FIND) | TO(COLLAPSE) },
};

static void lookup_enter(struct answer *a, enum lookup_step step)
{
	assert(lookup_steps[a->lookup.step].next >> step & 1);
	a->lookup.step = step;
}

/* What the lookup came to. A fetch has only begun then, and its result is not known yet. */
static const char *lookup_word(const struct answer *a)
{
	switch (a->source) {
	case SOURCE_STORED:
		return a->status.kept ? "kept" : a->status.ttl > 0 ? "hit" : "stale";
	case SOURCE_COLLAPSED:
		return "collapsed";
	case SOURCE_FILL:
		return a->lookup.entry ? "revalidate" : "miss";
	case SOURCE_SUBSTITUTED:
	case SOURCE_PAST:
		break;
	}
	return "none, the answer is utfeed's own";
}

static void lookup_run(struct answer *a)
{
	while (lookup_steps[a->lookup.step].run)
		lookup_enter(a, lookup_steps[a->lookup.step].run(a));
	if (log_is(LOG_LEVEL_DEBUG))
		log_step(&a->ctx->id, "lookup: %s", lookup_waits(a) ? "the store behind memory is asked" :
		    lookup_word(a));
}

void lookup_restart(struct answer *a, enum lookup_step step)
{
	lookup_enter(a, step);
	lookup_run(a);
}

/* ---- KEY ---- */

struct slice lookup_sent(struct answer *a)
{
	struct text *sent = &a->memory.sent;
	struct lookup *lookup = &a->lookup;

	if (!lookup->sent.at) {
		text_empty(sent);
		lookup->sent_open = request_head_sent(sent, a->request->msg, &a->target);
		if (!sent->failed)
			lookup->sent = (struct slice){ sent->bytes, sent->len };
	}
	return lookup->sent;
}

/* False: out of memory. */
static bool lookup_set_key(struct answer *a)
{
	a->lookup.key = a->memory.key.bytes;
	a->lookup.key_len = a->memory.key.len;
	return !a->memory.key.failed;
}

/* False: out of memory. */
static bool lookup_add_variant(struct answer *a, const char *names)
{
	struct slice sent = lookup_sent(a);

	text_puts(&a->memory.key, "\n");
	if (sent.at)
		vary_key(&a->memory.key, (struct slice){ names, strlen(names) }, sent);
	return sent.at;
}

bool lookup_set_variant(struct answer *a, const char *names)
{
	a->memory.key.len = a->lookup.primary_len;
	return lookup_add_variant(a, names) && lookup_set_key(a);
}

static enum lookup_step lookup_step_key(struct answer *a)
{
	struct text *key = &a->memory.key;
	const char *fields = a->target.route->request_fields;

	text_puts(key, "\n");
	text_hex(key, a->lookup.settings_hash, 16);
	if (gateway_leads(&a->target)) {
		text_puts(key, " ");
		gateway_add_url(key, a->ctx, a->request, &a->target);
	}
	/* Fields that the route sends on may shape the response whatever its Vary says; "*" is the operator's statement
	 * that they do not. */
	if (*fields && strcmp(fields, "*") && !lookup_add_variant(a, fields))
		return LOOKUP_DONE;
	request_head_key(key, a->request->msg, &a->target);
	if (!lookup_set_key(a))
		return LOOKUP_DONE;
	a->lookup.primary_len = a->lookup.key_len;
	return lookup_tells_move(a) ? LOOKUP_DONE : LOOKUP_FIND;
}

/* ---- FIND, WAIT ---- */

static enum lookup_step lookup_found_step(const struct lookup *lookup)
{
	return lookup->sought == SOUGHT_PARTS ? LOOKUP_PARTS : LOOKUP_DECIDE;
}

static void lookup_on_got(struct store_wait *wait, struct entry *e)
{
	struct answer *a = container_of(wait, struct answer, lookup.wait);

	if (e)
		cache_warm(a->ctx->cache, e, &a->lookup.ticket);
	a->lookup.found = e;
	a->lookup.until_ms = wait->again ? wait->until_ms : 0;
	lookup_enter(a, wait->again ? LOOKUP_FIND : lookup_found_step(&a->lookup));
	lookup_run(a);
	if (!lookup_waits(a))
		answer_came(a);
}

static enum lookup_step lookup_step_find(struct answer *a)
{
	struct lookup *lookup = &a->lookup;
	bool parts = lookup->sought == SOUGHT_PARTS;

	lookup->ends = cache_in_flight_ends(a->ctx->cache);
	lookup->wait = (struct store_wait){ .loop = a->ctx->loop, .got = lookup_on_got,
		.until_ms = lookup->until_ms };
	lookup->until_ms = 0;
	lookup->waited = false;
	switch (cache_get(a->ctx->cache, parts ? lookup->parts : lookup->key,
	    parts ? lookup->parts_len : lookup->key_len, &lookup->found, &lookup->wait, &lookup->ticket)) {
	case STORE_WAIT:
		lookup->waited = true;
		return LOOKUP_WAIT;
	case STORE_MISSING:
		lookup->found = NULL;
		break;
	case STORE_FOUND:
		break;
	}
	return lookup_found_step(lookup);
}

/* ---- DECIDE ---- */

enum lookup_step lookup_hit(struct answer *a, struct entry *e, const struct entry_clock *clock)
{
	assert(!e->part.total || a->lookup.ranged);
	a->object = object_ref(e->object);
	a->head = object_head_ref(e->head);
	a->freshness = e->freshness;
	a->freshness.response_time -= clock->now - clock->wall;
	a->source = SOURCE_STORED;
	a->status.hit = a->status.has_ttl = true;
	a->status.ttl = freshness_ttl(&e->freshness, clock->now);
	return LOOKUP_DONE;
}

bool lookup_has_kept(const struct answer *a)
{
	struct entry *e = a->lookup.entry;

	return e && a->lookup.settings.keep_s && freshness_keeps(&e->freshness, lookup_entry_clock(a, e).now);
}

enum lookup_step lookup_kept(struct answer *a, int status)
{
	struct entry_clock clock = lookup_entry_clock(a, a->lookup.entry);

	lookup_hit(a, a->lookup.entry, &clock);
	answer_set_kept(a, status);
	return LOOKUP_DONE;
}

static enum lookup_step lookup_forward(struct answer *a, enum cache_fwd why)
{
	a->status.fwd = why;
	return LOOKUP_COLLAPSE;
}

enum lookup_step lookup_miss(struct answer *a)
{
	return lookup_forward(a, a->lookup.key_len > a->lookup.primary_len ? FWD_VARY_MISS : FWD_URI_MISS);
}

static enum lookup_step lookup_revalidate(struct answer *a, struct entry *e, int64_t now, bool by_request)
{
	a->lookup.entry = entry_ref(e);
	a->status.has_ttl = true;
	a->status.ttl = freshness_ttl(&e->freshness, now);
	return lookup_forward(a, by_request ? FWD_REQUEST : FWD_STALE);
}

/* Counts a request that would have been asked of the origin, had its directives counted. */
static void lookup_count_reload(struct answer *a, const struct freshness *fresh, int64_t now)
{
	const struct cache_control *says = &a->request->says;

	if (a->lookup.cc != says && freshness_reuse(fresh, says, now, NULL) != REUSE_FRESH)
		stats_add(loop_stats(a->ctx->loop), STAT_RELOADS_HELD, 1);
}

/* A part is never refreshed in the background: the ranges of the next client need not be those of this one. */
static enum lookup_step lookup_decide_entry(struct answer *a, struct entry *e)
{
	struct lookup *lookup = &a->lookup;
	bool by_request = false;
	struct entry_clock clock = lookup_entry_clock(a, e);

	lookup->cc =
	    freshness_request_for(&lookup->own_cc, &a->request->says, &lookup->settings, &e->freshness, clock.now);
	switch (freshness_reuse(&e->freshness, lookup->cc, clock.now, &by_request)) {
	case REUSE_FRESH:
		lookup_count_reload(a, &e->freshness, clock.now);
		if (!lookup->part)
			lookup_refresh_ahead(a, e, clock.now);
		return lookup_hit(a, e, &clock);
	case REUSE_STALE:
		return lookup_hit(a, e, &clock);
	case REUSE_STALE_REFRESH:
		if (lookup->part)
			return lookup_revalidate(a, e, clock.now, by_request);
		lookup_refresh(a, e);
		return lookup_hit(a, e, &clock);
	case REUSE_ONLY_IF_CACHED:
		return lookup_forward(a, FWD_STALE);
	case REUSE_REVALIDATE:
		return lookup_revalidate(a, e, clock.now, by_request);
	}
	return LOOKUP_DONE;
}

/* Nothing was found. If the request asks for a range that may go to the origin, its stored parts are looked up next. */
static enum lookup_step lookup_decide_nothing(struct answer *a)
{
	struct lookup *lookup = &a->lookup;
	struct text key = { 0 };

	if (lookup->parts || !request_head_ranged(a->request->msg))
		return lookup_miss(a);
	text_add(&key, lookup->key, lookup->key_len);
	text_puts(&key, ENTRY_PARTS);
	lookup->sought = SOUGHT_PARTS;
	lookup->parts = text_take(&key, &lookup->parts_len);
	return lookup->parts ? LOOKUP_FIND : LOOKUP_DONE;
}

/* An index of variants leads to a variant's key, and never from there to another index: a store that somebody else
 * filled could otherwise send the lookup round for ever. */
static enum lookup_step lookup_decide_variants(struct answer *a, const struct entry *e)
{
	if (a->lookup.key_len > a->lookup.primary_len) {
		cache_remove(a->ctx->cache, e->key, e->key_len);
		return lookup_decide_nothing(a);
	}
	a->lookup.generation = e->generation;
	return lookup_set_variant(a, e->vary) ? LOOKUP_FIND : LOOKUP_DONE;
}

/* Lets go of a variant that was stored before something else had the place of its index. The response in between was
 * newer, and a client may have seen it (RFC 9111 section 4). */
static void lookup_judge_generation(struct lookup *lookup)
{
	struct entry *e = lookup->found;

	if (e && e->object && lookup->key_len > lookup->primary_len && e->generation != lookup->generation)
		entry_unref(&lookup->found);
}

static enum lookup_step lookup_step_decide(struct answer *a)
{
	lookup_judge_generation(&a->lookup);
	struct entry *e = a->lookup.found;
	a->lookup.found = NULL;
	if (!e)
		return lookup_decide_nothing(a);
	enum lookup_step next = e->vary ? lookup_decide_variants(a, e) : lookup_decide_entry(a, e);
	entry_unref(&e);
	return next;
}

/* ---- PARTS ---- */

/* Whether the range may go to the origin. If the route normalises, the URL must be known not to be a feed. */
static bool lookup_goes_ranged(const struct answer *a)
{
	const struct entry *e = a->lookup.found;

	return !a->target.route->normalise ||
	    (e && answer_now(a) - e->freshness.response_time < ENTRY_PARTS_KNOWN_S);
}

/* Whether the stored part holds the whole range: it then answers as a whole stored response would (RFC 9111 section
 * 3.3). */
static bool lookup_part_has_range(struct answer *a)
{
	const struct entry *part = a->lookup.part;
	struct byte_range *range = &a->lookup.range;
	struct conditional_stored stored = answer_validators(a, part->head);

	return range_evaluate(a->request->msg, &stored, part->part.total, answer_now(a), range) == RANGE_ONE &&
	    range->first >= part->part.first && range->last <= part->part.last;
}

static enum lookup_step lookup_step_parts(struct answer *a)
{
	struct lookup *lookup = &a->lookup;

	lookup->sought = SOUGHT_WHOLE;
	lookup_judge_generation(lookup);
	if ((lookup->ranged = lookup_goes_ranged(a)))
		lookup->company = COMPANY_NONE;
	if (lookup->ranged && lookup->found && lookup->found->object) {
		lookup->part = lookup->found;
		lookup->found = NULL;
		return lookup_part_has_range(a) ? lookup_decide_entry(a, lookup->part)
		    : lookup_forward(a, FWD_PARTIAL);
	}
	entry_unref(&lookup->found);
	return lookup_miss(a);
}

/* ---- beginning, end ---- */

void lookup_start(struct answer *a, const struct freshness_settings *settings, uint64_t settings_hash,
    enum policy policy, bool alone)
{
	struct lookup *lookup = &a->lookup;

	memset(lookup, 0, offsetof(struct lookup, cc));
	lookup->slow.queue = NULL;
	lookup->company = alone ? COMPANY_NONE : COMPANY_ANY;
	lookup->policy = policy;
	lookup->settings = *settings;
	lookup->settings_hash = settings_hash;
	lookup->cc = freshness_request(&lookup->own_cc, &a->request->says, settings);
	lookup_run(a);
}

bool lookup_waits(const struct answer *a)
{
	return a->lookup.step == LOOKUP_WAIT;
}

struct slice lookup_key(const struct answer *a)
{
	return (struct slice){ a->lookup.key, a->lookup.key_len };
}

const struct entry *lookup_part(const struct answer *a, struct byte_range *range)
{
	*range = a->lookup.range;
	return a->lookup.ranged ? a->lookup.part : NULL;
}

void lookup_settle(struct answer *a)
{
	if (a->lookup.slow.queue)
		loop_disarm(a->ctx->loop, &a->lookup.slow);
}

void lookup_free(struct answer *a)
{
	struct lookup *lookup = &a->lookup;

	if (lookup_waits(a))
		cache_cancel(a->ctx->cache, &lookup->wait);
	assert(task_is_out(&lookup->wait.task));
	lookup_settle(a);
	entry_unref(&lookup->found);
	entry_unref(&lookup->entry);
	entry_unref(&lookup->part);
	free(lookup->parts);
	lookup->parts = NULL;
}
