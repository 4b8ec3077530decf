/* Owns telling clients that a feed has moved for good (the option moved), in the place of following its redirects for
 * ever.
 * Must not know: how redirects are remembered (moves.h). Invariant: the answer is not stored anywhere, leads into
 * utfeed, and tells only as much of a chain of redirects as is permanent. Source: RFC 9110 section 15.4.9. */
#include "proxy/answer/lookup_internal.h"

#include <string.h>

#include "conf/conf.h"
#include "proxy/answer/gateway.h"
#include "proxy/answer/local_reply.h"
#include "proxy/base/hash.h"
#include "proxy/cache/moves.h"
#include "proxy/settings/settings.h"

/* The longest time for which a permanent redirect is followed without asking for it again. */
enum { MOVES_S = 24 * 60 * 60 };

struct fill_moves_params lookup_moves(const struct answer *a)
{
	const struct conf_route *route = a->target.route;
	bool off = route->moved == CONF_MOVED_OFF || (a->target.authorization && a->request->authorization);

	return (struct fill_moves_params){
		.scope = hash_keyed(a->lookup.key + a->url_len, a->lookup.primary_len - a->url_len),
		.generation = a->ctx->settings->generation,
		.max_s = off ? 0 : MOVES_S,
	};
}

/* The place to which clients are sent, to be freed. NULL: none. */
static char *moved_place(struct answer *a, const struct moves_scope *scope, const char *url)
{
	const struct moves_clock now = { loop_now_ms(a->ctx->loop), answer_now(a) };
	uint64_t after_ms = a->target.route->moved_after_ms;
	struct moves *moves = cache_moves(a->ctx->cache);
	struct cache_control own;
	char *place = NULL;
	struct move to;

	for (int hops = 0; hops < a->ctx->conf->redirects; hops++) {
		if (!moves_told(moves, scope, place ? place : url, after_ms, &now, &to))
			break;
		if (freshness_reuse(&to.freshness, freshness_request_for(&own, &a->request->says, &a->lookup.settings,
		        &to.freshness, now.wall_s), now.wall_s, NULL) != REUSE_FRESH) {
			move_free(&to);
			break;
		}
		a->status.ttl = freshness_ttl(&to.freshness, now.wall_s);
		free(place);
		place = to.to;
		to.to = NULL;
		move_free(&to);
	}
	return place;
}

/* Writes the path under which a client of the route finds the place: what the route puts in the place of its origin's
 * path. Nothing where the place is not below that. */
static void moved_add_path(struct text *t, const struct conf_route *route, struct slice place)
{
	const struct conf_origin *origin = &route->origin;
	bool slash = route->prefix[route->prefix_len - 1] == '/';
	struct text base = { 0 };

	text_printf(&base, "%s://%s%s", url_scheme_name(origin->scheme), origin->authority, origin->path);
	size_t n = base.len;
	if (base.failed)
		t->failed = true;
	else if (place.len >= n && !memcmp(place.at, base.bytes, n)) {
		/* The rest begins with a slash where the origin's path ends without, as in conf_route_target(). */
		n -= base.bytes[n - 1] == '/' && !slash;
		n += base.bytes[base.len - 1] != '/' && slash && n < place.len;
		text_add(t, route->prefix, route->prefix_len);
		text_add(t, place.at + n, place.len - n);
	}
	text_free(&base);
}

/* Whether the path leads to the place: a request for it takes the same route, which makes the place of it. */
static bool moved_leads(const struct answer *a, const struct text *path, struct slice place)
{
	const struct conf_route *route = a->target.route;
	struct slice host = http_msg_get(a->request->msg, H_HOST), query;
	struct slice own = slice_until((struct slice){ path->bytes, path->len }, '?', &query);
	struct text room = { 0 };
	size_t cap = strlen(route->origin.path) + path->len + 2, n;
	bool same = false;

	if (!url_path_valid(own.at, own.len) || conf_route_match(a->ctx->conf, host.at ? host.at : "", host.len,
	        path->bytes, path->len) != route)
		return false;
	if (text_reserve(&room, cap)) {
		n = conf_route_target(route, path->bytes, path->len, room.bytes, cap - 1);
		same = n && place.len >= n && !memcmp(place.at + place.len - n, room.bytes, n);
	}
	text_free(&room);
	return same;
}

/* The value of Location: in the gateway the place itself, which deliver() has lead there. False: a client cannot be led
 * to the place. */
static bool moved_location(struct text *t, const struct answer *a, const char *place)
{
	const struct conf_route *route = a->target.route;
	struct slice at = { place, strlen(place) };
	struct text path = { 0 };

	if (a->target.mode == TARGET_GATEWAY) {
		text_add(t, at.at, at.len);
		return true;
	}
	moved_add_path(&path, route, at);
	bool leads = path.len && !path.failed && moved_leads(a, &path, at);
	gateway_add_token(t, a->request);
	text_add(t, path.bytes, path.len);
	text_free(&path);
	return leads;
}

static struct object *moved_reply(const struct answer *a, const char *place)
{
	struct text location = { 0 }, field = { 0 };
	struct object *o = NULL;

	if (moved_location(&location, a, place)) {
		text_field(&field, (struct slice){ "Location", sizeof "Location" - 1 },
		    (struct slice){ location.bytes, location.len });
		text_add(&field, "", 1);
		if (!location.failed && !field.failed)
			o = local_reply(a->ctx, 308, field.bytes, "The feed has moved for good", place);
	}
	text_free(&location);
	text_free(&field);
	return o;
}

bool lookup_tells_move(struct answer *a)
{
	struct text url = { 0 };
	char *place = NULL;

	if (a->target.route->moved != CONF_MOVED_TELL || moves_is_idle(cache_moves(a->ctx->cache)))
		return false;
	struct fill_moves_params p = lookup_moves(a);
	if (!p.max_s)
		return false;
	struct moves_scope scope = (struct moves_scope){ p.scope, p.generation, lookup_sent(a) };
	text_add(&url, a->lookup.key, a->url_len);
	text_add(&url, "", 1);
	if (!url.failed)
		place = moved_place(a, &scope, url.bytes);
	if (place && (a->object = moved_reply(a, place))) {
		a->status.hit = true;
		a->status.detail = "moved";
		stats_add(loop_stats(a->ctx->loop), STAT_MOVES_TOLD, 1);
	}
	text_free(&url);
	free(place);
	return a->object;
}
