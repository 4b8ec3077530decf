/* Owns the remembered redirects of a fetch: those that it teaches, those that it may use, and how the places did to
 * which they led.
 * Must not know: the table (moves.h), how redirects are followed. Source: RFC 9110 sections 15.4.2 and 15.4.9, RFC 9111
 * sections 4 and 5.2.1. Invariant: nothing is learned from, or used for, a request with credentials or cookies. */
#include "proxy/cache/fill_internal.h"

#include "proxy/net/loop.h"

static struct moves_clock fill_clock(struct fill *fill)
{
	return (struct moves_clock){ loop_now_ms(fill->params.loop), fill_now(fill) };
}

static struct moves_scope fill_scope(const struct fill *fill)
{
	return (struct moves_scope){ fill->params.moves.scope, fill->params.moves.generation,
		{ fill->sent, fill->sent_len } };
}

static struct moves *fill_moves_table(struct fill *fill)
{
	return cache_moves(fill->params.cache);
}

int fill_on_known(void *arg, const char *url, struct text *to)
{
	struct fill *fill = arg;
	struct move *known = &fill->moves.known;
	const struct moves_scope scope = fill_scope(fill);
	const struct moves_clock now = fill_clock(fill);
	struct cache_control own;

	if (!fill->params.moves.max_s || moves_is_idle(fill_moves_table(fill)))
		return 0;
	move_free(known);
	if (!moves_find(fill_moves_table(fill), &scope, url, &now, known) ||
	    freshness_reuse(&known->freshness, freshness_request_for(&own, &fill->request.says, &fill->params.freshness,
	        &known->freshness, now.wall_s), now.wall_s, NULL) != REUSE_FRESH)
		return 0;
	text_puts(to, known->to);
	return known->status;
}

void fill_moves_add(struct fill *fill, const struct fetch_hop *hop)
{
	if (fill->moves.n < CONF_REDIRECTS_MAX)
		fill->moves.from[fill->moves.n++] = hop->from;
}

/* How long the redirect is remembered, in seconds. If it names no lifetime, its lifetime is the longest time that the
 * route allows, from now on. */
static int64_t fill_redirect_valid_s(const struct fill *fill, struct freshness *fresh)
{
	if (fresh->flags & FRESHNESS_HEURISTIC) {
		fresh->initial_age_s = 0;
		fresh->lifetime_s = fill->params.moves.max_s;
	}
	int64_t left = fresh->flags & (FRESHNESS_NO_CACHE | FRESHNESS_NO_CACHE_FIELDS)
	    ? 0
	    : fresh->lifetime_s - fresh->initial_age_s;
	return left < 0 ? 0 : left > fill->params.moves.max_s ? fill->params.moves.max_s : left;
}

void fill_learn(struct fill *fill, const struct fetch_hop *hop, bool storable, struct slice names,
    struct freshness *fresh)
{
	const struct moves_scope scope = fill_scope(fill);
	const struct moves_clock now = fill_clock(fill);
	bool permanent = hop->msg->status == 301 || hop->msg->status == 308;
	struct move_learned learned = { .url = hop->from, .to = hop->to, .status = hop->msg->status,
		.vary = names.len ? names : (struct slice){ NULL, 0 }, .purges = fill->moves.purges };

	if (!fill->params.moves.max_s)
		return;
	if (storable && permanent && !hop->cookies && !http_msg_is_for_client(hop->msg))
		learned.valid_s = (uint32_t)fill_redirect_valid_s(fill, fresh);
	learned.freshness = *fresh;
	moves_learn(fill_moves_table(fill), &scope, &learned, &now);
}

static void fill_moves_note(struct fill *fill, enum move_event event)
{
	const struct moves_scope scope = fill_scope(fill);

	for (int i = 0; i < fill->moves.n; i++)
		moves_note(fill_moves_table(fill), &scope, fill->moves.from[i], event);
}

static bool fill_is_feed(struct object *o)
{
	struct verdict v;

	return object_verdict(o, &v) && v.feed;
}

enum media_kind fill_media(const struct http_msg *m)
{
	struct slice value = http_msg_get(m, H_CONTENT_TYPE);
	struct media_type type;

	media_type_read(&type, value.at, value.len);
	return media_kind(&type);
}

void fill_moves_head(struct fill *fill, const struct fetch_answer *answer)
{
	const struct moves_scope scope = fill_scope(fill);

	if (!fill->params.moves.max_s || moves_is_idle(fill_moves_table(fill)))
		return;
	/* as sites have it that ask for consent or a login */
	fill->moves.page = fill->moves.n && fill_media(answer->msg) == MEDIA_KIND_PAGE;
	if (answer->msg->status >= 400)
		fill_moves_note(fill, MOVE_FAILED);
	else if (answer->msg->status == 304 && fill->params.entry && fill_is_feed(fill->params.entry->object))
		fill_moves_note(fill, MOVE_SERVED);
	if (answer->msg->status < 400)
		moves_note(fill_moves_table(fill), &scope, answer->url, MOVE_GONE);
}

/* Whether the failure says anything of the place. A place that utfeed did not ask, because of a pause say, has not
 * failed. */
static bool fill_failure_counts(const struct failure *failure)
{
	return !failure->retry_after_s && failure->error != FAILURE_ABANDONED &&
	    failure->error != FAILURE_PROXY_INTERNAL_ERROR && failure->error != FAILURE_CONNECTION_LIMIT;
}

void fill_moves_failed(struct fill *fill, const struct failure *failure)
{
	if (fill_failure_counts(failure))
		fill_moves_note(fill, MOVE_FAILED);
}

void fill_moves_done(struct fill *fill, struct object *o)
{
	if (!fill->moves.n)
		return;
	if (fill_is_feed(o))
		fill_moves_note(fill, MOVE_SERVED);
	else if (fill->moves.page)
		fill_moves_note(fill, MOVE_FAILED);
}
