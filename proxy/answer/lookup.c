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
#include "proxy/cache/purge.h"
#include "proxy/http/vary.h"
#include "proxy/object/audience.h"

static enum lookup_step lookup_step_key(struct lookup *);
static enum lookup_step lookup_step_find(struct lookup *);
static enum lookup_step lookup_step_parts(struct lookup *);
static enum lookup_step lookup_step_decide(struct lookup *);

/* run NULL: the lookup stops at this step. next: bits of the steps that may follow. */
#define TO(step) (1u << LOOKUP_##step)
static const struct {
	enum lookup_step (*run)(struct lookup *);
	unsigned next;
} lookup_steps[LOOKUP_STEPS] = {
	[LOOKUP_NEW] = { NULL, TO(NEW) | TO(KEY) | TO(WAIT) },
	[LOOKUP_KEY] = { lookup_step_key, TO(FIND) | TO(DELIVER) },
	[LOOKUP_FIND] = { lookup_step_find, TO(WAIT) | TO(PARTS) | TO(DECIDE) },
	[LOOKUP_WAIT] = { NULL, TO(NEW) | TO(PARTS) | TO(DECIDE) | TO(DELIVER) },
	[LOOKUP_PARTS] = { lookup_step_parts, TO(COLLAPSE) | TO(DELIVER) },
	[LOOKUP_DECIDE] = { lookup_step_decide, TO(FIND) | TO(COLLAPSE) | TO(DELIVER) },
	[LOOKUP_COLLAPSE] = { lookup_step_collapse, TO(DECIDE) | TO(FILL) | TO(DELIVER) },
	[LOOKUP_FILL] = { lookup_step_fill, TO(DELIVER) },
	[LOOKUP_DELIVER] = { NULL, TO(NEW) | TO(FIND) | TO(COLLAPSE) },
};

void lookup_enter(struct lookup *l, enum lookup_step step)
{
	assert(lookup_steps[l->step].next >> step & 1);
	l->step = step;
}

static void lookup_run(struct lookup *l)
{
	while (lookup_steps[l->step].run)
		lookup_enter(l, lookup_steps[l->step].run(l));
	if (log_is(LOG_LEVEL_DEBUG))
		lookup_tell(l);
}

/* ---- KEY ---- */

struct slice lookup_sent(struct lookup *l)
{
	struct text *sent = &l->memory->sent;

	if (!l->sent.at) {
		text_empty(sent);
		l->sent_open = request_head_sent(sent, l->request->msg, &l->target);
		if (!sent->failed)
			l->sent = (struct slice){ sent->bytes, sent->len };
	}
	return l->sent;
}

/* False: out of memory. */
static bool lookup_set_key(struct lookup *l)
{
	l->key = l->memory->key.bytes;
	l->key_len = l->memory->key.len;
	return !l->memory->key.failed;
}

/* False: out of memory. */
static bool lookup_add_variant(struct lookup *l, const char *names)
{
	struct slice sent = lookup_sent(l);

	text_puts(&l->memory->key, "\n");
	if (sent.at)
		vary_key(&l->memory->key, (struct slice){ names, strlen(names) }, sent);
	return sent.at;
}

/* Makes the key that of the variant which this request selects, where the response varies by names. False: out of
 * memory. */
static bool lookup_set_variant(struct lookup *l, const char *names)
{
	l->memory->key.len = l->primary_len;
	return lookup_add_variant(l, names) && lookup_set_key(l);
}

static enum lookup_step lookup_step_key(struct lookup *l)
{
	struct text *key = &l->memory->key;
	const char *fields = l->target.route->request_fields;

	text_puts(key, "\n");
	text_hex(key, l->settings_hash, 16);
	if (gateway_leads(&l->target)) {
		text_puts(key, " ");
		gateway_add_url(key, l->ctx, l->request, &l->target);
	}
	/* Fields that the route sends on may shape the response whatever its Vary says; "*" is the operator's statement
	 * that they do not. */
	if (*fields && strcmp(fields, "*") && !lookup_add_variant(l, fields))
		return LOOKUP_DELIVER;
	request_head_key(key, l->request->msg, &l->target);
	if (!lookup_set_key(l))
		return LOOKUP_DELIVER;
	l->primary_len = l->key_len;
	return lookup_tells_move(l) ? LOOKUP_DELIVER : LOOKUP_FIND;
}

/* ---- FIND, WAIT ---- */

static enum lookup_step lookup_found_step(const struct lookup *l)
{
	return l->sought == SOUGHT_PARTS ? LOOKUP_PARTS : LOOKUP_DECIDE;
}

static void lookup_on_got(struct store_wait *w, struct entry *e)
{
	struct lookup *l = container_of(w, struct lookup, wait);

	if (e)
		cache_warm(l->ctx->cache, e, &l->ticket);
	l->found = e;
	lookup_enter(l, lookup_found_step(l));
	lookup_run(l);
	if (!lookup_waits(l))
		l->ready(l);
}

static enum lookup_step lookup_step_find(struct lookup *l)
{
	bool parts = l->sought == SOUGHT_PARTS;

	l->leaves = cache_in_flight_ends(l->ctx->cache);
	l->wait = (struct store_wait){ .loop = l->ctx->loop, .got = lookup_on_got };
	l->waited = false;
	switch (cache_get(l->ctx->cache, parts ? l->parts : l->key, parts ? l->parts_len : l->key_len, &l->found,
	    &l->wait, &l->ticket)) {
	case STORE_WAIT:
		l->waited = true;
		return LOOKUP_WAIT;
	case STORE_MISSING:
		l->found = NULL;
		break;
	case STORE_FOUND:
		break;
	}
	return lookup_found_step(l);
}

/* ---- DECIDE ---- */

enum lookup_step lookup_hit(struct lookup *l, struct entry *e, const struct entry_clock *clock)
{
	assert(!e->part.total || l->ranged);
	l->object = object_ref(e->object);
	l->head = object_head_ref(e->head);
	l->freshness = e->freshness;
	l->freshness.response_time -= clock->now - clock->wall;
	l->source = SOURCE_STORED;
	l->status.hit = l->status.has_ttl = true;
	l->status.ttl = freshness_ttl(&e->freshness, clock->now);
	return LOOKUP_DELIVER;
}

bool lookup_has_kept(const struct lookup *l)
{
	return l->entry && l->settings.keep_s &&
	    freshness_keeps(&l->entry->freshness, lookup_entry_clock(l, l->entry).now);
}

enum lookup_step lookup_kept(struct lookup *l, int status)
{
	struct entry_clock clock = lookup_entry_clock(l, l->entry);

	lookup_hit(l, l->entry, &clock);
	lookup_set_kept(l, status);
	return LOOKUP_DELIVER;
}

void lookup_set_kept(struct lookup *l, int fwd_status)
{
	l->status = (struct cache_status){ .kept = true, .fwd = FWD_STALE, .fwd_status = fwd_status, .detail = "kept" };
}

static enum lookup_step lookup_forward(struct lookup *l, enum cache_fwd why)
{
	l->status.fwd = why;
	return LOOKUP_COLLAPSE;
}

static enum lookup_step lookup_miss(struct lookup *l)
{
	return lookup_forward(l, l->key_len > l->primary_len ? FWD_VARY_MISS : FWD_URI_MISS);
}

static enum lookup_step lookup_revalidate(struct lookup *l, struct entry *e, int64_t now, bool by_request)
{
	l->entry = entry_ref(e);
	l->status.has_ttl = true;
	l->status.ttl = freshness_ttl(&e->freshness, now);
	return lookup_forward(l, by_request ? FWD_REQUEST : FWD_STALE);
}

/* Counts a request that would have been asked of the origin, had its directives counted. */
static void lookup_count_reload(struct lookup *l, const struct freshness *f, int64_t now)
{
	const struct cache_control *says = &l->request->says;

	if (l->cc != says && freshness_reuse(f, says, now, NULL) != REUSE_FRESH)
		stats_add(loop_stats(l->ctx->loop), STAT_RELOADS_HELD, 1);
}

/* A part is never refreshed in the background: the ranges of the next client need not be those of this one. */
static enum lookup_step lookup_decide_entry(struct lookup *l, struct entry *e)
{
	bool by_request = false;
	struct entry_clock clock = lookup_entry_clock(l, e);

	l->cc = freshness_request_for(&l->own_cc, &l->request->says, &l->settings, &e->freshness, clock.now);
	switch (freshness_reuse(&e->freshness, l->cc, clock.now, &by_request)) {
	case REUSE_FRESH:
		lookup_count_reload(l, &e->freshness, clock.now);
		if (!l->part)
			lookup_refresh_ahead(l, e, clock.now);
		return lookup_hit(l, e, &clock);
	case REUSE_STALE:
		return lookup_hit(l, e, &clock);
	case REUSE_STALE_REFRESH:
		if (l->part)
			return lookup_revalidate(l, e, clock.now, by_request);
		lookup_refresh(l, e);
		return lookup_hit(l, e, &clock);
	case REUSE_ONLY_IF_CACHED:
		return lookup_forward(l, FWD_STALE);
	case REUSE_REVALIDATE:
		return lookup_revalidate(l, e, clock.now, by_request);
	}
	return LOOKUP_DELIVER;
}

/* Nothing was found. If the request asks for a range that may go to the origin, its stored parts are looked up next. */
static enum lookup_step lookup_decide_nothing(struct lookup *l)
{
	struct text key = { 0 };

	if (l->parts || !request_head_ranged(l->request->msg))
		return lookup_miss(l);
	text_add(&key, l->key, l->key_len);
	text_puts(&key, ENTRY_PARTS);
	l->sought = SOUGHT_PARTS;
	l->parts = text_take(&key, &l->parts_len);
	return l->parts ? LOOKUP_FIND : LOOKUP_DELIVER;
}

/* A record of variants leads to a variant's key, and never from there to another record: a store that somebody else
 * filled could otherwise send the lookup round for ever. */
static enum lookup_step lookup_decide_variants(struct lookup *l, const struct entry *e)
{
	if (l->key_len > l->primary_len) {
		cache_remove(l->ctx->cache, e->key, e->key_len);
		return lookup_decide_nothing(l);
	}
	l->generation = e->generation;
	return lookup_set_variant(l, e->vary) ? LOOKUP_FIND : LOOKUP_DELIVER;
}

/* Lets go of a variant that was stored before something else had the place of the record that led to it: what came
 * between was newer, and a client may have seen it (RFC 9111 section 4). */
static void lookup_judge_generation(struct lookup *l)
{
	struct entry *e = l->found;

	if (e && e->object && l->key_len > l->primary_len && e->generation != l->generation)
		entry_unref(&l->found);
}

static enum lookup_step lookup_step_decide(struct lookup *l)
{
	struct entry *e;
	enum lookup_step next;

	lookup_judge_generation(l);
	e = l->found;
	l->found = NULL;
	if (!e)
		return lookup_decide_nothing(l);
	next = e->vary ? lookup_decide_variants(l, e) : lookup_decide_entry(l, e);
	entry_unref(&e);
	return next;
}

/* ---- PARTS ---- */

/* Whether the range may go to the origin. Where the route normalises, it may only if the URL is known to be no feed. */
static bool lookup_goes_ranged(const struct lookup *l)
{
	return !l->target.route->normalise ||
	    (l->found && lookup_now(l) - l->found->freshness.response_time < ENTRY_PARTS_KNOWN_S);
}

/* Whether the stored part holds the whole range: it then answers as a whole stored response would (RFC 9111 section
 * 3.3). */
static bool lookup_part_holds_range(struct lookup *l)
{
	const struct entry *part = l->part;
	struct conditional_stored stored = lookup_validators(l, part->head);

	return range_evaluate(l->request->msg, &stored, part->part.total, lookup_now(l), &l->range) == RANGE_ONE &&
	    l->range.first >= part->part.first && l->range.last <= part->part.last;
}

static enum lookup_step lookup_step_parts(struct lookup *l)
{
	l->sought = SOUGHT_WHOLE;
	lookup_judge_generation(l);
	if ((l->ranged = lookup_goes_ranged(l)))
		l->company = COMPANY_NONE;
	if (l->ranged && l->found && l->found->object) {
		l->part = l->found;
		l->found = NULL;
		return lookup_part_holds_range(l) ? lookup_decide_entry(l, l->part) : lookup_forward(l, FWD_PARTIAL);
	}
	entry_unref(&l->found);
	return lookup_miss(l);
}

/* ---- beginning, asking again, end ---- */

void lookup_clear(struct lookup *l)
{
	memset(l, 0, offsetof(struct lookup, cc));
	l->slow.queue = NULL;
	l->target.to.path = NULL;
}

void lookup_start(struct lookup *l, const struct freshness_settings *settings, uint64_t settings_hash)
{
	l->settings = *settings;
	l->settings_hash = settings_hash;
	l->cc = freshness_request(&l->own_cc, &l->request->says, settings);
	lookup_enter(l, LOOKUP_KEY);
	lookup_run(l);
}

/* Goes on with this step after DELIVER was reached. */
static void lookup_restart(struct lookup *l, enum lookup_step step)
{
	lookup_enter(l, step);
	lookup_run(l);
}

static void lookup_let_go(struct lookup *l)
{
	l->source = SOURCE_PAST;
	l->status.collapsed = false;
	l->plain = false;
	entry_unref(&l->entry);
	entry_unref(&l->part);
	free(l->parts);
	l->parts = NULL;
}

/* Asks the stores anew, from the URL's own key on. */
static void lookup_ask_again(struct lookup *l)
{
	lookup_let_go(l);
	l->key_len = l->primary_len;
	lookup_restart(l, LOOKUP_FIND);
}

/* The generation of the record of variants in memory that has these names. */
static uint64_t lookup_generation(struct lookup *l, const char *names)
{
	struct entry *record = cache_peek(l->ctx->cache, l->key, l->primary_len);
	uint64_t n = CACHE_GENERATION_NONE;

	if (record && record->vary && !strcmp(record->vary, names))
		n = record->generation;
	entry_unref(&record);
	return n;
}

/* The collapsed response is for another variant: this request asks for its own. It may wait for others again, unless
 * the fields that the response varies by keep changing. */
static void lookup_ask_for_variant(struct lookup *l, const char *names)
{
	enum { CHANGES_MAX = 3 };

	lookup_let_go(l);
	l->generation = lookup_generation(l, names);
	if (++l->others > CHANGES_MAX)
		l->company = COMPANY_NONE;
	if (lookup_set_variant(l, names))
		lookup_restart(l, LOOKUP_FIND);
}

/* Whether a stored response may answer this request in the place of an origin's error. Each request decides that by its
 * own directives, not by those of the request that began the fetch. */
static bool lookup_takes_substitute(const struct lookup *l, const struct object *o)
{
	const struct object_report *r = object_reported(o);

	return object_phase(o) != OBJECT_SUBSTITUTED || r->kept || (r->fwd_status == 304 && !r->failure) ||
	    freshness_if_error(&r->freshness, l->cc, lookup_now(l));
}

bool lookup_again(struct lookup *l, const struct object *o)
{
	const struct audience *to = l->source == SOURCE_COLLAPSED || l->plain ? object_audience(o) : NULL;
	bool own;

	if (l->late && object_phase(o) == OBJECT_WAITING) {
		lookup_ask_again(l);
		return true;
	}
	if (object_phase(o) == OBJECT_WAITING)
		return false;
	if (to && !to->own && !audience_admits(to, lookup_sent(l))) {
		lookup_ask_for_variant(l, to->vary);
		return true;
	}
	if (l->source != SOURCE_COLLAPSED)
		return false;
	own = (to && to->own) || !lookup_takes_substitute(l, o);
	if (!own && !(object_phase(o) == OBJECT_FAILED && object_failure(o)->error == FAILURE_ABANDONED))
		return false;
	if (own)
		l->company = COMPANY_NONE;
	/* After a 304 that was for one client, the stores are asked again: the response may be stored without what was
	 * for that client. So they are where a feed is kept, which may have been purged meanwhile. */
	if (own && object_phase(o) != OBJECT_SUBSTITUTED && !lookup_has_kept(l)) {
		lookup_let_go(l);
		l->key_len = l->primary_len;
		lookup_restart(l, lookup_miss(l));
	} else
		lookup_ask_again(l);
	return true;
}

/* The object is taken out of those in flight: the next request begins a fetch of its own, which others may join. */
void lookup_late(struct lookup *l, struct object *o)
{
	struct cache_key key = cache_key(l->ctx->cache, l->key, l->key_len);

	cache_in_flight_end(l->ctx->cache, &key, o);
	lookup_ask_again(l);
}

void lookup_follow(struct lookup *l, struct object_reader *r, struct object_head **head)
{
	const struct object_report *report = object_report(r->object);

	l->source = SOURCE_SUBSTITUTED;
	l->freshness = report->freshness;
	l->status.fwd_status = report->fwd_status;
	l->status.stored = report->stored;
	l->why = report->failure;
	if (report->kept)
		lookup_set_kept(l, report->fwd_status);
	object_follow(r, head);
}

void lookup_free(struct lookup *l)
{
	if (l->purging)
		purge_wait_free(&l->purging);
	else if (lookup_waits(l))
		cache_cancel(l->ctx->cache, &l->wait);
	lookup_enter(l, LOOKUP_NEW);
	if (l->slow.queue)
		loop_disarm(l->ctx->loop, &l->slow);
	target_free(&l->target);
	object_unref(&l->object);
	object_head_unref(&l->head);
	entry_unref(&l->found);
	entry_unref(&l->entry);
	entry_unref(&l->part);
	free(l->parts);
	l->key = l->parts = NULL;
}

void lookup_memory_free(struct lookup_memory *m)
{
	text_free(&m->key);
	text_free(&m->sent);
}
