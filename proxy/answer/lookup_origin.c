/* The steps of a lookup that ask the origin; see lookup.h and lookup_internal.h. */
#include "proxy/answer/lookup_internal.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/answer/fetch_plan.h"
#include "proxy/answer/local_reply.h"
#include "proxy/answer/request_head.h"
#include "proxy/base/container_of.h"
#include "proxy/base/hash.h"
#include "proxy/cache/fill.h"
#include "proxy/object/audience.h"

/* ---- COLLAPSE ---- */

/* Joins the response in the making, if this request may have it. Once its head is there it must be as fresh as a stored
 * response would have to be. */
static struct object *lookup_join(struct lookup *l)
{
	struct object *o = cache_in_flight_join(l->ctx->cache, &l->busy);
	const struct audience *to = o ? object_audience(o) : NULL;
	struct cache_control own;

	if (!to || freshness_reuse(&to->freshness,
	        freshness_request_for(&own, &l->request->says, &l->settings, &to->freshness, lookup_now(l)),
	        lookup_now(l), NULL) == REUSE_FRESH)
		return o;
	cache_in_flight_end(l->ctx->cache, &l->busy, o);
	object_unref(&o);
	return NULL;
}

/* Whether the origin may be asked now. The fetch asks again before each of its own requests. */
static enum backoff_answer lookup_waits_for(struct lookup *l, struct failure *f)
{
	return fetch_plan_waits(l->ctx, l->request, &l->target, (struct slice){ l->key, l->url_len }, f);
}

/* The origin is not to be asked now. A stored response answers if it might answer while the origin cannot be reached
 * (RFC 9111 section 4.2.4). */
static enum lookup_step lookup_pause(struct lookup *l, const struct failure *f)
{
	bool kept = lookup_has_kept(l);
	struct entry_clock clock = { 0 };

	stats_add(loop_stats(l->ctx->loop), STAT_BACKOFF_REFUSALS, 1);
	l->paused = true;
	l->why = f->before;
	if (l->entry)
		clock = lookup_entry_clock(l, l->entry);
	if (!kept && !(l->entry && freshness_if_error(&l->entry->freshness, l->cc, clock.now))) {
		l->object = local_reply_failure(l->ctx, f);
		return LOOKUP_DELIVER;
	}
	stats_add(loop_stats(l->ctx->loop), STAT_PAUSE_KEPT, 1);
	return kept ? lookup_kept(l, f->received_status) : lookup_hit(l, l->entry, &clock);
}

static void lookup_on_slow(struct timer *t)
{
	struct lookup *l = container_of(t, struct lookup, slow);

	l->late = true;
	l->ready(l);
}

/* Whether the fetch has gone on for slow-after without an answer, so that the kept feed answers. */
static bool lookup_is_late(const struct lookup *l, const struct object *o)
{
	uint64_t after = l->target.route->slow_after_ms;

	return after && object_phase(o) == OBJECT_WAITING && lookup_has_kept(l) &&
	    loop_now_ms(l->ctx->loop) >= object_reported(o)->asked_ms + after;
}

/* Where a feed is kept, the client waits no longer than slow-after. */
static void lookup_watch(struct lookup *l)
{
	if (!l->object || !l->target.route->slow_after_ms || l->late || !lookup_has_kept(l))
		return;
	l->slow.fire = lookup_on_slow;
	loop_arm(l->ctx->loop, &l->slow, l->target.route->slow_after_ms);
}

/* Asks memory once more, because another worker may just have stored the response. */
static bool lookup_finds_again(struct lookup *l)
{
	if (l->company != COMPANY_ANY || l->leaves == cache_in_flight_ends(l->ctx->cache))
		return false;
	l->company = COMPANY_FETCHES;
	if (!(l->found = cache_peek(l->ctx->cache, l->key, l->key_len)))
		return false;
	entry_unref(&l->entry);
	return true;
}

enum lookup_step lookup_step_collapse(struct lookup *l)
{
	struct failure f;
	enum backoff_answer answer = lookup_waits_for(l, &f);

	if (answer == BACKOFF_WAIT || (answer == BACKOFF_SOON && lookup_has_kept(l)))
		return lookup_pause(l, &f);
	if (cc_has(l->cc, CC_ONLY_IF_CACHED)) {
		l->object =
		    local_reply(l->ctx, 504, "", "The response is not stored, and only-if-cached was asked for.", "");
		return LOOKUP_DELIVER;
	}
	if (l->late && lookup_has_kept(l))
		return lookup_kept(l, 0);
	/* The feed was purged meanwhile, say: the client waits like any other, and asks the stores no more. */
	l->late = false;
	l->busy = cache_key(l->ctx->cache, l->key, l->key_len);
	if (cache_is_hit_for_miss(l->ctx->cache, &l->busy, lookup_steady(l)))
		l->company = COMPANY_NONE;
	if (l->company != COMPANY_NONE && (l->object = lookup_join(l))) {
		if (lookup_is_late(l, l->object)) {
			object_unref(&l->object);
			return lookup_kept(l, 0);
		}
		lookup_watch(l);
		l->source = SOURCE_COLLAPSED;
		l->status.collapsed = true;
		return LOOKUP_DELIVER;
	}
	return lookup_finds_again(l) ? LOOKUP_DECIDE : LOOKUP_FILL;
}

/* ---- FILL ---- */

/* Starts a fetch that fills the cache for the request, which others may join unless it is alone; the origin gets the
 * lines in sent, of which any origin may see the first `open` bytes. Returns its object; *collapsed: it is the object
 * of another request's fetch. */
static struct object *lookup_fetch(struct lookup *l, const struct request *request, struct slice sent, size_t open,
    struct entry *entry, bool alone, bool *collapsed)
{
	const struct conf *conf = l->ctx->conf;
	struct fill_params p = {
		.cache = l->ctx->cache, .fetches = l->ctx->fetches, .loop = l->ctx->loop, .key = l->key,
		.key_len = l->primary_len,
		.busy = l->ranged ? cache_key(l->ctx->cache, l->parts, l->parts_len) : l->busy,
		.request = request, .sent = sent, .entry = entry, .generation = l->generation, .part = l->part,
		.ticket = l->waited && (entry || l->part) ? &l->ticket : NULL,
		.freshness = l->settings,
		.max_object = conf->cache_object_max, .max_head = conf->max_header_bytes,
		.max_fields = (size_t)conf->max_header_fields,
		.transit_bytes = conf->transit_bytes,
		.moves = lookup_moves(l),
		.alone = alone,
		.credentials = l->target.authorization && l->request->authorization,
	};
	struct fetch_request r;

	if (!sent.at || fetch_plan(l->ctx, request, &l->target, l->policy, NULL, l->ranged,
	        (struct slice){ sent.at, open }, &r))
		return NULL;
	return fill_start(&p, &r, collapsed);
}

/* Whether the fetch is to have no fields of this client's. Credentials of its own need what it says beside them. */
static bool lookup_asks_plainly(const struct lookup *l)
{
	return !l->ranged && !(l->target.authorization && l->request->authorization) &&
	    fetch_plan_asks_plainly(l->ctx, l->request, &l->target, (struct slice){ l->key, l->url_len });
}

/* Copies the request without what is the client's own, except the fields that select the stored variant. -1: out of
 * memory, or the fields are not known. */
static int lookup_make_plain(struct lookup *l, struct http_msg *m)
{
	struct entry *record = l->key_len > l->primary_len ?
	    cache_peek(l->ctx->cache, l->key, l->primary_len) : NULL;
	const char *vary = record ? record->vary : "";
	int status = -1;

	if (vary && (record || l->key_len == l->primary_len))
		status = request_head_plain(m, l->request->msg, &l->target, vary);
	entry_unref(&record);
	return status;
}

/* Starts a fetch of the request in m, as lookup_fetch() does. */
static struct object *lookup_fetch_as(struct lookup *l, const struct http_msg *m, const struct cache_control *says,
    struct entry *e, bool alone, bool *collapsed)
{
	struct request anybody = *l->request;
	struct text sent = { 0 };
	struct object *o = NULL;
	size_t open;

	anybody.msg = m;
	anybody.says = *says;
	open = request_head_sent(&sent, m, &l->target);
	if (!sent.failed)
		o = lookup_fetch(l, &anybody, (struct slice){ sent.bytes, sent.len }, open, e, alone, collapsed);
	text_free(&sent);
	return o;
}

enum lookup_step lookup_step_fill(struct lookup *l)
{
	struct slice sent = lookup_sent(l);
	bool collapsed = false, alone = l->company == COMPANY_NONE;
	struct http_msg m;

	if ((l->plain = lookup_asks_plainly(l) && !lookup_make_plain(l, &m))) {
		l->object = lookup_fetch_as(l, &m, &l->request->says, l->entry, alone, &collapsed);
		http_msg_free(&m);
	} else
		l->object = lookup_fetch(l, l->request, sent, l->sent_open, l->entry, alone, &collapsed);
	l->source = collapsed ? SOURCE_COLLAPSED : SOURCE_FILL;
	l->status.collapsed = collapsed;
	l->asks |= !collapsed;
	lookup_watch(l);
	return LOOKUP_DELIVER;
}

/* ---- refreshing ---- */

/* The fetch leaves out what the request says to caches, which is meant for this client's own answer alone. It is in
 * flight for all to see, whoever asks, so that one is made at a time. */
void lookup_refresh(struct lookup *l, struct entry *e)
{
	const struct cache_control nothing = { 0 };
	struct failure f;
	struct object *o;
	struct http_msg m;
	bool collapsed;

	l->busy = cache_key(l->ctx->cache, l->key, l->key_len);
	o = cache_in_flight_join(l->ctx->cache, &l->busy);
	if (!o && lookup_waits_for(l, &f) == BACKOFF_GO &&
	    !(lookup_asks_plainly(l) ? lookup_make_plain(l, &m) : request_head_for_anybody(&m, l->request->msg))) {
		o = lookup_fetch_as(l, &m, &nothing, e, false, &collapsed);
		l->asks |= o && !collapsed;
		stats_add(loop_stats(l->ctx->loop), STAT_CACHE_REFRESHES, o && !collapsed);
		http_msg_free(&m);
	}
	object_unref(&o);
}

void lookup_refresh_ahead(struct lookup *l, struct entry *e, int64_t now)
{
	const struct conf_route *route = l->target.route;
	uint32_t spread;

	if (!route->refresh_hot || !entry_is_hot(e, (unsigned)route->refresh_hot) ||
	    !freshness_ends_soon(&e->freshness, now, 0) ||
	    (l->target.authorization && l->request->authorization))
		return;
	spread = (uint32_t)(hash_xx64(e->key, e->key_len) + (uint64_t)e->freshness.response_time);
	if (!freshness_ends_soon(&e->freshness, now, spread) || !entry_claim(e))
		return;
	stats_add(loop_stats(l->ctx->loop), STAT_REFRESHES_AHEAD, 1);
	lookup_refresh(l, e);
}
