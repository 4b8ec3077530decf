/* Owns how long a response is fresh and kept, as far as that depends on its body: the hints of a feed, and since when
 * it has been the same. A response that is not a feed has neither floor nor hints. Must not know: the store.
 * Invariant: a body that was not examined may be a feed; what is known only at its end changes nothing before. */
#include "proxy/cache/fill_internal.h"

#include "proxy/feeds/feed_hints.h"

enum lifetime_body { BODY_UNKNOWN, BODY_FEED, BODY_OTHER };

/* The kind of the body, as far as it was examined. */
static enum lifetime_body lifetime_body(struct object *body)
{
	struct verdict v;

	if (!body || !object_verdict(body, &v))
		return BODY_UNKNOWN;
	if (v.feed)
		return BODY_FEED;
	return v.kind != VERDICT_NONE || v.reason == VREASON_NOT_XML || v.reason == VREASON_EMPTY ? BODY_OTHER :
	    BODY_UNKNOWN;
}

/* Since when the body has been the same: the stored one may have been, for as long as it was. */
static int64_t lifetime_same_since(const struct fill *l, struct object *body)
{
	const struct entry *old = l->params.entry;

	return old && old->object && old->freshness.same_since && old->freshness.same_since < l->response_time &&
	        object_same(old->object, body) ? old->freshness.same_since : l->response_time;
}

/* What the feed in the body says. */
static void lifetime_read_feed(struct fill *l, const struct freshness *f, struct object *body,
    struct freshness_settings *s)
{
	int64_t at = f->response_time - f->initial_age_s;
	struct feed_hints hints;

	feed_hints_of(&hints, body, l->response_time);
	if (s->hint_max_s)
		s->hint_s = feed_hints_lifetime(&hints, at, s->hint_max_s);
	s->newest = hints.newest;
	if (s->adaptive)
		s->same_since = lifetime_same_since(l, body);
}

void fill_freshness(struct fill *l, struct freshness *f, const struct http_msg *m, struct object *body)
{
	struct freshness_settings settings = l->params.freshness;
	enum lifetime_body is = lifetime_body(body);

	settings.adaptive = settings.adaptive && is == BODY_FEED;
	if (is == BODY_OTHER)
		settings.floor_s = 0;
	freshness_read(f, m, l->request_time, l->response_time, &settings);
	if (f->flags & FRESHNESS_HEURISTIC && is == BODY_FEED && (settings.hint_max_s || settings.adaptive)) {
		lifetime_read_feed(l, f, body, &settings);
		freshness_read(f, m, l->request_time, l->response_time, &settings);
	}
	if (l->hops.any)
		freshness_limit(f, &l->hops.limit);
	if (body && is != BODY_FEED)
		f->keep_s = 0;
}

bool fill_freshness_of_body(struct fill *l, struct freshness *f, struct object *body)
{
	const struct freshness_settings *s = &l->params.freshness;
	enum lifetime_body is = lifetime_body(body);

	if (is != BODY_FEED)
		f->keep_s = 0;
	if (!(f->flags & FRESHNESS_HEURISTIC))
		return false;
	return is == BODY_FEED ? s->hint_max_s || s->adaptive : is == BODY_OTHER && s->floor_s;
}
