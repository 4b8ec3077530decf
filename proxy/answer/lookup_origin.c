/* The steps of a lookup that ask the origin; see lookup_internal.h. */
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

/* What is in flight for the key. A fetch that began before it was known that the URL varies is in flight for the URL.
 * It stores the index of variants first, and then the variant. It may turn out to be for other requests: then this one
 * does not wait for it again. */
static struct object *lookup_in_flight(struct answer *a)
{
	struct lookup *lookup = &a->lookup;
	struct object *o = cache_in_flight_join(a->ctx->cache, &lookup->busy);

	if (o || lookup->key_len == lookup->primary_len || lookup->others)
		return o;
	struct cache_key url = cache_key(a->ctx->cache, lookup->key, lookup->primary_len);
	if ((o = cache_in_flight_join(a->ctx->cache, &url)))
		lookup->busy = url;
	return o;
}

/* Joins the response in the making, if this request may have it. Once its head is there it must be as fresh as a stored
 * response would have to be. */
static struct object *lookup_join(struct answer *a)
{
	struct lookup *lookup = &a->lookup;
	struct cache_key busy = lookup->busy;
	struct object *o = lookup_in_flight(a);
	const struct audience *to = o ? object_audience(o) : NULL;
	int64_t now = answer_now(a);
	struct cache_control own;

	if (!to || freshness_reuse(&to->freshness,
	        freshness_request_for(&own, &a->request->says, &lookup->settings, &to->freshness, now), now,
	        NULL) == REUSE_FRESH)
		return o;
	cache_in_flight_end(a->ctx->cache, &lookup->busy, o);
	lookup->busy = busy;
	object_unref(&o);
	return NULL;
}

/* Whether the origin may be asked now. The fetch asks again before each of its own requests. */
static enum backoff_answer lookup_waits_for(struct answer *a, struct failure *failure)
{
	return fetch_plan_waits(a->ctx, a->request, &a->target, (struct slice){ a->lookup.key, a->url_len }, failure);
}

/* How old the kept feed is, and for how long it is kept. */
static struct backoff_copy lookup_copy(const struct answer *a)
{
	struct entry *e = a->lookup.entry;
	int64_t age = lookup_entry_clock(a, e).now - e->freshness.response_time;

	return (struct backoff_copy){ age > 0 ? (uint64_t)age * 1000 : 0, (uint64_t)e->freshness.keep_s * 1000 };
}

/* Whether the kept feed answers although the origin may be asked, because another feed of its host is asked first. */
static bool lookup_gives_way(struct answer *a, struct failure *failure)
{
	if (!lookup_has_kept(a))
		return false;
	struct backoff_copy copy = lookup_copy(a);
	return fetch_plan_gives_way(a->ctx, a->request, &a->target, (struct slice){ a->lookup.key, a->url_len }, &copy,
	    failure);
}

/* The origin is not to be asked now. A stored response answers if it might answer while the origin cannot be reached
 * (RFC 9111 section 4.2.4). */
static enum lookup_step lookup_pause(struct answer *a, const struct failure *failure)
{
	struct entry *e = a->lookup.entry;
	bool kept = lookup_has_kept(a);
	struct entry_clock clock = { 0 };

	stats_add(loop_stats(a->ctx->loop), STAT_BACKOFF_REFUSALS, 1);
	a->paused = true;
	a->why = failure->before;
	if (e)
		clock = lookup_entry_clock(a, e);
	if (!kept && !(e && freshness_if_error(&e->freshness, a->lookup.cc, clock.now))) {
		a->object = local_reply_failure(a->ctx, failure);
		return LOOKUP_DONE;
	}
	stats_add(loop_stats(a->ctx->loop), STAT_PAUSE_KEPT, 1);
	if (kept) {
		struct backoff_copy copy = lookup_copy(a);

		fetch_plan_missed(a->ctx, a->request, &a->target, (struct slice){ a->lookup.key, a->url_len }, &copy);
	}
	return kept ? lookup_kept(a, failure->received_status) : lookup_hit(a, e, &clock);
}

static void lookup_on_slow(struct timer *timer)
{
	struct answer *a = container_of(timer, struct answer, lookup.slow);

	a->lookup.late = true;
	a->ready(a->owner);
}

/* Whether the fetch has gone on for slow-after without an answer, so that the kept feed answers. */
static bool lookup_is_late(const struct answer *a, const struct object *o)
{
	uint64_t after = a->target.route->slow_after_ms;

	return after && object_phase(o) == OBJECT_WAITING && lookup_has_kept(a) &&
	    loop_now_ms(a->ctx->loop) >= filled_of(o)->asked_ms + after;
}

/* Where a feed is kept, the client waits no longer than slow-after. */
static void lookup_watch(struct answer *a)
{
	if (!a->object || !a->target.route->slow_after_ms || a->lookup.late || !lookup_has_kept(a))
		return;
	a->lookup.slow.fire = lookup_on_slow;
	loop_arm(a->ctx->loop, &a->lookup.slow, a->target.route->slow_after_ms);
}

/* Asks memory once more, because another worker may just have stored the response. */
static bool lookup_finds_again(struct answer *a)
{
	struct lookup *lookup = &a->lookup;
	unsigned ends = cache_in_flight_ends(a->ctx->cache);

	if (lookup->company != COMPANY_ANY || lookup->ends == ends)
		return false;
	lookup->ends = ends;
	lookup->found = cache_peek(a->ctx->cache, lookup->key, lookup->key_len);
	if (!lookup->found || lookup->found == lookup->entry) {
		entry_unref(&lookup->found);
		return false;
	}
	lookup->company = COMPANY_FETCHES;
	entry_unref(&lookup->entry);
	return true;
}

/* Whether a response in the making has its head already. */
static bool lookup_has_head(struct answer *a)
{
	a->lookup.busy = cache_key(a->ctx->cache, a->lookup.key, a->lookup.key_len);
	struct object *o = a->lookup.company != COMPANY_NONE ? lookup_in_flight(a) : NULL;
	bool has = o && object_phase(o) != OBJECT_WAITING;

	object_unref(&o);
	return has;
}

enum lookup_step lookup_step_collapse(struct answer *a)
{
	struct lookup *lookup = &a->lookup;
	struct failure f;
	enum backoff_answer answer = lookup_waits_for(a, &f);

	if (answer == BACKOFF_WAIT && (!f.undecided || lookup_has_kept(a) || !lookup_has_head(a)))
		return lookup_pause(a, &f);
	if (answer == BACKOFF_SOON && lookup_has_kept(a))
		return lookup_pause(a, &f);
	if (cc_has(lookup->cc, CC_ONLY_IF_CACHED)) {
		a->object =
		    local_reply(a->ctx, 504, "", "The response is not stored, and only-if-cached was asked for.", "");
		return LOOKUP_DONE;
	}
	if (lookup->late && lookup_has_kept(a))
		return lookup_kept(a, 0);
	/* The feed was purged meanwhile, say: the client waits like any other, and asks the stores no more. */
	lookup->late = false;
	if (lookup_gives_way(a, &f))
		return lookup_pause(a, &f);
	lookup->busy = cache_key(a->ctx->cache, lookup->key, lookup->key_len);
	if (cache_is_hit_for_miss(a->ctx->cache, &lookup->busy, lookup_steady(a)))
		lookup->company = COMPANY_NONE;
	if (lookup->company != COMPANY_NONE && (a->object = lookup_join(a))) {
		if (lookup_is_late(a, a->object)) {
			object_unref(&a->object);
			return lookup_kept(a, 0);
		}
		lookup_watch(a);
		a->source = SOURCE_COLLAPSED;
		a->status.collapsed = true;
		return LOOKUP_DONE;
	}
	return lookup_finds_again(a) ? LOOKUP_DECIDE : LOOKUP_FILL;
}

/* ---- FILL ---- */

/* Whether the origin gets credentials of the client's own. */
static bool lookup_has_credentials(const struct answer *a)
{
	return a->target.authorization && a->request->authorization;
}

/* What others store may not answer this request, however often they do. */
enum { LOOKS_MAX = 3 };

/* Starts a fetch that fills the cache for the request. Other requests may join it unless it is alone. The origin gets
 * the lines in sent; any origin may see the first `open` bytes of them. Returns as fill_start() does. */
static struct object *lookup_fetch(struct answer *a, const struct request *request, struct slice sent, size_t open,
    struct entry *entry, bool alone, enum in_flight *way)
{
	const struct conf *conf = a->ctx->conf;
	const struct lookup *lookup = &a->lookup;
	struct fill_params p = {
		.cache = a->ctx->cache,
		.fetches = a->ctx->fetches,
		.loop = a->ctx->loop,
		.key = lookup->key,
		.key_len = lookup->primary_len,
		.busy = lookup->ranged ? cache_key(a->ctx->cache, lookup->parts, lookup->parts_len) : lookup->busy,
		.request = request,
		.sent = sent,
		.entry = entry,
		.generation = lookup->generation,
		.part = lookup->part,
		.ticket = lookup->waited && (entry || lookup->part) ? &lookup->ticket : NULL,
		.freshness = lookup->settings,
		.max_object = conf->cache_object_max,
		.max_head = conf->max_header_bytes,
		.max_fields = (size_t)conf->max_header_fields,
		.transit_bytes = conf->transit_bytes,
		.moves = lookup_moves(a),
		.alone = alone,
		.fleet = lookup->wait.timed_out ? NULL : a->ctx->fleet,
		.lease_ms = conf->fill_lease_ms,
		.looked = lookup->looks >= LOOKS_MAX || cc_has(lookup->cc, CC_NO_CACHE),
		.ends = lookup->company == COMPANY_ANY ? &lookup->ends : NULL,
		.credentials = lookup_has_credentials(a),
	};
	struct fetch_request r;

	if (!sent.at || fetch_plan(a->ctx, request, &a->target, lookup->policy, NULL, lookup->ranged,
	        (struct slice){ sent.at, open }, &r))
		return NULL;
	return fill_start(&p, &r, way);
}

/* Whether the fetch is to have no fields of this client's. Credentials of its own need what it says beside them. */
static bool lookup_asks_plainly(const struct answer *a)
{
	return !a->lookup.ranged && !lookup_has_credentials(a) &&
	    fetch_plan_asks_plainly(a->ctx, a->request, &a->target, (struct slice){ a->lookup.key, a->url_len });
}

/* Copies the request without what is the client's own, except the fields that select the stored variant. -1: out of
 * memory, or the fields are not known. */
static int lookup_make_plain(struct answer *a, struct http_msg *m)
{
	const struct lookup *lookup = &a->lookup;
	bool variant = lookup->key_len > lookup->primary_len;
	struct entry *index = variant ? cache_peek(a->ctx->cache, lookup->key, lookup->primary_len) : NULL;
	const char *vary = index ? index->vary : "";
	int status = -1;

	if (vary && (index || !variant))
		status = request_head_plain(m, a->request->msg, &a->target, vary);
	entry_unref(&index);
	return status;
}

/* Starts a fetch of the request in m, as lookup_fetch() does. */
static struct object *lookup_fetch_as(struct answer *a, const struct http_msg *m, const struct cache_control *says,
    struct entry *e, bool alone, enum in_flight *way)
{
	struct request anybody = *a->request;
	struct text sent = { 0 };
	struct object *o = NULL;

	anybody.msg = m;
	anybody.says = *says;
	size_t open = request_head_sent(&sent, m, &a->target);
	if (!sent.failed)
		o = lookup_fetch(a, &anybody, (struct slice){ sent.bytes, sent.len }, open, e, alone, way);
	text_free(&sent);
	return o;
}

enum lookup_step lookup_step_fill(struct answer *a)
{
	struct lookup *lookup = &a->lookup;
	struct slice sent = lookup_sent(a);
	bool alone = lookup->company == COMPANY_NONE;
	enum in_flight way = IN_FLIGHT_BEGUN;
	struct http_msg m;

	if ((lookup->plain = lookup_asks_plainly(a) && !lookup_make_plain(a, &m))) {
		a->object = lookup_fetch_as(a, &m, &a->request->says, lookup->entry, alone, &way);
		http_msg_free(&m);
	} else
		a->object = lookup_fetch(a, a->request, sent, lookup->sent_open, lookup->entry, alone, &way);
	if (way == IN_FLIGHT_ENDED) {
		lookup->plain = false;
		return LOOKUP_COLLAPSE;
	}
	a->status.collapsed = way == IN_FLIGHT_JOINED;
	a->source = a->status.collapsed ? SOURCE_COLLAPSED : SOURCE_FILL;
	a->asks |= !a->status.collapsed;
	lookup_watch(a);
	return LOOKUP_DONE;
}

/* ---- refreshing ---- */

/* The fetch leaves out what the request says to caches, which is meant for this client's own answer alone. It is in
 * flight for all to see, whoever asks, so that one is made at a time. */
static enum in_flight lookup_refresh_once(struct answer *a, struct entry *e)
{
	const struct cache_control nothing = { 0 };
	enum in_flight way = IN_FLIGHT_BEGUN;
	struct failure f;
	struct http_msg m;

	struct object *o = cache_in_flight_join(a->ctx->cache, &a->lookup.busy);
	if (!o && lookup_waits_for(a, &f) == BACKOFF_GO &&
	    !(lookup_asks_plainly(a) ? lookup_make_plain(a, &m) : request_head_for_anybody(&m, a->request->msg))) {
		o = lookup_fetch_as(a, &m, &nothing, e, false, &way);
		a->asks |= o && way == IN_FLIGHT_BEGUN;
		stats_add(loop_stats(a->ctx->loop), STAT_CACHE_REFRESHES, o && way == IN_FLIGHT_BEGUN);
		http_msg_free(&m);
	}
	object_unref(&o);
	return way;
}

/* Whether memory has nothing newer than the entry. */
static bool lookup_is_newest(struct answer *a, const struct entry *e)
{
	a->lookup.ends = cache_in_flight_ends(a->ctx->cache);
	struct entry *there = cache_peek(a->ctx->cache, a->lookup.key, a->lookup.key_len);
	bool newest = !there || there == e;
	entry_unref(&there);
	return newest;
}

void lookup_refresh(struct answer *a, struct entry *e)
{
	a->lookup.busy = cache_key(a->ctx->cache, a->lookup.key, a->lookup.key_len);
	while (lookup_refresh_once(a, e) == IN_FLIGHT_ENDED && lookup_is_newest(a, e))
		;
}

void lookup_refresh_ahead(struct answer *a, struct entry *e, int64_t now)
{
	const struct conf_route *route = a->target.route;

	if (!route->refresh_hot || !entry_is_hot(e, (unsigned)route->refresh_hot) ||
	    !freshness_ends_soon(&e->freshness, now, 0) ||
	    lookup_has_credentials(a))
		return;
	uint32_t spread = (uint32_t)(hash_xx64(e->key, e->key_len) + (uint64_t)e->freshness.response_time);
	if (!freshness_ends_soon(&e->freshness, now, spread) || !entry_claim(e))
		return;
	stats_add(loop_stats(a->ctx->loop), STAT_REFRESHES_AHEAD, 1);
	lookup_refresh(a, e);
}
