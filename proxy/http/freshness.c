/* The arithmetic of caching; see freshness.h. Sections without a name are those of RFC 9111. */
#include "proxy/http/freshness.h"

#include "proxy/base/http_date.h"
#include "proxy/base/loose_date.h"

enum { HEURISTIC_MAX_S = 24 * 3600, ADAPTIVE_MAX_S = 3600, HEURISTIC_SHARE = 10, SOON_SHARE = 10, SOON_MAX_S = 60 };

static const char *const words[STORABLE_COUNT] = {
	[STORABLE_YES] = "stored",
#define REASON(id, word, lasts) [STORABLE_##id] = word,
#include "proxy/http/storable.def"
#undef REASON
};

static const bool lasting[STORABLE_COUNT] = {
#define REASON(id, word, lasts) [STORABLE_##id] = lasts,
#include "proxy/http/storable.def"
#undef REASON
};

const char *storable_word(enum storable s)
{
	return words[s];
}

bool storable_lasts(enum storable s)
{
	return lasting[s];
}

bool freshness_heuristic_status(int status)
{
	/* RFC 9110 section 15.1, less 206; RFC 7725 section 3 */
	static const short statuses[] = { 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 451, 501 };

	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (statuses[i] == status)
			return true;
	return false;
}

/* Statuses that are never stored: those that are not final, that concern one connection or the fields of one request
 * only, or that must not be stored (RFC 6585 sections 3 to 6). */
static bool never_stored(int status)
{
	static const short statuses[] = { 206, 304, 407, 412, 416, 428, 429, 431, 511 };

	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (statuses[i] == status)
			return true;
	return status < 200 || status > 599;
}

/* Final statuses whose caching requirements utfeed knows (section 5.2.2.3). */
static bool understood(int status)
{
	return (status >= 200 && status <= 208 && status != 206) || status == 226 ||
	    (status >= 300 && status <= 308 && status != 304) || (status >= 400 && status <= 417) ||
	    (status >= 421 && status <= 431) || status == 451 || (status >= 500 && status <= 511);
}

bool freshness_error_status(int status)
{
	return status == 500 || status == 502 || status == 503 || status == 504;
}

bool freshness_failure_status(int status)
{
	static const short statuses[] = { 204, 401, 402, 403, 404, 406, 408, 410, 421, 425, 429, 451 };

	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (statuses[i] == status)
			return true;
	return status >= 500 && status <= 599;
}

static bool has_lifetime(const struct cache_control *cc, const struct http_msg *m)
{
	uint32_t named = cc->set | cc->invalid;

	return named >> CC_MAX_AGE & 1 || named >> CC_S_MAXAGE & 1 || (!cc->targeted && http_msg_has(m, H_EXPIRES));
}

const struct cache_control *freshness_request(struct cache_control *own, const struct cache_control *says,
    const struct freshness_settings *settings)
{
	if (!settings->no_reload)
		return says;
	*own = *says;
	cache_control_forget_reload(own);
	return own;
}

const struct cache_control *freshness_request_for(struct cache_control *own, const struct cache_control *says,
    const struct freshness_settings *settings, const struct freshness *fresh, int64_t now)
{
	if (!cache_control_reloads(says) ||
	    (!settings->no_reload && now - fresh->response_time >= (int64_t)settings->reload_floor_s))
		return says;
	*own = *says;
	cache_control_forget_reload(own);
	return own;
}

/* Whether Expires lies behind Date. Without a Date it is not known how long the lifetime is: false. */
static bool expires_later(const struct http_msg *m)
{
	int64_t date, expires;

	return http_msg_count(m, H_EXPIRES) == 1 && http_date_read(http_msg_get(m, H_DATE), 0, &date) &&
	    http_date_read(http_msg_get(m, H_EXPIRES), date, &expires) && expires > date;
}

/* Whether a response with Set-Cookie or another field for the client alone may be stored without that field (section
 * 7.3): it must name a lifetime above 0 or say public. With a
 * lifetime of 0 each use would be validated, and that exchange has the fields of another client. */
static bool lets_cookies_be_stored(const struct cache_control *cc, const struct http_msg *m)
{
	static const enum cache_directive order[] = { CC_S_MAXAGE, CC_MAX_AGE };

	if (cc_has(cc, CC_NO_CACHE) || cc->listed >> CC_NO_CACHE & 1)
		return false;
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if ((cc->set | cc->invalid) >> order[i] & 1)
			return cc_has(cc, order[i]) && cc->seconds[order[i]];
	return cc_has(cc, CC_PUBLIC) || (!cc->targeted && expires_later(m));
}

enum storable freshness_storable(const struct request *request, const struct http_msg *m,
    const struct freshness_settings *settings)
{
	struct cache_control cc;
	struct http_list it = { 0, 0 };
	struct slice member;

	cache_control_response(&cc, m);
	bool keeps = cc_has(&cc, CC_PUBLIC) || cc_has(&cc, CC_S_MAXAGE);
	if (!request_reads(request))
		return STORABLE_METHOD;
	if (cc_has(&request->says, CC_NO_STORE))
		return STORABLE_REQUEST_NO_STORE;
	if (never_stored(m->status) || (cc_has(&cc, CC_MUST_UNDERSTAND) && !understood(m->status)))
		return STORABLE_STATUS;
	/* Beside must-understand, no-store is meant for caches that do not know must-understand (section 5.2.2.3). */
	if (cc_has(&cc, CC_NO_STORE) && !cc_has(&cc, CC_MUST_UNDERSTAND))
		return STORABLE_NO_STORE;
	if (cc_has(&cc, CC_PRIVATE) || cc.listed >> CC_PRIVATE & 1)
		return STORABLE_PRIVATE;
	/* section 3.5 */
	if (request->authorization && !keeps && !cc_has(&cc, CC_MUST_REVALIDATE))
		return STORABLE_AUTHORIZATION;
	while (http_msg_next_member(m, H_VARY, &it, &member))
		if (slice_is(member, "*"))
			return STORABLE_VARY;
	if (!settings->drops_own && http_msg_is_for_client(m) && !lets_cookies_be_stored(&cc, m))
		return STORABLE_SET_COOKIE;
	if (!has_lifetime(&cc, m) && !cc_has(&cc, CC_PUBLIC) && !freshness_heuristic_status(m->status))
		return STORABLE_LIFETIME;
	return STORABLE_YES;
}

/* Section 5.1: the first value counts; one that is not an integer counts as 0. */
static int64_t age_value(const struct http_msg *m)
{
	struct http_list it = { 0, 0 };
	struct slice member;
	int64_t n = 0;

	if (!http_msg_next_member(m, H_AGE, &it, &member))
		return 0;
	for (size_t i = 0; i < member.len; i++) {
		if (member.at[i] < '0' || member.at[i] > '9')
			return 0;
		if (n < CC_SECONDS_MAX)
			n = n * 10 + (member.at[i] - '0');
	}
	return n > CC_SECONDS_MAX ? CC_SECONDS_MAX : n;
}

/* When the response last changed: by Last-Modified, else by its newest item, else as long ago as can be told. Whatever
 * these say, it has not changed since it was first seen as it is. A date to come says nothing. Feeds have Last-Modified
 * in more forms than HTTP has. */
static int64_t changed(const struct http_msg *m, int64_t date, int64_t now, const struct freshness_settings *settings)
{
	struct slice last = http_msg_get(m, H_LAST_MODIFIED);
	int64_t at = date, modified;

	if ((http_date_read(last, now, &modified) || (settings->adaptive && loose_date_read(last, &modified))) &&
	    modified <= date)
		at = modified;
	else if (settings->adaptive && settings->newest)
		at = settings->newest;
	return settings->adaptive && settings->same_since && settings->same_since < at ? settings->same_since : at;
}

/* section 4.2.2 */
static int64_t heuristic_lifetime(const struct http_msg *m, const struct cache_control *cc, int64_t date, int64_t now,
    const struct freshness_settings *settings)
{
	int64_t most = settings->adaptive ? ADAPTIVE_MAX_S : HEURISTIC_MAX_S;

	if (!freshness_heuristic_status(m->status) && !cc_has(cc, CC_PUBLIC))
		return 0;
	int64_t at = changed(m, date, now, settings);
	int64_t lifetime = at < date ? (date - at) / HEURISTIC_SHARE : 0;
	if (lifetime > most)
		lifetime = most;
	/* The feed's own hint and the operator's floor count for responses of status 200 only. */
	if (m->status == 200 && settings->hint_s)
		lifetime = settings->hint_s;
	if (m->status == 200 && settings->floor_s > lifetime)
		lifetime = settings->floor_s;
	return lifetime;
}

/* section 4.2.1 */
static int64_t freshness_lifetime(struct freshness *fresh, const struct http_msg *m, const struct cache_control *cc,
    int64_t date, const struct freshness_settings *settings)
{
	static const enum cache_directive order[] = { CC_S_MAXAGE, CC_MAX_AGE };
	int64_t expires;

	/* A directive whose value cannot be read makes the response stale. */
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		if (cc_has(cc, order[i]))
			return cc->seconds[order[i]];
		if (cc->invalid >> order[i] & 1)
			return 0;
	}
	/* Section 5.3: an invalid date counts as a time in the past; so do several Expires fields. */
	if (!cc->targeted && http_msg_has(m, H_EXPIRES))
		return http_msg_count(m, H_EXPIRES) == 1 &&
		    http_date_read(http_msg_get(m, H_EXPIRES), fresh->response_time, &expires) && expires > date
		    ? expires - date
		    : 0;
	fresh->flags |= FRESHNESS_HEURISTIC;
	return heuristic_lifetime(m, cc, date, fresh->response_time, settings);
}

/* The operator's limits. A response that was old already when it came is fresh for max_s from then, or utfeed would ask
 * for it each time. */
static void limit_lifetime(struct freshness *fresh, const struct http_msg *m, const struct freshness_settings *settings)
{
	if (settings->error_max_s && m->status >= 400 && fresh->lifetime_s > settings->error_max_s)
		fresh->lifetime_s = settings->error_max_s;
	if (fresh->flags & FRESHNESS_HEURISTIC && m->status >= 400 && freshness_heuristic_status(m->status) &&
	    fresh->lifetime_s < settings->error_floor_s)
		fresh->lifetime_s = settings->error_floor_s;
	if (settings->max_s && fresh->lifetime_s - fresh->initial_age_s > settings->max_s)
		fresh->lifetime_s = fresh->initial_age_s + settings->max_s;
}

/* RFC 5861: the window that the response names, or ours if it names none. 0: it cannot be read. */
static uint32_t window(const struct cache_control *cc, enum cache_directive d, uint32_t ours)
{
	if (cc_has(cc, d))
		return cc->seconds[d];
	return cc->invalid >> d & 1 ? 0 : ours;
}

void freshness_read(struct freshness *fresh, const struct http_msg *m, int64_t request_time, int64_t response_time,
    const struct freshness_settings *settings)
{
	struct cache_control cc;
	int64_t date;

	cache_control_response(&cc, m);
	*fresh = (struct freshness){ .response_time = response_time, .same_since = settings->same_since };
	if (!http_date_read(http_msg_get(m, H_DATE), response_time, &date))
		date = response_time;
	/* section 4.2.3 */
	int64_t apparent_age = response_time > date ? response_time - date : 0;
	int64_t corrected_age = age_value(m) + (response_time > request_time ? response_time - request_time : 0);
	fresh->initial_age_s = apparent_age > corrected_age ? apparent_age : corrected_age;
	fresh->lifetime_s = freshness_lifetime(fresh, m, &cc, date, settings);
	limit_lifetime(fresh, m, settings);
	if (cc_has(&cc, CC_NO_CACHE))
		fresh->flags |= FRESHNESS_NO_CACHE;
	if (cc.listed >> CC_NO_CACHE & 1)
		fresh->flags |= FRESHNESS_NO_CACHE_FIELDS;
	/* sections 5.2.2.2, 5.2.2.8, 5.2.2.10 */
	bool revalidates = cc_has(&cc, CC_MUST_REVALIDATE) || cc_has(&cc, CC_PROXY_REVALIDATE);
	if (revalidates || cc_has(&cc, CC_S_MAXAGE))
		fresh->flags |= FRESHNESS_NO_STALE;
	if (cc_has(&cc, CC_IMMUTABLE))
		fresh->flags |= FRESHNESS_IMMUTABLE;
	/* A response that must not be served stale is not kept, unless the origin names a window (RFC 5861 section
	 * 4). */
	fresh->keep_s = fresh->flags & (FRESHNESS_NO_CACHE | FRESHNESS_NO_CACHE_FIELDS | FRESHNESS_NO_STALE) ?
	    (settings->keep_s ? window(&cc, CC_SIE, 0) : 0) : settings->keep_s;
	if (fresh->flags & (FRESHNESS_NO_CACHE | FRESHNESS_NO_CACHE_FIELDS) || revalidates)
		return;
	/* Beside s-maxage the origin's windows count, because it made these exceptions itself; ours do not, nor does an
	 * error answer in the place of another one. */
	fresh->swr_s = window(&cc, CC_SWR, 0);
	fresh->sie_s =
	    window(&cc, CC_SIE, fresh->flags & FRESHNESS_NO_STALE || m->status >= 400 ? 0 : settings->stale_if_error_s);
}

static int64_t freshness_lifetime_end(const struct freshness *fresh)
{
	return fresh->response_time - fresh->initial_age_s + fresh->lifetime_s;
}

int64_t freshness_end(const struct freshness *fresh)
{
	int64_t end = freshness_lifetime_end(fresh);

	return fresh->flags & (FRESHNESS_NO_CACHE | FRESHNESS_NO_CACHE_FIELDS) || end < fresh->response_time ?
	    fresh->response_time : end;
}

void freshness_limit(struct freshness *fresh, const struct freshness *limit)
{
	int64_t more = freshness_lifetime_end(fresh) - freshness_lifetime_end(limit);

	if (more > 0)
		fresh->lifetime_s -= more;
	fresh->flags = ((fresh->flags | limit->flags) & ~(uint32_t)FRESHNESS_IMMUTABLE) |
	    (fresh->flags & limit->flags & FRESHNESS_IMMUTABLE);
	if (fresh->swr_s > limit->swr_s)
		fresh->swr_s = limit->swr_s;
	if (fresh->sie_s > limit->sie_s)
		fresh->sie_s = limit->sie_s;
	if (fresh->keep_s > limit->keep_s)
		fresh->keep_s = limit->keep_s;
}

void freshness_cut(struct freshness *fresh)
{
	enum { CUT_S = 60 };

	if (fresh->lifetime_s > fresh->initial_age_s + CUT_S)
		fresh->lifetime_s = fresh->initial_age_s + CUT_S;
	fresh->swr_s = fresh->keep_s = 0;
	fresh->flags = (fresh->flags | FRESHNESS_CUT) & ~(uint32_t)FRESHNESS_IMMUTABLE;
}

void freshness_read_hop(struct freshness *fresh, const struct http_msg *m, int64_t request_time, int64_t response_time,
    const struct freshness_settings *settings)
{
	struct freshness_settings own = *settings;

	own.max_s = 0;
	freshness_read(fresh, m, request_time, response_time, &own);
	if (fresh->flags & FRESHNESS_HEURISTIC && fresh->lifetime_s < settings->floor_s)
		fresh->lifetime_s = settings->floor_s;
}

/* Whether the clock was set back since the response came, or was wrong then, so that its age is unknown. */
static bool is_from_the_future(const struct freshness *fresh, int64_t now)
{
	return fresh->response_time - now > FRESHNESS_AHEAD_MAX_S;
}

int64_t freshness_age(const struct freshness *fresh, int64_t now)
{
	int64_t age = fresh->initial_age_s + (now > fresh->response_time ? now - fresh->response_time : 0);

	return age > (int64_t)CC_SECONDS_MAX ? (int64_t)CC_SECONDS_MAX : age;
}

int64_t freshness_ttl(const struct freshness *fresh, int64_t now)
{
	return is_from_the_future(fresh, now) ? -(int64_t)CC_SECONDS_MAX - 1
	    : fresh->lifetime_s - freshness_age(fresh, now);
}

bool freshness_ends_soon(const struct freshness *fresh, int64_t now, uint32_t spread)
{
	int64_t ttl = freshness_ttl(fresh, now), part = fresh->lifetime_s / SOON_SHARE;

	if (part > SOON_MAX_S)
		part = SOON_MAX_S;
	return ttl > 0 && ttl <= part - spread % (uint32_t)(part / 2 + 1);
}

int64_t freshness_use_s(const struct freshness *freshness)
{
	int64_t fresh = freshness->lifetime_s - freshness->initial_age_s,
	    stale = freshness->swr_s > freshness->sie_s ? freshness->swr_s : freshness->sie_s;
	int64_t use = fresh + stale, kept = freshness_end(freshness) - freshness->response_time + freshness->keep_s;

	if (use < kept)
		use = kept;
	return use > 0 ? use : 1;
}

void freshness_expire(struct freshness *fresh, int64_t now)
{
	int64_t age = is_from_the_future(fresh, now) ? fresh->initial_age_s : freshness_age(fresh, now);

	if (fresh->lifetime_s > age)
		fresh->lifetime_s = age;
}

enum freshness_reuse freshness_reuse(const struct freshness *freshness, const struct cache_control *cc, int64_t now,
    bool *by_request)
{
	int64_t age = freshness_age(freshness, now), ttl = freshness_ttl(freshness, now);
	bool needs = freshness->flags & (FRESHNESS_NO_CACHE | FRESHNESS_NO_CACHE_FIELDS), fresh = ttl > 0, refused;

	/* Sections 5.2.1.1, 5.2.1.3, 5.2.1.4. A fresh immutable response is not refused by max-age (RFC 8246 section
	 * 2). */
	refused = cc_has(cc, CC_NO_CACHE) || (cc_has(cc, CC_MIN_FRESH) && ttl < (int64_t)cc->seconds[CC_MIN_FRESH]) ||
	    (cc_has(cc, CC_MAX_AGE) && age > (int64_t)cc->seconds[CC_MAX_AGE] &&
	    !(fresh && freshness->flags & FRESHNESS_IMMUTABLE));
	if (by_request)
		*by_request = refused && !needs && fresh;
	if (!needs && !refused) {
		if (fresh)
			return REUSE_FRESH;
		if (cc_has(cc, CC_MAX_STALE) && !(freshness->flags & FRESHNESS_NO_STALE) &&
		    -ttl <= (int64_t)cc->seconds[CC_MAX_STALE])
			return REUSE_STALE;                /* section 5.2.1.2 */
		if (-ttl < (int64_t)freshness->swr_s)
			return REUSE_STALE_REFRESH;        /* RFC 5861 section 3 */
	}
	return cc_has(cc, CC_ONLY_IF_CACHED) ? REUSE_ONLY_IF_CACHED : REUSE_REVALIDATE;
}

bool freshness_if_error(const struct freshness *fresh, const struct cache_control *cc, int64_t now)
{
	int64_t ttl = freshness_ttl(fresh, now), allowed = fresh->sie_s;

	if (fresh->flags & (FRESHNESS_NO_CACHE | FRESHNESS_NO_CACHE_FIELDS) || cc_has(cc, CC_NO_CACHE))
		return false;
	if (cc_has(cc, CC_SIE) && !(fresh->flags & FRESHNESS_NO_STALE) && (int64_t)cc->seconds[CC_SIE] > allowed)
		allowed = cc->seconds[CC_SIE];
	return ttl > 0 || -ttl < allowed;
}

int64_t freshness_kept_until(const struct freshness *fresh)
{
	return freshness_end(fresh) + fresh->keep_s;
}

bool freshness_keeps(const struct freshness *fresh, int64_t now)
{
	return !is_from_the_future(fresh, now) && now < freshness_kept_until(fresh) && fresh->keep_s;
}
