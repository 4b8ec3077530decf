/* From request head to response object; see request.h. */
#include "proxy/client/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/base/hash.h"
#include "proxy/cache/fetch_plan.h"
#include "proxy/cache/invalidate.h"
#include "proxy/cache/local_reply.h"
#include "proxy/cache/purge.h"
#include "proxy/cache/request_head.h"
#include "proxy/client/requester.h"
#include "proxy/http/max_forwards.h"
#include "proxy/http/target.h"
#include "proxy/net/loop.h"
#include "proxy/origin/backoff.h"
#include "proxy/origin/fetch.h"
#include "proxy/settings/settings.h"

#define REQUEST_ALLOW "Allow: GET, HEAD\r\n"
#define REQUEST_ALLOW_RELAYED "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n"

enum { REQUEST_VIA_MAX = 8 };

/* What goes wrong before there is an origin to ask: status, field lines, sentence. */
static const struct {
	int status;
	const char *text;
} target_answers[] = {
	[TARGET_NO_MEMORY] = { 500, "utfeed ran out of memory." },
	[TARGET_BAD_HOST] = { 400, "The request needs one valid Host field." },
	[TARGET_BAD_TARGET] = { 400, "The request target is neither a path nor an http or https URL." },
	[TARGET_BAD_URL] = { 400, "The URL asked for is not valid" },
	[TARGET_NO_ROUTE] = { 404, "No route is configured for this path. Ask for /https://host/path, or configure a route." },
	[TARGET_FORWARD_OFF] = { 403, "The forward proxy is switched off here." },
	[TARGET_BAD_AUTHORITY] = { 400, "The target of CONNECT is not of the form host:port." },
	[TARGET_NOT_SERVED] = { 421, "This name in Host is not one that is served here (hosts)." },
	[TARGET_BAD_PATH] = { 400, "The path leaves its route or is too long." },
};

/* The policy for this request: what the client asks for where it may, else the route's. -1: it named one that does not exist. */
static int request_policy(const struct request_context *ctx, const struct http_msg *m, const struct conf_route *route,
    const struct requester *who)
{
	struct slice name = http_msg_get(m, H_X_ENCODING_POLICY);

	if (!name.len || ctx->conf->client_policy == CLIENT_POLICY_OFF ||
	    (ctx->conf->client_policy == CLIENT_POLICY_LOOPBACK && !(who->rights && requester_is_loopback(who))))
		return (int)route->policy;
	return policy_lookup(name.at, name.len);
}

/* How often our own name stands in Via. Chains of a few utfeeds are fine; more often and the request goes round. */
static unsigned request_passes(const struct request_context *ctx, const struct http_msg *m)
{
	struct http_list it = { 0, 0 };
	struct slice member, by;
	unsigned n = 0;

	while (http_msg_next_member(m, H_VIA, &it, &member)) {
		(void)slice_until(member, ' ', &by);
		n += slice_is(slice_trim(by), ctx->conf->via);
	}
	return n;
}

/* What the route, or the gateway, adds to RFC 9111 where a response says nothing. */
static struct freshness_settings request_freshness(const struct conf *conf, const struct conf_route *route, enum target_mode mode)
{
	bool gateway = mode == TARGET_GATEWAY;

	return (struct freshness_settings){
		.targeted = route->targeted_cache_control,
		.floor_s = (uint32_t)((gateway ? conf->gateway_floor_ms : route->freshness_floor_ms) / 1000),
		.hint_max_s = route->feed_hints ? (uint32_t)(route->feed_hints_max_ms / 1000) : 0,
		.error_max_s = (uint32_t)(conf->error_max_ms / 1000),
		.no_reload = !route->client_no_cache,
		.stale_if_error_s = (uint32_t)((gateway ? conf->gateway_stale_ms : route->stale_if_error_ms) / 1000),
	};
}

/* RFC 9110 section 9.2.1, and the registered safe methods beyond it; any other may have changed something. */
static bool request_is_safe(struct slice method)
{
	static const char *const safe[] = { "get", "head", "options", "trace", "propfind", "report", "search", NULL };

	for (const char *const *s = safe; *s; s++)
		if (slice_is(method, *s))
			return true;
	return false;
}

/* Past the cache: unsafe methods, and routes without one. */
static void request_relay(const struct request_context *ctx, struct answer *a, struct fetch_request *r, bool reads, struct slice url)
{
	bool safe = request_is_safe((struct slice){ r->method, strlen(r->method) });
	struct object *o = object_new(ctx->conf->transit_bytes);
	struct fetch_hooks hooks;

	a->ctx = ctx;
	a->status.fwd = reads ? FWD_BYPASS : FWD_METHOD;
	if (o && !safe && !invalidate_hooks(&hooks, ctx->cache, &r->to, url))
		r->hooks = &hooks;
	if (!o || fetch_start(ctx->fetches, r, o)) {
		if (r->hooks)
			r->hooks->end(r->hooks->arg);
		fetch_request_free(r);
		object_unref(&o);
	}
	a->object = o;
}

/* What else tells stored responses of one URL apart: the way in and the route, for each has its own rights (guard, TLS, credentials,
 * redirects), and what one may fetch another must not be served; nor what the route fetched under other options before a restart, or
 * fetches in another utfeed of the same store. */
static uint64_t request_key_settings(const struct request_context *ctx, const struct target *target, enum policy policy)
{
	return hash_fold(settings_identity(ctx->settings, target->route),
	    (uint64_t)policy << 8 | (uint64_t)target->mode << 2 | (uint64_t)target->cookies << 1 | target->authorization);
}

static void request_fetch(const struct request_context *ctx, struct answer *a, const struct http_msg *m, enum policy policy,
    struct object *body)
{
	const struct target *target = &a->target;
	bool reads = m->method == METHOD_GET || m->method == METHOD_HEAD;
	struct freshness_settings fresh;
	struct fetch_request r;

	if (fetch_plan_caches(m, target)) {
		fresh = request_freshness(ctx->conf, target->route, target->mode);
		a->policy = policy;
		answer_start(a, &fresh, request_key_settings(ctx, target, policy));
		return;
	}
	if (!fetch_plan(ctx, m, target, policy, body, !target->route->normalise && upstream_range(m), &r))
		request_relay(ctx, a, &r, reads, (struct slice){ a->room->key.bytes, a->room->key.len });
}

/* The origin asked for a pause, or was asked for this just before: NULL where it may be asked now. The fetch asks again before
 * each request of its own; this saves the connection. */
static struct object *request_pause(const struct request_context *ctx, const struct target *target, const char *url)
{
	struct proxy_failure f;

	if (polite_is_idle(ctx->polite) ||
	    !polite_waits(ctx->polite, url, loop_now_ms(ctx->loop), fetch_plan_interval_ms(ctx, target), &f))
		return NULL;
	stats_add(loop_stats(ctx->loop), STAT_POLITE_REFUSALS, 1);
	return local_reply_failure(ctx, &f);
}

static void request_to_target(const struct request_context *ctx, struct answer *a, const struct http_msg *m,
    const struct requester *who, struct object *body)
{
	const struct target *target = &a->target;
	int policy = request_policy(ctx, m, target->route, who);
	unsigned passes = request_passes(ctx, m);
	struct text *url = &a->room->key;
	struct proxy_failure f;

	if (policy < 0) {
		a->object = local_reply(ctx, 400, "", "X-Encoding-Policy names no policy; `utfeed policies` lists them.", "");
		return;
	}
	if (passes >= REQUEST_VIA_MAX) {
		proxy_failure_set(&f, PROXY_ERROR_LOOP_DETECTED, "%s", ctx->conf->via);
		a->object = local_reply_failure(ctx, &f);
		return;
	}
	/* A request that came through here already must not wait for itself. */
	a->again = passes;
	url->len = 0;
	url->failed = false;
	destination_url(url, &target->to);
	text_add(url, "", 1);
	if (url->failed)
		return;
	a->pause = request_pause(ctx, target, url->bytes);
	if (a->pause && !fetch_plan_caches(m, target)) {
		a->object = a->pause;
		a->pause = NULL;
		return;
	}
	url->len--;
	request_fetch(ctx, a, m, (enum policy)policy, body);
}

/* Where the store behind memory owes the removals they are not done, though this process finds nothing of it any more. */
static struct object *request_purged(const struct request_context *ctx, const struct purge *purge, int64_t n, bool owed)
{
	char count[24];

	snprintf(count, sizeof count, "%lld", (long long)n);
	if (!owed)
		return local_reply(ctx, 200, "", purge->soft ? "Marked stale." : "Purged.", count);
	return local_reply(ctx, 202, "", purge->soft ?
	    "Marked stale in memory; the store behind it has not confirmed that yet, and is asked until it does." :
	    "Purged from memory; the store behind it has not confirmed that yet, and is asked until it does.", count);
}

static void request_on_purged(struct purge_wait *w, bool owed)
{
	struct answer *a = w->owner;

	a->object = request_purged(a->ctx, &w->purge, w->count, owed);
	a->waiting = false;
	purge_wait_free(&a->purging);
	a->ready(a);
}

static struct object *request_purge(const struct request_context *ctx, struct answer *a, const struct http_msg *m,
    const struct requester *who)
{
	struct purge purge;
	int64_t n;

	if (!requester_in(who, &ctx->conf->purge_allow))
		return local_reply(ctx, 403, "", "This address may not purge (purge-allow).", "");
	if (!who->rights)
		return local_reply(ctx, 403, "", "A proxy may not purge, nor who comes through one that is not believed (trusted-proxies).", "");
	if (!purge_read(&purge, m))
		return local_reply(ctx, 400, "", "X-Purge is url, prefix, host or all, and may have \", soft\" behind it.", "");
	if ((n = purge_run(&purge, ctx->cache, &a->target.to, loop_wall_ms(ctx->loop) / 1000)) < 0 ||
	    purge_wait_new(&a->purging, ctx->cache, ctx->loop))
		return NULL;
	stats_add(loop_stats(ctx->loop), STAT_CACHE_PURGES, 1);
	if (!a->purging)
		return request_purged(ctx, &purge, n, false);
	a->purging->done = request_on_purged;
	a->purging->owner = a;
	a->purging->purge = purge;
	a->purging->count = n;
	a->waiting = true;
	return NULL;
}

int request_tunnel(const struct request_context *ctx, const struct http_msg *m, struct destination *to, struct object **refusal)
{
	enum target_error e;

	if (!ctx->conf->connect_allow.count)
		*refusal = local_reply(ctx, 405, REQUEST_ALLOW, "This method is not served.", "");
	else if ((e = target_authority(to, m)) != TARGET_OK)
		*refusal = local_reply(ctx, target_answers[e].status, "", target_answers[e].text, "");
	else
		return 0;
	return -1;
}

bool request_takes_body(const struct http_msg *m)
{
	return m->method == METHOD_OTHER;
}

void request_start(const struct request_context *ctx, struct answer *a, const struct http_msg *m, const struct requester *who,
    struct object *body)
{
	struct slice method = { m->base + m->method_at, m->method_len };
	const struct target *target = &a->target;
	uint16_t port = url_default_port(ctx->secure ? URL_HTTPS : URL_HTTP);
	enum target_error e;
	uint64_t forwards;
	const char *why;

	a->ctx = ctx;
	a->msg = m;
	if ((e = target_find(&a->target, ctx->conf, m, port, a->room->path, sizeof a->room->path, &why)) != TARGET_OK)
		a->object = local_reply(ctx, target_answers[e].status, "", target_answers[e].text, why);
	else if (slice_is(method, "purge"))
		a->object = request_purge(ctx, a, m, who);
	else if (m->method == METHOD_TRACE && target->mode != TARGET_GATEWAY)
		a->object = local_reply(ctx, 405, REQUEST_ALLOW_RELAYED, "This method is not served.", "");
	else if (target->mode == TARGET_GATEWAY && m->method != METHOD_GET && m->method != METHOD_HEAD)
		a->object = local_reply(ctx, 405, REQUEST_ALLOW, "Only GET and HEAD are served for URLs.", "");
	else if (max_forwards(m, &forwards) && !forwards)
		a->object = local_reply(ctx, 200, REQUEST_ALLOW_RELAYED, "This is as far as Max-Forwards lets the request go.", "");
	else
		request_to_target(ctx, a, m, who, body);
}
