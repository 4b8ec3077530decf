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

void fill_set_plan(struct fill *fill, enum fill_plan plan)
{
	assert(fill_plans[fill->plan].next >> plan & 1);
	assert(!fill->needs_feed || fill_plans[plan].needs_feed);
	fill->plan = plan;
}

int64_t fill_now(struct fill *fill)
{
	return loop_wall_ms(fill->params.loop) / 1000;
}

int64_t fill_steady(struct fill *fill)
{
	return (int64_t)(loop_now_ms(fill->params.loop) / 1000);
}

/* Notes when the response came, and how long before that it was asked for. The wall clock may have been set back
 * meanwhile: the monotonic clock gives the least that the fetch took. */
static void fill_note_answer(struct fill *fill)
{
	fill->answered_ms = loop_now_ms(fill->params.loop);
	int64_t steady = (int64_t)(fill->answered_ms - fill->asked_ms) / 1000;
	fill->response_time = fill_now(fill);
	int64_t took = fill->response_time - fill->asked;
	fill->request_time = fill->response_time - (took > steady ? took : steady);
}

static void fill_set_expires(struct fill *fill, bool stored)
{
	atomic_store_explicit(&fill->told->expires, stored ? freshness_end(&fill->fresh) : 0, memory_order_relaxed);
}

void fill_leave(struct fill *fill)
{
	if (!fill->left)
		cache_in_flight_end(fill->params.cache, &fill->busy, fill->object);
	fill->left = true;
	fill_end_lease(fill, false);
}

enum fill_head fill_parse(struct fill *fill, struct http_msg *m, const char *bytes, size_t len)
{
	struct http_parser *parser = http_parser_new(false, NULL, NULL);
	enum fill_head r = FILL_HEAD_NO_MEMORY;
	size_t used;

	if (parser && !http_msg_init(m, fill->params.max_fields)) {
		m->base = bytes;
		http_parser_start(parser, m, false);
		r = len <= fill->params.max_head && http_parse(parser, bytes, len, &used) == PARSE_HEAD
		    ? FILL_HEAD
		    : FILL_HEAD_UNUSABLE;
		if (r != FILL_HEAD)
			http_msg_free(m);
	}
	http_parser_free(&parser);
	return r;
}

void fill_key(struct fill *fill, const char *vary, bool part, struct text *key)
{
	text_add(key, fill->key, fill->params.key_len);
	if (vary) {
		text_puts(key, "\n");
		vary_key(key, (struct slice){ vary, strlen(vary) }, (struct slice){ fill->sent, fill->sent_len });
	}
	text_puts(key, part ? ENTRY_PARTS : "");
}

/* The generation of the index by which the request was looked up, if the response varies by the fields that stand
 * there. */
static uint64_t fill_known_generation(struct fill *fill)
{
	struct text key = { 0 };

	fill_key(fill, fill->vary, fill->ranged, &key);
	bool same = !key.failed && key.len == fill->busy.len && !memcmp(key.bytes, fill->busy.at, key.len);
	text_free(&key);
	return same ? fill->params.generation : CACHE_GENERATION_NONE;
}

static bool fill_put_names(struct fill *fill, struct entry_parts *variant)
{
	struct entry_parts names = { .vary = strdup(fill->vary), .freshness = variant->freshness };
	struct entry *index = names.vary ? entry_new(fill->key, fill->params.key_len, &names) : NULL;
	bool good =
	    index && cache_put_variants(fill->params.cache, index, fill_known_generation(fill), &fill->ticket);

	if (good)
		variant->generation = index->generation;
	entry_unref(&index);
	return good;
}

struct entry *fill_put(struct fill *fill, struct entry_parts *parts)
{
	struct text key = { 0 };
	struct entry *e = NULL;

	if (fill->vary && !fill_put_names(fill, parts)) {
		entry_parts_free(parts);
		return NULL;
	}
	fill_key(fill, fill->vary, parts->part.total, &key);
	if (key.failed)
		entry_parts_free(parts);
	else
		e = entry_new(key.bytes, key.len, parts);
	if (e)
		entry_now(e, fill_now(fill), fill_steady(fill));
	if (e && !cache_put(fill->params.cache, e, &fill->ticket))
		entry_unref(&e);
	text_free(&key);
	return e;
}

int fill_finish_parts(struct fill *fill, struct entry_parts *parts, struct freshness *fresh, bool client)
{
	struct object_head *head = NULL;
	struct http_msg m;

	if (parts->object && parts->upstream &&
	    fill_parse(fill, &m, parts->upstream, parts->upstream_len) == FILL_HEAD) {
		fill_freshness(fill, fresh, &m, parts->object);
		fill->head.date = loop_http_date(fill->params.loop);
		if ((head = response_head_build(&m, fill_body(parts->object), &fill->head)))
			parts->head = stored_head_of(head, parts->object, client);
		http_msg_free(&m);
	}
	object_head_unref(&head);
	parts->freshness = fresh;
	if (!parts->head)
		entry_parts_free(parts);
	return parts->head ? 0 : -1;
}

static bool fill_is_too_large(struct fill *fill, const struct http_msg *m)
{
	return m->has_length && m->content_length > fill->params.max_object;
}

/* Notes whether the responses for this key are each client's own. A server error says nothing about the next response,
 * and a request for a part waits for no other anyway. */
static void fill_set_hit_for_miss(struct fill *fill, int status)
{
	if (status < 500 && !fill->ranged)
		cache_set_hit_for_miss(fill->params.cache, &fill->busy, fill->apart,
		    (int64_t)(fill->answered_ms / 1000), &fill->ticket);
}

static int fill_plan_storing(struct fill *fill, const struct fetch_answer *answer, enum storable *storable)
{
	const struct http_msg *m = answer->msg;
	bool part = fill_takes_part(fill, m);     /* a part is judged as a 200 */

	if (fill_judge(fill, m, part ? 200 : m->status, storable))
		return -1;
	/* A response other than 200 or a part is an answer to the Range, and must not be stored for requests without
	 * one. */
	if (fill->ranged && !part && m->status != 200)
		*storable = STORABLE_STATUS;
	/* Only the site knows whose cookie it is. */
	if (answer->cookies)
		*storable = STORABLE_COOKIE;
	fill->apart = storable_lasts(*storable) || fill_is_too_large(fill, m);
	if (!fill->needs_feed)
		fill_set_hit_for_miss(fill, m->status);
	if (*storable != STORABLE_YES)
		fill->told->detail = storable_word(*storable);
	if (*storable != STORABLE_YES)
		return 0;
	if (!fill->needs_feed && fill_keeps_good(fill, m))
		fill_set_plan(fill, PLAN_KEEP_GOOD);
	else if (fill_is_too_large(fill, m))
		fill_set_plan(fill, PLAN_OUTDATE);
	else {
		if (!(fill->upstream = malloc(answer->upstream.len)))
			return -1;
		memcpy(fill->upstream, answer->upstream.at, answer->upstream.len);
		fill->upstream_len = answer->upstream.len;
		fill_set_plan(fill, PLAN_STORE);
	}
	return 0;
}

/* Whether the response is an error that belongs to no single client but is not stored. Waiting requests get it, rather
 * than asking an origin in trouble once more. */
static bool fill_is_trouble(const struct fill *fill, const struct http_msg *m, enum storable storable)
{
	return fill->plan == PLAN_KEEP_GOOD || (storable == STORABLE_LIFETIME && freshness_error_status(m->status));
}

static enum fetch_choice fill_on_head(void *arg, const struct fetch_answer *answer, struct object *o)
{
	const struct http_msg *m = answer->msg;
	struct fill *fill = arg;
	enum storable storable;

	fill_note_answer(fill);
	fill_moves_head(fill, answer);
	if (answer->foreign)
		fill->head.way = RESPONSE_FOREIGN;
	if (fill->params.entry && m->status == 304 && answer->conditional)
		return fill_refresh(fill, answer, o);
	if (fill_serve_stale(fill, o, m->status, answer->astray))
		return FETCH_ANSWERED;
	fill->needs_feed = m->status / 100 == 2 && fill_keeps_feed(fill);
	if (fill_plan_storing(fill, answer, &storable))
		return FETCH_NO_MEMORY;
	bool own = (fill->plan != PLAN_STORE && !fill_is_trouble(fill, m, storable)) || fill_is_for_client(fill, m) ||
	    fill_is_refusal(fill, m->status);
	if (fill_admit(fill, m, own, o))
		return FETCH_NO_MEMORY;
	fill->told->fwd_status = m->status;
	fill->told->came = fill->response_time;
	fill->told->stored = fill->plan == PLAN_STORE;
	fill_set_expires(fill, fill->told->stored);
	if (fill->apart && m->status < 400)
		fill->came = CAME_PRIVATE;
	if (!fill->told->stored)
		log_step(&fill->id, "store: no, %s",
		    storable == STORABLE_YES ? "too large, or an error behind a good one" : storable_word(storable));
	if (fill->told->stored)
		object_retain(o, fill->params.max_object);
	else if (!fill->needs_feed)
		fill_leave(fill);
	if (answer->cookies)
		fill->marks = false;
	else
		fill_note_head(fill, m);
	return fill->needs_feed ? FETCH_NEEDS_FEED : FETCH_GO_ON;
}

static bool fill_expects(void *fill)
{
	return fill_keeps_feed(fill);
}

static int fill_on_hop(void *arg, const struct fetch_hop *hop)
{
	struct fill *fill = arg;

	if (hop->msg)
		fill_note_answer(fill);
	return fill_note_hop(fill, hop);
}

static void fill_release(struct fill *fill)
{
	cache_release(fill->params.cache, fill->reserved);
	fill->reserved = 0;
}

/* Reserves memory for the growing body in steps, so that a body that trickles in seldom asks. A body that finds no room
 * goes on to its readers without being stored, and leaves what it had to others: of many that grow at one pace none
 * would find room otherwise. */
static void fill_on_grew(void *arg, struct object *o)
{
	enum { STEP_BYTES = 32 * 1024 };
	struct fill *fill = arg;
	uint64_t length = object_length(o);
	size_t wants = (size_t)(length / STEP_BYTES + 1) * STEP_BYTES;

	if (fill->plan != PLAN_STORE || length <= fill->reserved)
		return;
	if (cache_reserve(fill->params.cache, fill->reserved, wants)) {
		fill->reserved = wants;
		return;
	}
	fill_set_plan(fill, PLAN_OUTDATE);
	log_step(&fill->id, "store: no, memory has no room for a body that grows to %llu bytes",
	    (unsigned long long)length);
	fill_leave(fill);
	object_unretain(o);
	fill_release(fill);
}

static bool fill_on_failed(void *arg, const struct failure *failure, int status, struct object *o)
{
	struct fill *fill = arg;

	fill_moves_failed(fill, failure);
	fill->told->failure = failure->error;
	if (status)
		fill->told->fwd_status = status;
	/* FAILURE_ENCODING is not an error of the origin: it did answer, and only its text could not be read. The
	 * client gets this error, unless a feed is kept. */
	if (fill_serve_stale(fill, o, 0, failure->error == FAILURE_ENCODING || failure->error == FAILURE_NO_FEED))
		return true;
	fill->told->stored = false;
	fill->came = CAME_NOTHING;
	/* Before readers learn of the failure: a request that asks again must not find this object. */
	fill_leave(fill);
	return false;
}

static struct entry *fill_store_whole(struct fill *fill, struct object *o)
{
	struct entry_parts parts = { .freshness = &fill->fresh };

	/* A forward request has RFC 9111 alone, by which the response is complete. */
	if (object_reported(o)->cut && fill->head.way != RESPONSE_FORWARDED)
		freshness_cut(&fill->fresh);
	if (!(parts.head = stored_head_of(object_get_head(o), o, false)))
		return NULL;
	parts.object = object_ref(o);
	parts.upstream = fill->upstream;
	parts.upstream_len = fill->upstream_len;
	fill->upstream = NULL;
	return fill_put(fill, &parts);
}

/* Stores what came. Its head is read again only where the feed in it, or what else is stored of it, has a say. */
static struct entry *fill_store(struct fill *fill, struct object *o)
{
	bool chosen = fill_freshness_of_body(fill, &fill->fresh, o);
	struct http_msg m;

	if (!fill->part.total && !chosen)
		return fill_store_whole(fill, o);
	if (fill_parse(fill, &m, fill->upstream, fill->upstream_len) != FILL_HEAD)
		return NULL;
	if (chosen)
		fill_freshness(fill, &fill->fresh, &m, o);
	struct entry *e = fill->part.total ? fill_store_part(fill, &m, o) : fill_store_whole(fill, o);
	http_msg_free(&m);
	return e;
}

/* Removes the stored response that this one would have replaced if there had been room: a client has seen the newer one
 * (RFC 9111 section 4). A feed that is kept only gets stale. If the response varies, its index of variants takes the
 * place of a stored response that did not vary. If the index does not find room either, the entry in that place is
 * removed. */
static void fill_outdate(struct fill *fill)
{
	struct entry_parts variant = { .freshness = &fill->fresh };
	struct text key = { 0 };

	if (fill->vary && !fill_put_names(fill, &variant))
		cache_outdate(fill->params.cache, fill->key, fill->params.key_len, &fill->ticket);
	fill_key(fill, fill->vary, false, &key);
	if (!key.failed && !fill_spares_kept(fill, key.bytes, key.len))
		cache_outdate(fill->params.cache, key.bytes, key.len, &fill->ticket);
	text_free(&key);
}

static void fill_on_done(void *arg, struct object *o)
{
	struct fill *fill = arg;
	struct entry *e = NULL;

	fill_release(fill);
	if (fill->needs_feed)
		fill_set_hit_for_miss(fill, 200);
	fill_moves_done(fill, o);
	if (fill->plan == PLAN_STORE && object_is_retained(o) && object_length(o) <= fill->params.max_object) {
		e = fill_store(fill, o);
		fill->came = e ? CAME_STORED : CAME_NOTHING;
		fill->marks = fill->marks && !e;
		log_step(&fill->id, "store: %s", e ? "done" : "no, purged meanwhile or out of memory");
	}
	fill_set_expires(fill, e);
	/* An error of the server says nothing of what is stored, and a part little of the whole. */
	if (!e && fill->plan >= PLAN_OUTDATE && !fill->part.total && fill->told->fwd_status < 500)
		fill_outdate(fill);
	entry_unref(&e);
	fill_leave(fill);
}

static void fill_free(struct fill *fill)
{
	entry_unref(&fill->params.entry);
	entry_unref(&fill->params.part);
	fill_hops_free(&fill->hops);
	move_free(&fill->moves.known);
	free(fill->upstream);
	free(fill->vary);
	free(fill);
}

static void fill_on_end(void *arg)
{
	struct fill *fill = arg;

	fill_note_end(fill);
	fill_release(fill);
	fill_leave(fill);
	fill_end_lease(fill, true);
	fill_free(fill);
}

static struct cache_ticket fill_ticket(const struct fill_params *params)
{
	const struct entry *found = params->entry ? params->entry : params->part;

	if (params->ticket)
		return *params->ticket;
	return found ? cache_ticket_of(params->cache, found)
	    : cache_ticket(params->cache, params->key, params->key_len);
}

/* A fill with its own copy of the strings. NULL: out of memory. */
static struct fill *fill_new(const struct fill_params *params)
{
	struct fill *fill = malloc(sizeof *fill + params->busy.len + params->sent.len);

	if (!fill)
		return NULL;
	assert(params->key_len <= params->busy.len && !memcmp(params->busy.at, params->key, params->key_len));
	*fill = (struct fill){ .params = *params, .key = fill->text, .sent = fill->text + params->busy.len,
		.sent_len = params->sent.len, .left = params->alone, .request = *params->request };
	memcpy(fill->text, params->busy.at, params->busy.len);
	memcpy(fill->text + params->busy.len, params->sent.at, params->sent.len);
	fill->params.entry = params->entry ? entry_ref(params->entry) : NULL;
	fill->params.part = params->part ? entry_ref(params->part) : NULL;
	fill->busy = (struct cache_key){ fill->text, params->busy.len, params->busy.hash };
	fill->ticket = fill_ticket(params);
	fill->moves.purges = moves_purges(cache_moves(params->cache));
	fill->request.msg = NULL;
	fill->asked = fill->request_time = fill_now(fill);
	fill->asked_ms = loop_now_ms(params->loop);
	return fill;
}

struct object *fill_start(const struct fill_params *params, struct fetch_request *asked, enum in_flight *way)
{
	static const struct failure no_memory = { .error = FAILURE_PROXY_INTERNAL_ERROR };
	struct object *theirs = NULL, *o = object_new_beside(params->transit_bytes, sizeof(struct filled));
	struct fill *fill = fill_new(params);
	struct fetch_hooks hooks = { fill_waits, fill_expects, fill_on_known, fill_on_hop, fill_on_head, fill_on_grew,
		fill_on_failed, fill_on_done, fill_on_end, fill };

	*way = IN_FLIGHT_BEGUN;
	if (!o || !fill)
		goto fail;
	fill->object = o;
	fill->told = object_beside(o);
	fill->id = asked->id;
	fill->head = asked->transform.head;
	fill->params.freshness.drops_own = asked->transform.head.way == RESPONSE_FOREIGN;
	fill->ranged = asked->ranged;
	fill->normalises = asked->transform.normalise;
	fill->marks = fill->normalises && !fill->ranged;
	fill->told->asked_ms = fill->asked_ms;
	asked->lasting = asked->lasting && fill_keeps_feed(fill);
	if (fill_add_validators(fill, asked))
		goto fail;
	asked->hooks = &hooks;
	if (!params->alone)
		*way = cache_in_flight_begin(params->cache, &fill->busy, o, params->ends, &theirs);
	if (*way != IN_FLIGHT_BEGUN)
		goto fail;
	if (fetch_start(params->fetches, asked, o)) {
		fill_leave(fill);
		object_fail(o, &no_memory);
		goto fail;
	}
	return o;
fail:
	if (fill)
		fill_free(fill);
	object_unref(&o);
	fetch_request_free(asked);
	return theirs;
}
