/* Making a fetch's parameters from target and settings; see fetch_plan.h. */
#include "proxy/answer/fetch_plan.h"

#include <assert.h>

#include "conf/conf.h"
#include "proxy/answer/gateway.h"
#include "proxy/answer/request_head.h"
#include "proxy/base/hash.h"
#include "proxy/http/accept_feeds.h"
#include "proxy/http/etag.h"
#include "proxy/net/loop.h"
#include "proxy/origin/fetch_timing.h"
#include "proxy/settings/settings.h"
#include "proxy/settings/tls_set.h"

struct parent_rules fetch_plan_parents(const struct conf *conf, const struct conf_route *route)
{
	return (struct parent_rules){ &route->http_proxy, &route->https_proxy, &conf->no_proxy };
}

static_assert(BACKOFF_LEARNED == CONF_INTERVAL_AUTO, "host-interval = auto");

/* Whether the origin gets credentials of the client's own. */
static bool plan_credentials(const struct request *request, const struct target *target)
{
	return (target->cookies && request->cookies) || (target->authorization && request->authorization);
}

/* How far the target keeps pauses, and the least time between two requests to the same URL. */
static struct backoff_terms fetch_plan_terms(const struct request_context *ctx, const struct request *request,
    const struct target *target)
{
	bool route = target->mode == TARGET_ROUTE;
	uint64_t way = route ? settings_identity(ctx->settings, target->route) : 0;

	return (struct backoff_terms){ .pauses = target->route->pause,
		.way = plan_credentials(request, target) ? hash_fold(way, 1) : way,
		.url_interval_ms = route ? 0 : ctx->conf->min_interval_ms,
		.host_interval_ms = target->route->host_interval_ms };
}

/* The question to backoff. False: it remembers nothing, and need not be asked. */
static bool plan_asked(const struct request_context *ctx, const struct request *request, const struct target *target,
    struct slice url, struct backoff_request *backoff_request, struct backoff_terms *terms)
{
	if (backoff_is_idle(ctx->backoff))
		return false;
	struct parent_rules parents = fetch_plan_parents(ctx->conf, target->route);
	*backoff_request = (struct backoff_request){ .url = url,
		.parent = parent_number(parent_choose(&parents, &target->to)),
		.changes = !request_reads(request) };
	*terms = fetch_plan_terms(ctx, request, target);
	return true;
}

enum backoff_answer fetch_plan_waits(const struct request_context *ctx, const struct request *request,
    const struct target *target, struct slice url, struct failure *failure)
{
	struct backoff_terms terms;
	struct backoff_request r;

	return plan_asked(ctx, request, target, url, &r, &terms) ?
	    backoff_waits(ctx->backoff, &r, &terms, loop_now_ms(ctx->loop), failure) : BACKOFF_GO;
}

void fetch_plan_missed(const struct request_context *ctx, const struct request *request, const struct target *target,
    struct slice url, const struct backoff_copy *copy)
{
	struct backoff_terms terms;
	struct backoff_request r;

	if (plan_asked(ctx, request, target, url, &r, &terms))
		backoff_missed(ctx->backoff, &r, &terms, copy, loop_now_ms(ctx->loop));
}

bool fetch_plan_gives_way(const struct request_context *ctx, const struct request *request, const struct target *target,
    struct slice url, const struct backoff_copy *copy, struct failure *failure)
{
	struct backoff_terms terms;
	struct backoff_request r;

	return plan_asked(ctx, request, target, url, &r, &terms) &&
	    backoff_gives_way(ctx->backoff, &r, &terms, copy, loop_now_ms(ctx->loop), failure);
}

bool fetch_plan_asks_plainly(const struct request_context *ctx, const struct request *request,
    const struct target *target, struct slice url)
{
	struct backoff_terms terms;
	struct backoff_request r;

	return plan_asked(ctx, request, target, url, &r, &terms) && backoff_asks_plainly(ctx->backoff, &r, &terms);
}

bool fetch_plan_caches(const struct request *request, const struct target *target)
{
	return request_reads(request) && target->route->cache && !(target->cookies && request->cookies);
}

static struct normalise_options plan_encoding(const struct request_context *ctx, const struct target *target,
    enum policy policy)
{
	const struct conf_route *route = target->route;

	return (struct normalise_options){ .policy = policy, .forced = route->charset, .http = true,
	    .sniff_bytes = ctx->conf->sniff_bytes,
		.repairs = route->repair, .characters = route->characters,
		.output = route->output, .on_error = route->on_error };
}

/* Has the body's URLs lead through the gateway where they are to. -1: out of memory. */
static int plan_gateway(const struct request_context *ctx, const struct request *request, const struct target *target,
    struct fetch_request *asked)
{
	struct text t = { 0 };
	size_t len;

	if (!gateway_leads(target))
		return 0;
	gateway_add_url(&t, ctx, request, target);
	if (t.len == 0 && !t.failed)
		return 0;
	text_add(&t, "", 1);
	if (!(asked->gateway = text_take(&t, &len)))
		return -1;
	asked->transform.encoding.gateway = asked->gateway;
	etag_suffix(asked->transform.head.etag_suffix,
	    hash_fold(settings_encoding(ctx->settings, target->route, asked->transform.encoding.policy),
	        hash_xx64(asked->gateway, len)));
	return 0;
}

static const enum response_way plan_ways[] = {
	[TARGET_ROUTE] = RESPONSE_CHOSEN, [TARGET_FORWARD] = RESPONSE_FORWARDED, [TARGET_GATEWAY] = RESPONSE_FOREIGN,
};

int fetch_plan(const struct request_context *ctx, const struct request *request, const struct target *target,
    enum policy policy, struct object *body, bool ranged, struct slice begin, struct fetch_request *asked)
{
	const struct conf *conf = ctx->conf;
	const struct conf_route *route = target->route;
	const struct http_msg *m = request->msg;
	bool reads = request_reads(request), caches = fetch_plan_caches(request, target);
	/* of redirects that lead to another origin; every URL is the gateway's own */
	const struct conf_route *hop = target->mode == TARGET_GATEWAY ? route : &conf->direct;

	*asked = (struct fetch_request){
		.id = ctx->id,
		.tls = tls_set_origin(ctx->tls, route), .hop_tls = tls_set_origin(ctx->tls, hop),
		.http2 = route->http2, .hop_http2 = hop->http2,
		.accepts_feeds = target->to.tls && accept_feeds_first(m),
		.signer = settings_signer(ctx->settings, route),
		.body = body,
		.body_length = m->has_length ? (int64_t)m->content_length : -1, .ranged = ranged,
		.guard = target->mode == TARGET_ROUTE ? NULL : ctx->guard, .hop_guard = ctx->guard,
		.parents = fetch_plan_parents(conf, route), .hop_parents = fetch_plan_parents(conf, hop),
		.redirects = {
			.hops = reads && (target->mode == TARGET_GATEWAY ||
			    (target->mode == TARGET_ROUTE && route->follow_redirects)) ?
			    conf->redirects : 0,
			.allow_downgrade = conf->redirect_downgrade, .upgrade_https = route->upgrade_https,
		},
		.limits = {
			.connect_timeout_ms = conf->connect_timeout_ms,
			.first_byte_timeout_ms = conf->first_byte_timeout_ms,
			.between_bytes_timeout_ms = conf->between_bytes_timeout_ms,
			.total_timeout_ms = conf->fetch_timeout_ms,
			.max_header_bytes = conf->max_header_bytes,
			.max_header_fields = (size_t)conf->max_header_fields,
			.max_connections = (size_t)conf->origin_connections,
		},
		.terms = fetch_plan_terms(ctx, request, target),
		.credentials = plan_credentials(request, target),
		.transform = {
			.loop = ctx->loop, .id = ctx->id,
			.normalise = route->normalise && reads,
			.respect_no_transform = target->mode == TARGET_FORWARD || route->respect_no_transform,
			.client_codings = caches ? (struct content_coding_codings){ 0 } : content_coding_accepts(m),
			.encoding = plan_encoding(ctx, target, policy),
			.takes_gzip = conf->gzip && m->minor && !request->ranged && content_coding_takes_gzip(m),
			.gzip_min = (uint64_t)conf->gzip_min,
			.limits = { (uint64_t)conf->decoded_ratio, CONTENT_CODING_RATIO_AFTER, conf->decoded_max,
				conf->decoding_bytes },
			.head = { .way = plan_ways[target->mode], .via = conf->via, .output = route->output,
				.gzip = conf->gzip },
		},
	};
	etag_suffix(asked->transform.head.etag_suffix, settings_encoding(ctx->settings, route, policy));
	asked->elsewhere = reads && route->keep_feed_ms;
	asked->lasting = route->slow_after_ms;
	/* A client that sends cookies of its own keeps those that it is given, too; a route's own are all there are. */
	asked->jar = asked->redirects.hops && !target->cookies &&
	    !conf_fields_have(&route->origin_fields, "cookie", sizeof "cookie" - 1);
	asked->to = target->to;
	if (destination_set_path(&asked->to, target->to.path, target->to.path_len))
		return -1;
	if (!plan_gateway(ctx, request, target, asked) &&
	    !request_head_write(asked, m, conf, target, !caches, ctx->trace, begin)) {
		asked->settings = settings_ref(ctx->settings);
		asked->timing = fetch_timing_share(ctx->timing);
		return 0;
	}
	fetch_request_free(asked);
	return -1;
}
