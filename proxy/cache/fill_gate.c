/* Owns the gate into the store: whether a response may be stored, which fields of the request it depends on, and whom
 * it is for while it is made.
 * Must not know: bodies. Source: RFC 9111 sections 3, 3.5, 4.1 and 7.3.
 * Invariant: a response at the end of redirects is judged together with each of them, because it is stored under the
 * URL of the first. */
#include "proxy/cache/fill_internal.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/http/vary.h"
#include "proxy/object/audience.h"

static int take_names(struct text *names, char **to)
{
	size_t len;

	text_add(names, "", 1);
	free(*to);
	return (*to = text_take(names, &len)) ? 0 : -1;
}

void fill_hops_free(struct fill_hops *hops)
{
	free(hops->vary);
}

/* Whether a redirect lets the response it leads to be stored. A redirect that names no lifetime counts as fresh for as
 * long as the operator's floor says; that alone does not keep the response out. */
static enum storable fill_judge_hop(struct fill *fill, const struct http_msg *m)
{
	enum storable s = freshness_storable(&fill->request, m, &fill->params.freshness);

	return s == STORABLE_LIFETIME ? STORABLE_YES : s;
}

static void fill_limit_hops(struct fill_hops *hops, const struct freshness *fresh, enum storable storable)
{
	if (hops->any)
		freshness_limit(&hops->limit, fresh);
	else
		hops->limit = *fresh;
	if (!hops->any || hops->storable == STORABLE_YES)
		hops->storable = storable;
	hops->any = true;
}

/* Adds the field names by which a redirect varies. -1: out of memory. */
static int fill_add_names(struct fill_hops *hops, struct slice more)
{
	const struct http_msg none = { .n_fields = 0 };
	struct text all = { 0 }, names = { 0 };
	int status = 0;

	text_printf(&all, "%s%s", hops->vary ? hops->vary : "", hops->vary ? "," : "");
	text_add(&all, more.at, more.len);
	if (all.failed)
		status = -1;
	else if (!vary_names_valid((struct slice){ all.bytes, all.len }))
		hops->vary_all = true;
	else if (vary_union(&names, &none, (struct slice){ all.bytes, all.len }) == VARY_FIELDS)
		status = take_names(&names, &hops->vary);
	text_free(&all);
	return status;
}

/* A redirect that is remembered may be stored, or it would not be. */
static int fill_note_known(struct fill *fill)
{
	const struct move *known = &fill->moves.known;

	fill_limit_hops(&fill->hops, &known->freshness, STORABLE_YES);
	return known->vary ? fill_add_names(&fill->hops, (struct slice){ known->vary, strlen(known->vary) }) : 0;
}

int fill_note_hop(struct fill *fill, const struct fetch_hop *hop)
{
	struct fill_hops *hops = &fill->hops;
	struct text names = { 0 };
	struct freshness f;
	int status = 0;

	fill_moves_add(fill, hop);
	if (!hop->msg)
		return fill_note_known(fill);
	freshness_read_hop(&f, hop->msg, fill->request_time, fill->response_time, &fill->params.freshness);
	enum storable storable = fill_judge_hop(fill, hop->msg);
	enum vary vary = vary_names(&names, hop->msg);
	fill_learn(fill, hop, storable == STORABLE_YES && vary != VARY_ALL && !names.failed,
	    (struct slice){ names.bytes, names.len }, &f);
	fill_limit_hops(hops, &f, storable);
	hops->vary_all |= vary == VARY_ALL;
	if (names.failed || (vary == VARY_FIELDS && fill_add_names(hops, (struct slice){ names.bytes, names.len })))
		status = -1;
	text_free(&names);
	return status;
}

/* Takes the field names of Vary, whether the response is stored or not: they are needed while it may still be for other
 * requests. */
static int fill_take_vary(struct fill *fill, const struct http_msg *m, enum storable *storable)
{
	const struct fill_hops *hops = &fill->hops;
	struct text names = { 0 };
	enum vary vary = hops->vary_all ? VARY_ALL : vary_union(&names, m,
	    (struct slice){ hops->vary, hops->vary ? strlen(hops->vary) : 0 });

	free(fill->vary);
	fill->vary = NULL;
	if (vary == VARY_ALL && (*storable == STORABLE_YES || *storable == STORABLE_LIFETIME))
		*storable = STORABLE_VARY;
	return vary == VARY_FIELDS ? take_names(&names, &fill->vary) : 0;
}

int fill_judge(struct fill *fill, const struct http_msg *m, int status, enum storable *storable)
{
	struct http_msg as = *m;

	as.status = (uint16_t)status;
	*storable = fill->hops.any ? fill->hops.storable : STORABLE_YES;
	if (*storable == STORABLE_YES)
		*storable = freshness_storable(&fill->request, &as, &fill->params.freshness);
	return fill_take_vary(fill, m, storable);
}

int fill_admit(struct fill *fill, const struct http_msg *m, bool own, struct object *o)
{
	struct audience *audience = audience_own();

	if (!own || fill->plan == PLAN_STORE)
		fill_freshness(fill, &fill->fresh, m, NULL);
	if (!own && !(audience = audience_new(fill->vary, (struct slice){ fill->sent, fill->sent_len }, &fill->fresh)))
		return -1;
	object_set_audience(o, audience);
	return 0;
}

/* Whether the origin says that there is nothing any more, and for how long. */
static bool fill_is_removal(struct fill *fill, const struct http_msg *m)
{
	struct freshness f;

	if (m->status != 404 && m->status != 410)
		return false;
	fill_freshness(fill, &f, m, NULL);
	return f.lifetime_s > 0 && !(f.flags & (FRESHNESS_HEURISTIC | FRESHNESS_NO_CACHE));
}

/* What memory has of that variant; vary NULL: of the URL itself. One reference. */
static struct entry *gate_peek(struct fill *fill, const char *vary)
{
	struct text key = { 0 };

	fill_key(fill, vary, false, &key);
	struct entry *e = key.failed ? NULL : cache_peek(fill->params.cache, key.bytes, key.len);
	text_free(&key);
	return e;
}

/* A feed that is kept no more makes room for what comes. */
static bool gate_is_good(struct fill *fill, const struct entry *e)
{
	static const struct cache_control nothing;
	int64_t now = fill_now(fill);

	return e && e->object && e->head->status < 400 && (!e->freshness.keep_s ||
	    freshness_keeps(&e->freshness, now) || freshness_if_error(&e->freshness, &nothing, now));
}

/* The good variant that the index has for this request. Where there is none, the index: other variants need it, if
 * the response would take its place and not that of a variant. Takes over the index. */
static struct entry *gate_good_variant(struct fill *fill, struct entry *index)
{
	struct entry *e = gate_peek(fill, index->vary);

	if (!gate_is_good(fill, e) || e->generation != index->generation) {
		entry_unref(&e);
		if (!fill->vary || strcmp(fill->vary, index->vary))
			return index;
	}
	entry_unref(&index);
	return e;
}

/* The good response that is stored in the place of this one, or the index of variants there. One reference; NULL: none
 * is known. */
static struct entry *fill_good(struct fill *fill)
{
	struct entry *e = fill->params.entry ? entry_ref(fill->params.entry) : gate_peek(fill, NULL);

	if (e && e->vary)
		return gate_good_variant(fill, e);
	if (!gate_is_good(fill, e))
		entry_unref(&e);
	return e;
}

/* The response is stale from now on, because it is not the newest (RFC 9111 section 4): it may still answer in the
 * place of errors. */
static void gate_expire(struct fill *fill, struct entry *good)
{
	struct entry *expired;

	if (!good->object || freshness_ttl(&good->freshness, fill_now(fill)) <= 0)
		return;
	if ((expired = entry_expired(good, fill_now(fill))))
		cache_put(fill->params.cache, expired, &fill->ticket);
	else
		cache_outdate(fill->params.cache, good->key, good->key_len, &fill->ticket);
	entry_unref(&expired);
}

bool fill_spares_kept(struct fill *fill, const char *key, size_t len)
{
	struct entry *e = fill->params.entry;

	if (!fill_keeps_feed(fill) || e->key_len != len || memcmp(e->key, key, len))
		return false;
	gate_expire(fill, e);
	return true;
}

bool fill_keeps_good(struct fill *fill, const struct http_msg *m)
{
	struct entry *good;

	if (!fill_keeps_feed(fill) && (m->status < 400 || fill_is_removal(fill, m)))
		return false;
	if (!(good = fill_good(fill)))
		return false;
	gate_expire(fill, good);
	entry_unref(&good);
	return true;
}
