/* Owns what becomes of a stored response when its origin is asked about it. Validators go out, and a 304 makes a new
 * head for the response. The stored response may also answer in the place of an origin's error. Must not know: clients,
 * bodies.
 * Source: RFC 9111 sections 3.2, 4.3 and 4.2.4, RFC 5861. Invariant: a merged head passes the gate just as the head of
 * a whole response does. */
#include "proxy/cache/fill_internal.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/cache/stored_head.h"
#include "proxy/http/head_text.h"

enum fill_head fill_merge(struct fill *fill, const struct entry *e, const struct http_msg *m, bool client,
    char **merged, size_t *len)
{
	struct http_msg stored;
	struct text t = { 0 };
	enum fill_head r = fill_parse(fill, &stored, e->upstream, e->upstream_len);

	if (r != FILL_HEAD)
		return r;
	size_t fields = stored_head_update(&t, &stored, m, client);
	http_msg_free(&stored);
	if (!(*merged = text_take(&t, len)))
		return FILL_HEAD_NO_MEMORY;
	if (fields <= fill->params.max_fields && *len <= fill->params.max_head)
		return FILL_HEAD;
	free(*merged);
	return FILL_HEAD_UNUSABLE;
}

static struct slice opaque(struct slice etag)
{
	return etag.len > 2 && etag.at[0] == 'W' && etag.at[1] == '/' ? (struct slice){ etag.at + 2,
	    etag.len - 2 } : etag;
}

/* Whether the 304's validator names another stored response than this one (section 4.3.4). Tags that differ in W/ alone
 * are the same: utfeed asked by them, which is a weak comparison (RFC 9110 section 13.1.2). */
static bool fill_means_another(const struct http_msg *stored, const struct http_msg *m)
{
	struct slice mine = http_msg_get(stored, H_ETAG), theirs = http_msg_get(m, H_ETAG);

	if (!theirs.len || !mine.len)
		return false;
	mine = opaque(mine);
	theirs = opaque(theirs);
	return mine.len != theirs.len || memcmp(mine.at, theirs.at, mine.len);
}

/* Whether the stored head varies by Accept-Encoding, because the coding of the body was undone when it came: a 304 does
 * not tell that. */
static bool fill_varies_by_coding(const struct entry *e)
{
	struct slice vary = head_text_get((struct slice){ e->head->bytes, e->head->len }, "vary"), name;

	while (vary.at && vary.len) {
		name = slice_until(vary, ',', &vary);
		if (slice_is(name, "accept-encoding"))
			return true;
	}
	return false;
}

/* Whether the stored body was decoded under a type that stayed: a 304 does not tell that either. */
static bool fill_keeps_type(const struct fill *fill, const struct entry *e)
{
	struct slice type = head_text_get((struct slice){ e->head->bytes, e->head->len }, "content-type");

	return fill_body(e->object) == RESPONSE_NORMALISED &&
	    !slice_is(type, normalise_content_type(fill->head.output));
}

/* Merges the 304 into the stored response. client: with the fields that the 304 has for this client alone, which are
 * not stored. Unless the result is FILL_HEAD, parts holds nothing. */
static enum fill_head fill_make_merged(struct fill *fill, const struct http_msg *m, bool client,
    struct entry_parts *parts, struct freshness *fresh)
{
	const struct entry *old = fill->params.entry;
	enum fill_head r;

	*parts = (struct entry_parts){ .part = old->part };
	if ((r = fill_merge(fill, old, m, client, &parts->upstream, &parts->upstream_len)) != FILL_HEAD)
		return r;
	parts->object = object_ref(old->object);
	fill->head.keeps_type = fill_keeps_type(fill, old);
	return fill_finish_parts(fill, parts, fresh, client) ? FILL_HEAD_NO_MEMORY : FILL_HEAD;
}

static int fill_judge_merged(struct fill *fill, const struct entry_parts *parts, enum storable *storable)
{
	struct http_msg merged;

	if (fill_parse(fill, &merged, parts->upstream, parts->upstream_len) != FILL_HEAD)
		return -1;
	int status = fill_judge(fill, &merged, merged.status, storable);
	http_msg_free(&merged);
	return status;
}

/* Whether a response that may not be stored any more must not be found any more either. That is not so where only this
 * request forbids storing. */
static bool fill_ends_stored(enum storable s)
{
	return s != STORABLE_YES && s != STORABLE_REQUEST_NO_STORE && s != STORABLE_METHOD &&
	    s != STORABLE_AUTHORIZATION;
}

/* Removes the former entry if the response may not be found any more, or is stored under another key now because it
 * varies by other fields, or by none. Where it did not vary and does now, the index of variants has its place, and is
 * not removed. */
static void fill_remove_former(struct fill *fill, const struct entry *e, enum storable storable)
{
	const struct entry *old = fill->params.entry;
	bool moved = e && (e->key_len != old->key_len || memcmp(e->key, old->key, e->key_len));

	if (fill_ends_stored(storable) || (moved && !(fill->vary && old->key_len == fill->params.key_len)))
		cache_outdate(fill->params.cache, old->key, old->key_len, &fill->ticket);
}

/* Stores the merged response, if it may be stored; takes over what parts hold. -1: out of memory. */
static int fill_store_merged(struct fill *fill, struct entry_parts *parts)
{
	enum storable storable;
	struct entry *e = NULL;

	if (fill_judge_merged(fill, parts, &storable)) {
		entry_parts_free(parts);
		return -1;
	}
	if (storable == STORABLE_YES)
		e = fill_put(fill, parts);
	else
		entry_parts_free(parts);
	fill_remove_former(fill, e, storable);
	fill->told->stored = e;
	fill->came = e ? CAME_STORED : CAME_NOTHING;
	fill->told->detail = storable == STORABLE_YES ? NULL : storable_word(storable);
	log_step(&fill->id, "store: %s", e ? "confirmed" :
	    storable == STORABLE_YES ? "no, purged meanwhile or out of memory" : storable_word(storable));
	entry_unref(&e);
	return 0;
}

/* Makes the new head and stores the response with it. *head: the head that answers, one reference. */
static enum fill_head fill_renew(struct fill *fill, const struct http_msg *m, struct object_head **head)
{
	struct freshness *fresh = &fill->told->freshness;
	struct entry_parts parts;
	enum fill_head r;

	if ((r = fill_make_merged(fill, m, true, &parts, fresh)) != FILL_HEAD)
		return r;
	*head = object_head_ref(parts.head);
	if (fill_is_for_client(fill, m)) {
		entry_parts_free(&parts);
		if ((r = fill_make_merged(fill, m, false, &parts, fresh)) != FILL_HEAD)
			return r;
	}
	return fill_store_merged(fill, &parts) ? FILL_HEAD_NO_MEMORY : FILL_HEAD;
}

/* The stored head and the head of the 304 merge into a head that is too large or not valid: the stored response answers
 * once more as it is, and is removed. */
static struct object_head *fill_retire(struct fill *fill)
{
	const struct entry *old = fill->params.entry;

	fill->told->freshness = old->freshness;
	cache_outdate(fill->params.cache, old->key, old->key_len, &fill->ticket);
	return object_head_ref(old->head);
}

/* Whether the 304 is about the stored response, and not about another one. */
static bool fill_is_of_stored(struct fill *fill, const struct http_msg *m)
{
	const struct entry *old = fill->params.entry;
	struct http_msg stored;

	if (fill_parse(fill, &stored, old->upstream, old->upstream_len) != FILL_HEAD)
		return false;
	bool same = !fill_means_another(&stored, m);
	http_msg_free(&stored);
	return same;
}

enum fetch_choice fill_refresh(struct fill *fill, const struct fetch_answer *answer, struct object *o)
{
	const struct http_msg *m = answer->msg;
	struct object_head *head = NULL;
	enum fill_head r;

	if (!fill_is_of_stored(fill, m))
		return FETCH_UNCONDITIONAL;
	fill->head.url = answer->url;
	fill->head.redirected = answer->redirected;
	fill->head.varies = fill_varies_by_coding(fill->params.entry);
	if ((r = fill_renew(fill, m, &head)) == FILL_HEAD_UNUSABLE) {
		object_head_unref(&head);
		head = fill_retire(fill);
	}
	if (r == FILL_HEAD_NO_MEMORY ||
	    fill_admit(fill, m, fill_is_for_client(fill, m) || !fill->told->stored, o)) {
		object_head_unref(&head);
		return FETCH_NO_MEMORY;
	}
	fill->told->fwd_status = m->status;
	object_substitute(o, head, fill->params.entry->object);
	object_head_unref(&head);
	fill_leave(fill);
	return FETCH_ANSWERED;
}

bool fill_keeps_feed(struct fill *fill)
{
	struct entry *e = fill->params.entry;

	return e && fill->params.freshness.keep_s &&
	    freshness_keeps(&e->freshness, entry_now(e, fill_now(fill), fill_steady(fill)));
}

bool fill_is_refusal(const struct fill *fill, int status)
{
	return fill->params.credentials && http_status_refuses(status);
}

static bool fill_may_keep(struct fill *fill, int status, bool no_feed)
{
	return fill_keeps_feed(fill) && (!status || no_feed || freshness_failure_status(status)) &&
	    !fill_is_refusal(fill, status);
}

static bool fill_may_serve_stale(struct fill *fill, int status)
{
	struct cache_control own;

	return (!status || freshness_error_status(status)) && freshness_if_error(&fill->params.entry->freshness,
	    freshness_request(&own, &fill->request.says, &fill->params.freshness), fill_now(fill));
}

/* The kept feed is for all clients that wait, even if the origin's answer was for one of them alone. A feed that was
 * purged meanwhile answers nobody. */
bool fill_serve_stale(struct fill *fill, struct object *o, int status, bool no_feed)
{
	struct entry *e = fill->params.entry;
	struct filled *told = fill->told;

	if (!e || cache_ticket_is_spent(fill->params.cache, &fill->ticket, e))
		return false;
	bool kept = fill_may_keep(fill, status, no_feed);
	if (!kept && (no_feed || !fill_may_serve_stale(fill, status)))
		return false;
	told->kept = kept;
	told->stored = false;
	fill->came = CAME_NOTHING;
	told->detail = NULL;
	atomic_store_explicit(&told->expires, 0, memory_order_relaxed);
	if (status)
		told->fwd_status = status;
	log_step(&fill->id, "lookup: what is stored answers for an origin that errs");
	told->freshness = e->freshness;
	fill->marks = false;
	fill_set_plan(fill, PLAN_NOTHING);
	object_set_audience(o, NULL);
	object_substitute(o, e->head, e->object);
	fill_leave(fill);
	return true;
}

/* The URL at which a stored response was found, perhaps at the end of redirects. It stands in Content-Location, which
 * an origin may also send by itself. If the origin's value is not the URL where the fetch ends, the request goes out
 * unconditionally. */
static char *fill_found_at(struct slice at)
{
	struct text url = { 0 };
	size_t len;

	if (!at.len || !memmem(at.at, at.len, "://", 3))
		return NULL;
	text_add(&url, at.at, at.len);
	text_add(&url, "", 1);
	return text_take(&url, &len);
}

/* Whether the Content-Location that the origin sent by itself is a URL of another origin. It has no say over that one,
 * which the validators would reach once a redirect led there. */
static bool fill_names_elsewhere(const struct fetch_request *asked, struct slice at, struct slice own)
{
	struct destination first = asked->to, named = { .path = NULL };
	const char *why;

	if (!own.len || own.len != at.len || memcmp(own.at, at.at, own.len) || !memmem(own.at, own.len, "://", 3))
		return false;
	redirect_upgrade(&first, &asked->redirects);
	bool elsewhere = destination_from_url(&named, own, &why) != DESTINATION_OK ||
	    !destination_same_origin(&named, &first);
	destination_free(&named);
	return elsewhere;
}

int fill_add_validators(struct fill *fill, struct fetch_request *asked)
{
	struct http_msg stored;
	struct slice at;
	struct text t = { 0 };

	if (!fill->params.entry || fill->params.entry->freshness.flags & FRESHNESS_CUT)
		return 0;
	switch (fill_parse(fill, &stored, fill->params.entry->upstream, fill->params.entry->upstream_len)) {
	case FILL_HEAD:
		break;
	case FILL_HEAD_UNUSABLE:               /* cannot be validated: the whole is fetched */
		return 0;
	case FILL_HEAD_NO_MEMORY:
		return -1;
	}
	struct slice etag = http_msg_get(&stored, H_ETAG);
	struct slice modified = http_msg_get(&stored, H_LAST_MODIFIED);
	if (etag.len)
		text_printf(&t, "If-None-Match: %.*s\r\n", (int)etag.len, etag.at);
	if (modified.len)
		text_printf(&t, "If-Modified-Since: %.*s\r\n", (int)modified.len, modified.at);
	at = head_text_get((struct slice){ fill->params.entry->head->bytes, fill->params.entry->head->len },
	    "content-location");
	bool elsewhere = fill_names_elsewhere(asked, at, http_msg_get(&stored, H_CONTENT_LOCATION));
	http_msg_free(&stored);
	if (!t.len || elsewhere) {
		text_free(&t);
		return t.failed ? -1 : 0;
	}
	asked->conditional = text_take(&t, &asked->conditional_len);
	asked->conditional_url = fill_found_at(at);
	return asked->conditional ? 0 : -1;
}
