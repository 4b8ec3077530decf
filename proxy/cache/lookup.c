/* Answering through the cache; see lookup.h. */
#include "proxy/cache/lookup_internal.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/base/container_of.h"
#include "proxy/base/hash.h"
#include "proxy/cache/fetch_plan.h"
#include "proxy/cache/fill.h"
#include "proxy/cache/local_reply.h"
#include "proxy/cache/purge.h"
#include "proxy/cache/request_head.h"
#include "proxy/http/vary.h"
#include "proxy/object/audience.h"

static void answer_look(struct answer *a);
static void answer_missed(struct answer *a);

void answer_clear(struct answer *a)
{
	memset(a, 0, offsetof(struct answer, cc));
	a->target.to.path = NULL;
}

void answer_free(struct answer *a)
{
	if (a->purging)
		purge_wait_free(&a->purging);
	else if (a->waiting)
		cache_cancel(a->ctx->cache, &a->wait);
	a->waiting = false;
	target_free(&a->target);
	object_unref(&a->object);
	object_unref(&a->pause);
	object_head_unref(&a->head);
	entry_unref(&a->entry);
	entry_unref(&a->part);
	free(a->parts);
	a->key = a->parts = NULL;
}

void answer_room_free(struct answer_room *room)
{
	free(room->key.bytes);
	free(room->sent.bytes);
}

/* What the origin would get of the request, made when first asked for. at NULL: out of memory. */
static struct slice answer_sent(struct answer *a)
{
	struct text *sent = &a->room->sent;

	if (!a->sent_known) {
		sent->len = 0;
		sent->failed = false;
		upstream_sent(sent, a->msg, &a->target);
		a->sent_known = true;
	}
	return sent->failed ? (struct slice){ NULL, 0 } : (struct slice){ sent->bytes, sent->len };
}

/* False: out of memory. */
static bool answer_set_key(struct answer *a)
{
	a->key = a->room->key.bytes;
	a->key_len = a->room->key.len;
	return !a->room->key.failed && !(a->sent_known && a->room->sent.failed);
}

/* From now on the variant that this request selects of what varies by names. False: out of memory. */
static bool answer_set_variant(struct answer *a, const char *names)
{
	struct text *key = &a->room->key;

	key->len = a->primary_len;
	text_puts(key, "\n");
	vary_key(key, (struct slice){ names, strlen(names) }, answer_sent(a));
	return answer_set_key(a);
}

/* The object of a fetch that fills the cache, as m asks for it, of which the origin gets sent; *joined: somebody else's. */
static struct object *answer_lead(struct answer *a, const struct http_msg *m, struct slice sent, struct entry *entry, bool *joined)
{
	const struct conf *conf = a->ctx->conf;
	struct lead_params p = {
		.cache = a->ctx->cache, .fetches = a->ctx->fetches, .loop = a->ctx->loop, .key = a->key, .key_len = a->primary_len,
		.busy = a->ranged ? a->parts : a->key, .busy_len = a->ranged ? a->parts_len : a->key_len,
		.request = m, .sent = sent, .entry = entry, .part = a->part, .freshness = a->settings,
		.max_object = conf->cache_object_max, .max_head = conf->max_header_bytes, .max_fields = (size_t)conf->max_header_fields,
		.transit_bytes = conf->transit_bytes,
		.alone = a->again || a->ranged,
	};
	struct fetch_request r;

	if (!sent.at || fetch_plan(a->ctx, m, &a->target, a->policy, NULL, a->ranged, &r))
		return NULL;
	return lead_start(&p, &r, joined);
}

/* What is in the making, where this request may still have it: of one whose head is there only what a stored one would do for. */
static struct object *answer_join(struct answer *a)
{
	struct object *o = cache_join(a->ctx->cache, a->key, a->key_len);
	const struct audience *to = o ? object_audience(o) : NULL;

	if (!to || freshness_reuse(&to->freshness, &a->cc, answer_now(a), NULL) == REUSE_FRESH)
		return o;
	cache_leave(a->ctx->cache, a->key, a->key_len, o);
	object_unref(&o);
	return NULL;
}

static void answer_hit(struct answer *a, struct entry *e, int64_t now);
static void answer_found(struct answer *a, struct entry *e);

/* By the clock that the entry's age is told by. */
static int64_t answer_entry_now(const struct answer *a, struct entry *e)
{
	return entry_now(e, answer_now(a), answer_steady(a));
}

/* The origin is not to be asked: what is stored answers where it might if the origin could not be reached (RFC 9111 section 4.2.4). */
static void answer_pause(struct answer *a)
{
	int64_t now = a->entry ? answer_entry_now(a, a->entry) : 0;

	if (a->entry && freshness_if_error(&a->entry->freshness, &a->cc, now)) {
		answer_hit(a, a->entry, now);
		return;
	}
	a->object = object_ref(a->pause);
	a->cached = false;
}

/* Another worker may just have stored it. */
static bool answer_looks_again(struct answer *a)
{
	struct entry *e;

	if (a->again || a->ranged || a->looked_twice || a->leaves == cache_leaves(a->ctx->cache))
		return false;
	a->looked_twice = true;
	if (!(e = cache_peek(a->ctx->cache, a->key, a->key_len)))
		return false;
	entry_unref(&a->entry);
	answer_found(a, e);
	return true;
}

static void answer_forward(struct answer *a, enum cache_fwd fwd)
{
	a->status.fwd = fwd;
	if (a->pause) {
		answer_pause(a);
		return;
	}
	if (cc_has(&a->cc, CC_ONLY_IF_CACHED)) {
		a->object = local_reply(a->ctx, 504, "", "The response is not stored, and only-if-cached was asked for.", "");
		return;
	}
	a->again = a->again || cache_is_apart(a->ctx->cache, a->key, a->key_len, answer_steady(a));
	if (!a->again && !a->ranged && (a->object = answer_join(a)))
		a->joined = true;
	else if (answer_looks_again(a))
		return;
	else
		a->object = answer_lead(a, a->msg, answer_sent(a), a->entry, &a->joined);
	a->status.collapsed = a->joined;
}

/* The request less what it says of caches: that is this client's wish of its own answer. Its fields are to be freed; -1: out of
 * memory. */
static int request_for_anybody(struct http_msg *m, const struct http_msg *from)
{
	struct http_field *fields;

	if (http_msg_init(m, from->n_fields ? from->n_fields : 1))
		return -1;
	fields = m->fields;
	*m = *from;
	m->fields = fields;
	m->n_fields = 0;
	memset(m->ids, 0, sizeof m->ids);
	for (uint32_t i = 0; i < from->n_fields; i++)
		if (from->fields[i].id != H_CACHE_CONTROL && from->fields[i].id != H_PRAGMA) {
			fields[m->n_fields] = from->fields[i];
			http_msg_add(m);
		}
	return 0;
}

/* Behind the client's back: its answer is already on its way (RFC 5861 section 3). */
static void answer_refresh(struct answer *a, struct entry *e)
{
	struct object *o = cache_join(a->ctx->cache, a->key, a->key_len);
	struct text sent = { 0 };
	struct http_msg m;
	bool joined;

	if (!o && !a->pause && !request_for_anybody(&m, a->msg)) {
		upstream_sent(&sent, &m, &a->target);
		if (!sent.failed)
			o = answer_lead(a, &m, (struct slice){ sent.bytes, sent.len }, e, &joined);
		stats_add(loop_stats(a->ctx->loop), STAT_CACHE_REFRESHES, o && !joined);
		free(sent.bytes);
		http_msg_free(&m);
	}
	object_unref(&o);
}

/* A hit of what is asked for often and about to be stale: the origin is asked once, before anybody has to wait for it, never in the
 * name of the client that happened to come by. */
static void answer_ahead(struct answer *a, struct entry *e, int64_t now)
{
	const struct conf_route *route = a->target.route;
	uint32_t spread;

	if (!route->refresh_hot || !entry_is_hot(e, (unsigned)route->refresh_hot) || !freshness_ends_soon(&e->freshness, now, 0) ||
	    a->pause || (a->target.authorization && http_msg_has(a->msg, H_AUTHORIZATION)))
		return;
	spread = (uint32_t)(hash_xx64(e->key, e->key_len) + (uint64_t)e->freshness.response_time);
	if (!freshness_ends_soon(&e->freshness, now, spread) || !entry_claim(e))
		return;
	stats_add(loop_stats(a->ctx->loop), STAT_REFRESHES_AHEAD, 1);
	answer_refresh(a, e);
}

static void answer_hit(struct answer *a, struct entry *e, int64_t now)
{
	assert(!e->part.total || a->ranged);
	a->object = object_ref(e->object);
	a->head = object_head_ref(e->head);
	a->freshness = e->freshness;
	a->freshness.response_time -= now - answer_now(a);
	a->status.hit = a->status.has_ttl = true;
	a->status.ttl = freshness_ttl(&e->freshness, now);
}

static void answer_revalidate(struct answer *a, struct entry *e, bool by_request)
{
	a->entry = entry_ref(e);
	a->status.has_ttl = true;
	a->status.ttl = freshness_ttl(&e->freshness, answer_entry_now(a, e));
	answer_forward(a, by_request ? FWD_REQUEST : FWD_STALE);
}

/* A part is never asked for behind the client's back: the ranges of the next client need not be those of this one. */
static void answer_reuse(struct answer *a, struct entry *e)
{
	bool by_request = false;
	int64_t now = answer_entry_now(a, e);
	enum freshness_reuse reuse = freshness_reuse(&e->freshness, &a->cc, now, &by_request);

	switch (a->part && reuse == REUSE_STALE_REFRESH ? REUSE_REVALIDATE : reuse) {
	case REUSE_STALE_REFRESH:
		answer_refresh(a, e);
		answer_hit(a, e, now);
		break;
	case REUSE_FRESH:
		if (!a->part)
			answer_ahead(a, e, now);
		answer_hit(a, e, now);
		break;
	case REUSE_STALE:
		answer_hit(a, e, now);
		break;
	case REUSE_ONLY_IF_CACHED:
		answer_forward(a, FWD_STALE);
		break;
	case REUSE_REVALIDATE:
		answer_revalidate(a, e, by_request);
		break;
	}
}

static void answer_forward_miss(struct answer *a)
{
	answer_forward(a, a->key_len > a->primary_len ? FWD_VARY_MISS : FWD_URI_MISS);
}

/* RFC 9111 section 3.3: what is stored in part answers what lies inside it, as it would if it were whole. */
static void answer_found_part(struct answer *a, struct entry *e)
{
	struct conditional_stored stored = answer_validators(a, e->head);

	a->part = entry_ref(e);
	if (range_evaluate(a->msg, &stored, e->part.total, answer_now(a), &a->range) != RANGE_ONE || a->range.first < e->part.first ||
	    a->range.last > e->part.last) {
		answer_forward(a, FWD_PARTIAL);
		return;
	}
	answer_reuse(a, e);
}

/* e, one reference: what is known of it in parts; NULL: nothing, and it may be a feed, of which the origin's ranges are not ours. */
static void answer_found_parts(struct answer *a, struct entry *e)
{
	a->looks_for_parts = false;
	a->ranged = !a->target.route->normalise || (e && answer_now(a) - e->freshness.response_time < ENTRY_PARTS_KNOWN_S);
	if (a->ranged && e && e->object)
		answer_found_part(a, e);
	else
		answer_forward_miss(a);
	entry_unref(&e);
}

/* One variant leads to no other: a store that a liar filled could send us round for ever. */
static void answer_found_variants(struct answer *a, const struct entry *e)
{
	if (a->key_len > a->primary_len) {
		cache_remove(a->ctx->cache, e->key, e->key_len);
		answer_missed(a);
	} else if (answer_set_variant(a, e->vary)) {
		answer_look(a);
	}
}

/* Takes over the reference. */
static void answer_found(struct answer *a, struct entry *e)
{
	if (a->looks_for_parts) {
		answer_found_parts(a, e);
		return;
	}
	if (e->vary)
		answer_found_variants(a, e);
	else
		answer_reuse(a, e);
	entry_unref(&e);
}

static void answer_look_for_parts(struct answer *a)
{
	struct text key = { 0 };

	text_add(&key, a->key, a->key_len);
	text_puts(&key, ENTRY_PARTS);
	free(a->parts);
	if ((a->parts = text_take(&key, &a->parts_len))) {
		a->looks_for_parts = true;
		answer_look(a);
	}
}

static void answer_missed(struct answer *a)
{
	if (a->looks_for_parts)
		answer_found_parts(a, NULL);
	else if (!a->parts && upstream_range(a->msg))
		answer_look_for_parts(a);
	else
		answer_forward_miss(a);
}

static void answer_on_got(struct store_wait *w, struct entry *e)
{
	struct answer *a = OWNER_OF(w, struct answer, wait);

	a->waiting = false;
	if (e) {
		cache_warm(a->ctx->cache, e, &a->ticket);
		answer_found(a, e);
	} else
		answer_missed(a);
	if (!a->waiting)
		a->ready(a);
}

static void answer_look(struct answer *a)
{
	struct entry *e = NULL;

	a->leaves = cache_leaves(a->ctx->cache);
	a->wait = (struct store_wait){ .loop = a->ctx->loop, .got = answer_on_got };
	switch (cache_get(a->ctx->cache, a->looks_for_parts ? a->parts : a->key, a->looks_for_parts ? a->parts_len : a->key_len, &e,
	    &a->wait, &a->ticket)) {
	case STORE_FOUND:
		answer_found(a, e);
		break;
	case STORE_MISSING:
		answer_missed(a);
		break;
	case STORE_WAIT:
		a->waiting = true;
		break;
	}
}

void answer_start(struct answer *a, const struct freshness_settings *settings, uint64_t settings_hash)
{
	struct text *key = &a->room->key;

	a->cached = true;
	a->settings = *settings;
	freshness_request(&a->cc, a->msg, settings);
	text_puts(key, "\n");
	text_hex(key, settings_hash, 16);
	/* Fields that the route sends on may shape the response whatever its Vary says; "*" is the operator's own word that they do not. */
	if (*a->target.route->request_fields && strcmp(a->target.route->request_fields, "*")) {
		text_puts(key, "\n");
		vary_key(key, (struct slice){ a->target.route->request_fields, strlen(a->target.route->request_fields) }, answer_sent(a));
	}
	upstream_key(key, a->msg, &a->target);
	if (answer_set_key(a)) {
		a->primary_len = a->key_len;
		answer_look(a);
	}
}

static void answer_restart(struct answer *a)
{
	a->joined = a->status.collapsed = false;
	entry_unref(&a->entry);
	entry_unref(&a->part);
	free(a->parts);
	a->parts = NULL;
}

/* Of several who wait each asks for the variant that is his, and may wait for others in turn, unless what varies keeps changing. */
static bool answer_asks_for_variant(struct answer *a, const char *names)
{
	enum { CHANGES_MAX = 3 };

	answer_restart(a);
	a->again = ++a->others > CHANGES_MAX;
	if (!answer_set_variant(a, names))
		return true;
	answer_look(a);
	return true;
}

/* A stored response that answers for an origin that errs does so by the leave of the request that found it. */
static bool answer_takes_substitute(const struct answer *a, const struct object *o)
{
	const struct object_report *r = object_report((struct object *)(uintptr_t)o);

	return object_phase(o) != OBJECT_SUBSTITUTED || r->fwd_status == 304 || freshness_if_error(&r->freshness, &a->cc, answer_now(a));
}

bool answer_again(struct answer *a, const struct object *o)
{
	const struct audience *to = a->joined ? object_audience(o) : NULL;
	bool own;

	if (!a->joined || object_phase(o) == OBJECT_WAITING)
		return false;
	if (to && !to->own && !audience_admits(to, answer_sent(a)))
		return answer_asks_for_variant(a, to->vary);
	own = (to && to->own) || !answer_takes_substitute(a, o);
	if (!own && !(object_phase(o) == OBJECT_FAILED && object_failure(o)->error == PROXY_ERROR_ABANDONED))
		return false;
	answer_restart(a);
	a->again = own;
	a->key_len = a->primary_len;
	/* What a 304 said to one client alone may be stored without that. */
	if (own && object_phase(o) != OBJECT_SUBSTITUTED)
		answer_forward_miss(a);
	else
		answer_look(a);
	return true;
}

/* Whoever comes next leads, and may be joined. */
void answer_late(struct answer *a, struct object *o)
{
	cache_leave(a->ctx->cache, a->key, a->key_len, o);
	answer_restart(a);
	a->key_len = a->primary_len;
	answer_look(a);
}

void answer_follow(struct answer *a, struct object_reader *r, struct object_head **head)
{
	const struct object_report *report = object_report(r->object);

	a->substituted = true;
	a->freshness = report->freshness;
	a->status.fwd_status = report->fwd_status;
	a->status.stored = report->stored;
	object_follow(r, head);
}
