/* From request head to response object; see request.h. */
#include "request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "etag.h"
#include "fetch.h"
#include "hash.h"
#include "invalidate.h"
#include "loop.h"
#include "max_forwards.h"
#include "polite.h"
#include "purge.h"
#include "requester.h"
#include "settings.h"
#include "target.h"
#include "text.h"
#include "tls_set.h"
#include "upstream.h"

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

static struct object *request_answer(const struct request_context *ctx, int status, const char *fields, const char *sentence,
    const char *details)
{
	struct object *o = object_new(ctx->conf->transit_bytes);
	struct text t = { 0 };
	size_t len;
	char *body;

	if (!o)
		return NULL;
	text_puts(&t, sentence);
	if (*details)
		text_printf(&t, " (%s)", details);
	text_puts(&t, "\n");
	body = text_take(&t, &len);
	if (!body || response_own(o, status, fields, loop_http_date(ctx->loop), body, len))
		object_unref(&o);
	free(body);
	return o;
}

struct object *request_refuse(const struct request_context *ctx, int status, const char *text)
{
	return request_answer(ctx, status, "", text, "");
}

struct object *request_failure(const struct request_context *ctx, const struct object *failed)
{
	const struct proxy_failure *f = object_failure(failed);
	const struct object_report *report = object_report((struct object *)(uintptr_t)failed);
	struct text t = { 0 };
	struct object *o = NULL;
	char *fields;
	size_t len;

	text_printf(&t, "Proxy-Status: %s; error=%s", ctx->conf->via, proxy_error_token(f->error));
	if (f->details[0])
		text_printf(&t, "; details=\"%s\"", f->details);
	text_puts(&t, "\r\n");
	if (f->retry_after_s)
		text_printf(&t, "Retry-After: %u\r\n", f->retry_after_s);
	text_add(&t, "", 1);
	if ((fields = text_take(&t, &len)))
		o = request_answer(ctx, proxy_error_status(f->error), fields, proxy_error_text(f->error), f->details);
	if (o)
		*object_report(o) = *report;
	free(fields);
	stats_add(loop_stats(ctx->loop), STAT_RESPONSES_ERROR, proxy_error_status(f->error) >= 500);
	return o;
}

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

static uint64_t request_min_interval(const struct request_context *ctx, const struct target *target)
{
	return target->mode == TARGET_ROUTE ? 0 : ctx->conf->min_interval_ms;
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

/* A response to a request with cookies is that client's own: neither stored nor answered from the store. */
static bool request_caches(const struct http_msg *m, const struct target *target)
{
	return (m->method == METHOD_GET || m->method == METHOD_HEAD) && target->route->cache &&
	    !(target->cookies && http_msg_has(m, H_COOKIE));
}

static struct normalise_options request_encoding(const struct conf *conf, const struct target *target, enum policy policy)
{
	const struct conf_route *route = target->route;

	return (struct normalise_options){ .policy = policy, .forced = route->charset, .http = true, .sniff_bytes = conf->sniff_bytes,
		.repairs = route->repair, .output = route->output, .on_error = route->on_error };
}

struct parent_rules request_parents(const struct conf *conf, const struct conf_route *route)
{
	return (struct parent_rules){ &route->http_proxy, &route->https_proxy, &conf->no_proxy };
}

void request_context_set(struct request_context *ctx, struct settings *s)
{
	struct settings *former = ctx->settings;

	ctx->settings = s ? settings_ref(s) : NULL;
	ctx->conf = s ? s->conf : NULL;
	ctx->tls = s ? s->tls : NULL;
	ctx->guard = s ? &s->guard : NULL;
	ctx->tunnel_guard = s ? &s->tunnel_guard : NULL;
	settings_unref(&former);
}

static const enum response_way request_ways[] = {
	[TARGET_ROUTE] = RESPONSE_CHOSEN, [TARGET_FORWARD] = RESPONSE_FORWARDED, [TARGET_GATEWAY] = RESPONSE_FOREIGN,
};

int request_spec(const struct request_context *ctx, const struct http_msg *m, const struct target *target, enum policy policy,
    struct object *body, bool ranged, struct fetch_request *r)
{
	const struct conf *conf = ctx->conf;
	const struct conf_route *route = target->route;
	bool reads = m->method == METHOD_GET || m->method == METHOD_HEAD, caches = request_caches(m, target);

	*r = (struct fetch_request){
		.tls = tls_set_origin(ctx->tls, route), .hop_tls = tls_set_origin(ctx->tls, &conf->direct), .body = body,
		.body_length = m->has_length ? (int64_t)m->content_length : -1, .ranged = ranged,
		.guard = target->mode == TARGET_ROUTE ? NULL : ctx->guard, .hop_guard = ctx->guard,
		.parents = request_parents(conf, route), .hop_parents = request_parents(conf, &conf->direct),
		.redirects = {
			.hops = reads && (target->mode == TARGET_GATEWAY || (target->mode == TARGET_ROUTE && route->follow_redirects)) ?
			    conf->redirects : 0,
			.allow_downgrade = conf->redirect_downgrade, .upgrade_https = route->upgrade_https,
		},
		.limits = {
			.connect_timeout_ms = conf->connect_timeout_ms, .first_byte_timeout_ms = conf->first_byte_timeout_ms,
			.between_bytes_timeout_ms = conf->between_bytes_timeout_ms, .total_timeout_ms = conf->fetch_timeout_ms,
			.max_header_bytes = conf->max_header_bytes, .max_header_fields = (size_t)conf->max_header_fields,
			.max_connections = (size_t)conf->origin_connections, .queue_timeout_ms = conf->queue_timeout_ms,
			.min_interval_ms = request_min_interval(ctx, target),
		},
		.stage = {
			.loop = ctx->loop,
			.normalise = route->normalise && reads,
			.respect_no_transform = target->mode == TARGET_FORWARD || route->respect_no_transform,
			.client_codings = caches ? (struct stage_decode_codings){ 0 } : stage_decode_accepts(m),
			.encoding = request_encoding(conf, target, policy),
			.limits = { (uint64_t)conf->decoded_ratio, conf->decoded_ratio_after, conf->decoded_max },
			.head = { .way = request_ways[target->mode], .via = conf->via, .output = route->output, .gzip = conf->gzip },
		},
	};
	etag_suffix(r->stage.head.etag_suffix, settings_encoding(target->route, policy));
	r->to = target->to;
	if (destination_set_path(&r->to, target->to.path, target->to.path_len))
		return -1;
	if (!upstream_head(r, m, conf, target, !caches)) {
		r->settings = settings_ref(ctx->settings);
		return 0;
	}
	fetch_request_free(r);
	return -1;
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

	if (request_caches(m, target)) {
		fresh = request_freshness(ctx->conf, target->route, target->mode);
		a->policy = policy;
		answer_start(a, &fresh, request_key_settings(ctx, target, policy));
		return;
	}
	if (!request_spec(ctx, m, target, policy, body, !target->route->normalise && upstream_range(m), &r))
		request_relay(ctx, a, &r, reads, (struct slice){ a->room->key.bytes, a->room->key.len });
}

struct object *request_fail(const struct request_context *ctx, const struct proxy_failure *f)
{
	struct object *failed = object_new(0), *o;

	if (!failed)
		return NULL;
	object_fail(failed, f);
	o = request_failure(ctx, failed);
	object_unref(&failed);
	return o;
}

/* The origin asked for a pause, or was asked for this just before: NULL where it may be asked now. The fetch asks again before
 * each request of its own; this saves the connection. */
static struct object *request_pause(const struct request_context *ctx, const struct target *target, const char *url)
{
	struct proxy_failure f;

	if (polite_is_idle(ctx->polite) ||
	    !polite_waits(ctx->polite, url, loop_now_ms(ctx->loop), request_min_interval(ctx, target), &f))
		return NULL;
	stats_add(loop_stats(ctx->loop), STAT_POLITE_REFUSALS, 1);
	return request_fail(ctx, &f);
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
		a->object = request_answer(ctx, 400, "", "X-Encoding-Policy names no policy; `utfeed policies` lists them.", "");
		return;
	}
	if (passes >= REQUEST_VIA_MAX) {
		proxy_failure_set(&f, PROXY_ERROR_LOOP_DETECTED, "%s", ctx->conf->via);
		a->object = request_fail(ctx, &f);
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
	if (a->pause && !request_caches(m, target)) {
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
		return request_answer(ctx, 200, "", purge->soft ? "Marked stale." : "Purged.", count);
	return request_answer(ctx, 202, "", purge->soft ?
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
		return request_answer(ctx, 403, "", "This address may not purge (purge-allow).", "");
	if (!who->rights)
		return request_answer(ctx, 403, "", "A proxy may not purge, nor who comes through one that is not believed (trusted-proxies).", "");
	if (!purge_read(&purge, m))
		return request_answer(ctx, 400, "", "X-Purge is url, prefix, host or all, and may have \", soft\" behind it.", "");
	if ((n = purge_run(&purge, ctx->cache, &a->target.to, loop_wall_ms(ctx->loop) / 1000)) < 0 ||
	    purge_wait_new(&a->purging, ctx->cache, ctx->loop))
		return NULL;
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
		*refusal = request_answer(ctx, 405, REQUEST_ALLOW, "This method is not served.", "");
	else if ((e = target_authority(to, m)) != TARGET_OK)
		*refusal = request_answer(ctx, target_answers[e].status, "", target_answers[e].text, "");
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
		a->object = request_answer(ctx, target_answers[e].status, "", target_answers[e].text, why);
	else if (slice_is(method, "purge"))
		a->object = request_purge(ctx, a, m, who);
	else if (m->method == METHOD_TRACE && target->mode != TARGET_GATEWAY)
		a->object = request_answer(ctx, 405, REQUEST_ALLOW_RELAYED, "This method is not served.", "");
	else if (target->mode == TARGET_GATEWAY && m->method != METHOD_GET && m->method != METHOD_HEAD)
		a->object = request_answer(ctx, 405, REQUEST_ALLOW, "Only GET and HEAD are served for URLs.", "");
	else if (max_forwards(m, &forwards) && !forwards)
		a->object = request_answer(ctx, 200, REQUEST_ALLOW_RELAYED, "This is as far as Max-Forwards lets the request go.", "");
	else
		request_to_target(ctx, a, m, who, body);
}
