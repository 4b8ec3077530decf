/* Filling the cache; see fill.h. */
#include "proxy/cache/fill_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/cache/stored_head.h"
#include "proxy/http/http_parse.h"
#include "proxy/http/vary.h"
#include "proxy/net/loop.h"

/* Bits of the plans that may follow, and whether a response may have the plan that has to be a feed. */
#define TO(plan) (1u << PLAN_##plan)
static const struct { unsigned next; bool needs_feed; } fill_plans[] = {
	[PLAN_NOTHING] = { TO(NOTHING) | TO(KEEP_GOOD) | TO(OUTDATE) | TO(STORE), true },
	[PLAN_KEEP_GOOD] = { TO(NOTHING), false },
	[PLAN_OUTDATE] = { TO(NOTHING), true },
	[PLAN_STORE] = { TO(NOTHING) | TO(OUTDATE), true },
};

void fill_set_plan(struct fill *l, enum fill_plan plan)
{
	assert(fill_plans[l->plan].next >> plan & 1);
	assert(!l->needs_feed || fill_plans[plan].needs_feed);
	l->plan = plan;
}

int64_t fill_now(struct fill *l)
{
	return loop_wall_ms(l->params.loop) / 1000;
}

int64_t fill_steady(struct fill *l)
{
	return (int64_t)(loop_now_ms(l->params.loop) / 1000);
}

/* Notes when the response came, and how long before that it was asked for. The wall clock may have been set back
 * meanwhile: the monotonic clock gives the least that the fetch took. */
static void fill_note_answer(struct fill *l)
{
	int64_t steady, took;

	l->answered_ms = loop_now_ms(l->params.loop);
	steady = (int64_t)(l->answered_ms - l->asked_ms) / 1000;
	l->response_time = fill_now(l);
	took = l->response_time - l->asked;
	l->request_time = l->response_time - (took > steady ? took : steady);
}

static void fill_set_expires(struct fill *l, bool stored)
{
	atomic_store_explicit(&l->told->expires, stored ? freshness_end(&l->fresh) : 0, memory_order_relaxed);
}

void fill_leave(struct fill *l)
{
	if (!l->left)
		cache_in_flight_end(l->params.cache, &l->busy, l->object);
	l->left = true;
}

enum fill_head fill_parse(struct fill *l, struct http_msg *m, const char *bytes, size_t len)
{
	struct http_parser *p = http_parser_new(false, NULL, NULL);
	enum fill_head r = FILL_HEAD_NO_MEMORY;
	size_t used;

	if (p && !http_msg_init(m, l->params.max_fields)) {
		m->base = bytes;
		http_parser_start(p, m, false);
		r = len <= l->params.max_head && http_parse(p, bytes, len, &used) == PARSE_HEAD
		    ? FILL_HEAD
		    : FILL_HEAD_UNUSABLE;
		if (r != FILL_HEAD)
			http_msg_free(m);
	}
	http_parser_free(&p);
	return r;
}

void fill_key(struct fill *l, const char *vary, bool part, struct text *key)
{
	text_add(key, l->key, l->params.key_len);
	if (vary) {
		text_puts(key, "\n");
		vary_key(key, (struct slice){ vary, strlen(vary) }, (struct slice){ l->sent, l->sent_len });
	}
	text_puts(key, part ? ENTRY_PARTS : "");
}

/* The generation of the record by which the request was looked up, if the response varies by the fields that stand
 * there. */
static uint64_t fill_known_generation(struct fill *l)
{
	struct text key = { 0 };
	bool same;

	fill_key(l, l->vary, l->ranged, &key);
	same = !key.failed && key.len == l->busy.len && !memcmp(key.bytes, l->busy.at, key.len);
	text_free(&key);
	return same ? l->params.generation : CACHE_GENERATION_NONE;
}

static bool fill_put_names(struct fill *l, struct entry_parts *variant)
{
	struct entry_parts names = { .vary = strdup(l->vary), .freshness = variant->freshness };
	struct entry *record = names.vary ? entry_new(l->key, l->params.key_len, &names) : NULL;
	bool good = record && cache_put_variants(l->params.cache, record, fill_known_generation(l), &l->ticket);

	if (good)
		variant->generation = record->generation;
	entry_unref(&record);
	return good;
}

struct entry *fill_put(struct fill *l, struct entry_parts *parts)
{
	struct text key = { 0 };
	struct entry *e = NULL;

	if (l->vary && !fill_put_names(l, parts)) {
		entry_parts_free(parts);
		return NULL;
	}
	fill_key(l, l->vary, parts->part.total, &key);
	if (key.failed)
		entry_parts_free(parts);
	else
		e = entry_new(key.bytes, key.len, parts);
	if (e)
		entry_now(e, fill_now(l), fill_steady(l));
	if (e && !cache_put(l->params.cache, e, &l->ticket))
		entry_unref(&e);
	text_free(&key);
	return e;
}

int fill_finish_parts(struct fill *l, struct entry_parts *parts, struct freshness *fresh, bool client)
{
	struct object_head *head = NULL;
	struct http_msg m;

	if (parts->object && parts->upstream && fill_parse(l, &m, parts->upstream, parts->upstream_len) == FILL_HEAD) {
		fill_freshness(l, fresh, &m, parts->object);
		l->head.date = loop_http_date(l->params.loop);
		if ((head = response_head_build(&m, fill_body(parts->object), &l->head)))
			parts->head = stored_head_of(head, parts->object, client);
		http_msg_free(&m);
	}
	object_head_unref(&head);
	parts->freshness = fresh;
	if (!parts->head)
		entry_parts_free(parts);
	return parts->head ? 0 : -1;
}

static bool fill_is_too_large(struct fill *l, const struct http_msg *m)
{
	return m->has_length && m->content_length > l->params.max_object;
}

/* Notes whether the responses for this key are each client's own. A server error says nothing about the next response,
 * and a request for a part waits for no other anyway. */
static void fill_set_hit_for_miss(struct fill *l, int status)
{
	if (status < 500 && !l->ranged)
		cache_set_hit_for_miss(l->params.cache, &l->busy, l->apart, (int64_t)(l->answered_ms / 1000),
		    &l->ticket);
}

static int fill_plan_storing(struct fill *l, const struct fetch_answer *answer, enum storable *storable)
{
	const struct http_msg *m = answer->msg;
	bool part = fill_takes_part(l, m);     /* a part is judged as a 200 */

	if (fill_judge(l, m, part ? 200 : m->status, storable))
		return -1;
	/* A response other than 200 or a part is an answer to the Range, and must not be stored for requests without
	 * one. */
	if (l->ranged && !part && m->status != 200)
		*storable = STORABLE_STATUS;
	/* Only the site knows whose cookie it is. */
	if (answer->cookies)
		*storable = STORABLE_COOKIE;
	l->apart = storable_lasts(*storable) || fill_is_too_large(l, m);
	if (!l->needs_feed)
		fill_set_hit_for_miss(l, m->status);
	if (*storable != STORABLE_YES)
		l->told->detail = storable_word(*storable);
	if (*storable != STORABLE_YES)
		return 0;
	if (!l->needs_feed && fill_keeps_good(l, m))
		fill_set_plan(l, PLAN_KEEP_GOOD);
	else if (fill_is_too_large(l, m))
		fill_set_plan(l, PLAN_OUTDATE);
	else {
		if (!(l->upstream = malloc(answer->upstream.len)))
			return -1;
		memcpy(l->upstream, answer->upstream.at, answer->upstream.len);
		l->upstream_len = answer->upstream.len;
		fill_set_plan(l, PLAN_STORE);
	}
	return 0;
}

/* Whether the response is an error that belongs to no single client but is not stored. Waiting requests get it, rather
 * than asking an origin in trouble once more. */
static bool fill_is_trouble(const struct fill *l, const struct http_msg *m, enum storable storable)
{
	return l->plan == PLAN_KEEP_GOOD || (storable == STORABLE_LIFETIME && freshness_error_status(m->status));
}

static enum fetch_choice fill_on_head(void *arg, const struct fetch_answer *answer, struct object *o)
{
	const struct http_msg *m = answer->msg;
	struct fill *l = arg;
	enum storable storable;
	bool own;

	fill_note_answer(l);
	fill_moves_head(l, answer);
	if (answer->foreign)
		l->head.way = RESPONSE_FOREIGN;
	if (l->params.entry && m->status == 304 && answer->conditional)
		return fill_refresh(l, answer, o);
	if (fill_serve_stale(l, o, m->status, answer->astray))
		return FETCH_ANSWERED;
	l->needs_feed = m->status / 100 == 2 && fill_keeps_feed(l);
	if (fill_plan_storing(l, answer, &storable))
		return FETCH_NO_MEMORY;
	own = (l->plan != PLAN_STORE && !fill_is_trouble(l, m, storable)) || fill_is_for_client(l, m) ||
	    fill_is_refusal(l, m->status);
	if (fill_admit(l, m, own, o))
		return FETCH_NO_MEMORY;
	l->told->fwd_status = m->status;
	l->told->came = l->response_time;
	l->told->stored = l->plan == PLAN_STORE;
	fill_set_expires(l, l->told->stored);
	if (!l->told->stored)
		log_step(&l->id, "store: no, %s",
		    storable == STORABLE_YES ? "too large, or an error behind a good one" : storable_word(storable));
	if (l->told->stored)
		object_retain(o, l->params.max_object);
	else if (!l->needs_feed)
		fill_leave(l);
	if (answer->cookies)
		l->marks = false;
	else
		fill_note_head(l, m);
	return l->needs_feed ? FETCH_NEEDS_FEED : FETCH_GO_ON;
}

static int fill_on_hop(void *arg, const struct fetch_hop *hop)
{
	struct fill *l = arg;

	if (hop->msg)
		fill_note_answer(l);
	return fill_note_hop(l, hop);
}

static void fill_release(struct fill *l)
{
	cache_release(l->params.cache, l->reserved);
	l->reserved = 0;
}

/* Reserves memory for the growing body in steps, so that a body that trickles in seldom asks. A body that finds no room
 * goes on to its readers without being stored, and leaves what it had to others: of many that grow at one pace none
 * would find room otherwise. */
static void fill_on_grew(void *arg, struct object *o)
{
	enum { STEP_BYTES = 32 * 1024 };
	struct fill *l = arg;
	uint64_t length = object_length(o);
	size_t wants = (size_t)(length / STEP_BYTES + 1) * STEP_BYTES;

	if (l->plan != PLAN_STORE || length <= l->reserved)
		return;
	if (cache_reserve(l->params.cache, l->reserved, wants)) {
		l->reserved = wants;
		return;
	}
	fill_set_plan(l, PLAN_OUTDATE);
	log_step(&l->id, "store: no, memory has no room for a body that grows to %llu bytes",
	    (unsigned long long)length);
	fill_leave(l);
	object_unretain(o);
	fill_release(l);
}

static bool fill_on_failed(void *arg, const struct failure *f, int status, struct object *o)
{
	struct fill *l = arg;

	fill_moves_failed(l, f);
	l->told->failure = f->error;
	if (status)
		l->told->fwd_status = status;
	/* FAILURE_ENCODING is not an error of the origin: it did answer, and only its text could not be read. The
	 * client gets this error, unless a feed is kept. */
	if (fill_serve_stale(l, o, 0, f->error == FAILURE_ENCODING || f->error == FAILURE_NO_FEED))
		return true;
	l->told->stored = false;
	/* Before readers learn of the failure: a request that asks again must not find this object. */
	fill_leave(l);
	return false;
}

static struct entry *fill_store_whole(struct fill *l, struct object *o)
{
	struct entry_parts parts = { .freshness = &l->fresh };

	if (!(parts.head = stored_head_of(object_get_head(o), o, false)))
		return NULL;
	parts.object = object_ref(o);
	parts.upstream = l->upstream;
	parts.upstream_len = l->upstream_len;
	l->upstream = NULL;
	return fill_put(l, &parts);
}

/* Stores what came. Its head is read again only where the feed in it, or what else is stored of it, has a say. */
static struct entry *fill_store(struct fill *l, struct object *o)
{
	bool chosen = fill_freshness_of_body(l, &l->fresh, o);
	struct http_msg m;
	struct entry *e;

	if (!l->part.total && !chosen)
		return fill_store_whole(l, o);
	if (fill_parse(l, &m, l->upstream, l->upstream_len) != FILL_HEAD)
		return NULL;
	if (chosen)
		fill_freshness(l, &l->fresh, &m, o);
	e = l->part.total ? fill_store_part(l, &m, o) : fill_store_whole(l, o);
	http_msg_free(&m);
	return e;
}

/* Removes the stored response that this one would have replaced if there had been room: a client has seen the newer one
 * (RFC 9111 section 4). A feed that is kept only gets stale. If the response varies, its record of variants takes the
 * place of a stored response that did not vary. If the record does not find room either, the entry in that place is
 * removed. */
static void fill_outdate(struct fill *l)
{
	struct entry_parts variant = { .freshness = &l->fresh };
	struct text key = { 0 };

	if (l->vary && !fill_put_names(l, &variant))
		cache_remove(l->params.cache, l->key, l->params.key_len);
	fill_key(l, l->vary, false, &key);
	if (!key.failed && !fill_spares_kept(l, key.bytes, key.len))
		cache_remove(l->params.cache, key.bytes, key.len);
	text_free(&key);
}

static void fill_on_done(void *arg, struct object *o)
{
	struct fill *l = arg;
	struct entry *e = NULL;

	fill_release(l);
	if (l->needs_feed)
		fill_set_hit_for_miss(l, 200);
	fill_moves_done(l, o);
	if (l->plan == PLAN_STORE && object_is_retained(o) && object_length(o) <= l->params.max_object) {
		e = fill_store(l, o);
		l->marks = l->marks && !e;
		log_step(&l->id, "store: %s", e ? "done" : "no, purged meanwhile or out of memory");
	}
	fill_set_expires(l, e);
	/* An error of the server says nothing of what is stored, and a part little of the whole. */
	if (!e && l->plan >= PLAN_OUTDATE && !l->part.total && l->told->fwd_status < 500)
		fill_outdate(l);
	entry_unref(&e);
	fill_leave(l);
}

static void fill_free(struct fill *l)
{
	entry_unref(&l->params.entry);
	entry_unref(&l->params.part);
	fill_hops_free(&l->hops);
	move_free(&l->moves.known);
	free(l->upstream);
	free(l->vary);
	free(l);
}

static void fill_on_end(void *arg)
{
	struct fill *l = arg;

	fill_note_end(l);
	fill_release(l);
	fill_leave(l);
	fill_free(l);
}

static struct cache_ticket fill_ticket(const struct fill_params *p)
{
	const struct entry *found = p->entry ? p->entry : p->part;

	if (p->ticket)
		return *p->ticket;
	return found ? cache_ticket_of(p->cache, found) : cache_ticket(p->cache, p->key, p->key_len);
}

/* A fill with its own copy of the strings. NULL: out of memory. */
static struct fill *fill_new(const struct fill_params *params)
{
	struct fill *l = malloc(sizeof *l + params->busy.len + params->sent.len);

	if (!l)
		return NULL;
	assert(params->key_len <= params->busy.len && !memcmp(params->busy.at, params->key, params->key_len));
	*l = (struct fill){ .params = *params, .key = l->text, .sent = l->text + params->busy.len,
		.sent_len = params->sent.len, .left = true, .request = *params->request };
	memcpy(l->text, params->busy.at, params->busy.len);
	memcpy(l->text + params->busy.len, params->sent.at, params->sent.len);
	l->params.entry = params->entry ? entry_ref(params->entry) : NULL;
	l->params.part = params->part ? entry_ref(params->part) : NULL;
	l->busy = (struct cache_key){ l->text, params->busy.len, params->busy.hash };
	l->ticket = fill_ticket(params);
	l->moves.purges = moves_purges(cache_moves(params->cache));
	l->request.msg = NULL;
	l->asked = l->request_time = fill_now(l);
	l->asked_ms = loop_now_ms(params->loop);
	return l;
}

struct object *fill_start(const struct fill_params *params, struct fetch_request *r, bool *collapsed)
{
	static const struct failure no_memory = { .error = FAILURE_PROXY_INTERNAL_ERROR };
	struct object *theirs = NULL, *o = object_new_beside(params->transit_bytes, sizeof(struct filled));
	struct fill *l = fill_new(params);
	struct fetch_hooks hooks = { fill_on_known, fill_on_hop, fill_on_head, fill_on_grew, fill_on_failed,
		fill_on_done, fill_on_end, l };

	if (!o || !l)
		goto fail;
	l->object = o;
	l->told = object_beside(o);
	l->id = r->id;
	l->head = r->transform.head;
	l->params.freshness.drops_own = r->transform.head.way == RESPONSE_FOREIGN;
	l->ranged = r->ranged;
	l->normalises = r->transform.normalise;
	l->marks = l->normalises && !l->ranged;
	l->told->asked_ms = l->asked_ms;
	r->lasting = r->lasting && fill_keeps_feed(l);
	if (fill_add_validators(l, r))
		goto fail;
	r->hooks = &hooks;
	if (!params->alone)
		theirs = cache_in_flight_begin(params->cache, &l->busy, o);
	*collapsed = theirs;
	l->left = theirs || params->alone;
	if (theirs)
		goto fail;
	if (fetch_start(params->fetches, r, o)) {
		fill_leave(l);
		object_fail(o, &no_memory);
		goto fail;
	}
	return o;
fail:
	if (l)
		fill_free(l);
	object_unref(&o);
	fetch_request_free(r);
	return theirs;
}
