/* Deciding where a request goes; see dispatch.h. */
#include "proxy/answer/dispatch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/answer/answer_internal.h"
#include "proxy/answer/fetch_plan.h"
#include "proxy/answer/gateway.h"
#include "proxy/answer/local_reply.h"
#include "proxy/answer/request_head.h"
#include "proxy/answer/request_read.h"
#include "proxy/answer/requester.h"
#include "proxy/base/hash.h"
#include "proxy/cache/invalidate.h"
#include "proxy/cache/purge.h"
#include "proxy/http/cors.h"
#include "proxy/http/pac.h"
#include "proxy/http/served_host.h"
#include "proxy/http/start_page.h"
#include "proxy/http/target.h"
#include "proxy/http/target_inside.h"
#include "proxy/net/loop.h"
#include "proxy/origin/fetch.h"
#include "proxy/settings/settings.h"
#include "proxy/settings/signing.h"

#define DISPATCH_ALLOW "Allow: GET, HEAD\r\n"
#define DISPATCH_ALLOW_RELAYED "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n"

/* For somebody who has set utfeed as the proxy of a reader whose feeds are https; %s: the host, five times. */
#define DISPATCH_NO_TUNNEL \
	"CONNECT to %s is not served, because utfeed cannot read a feed in a tunnel. Subscribe to " \
	"http://UTFEED:PORT/https://%s/FEED (utfeed's own address, then the feed's URL); `utfeed opml` rewrites a " \
	"list of subscriptions. Or subscribe to http://%s/FEED, with this line in utfeed's configuration: " \
	"upgrade-https = on. With the line intercept = %s utfeed opens the tunnel and repairs the feed " \
	"(utfeed-intercept(7)). The line connect-allow = %s allows a tunnel that utfeed does not look into."

enum { DISPATCH_VIA_MAX = 8, DISPATCH_SENTENCE_MAX = 2048 };

/* Status and sentence of the answer to a request whose target is refused. */
static const struct {
	int status;
	const char *text;
} target_answers[] = {
	[TARGET_NO_MEMORY] = { 500, "utfeed ran out of memory." },
	[TARGET_BAD_HOST] = { 400, "The request needs one valid Host field." },
	[TARGET_BAD_TARGET] = { 400, "The request target is neither a path nor an http or https URL." },
	[TARGET_BAD_URL] = { 400, "The URL asked for is not valid" },
	[TARGET_NO_ROUTE] = { 404,
		"No route is configured for this path. Ask for /https://host/path, or write a route in utfeed's "
		"configuration, such as route = /news/=https://host/path/" },
	[TARGET_FORWARD_OFF] = { 403,
		"The forward proxy is off. To serve requests through it, write in utfeed's configuration: "
		"forward = on" },
	[TARGET_BAD_AUTHORITY] = { 400, "The target of CONNECT is not of the form host:port." },
	[TARGET_NOT_SERVED] = { 421, "" },              /* served_host_refusal() */
	[TARGET_MISDIRECTED] = { 421, "This tunnel leads to another host than the one asked for." },
	[TARGET_BAD_PATH] = { 400, "The path leaves its route or is too long." },
};

/* The policy for this request: the one the client asks for, if it may, else the route's. -1: the client named one that
 * does not exist. */
static int dispatch_policy(const struct request_context *ctx, const struct request *request,
    const struct conf_route *route, const struct requester *who)
{
	struct slice name = request_policy_name(request);

	if (!name.len || ctx->conf->client_policy == CLIENT_POLICY_OFF ||
	    (ctx->conf->client_policy == CLIENT_POLICY_LOOPBACK && !(who->rights && requester_is_loopback(who))))
		return (int)route->policy;
	return policy_lookup(name.at, name.len);
}

/* What the route adds to RFC 9111 where a response says nothing, and how long errors may count. */
static struct freshness_settings dispatch_freshness(const struct conf *conf, const struct conf_route *route)
{
	return (struct freshness_settings){
		.floor_s = (uint32_t)(route->freshness_floor_ms / 1000),
		.adaptive = route->adaptive,
		.error_max_s = (uint32_t)(conf->error_max_ms / 1000),
		.error_floor_s = (uint32_t)(route->error_floor_ms / 1000),
		.max_s = (uint32_t)(route->freshness_max_ms / 1000),
		.reload_floor_s = (uint32_t)(route->reload_floor_ms / 1000),
		.no_reload = !route->client_no_cache,
		.keep_s = (uint32_t)(route->keep_feed_ms / 1000),
		.stale_if_error_s = (uint32_t)(route->stale_if_error_ms / 1000),
	};
}

/* Whether the method is safe (RFC 9110 section 9.2.1, and the registered safe methods beyond it); any other may have
 * changed something. */
static bool dispatch_is_safe(struct slice method)
{
	static const char *const safe[] = { "get", "head", "options", "trace", "propfind", "report", "search", NULL };

	for (const char *const *s = safe; *s; s++)
		if (slice_is(method, *s))
			return true;
	return false;
}

/* Relays a request past the cache: unsafe methods, and routes without a cache. */
static void dispatch_relay(struct answer *a, struct fetch_request *asked)
{
	const struct request_context *ctx = a->ctx;
	bool safe = dispatch_is_safe((struct slice){ asked->method, strlen(asked->method) });
	struct object *o = object_new(ctx->conf->transit_bytes);
	struct fetch_hooks hooks;

	a->kind = KIND_RELAY;
	a->status.fwd = request_reads(a->request) ? FWD_BYPASS : FWD_METHOD;
	if (o && !safe && !invalidate_hooks(&hooks, ctx->sweeper, &asked->to,
	        (struct slice){ a->memory.key.bytes, a->url_len }))
		asked->hooks = &hooks;
	if (!o || fetch_start(ctx->fetches, asked, o)) {
		if (asked->hooks)
			asked->hooks->end(asked->hooks->arg);
		fetch_request_free(asked);
		object_unref(&o);
	}
	a->object = o;
}

/* The part of the key that tells stored responses of one URL apart by way in and route. Each of these has its own
 * rights (guard, TLS, credentials, redirects), and what one may fetch must not be served to another. Nor may a route's
 * response be served that was fetched under other options, before a restart or by another utfeed with the same
 * store. */
static uint64_t dispatch_key_settings(const struct request_context *ctx, const struct target *target,
    enum policy policy)
{
	return hash_fold(settings_identity(ctx->settings, target->route),
	    (uint64_t)policy << 8 | (uint64_t)target->mode << 2 | (uint64_t)target->cookies << 1 |
	        target->authorization);
}

static void dispatch_to_target(struct answer *a, const struct requester *who, struct object *body)
{
	const struct request_context *ctx = a->ctx;
	int policy = dispatch_policy(ctx, a->request, a->target.route, who);
	unsigned passes = request_passes(a->request, ctx->conf->via);
	const struct target *target = &a->target;
	struct text *url = &a->memory.key;
	struct freshness_settings fresh;
	struct fetch_request r;
	struct failure f;

	if (policy < 0) {
		a->object =
		    local_reply(ctx, 400, "", "X-Encoding-Policy names no policy; `utfeed policies` lists them.", "");
		return;
	}
	if (passes >= DISPATCH_VIA_MAX) {
		failure_set(&f, FAILURE_LOOP_DETECTED, "%s", ctx->conf->via);
		a->object = local_reply_failure(ctx, &f);
		return;
	}
	text_empty(url);
	destination_url(url, &target->to);
	text_add(url, "", 1);
	if (url->failed)
		return;
	a->url_len = --url->len;
	if (fetch_plan_caches(a->request, target)) {
		a->kind = KIND_CACHED;
		fresh = dispatch_freshness(ctx->conf, target->route);
		/* A request that has passed through this utfeed already must not wait for itself. */
		lookup_start(a, &fresh, dispatch_key_settings(ctx, target, (enum policy)policy), (enum policy)policy,
		    passes);
	} else if (!fetch_plan(ctx, a->request, target, (enum policy)policy, body,
	        !target->route->normalise && request_head_ranged(a->request->msg), (struct slice){ NULL, 0 }, &r))
		dispatch_relay(a, &r);
}

/* ---- refusals ---- */

/* Ends a text_on() and answers with it. */
static struct object *dispatch_say(const struct request_context *ctx, int status, const char *fields, struct text *t)
{
	t->bytes[t->len] = '\0';
	return local_reply(ctx, status, fields, t->bytes, "");
}

/* why: what is wrong with the URL; "": the error says it all. */
static struct object *dispatch_refuse(const struct answer *a, enum target_error e, const char *why)
{
	char room[DISPATCH_SENTENCE_MAX];
	struct text t = text_on(room, sizeof room - 1);

	if (e != TARGET_NOT_SERVED)
		return local_reply(a->ctx, target_answers[e].status, "", target_answers[e].text, why);
	served_host_refusal(&t, a->ctx->conf, http_msg_get(a->request->msg, H_HOST));
	return dispatch_say(a->ctx, target_answers[e].status, "", &t);
}

static struct object *dispatch_refuse_tunnel(const struct request_context *ctx, const struct request *request)
{
	char room[DISPATCH_SENTENCE_MAX];
	struct text t = text_on(room, sizeof room - 1);
	struct destination to;
	const char *host =
	    target_authority(&to, request->msg) == TARGET_OK && !strchr(to.host, ':') ? to.host : "HOST";

	text_printf(&t, DISPATCH_NO_TUNNEL, host, host, host, host, host);
	return dispatch_say(ctx, 405, DISPATCH_ALLOW, &t);
}

/* A request of that method for a URL of the gateway. */
static struct object *dispatch_refuse_method(const struct answer *a)
{
	const struct destination *to = &a->target.to;
	char room[DISPATCH_SENTENCE_MAX];
	struct text t = text_on(room, sizeof room - 1);

	text_printf(&t, "Only GET and HEAD are served for URLs. To pass other methods on to %s, write a route in "
	    "utfeed's configuration, such as route = /%s/=%s://%s/", to->authority, to->host,
	    url_scheme_name(to->tls ? URL_HTTPS : URL_HTTP), to->authority);
	return dispatch_say(a->ctx, 405, DISPATCH_ALLOW, &t);
}

static struct object *dispatch_refuse_purge(const struct request_context *ctx, const struct requester *who)
{
	char room[DISPATCH_SENTENCE_MAX], address[REQUESTER_TEXT_MAX];
	struct text t = text_on(room, sizeof room - 1);
	const char *name = requester_address(who, address);

	if (*name)
		text_printf(&t, "The address %s may not purge. To allow it, write in utfeed's configuration: "
		    "purge-allow = %s", name, name);
	else
		text_puts(&t, "The proxy in front does not name its client (client-field), so nobody may purge.");
	return dispatch_say(ctx, 403, "", &t);
}

/* ---- purges ---- */

/* The answer to a PURGE, as done() would be told of it. This process no longer finds any of the responses. */
static struct object *dispatch_purged(const struct request_context *ctx, const struct purge_wait *told)
{
	struct text details = { 0 };

	if (told->count >= 0)
		text_printf(&details, told->counting ? "%lld so far" : "%lld", (long long)told->count);
	if (told->owed && told->others)
		text_printf(&details, "%sconfirmed by %zu of %zu utfeeds", details.len ? "; " : "",
		    told->others - told->unaware + 1, told->others + 1);
	text_add(&details, "", 1);
	const char *soft = "Marked stale in memory; the store behind it has not confirmed that yet, and is asked until "
		"it does.";
	const char *hard = "Purged from memory; the store behind it has not confirmed that yet, and is asked until it "
		"does.";
	struct object *o = details.failed ? NULL : !told->owed ?
	    local_reply(ctx, 200, "", told->purge.soft ? "Marked stale." : "Purged.", details.bytes) :
	    local_reply(ctx, 202, "", told->purge.soft ? soft : hard, details.bytes);
	text_free(&details);
	return o;
}

static void dispatch_on_purged(struct purge_wait *wait)
{
	struct answer *a = wait->owner;

	a->object = dispatch_purged(a->ctx, wait);
	purge_wait_free(&a->purging);
	answer_came(a);
}

static struct object *dispatch_purge(struct answer *a, const struct requester *who)
{
	const struct request_context *ctx = a->ctx;
	struct purge_begun begun;
	struct purge purge;

	if (!requester_in(who, &ctx->conf->purge_allow))
		return dispatch_refuse_purge(ctx, who);
	if (!who->rights)
		return local_reply(ctx, 403, "",
		    "A request through a proxy may not purge. Use the admin listener (admin-listen): "
		    "curl -d url=URL http://127.0.0.1:9180/api/purge", "");
	if (cache_is_retired(ctx->cache))
		return local_reply(ctx, 503, "Retry-After: 0\r\n", "Another process serves now. Ask again.", "");
	if (!purge_read(&purge, request_purge_words(a->request)))
		return local_reply(ctx, 400, "",
		    "X-Purge is url, prefix, host or all, and may have \", soft\" behind it.", "");
	a->kind = KIND_PURGE;
	if (purge_run(&purge, ctx->cache, ctx->backoff, purge.what == PURGE_ALL ? NULL : &a->target.to,
	        loop_wall_ms(ctx->loop) / 1000, loop_now_ms(ctx->loop), &begun) ||
	    purge_wait_new(&a->purging, ctx->sweeper, &begun, ctx->conf->purge_wait_ms))
		return NULL;
	stats_add(loop_stats(ctx->loop), STAT_CACHE_PURGES, 1);
	if (!a->purging)
		return dispatch_purged(ctx, &(struct purge_wait){ .purge = purge, .count = begun.count });
	a->purging->done = dispatch_on_purged;
	a->purging->owner = a;
	a->purging->purge = purge;
	return NULL;
}

int dispatch_tunnel(const struct request_context *ctx, const struct request *request, bool inside,
    struct destination *to, struct object **refusal)
{
	enum target_error e;

	if (inside)
		*refusal = local_reply(ctx, 405, DISPATCH_ALLOW_RELAYED, "There is no tunnel within a tunnel.", "");
	else if (!ctx->conf->connect_allow.count)
		*refusal = dispatch_refuse_tunnel(ctx, request);
	else if ((e = target_authority(to, request->msg)) != TARGET_OK)
		*refusal = local_reply(ctx, target_answers[e].status, "", target_answers[e].text, "");
	else
		return 0;
	return -1;
}

/* The Host was found to be valid, and to be one that is served. */
static struct object *dispatch_pac(const struct request_context *ctx, const struct request *request, uint16_t port)
{
	struct slice host = http_msg_get(request->msg, H_HOST);
	struct url_host asked = { .port = port };
	struct text t = { 0 };

	if (!request_reads(request))
		return local_reply(ctx, 405, DISPATCH_ALLOW, "Only GET and HEAD are served for this file.", "");
	if (url_parse_host(host.at, host.len, &asked) != URL_OK)
		return NULL;
	if (!asked.port_given)
		asked.port = port;
	host.len = asked.ipv6 ? asked.host.len + 2 : asked.host.len;
	pac_write(&t, ctx->conf, host, asked.port, ctx->secure);
	text_add(&t, "", 1);
	struct object *o = t.failed ? NULL : local_reply(ctx, 200, PAC_CONTENT_TYPE, t.bytes, "");
	text_free(&t);
	return o;
}

/* Signed anew for each request: the directory is asked for seldom. */
static struct object *dispatch_keys(const struct request_context *ctx, const struct request *request)
{
	struct text fields = { 0 }, body = { 0 };

	if (!request_reads(request))
		return local_reply(ctx, 405, DISPATCH_ALLOW, "Only GET and HEAD are served for the key directory.", "");
	signing_write_directory(ctx->settings->signing, &fields, &body, loop_wall_ms(ctx->loop) / 1000);
	text_add(&fields, "", 1);
	struct object *o = fields.failed ? NULL : local_reply_body(ctx, 200, fields.bytes, &body);
	text_free(&fields);
	text_free(&body);
	return o;
}

/* For a person who looks what this is. utfeed's URL is that of the gateway, where the operator gave it. */
static struct object *dispatch_start_page(const struct request_context *ctx, const struct request *request)
{
	enum start_page page = start_page_of(request->msg);
	struct text own = { 0 }, t = { 0 };

	if (!request_reads(request))
		return local_reply(ctx, 405, DISPATCH_ALLOW, "Only GET and HEAD are served for this page.", "");
	if (*ctx->conf->by_url.gateway_url)
		text_puts(&own, ctx->conf->by_url.gateway_url);
	else if (!gateway_add_reached(&own, ctx, request))
		text_puts(&own, "http://UTFEED:PORT");
	start_page_write(&t, page, ctx->conf, (struct slice){ own.bytes, own.len });
	text_add(&t, "", 1);
	struct object *o = own.failed || t.failed ? NULL : local_reply(ctx, 200, start_page_fields(page), t.bytes, "");
	text_free(&own);
	text_free(&t);
	return o;
}

/* answer_deliver() adds the fields for the page, as it does to any response. */
static struct object *dispatch_preflight(const struct answer *a)
{
	if (cors_allows(answer_cors(a), a->request->msg))
		return local_reply(a->ctx, 204, "", "", "");
	return local_reply(a->ctx, 403, "", "Pages of this origin may not read responses here. To allow them, write "
	    "the origin in utfeed's configuration, such as cors-allow = https://reader.example", "");
}

/* Whether a PURGE of everything came to a path that no route takes: it needs none. The Host was found to be served. */
static bool dispatch_purges_all(const struct request *request, enum target_error e)
{
	struct purge purge;

	return (e == TARGET_NO_ROUTE || e == TARGET_FORWARD_OFF) && slice_is(request_method(request), "purge") &&
	    purge_read(&purge, request_purge_words(request)) && purge.what == PURGE_ALL;
}

void dispatch(struct answer *a, const struct answer_asked *asked)
{
	const struct request_context *ctx = a->ctx;
	const struct request *request = a->request;
	struct target *target = &a->target;
	uint16_t port = url_default_port(ctx->secure ? URL_HTTPS : URL_HTTP);
	char *path = a->memory.path;
	const char *why;

	enum target_error e = asked->inside ?
	    target_inside(target, ctx->conf, asked->inside, request->msg, path, sizeof a->memory.path, &why) :
	    target_find(target, ctx->conf, request->msg, port, path, sizeof a->memory.path, &why);
	if (e == TARGET_PAC)
		a->object = dispatch_pac(ctx, request, port);
	else if (e == TARGET_KEYS)
		a->object = dispatch_keys(ctx, request);
	else if (dispatch_purges_all(request, e))
		a->object = dispatch_purge(a, asked->who);
	else if (e == TARGET_NO_ROUTE && start_page_is(http_msg_target(request->msg)))
		a->object = dispatch_start_page(ctx, request);
	else if (e != TARGET_OK)
		a->object = dispatch_refuse(a, e, why);
	else if (slice_is(request_method(request), "purge"))
		a->object = dispatch_purge(a, asked->who);
	else if (answer_cors(a) && cors_is_preflight(request->msg))
		a->object = dispatch_preflight(a);
	else if (request->method == METHOD_TRACE && target->mode != TARGET_GATEWAY)
		a->object = local_reply(ctx, 405, DISPATCH_ALLOW_RELAYED, "This method is not served.", "");
	else if (target->mode == TARGET_GATEWAY && !request_reads(request))
		a->object = dispatch_refuse_method(a);
	else if (request_ends_here(request))
		a->object = local_reply(ctx, 200, DISPATCH_ALLOW_RELAYED,
		    "This is as far as Max-Forwards lets the request go.", "");
	else
		dispatch_to_target(a, asked->who, asked->body);
}
