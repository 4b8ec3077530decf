/* Owns how long a response is fresh and kept, as far as that depends on its body: the hints of a feed, and since when
 * it has been the same. A response that is not a feed has neither floor nor hints. Must not know: the store.
 * Invariant: a body that was not examined may be a feed; what is known only at its end changes nothing before. */
#include "proxy/cache/fill_internal.h"

#include "proxy/feeds/feed_hints.h"

/* A feed that says more than a day by mistake is asked for once a day all the same. */
enum { HINT_MAX_S = 24 * 60 * 60 };

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
static int64_t lifetime_same_since(const struct fill *fill, struct object *body)
{
	const struct entry *old = fill->params.entry;

	return old && old->object && old->freshness.same_since && old->freshness.same_since < fill->response_time &&
	        object_same(old->object, body) ? old->freshness.same_since : fill->response_time;
}

/* What the feed in the body says. */
static void lifetime_read_feed(struct fill *fill, const struct freshness *fresh, struct object *body,
    struct freshness_settings *settings)
{
	int64_t at = fresh->response_time - fresh->initial_age_s;
	struct feed_hints hints;

	feed_hints_of(&hints, body, fill->response_time);
	settings->hint_s = feed_hints_lifetime(&hints, at, HINT_MAX_S);
	settings->newest = hints.newest;
	if (settings->adaptive)
		settings->same_since = lifetime_same_since(fill, body);
}

void fill_freshness(struct fill *fill, struct freshness *fresh, const struct http_msg *m, struct object *body)
{
	struct freshness_settings settings = fill->params.freshness;
	enum lifetime_body is = lifetime_body(body);

	settings.adaptive = settings.adaptive && is == BODY_FEED;
	if (is == BODY_OTHER)
		settings.floor_s = 0;
	freshness_read(fresh, m, fill->request_time, fill->response_time, &settings);
	if (fresh->flags & FRESHNESS_HEURISTIC && is == BODY_FEED) {
		lifetime_read_feed(fill, fresh, body, &settings);
		freshness_read(fresh, m, fill->request_time, fill->response_time, &settings);
	}
	if (fill->hops.any)
		freshness_limit(fresh, &fill->hops.limit);
	if (body && is != BODY_FEED)
		fresh->keep_s = 0;
}

bool fill_freshness_of_body(struct fill *fill, struct freshness *fresh, struct object *body)
{
	enum lifetime_body is = lifetime_body(body);

	if (is != BODY_FEED)
		fresh->keep_s = 0;
	if (!(fresh->flags & FRESHNESS_HEURISTIC))
		return false;
	return is == BODY_FEED || (is == BODY_OTHER && fill->params.freshness.floor_s);
}
