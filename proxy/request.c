/* From request head to response object; see request.h. */
#include "request.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "etag.h"
#include "fetch.h"
#include "log.h"
#include "loop.h"
#include "target.h"
#include "text.h"

#define REQUEST_ALLOW "Allow: GET, HEAD\r\n"

enum { REQUEST_VIA_MAX = 8, REQUEST_LOG_URL_MAX = 512 };

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
	return request_answer(ctx, status, status == 405 ? REQUEST_ALLOW : "", text, "");
}

struct object *request_failure(const struct request_context *ctx, const struct object *failed)
{
	const struct proxy_failure *f = object_failure(failed);
	const struct object_report *report = object_report((struct object *)(uintptr_t)failed);
	struct text t = { 0 };
	struct object *o = NULL;
	char rule[VERDICT_FORMAT_MAX], *fields;
	size_t len;

	text_printf(&t, "Proxy-Status: %s; error=%s", ctx->conf->via, proxy_error_token(f->error));
	if (f->details[0])
		text_printf(&t, "; details=\"%s\"", f->details);
	text_puts(&t, "\r\n");
	if (f->error == PROXY_ERROR_ENCODING) {
		verdict_format(&report->verdict, rule, sizeof rule);
		text_printf(&t, "X-Encoding-Rule: %s\r\n", rule);
	}
	text_add(&t, "", 1);
	if ((fields = text_take(&t, &len)))
		o = request_answer(ctx, proxy_error_status(f->error), fields, proxy_error_text(f->error), f->details);
	if (o)
		*object_report(o) = *report;
	free(fields);
	stats_add(loop_stats(ctx->loop), STAT_RESPONSES_ERROR, 1);
	return o;
}

static bool client_is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	if (a->sa_family == AF_INET6) {
		const struct in6_addr *in6 = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;

		return IN6_IS_ADDR_LOOPBACK(in6) || (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == IN_LOOPBACKNET);
	}
	return false;
}

/* The policy for this request: what the client asks for where it may, else the route's. -1: it named one that does not exist. */
static int request_policy(const struct request_context *ctx, const struct http_msg *m, const struct conf_route *route,
    const struct sockaddr *client)
{
	struct slice name = http_msg_get(m, H_X_ENCODING_POLICY);

	if (!name.len || ctx->conf->client_policy == CLIENT_POLICY_OFF ||
	    (ctx->conf->client_policy == CLIENT_POLICY_LOOPBACK && !client_is_loopback(client)))
		return (int)route->policy;
	return policy_lookup(name.at, name.len);
}

/* FNV-1a over what makes one client's bytes differ from another's. */
static uint64_t settings_hash(const struct normalise_options *o)
{
	const unsigned parts[] = { (unsigned)o->policy, (unsigned)o->forced, o->repairs, (unsigned)o->output, (unsigned)o->on_error };
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		for (unsigned shift = 0; shift < 32; shift += 8)
			h = (h ^ (parts[i] >> shift & 0xff)) * 0x100000001b3;
	return h;
}

/* Accept-Encoding (RFC 9110 section 12.5.3), as far as it matters: whether gzip and deflate may stay. */
static bool client_takes_codings(const struct http_msg *m)
{
	struct http_list it = { 0, 0 };
	struct slice member;
	bool gzip = false, deflate = false;

	while (http_msg_next_member(m, H_ACCEPT_ENCODING, &it, &member)) {
		struct slice params, name = slice_until(member, ';', &params), weight;
		bool zero;

		(void)slice_until(params, '=', &weight);
		weight = slice_trim(weight);
		zero = weight.len && weight.at[0] == '0' && strspn(weight.at, "0.") >= weight.len;
		if (slice_is(name, "gzip") || slice_is(name, "x-gzip") || slice_is(name, "*"))
			gzip = !zero;
		if (slice_is(name, "deflate") || slice_is(name, "*"))
			deflate = !zero;
	}
	return gzip && deflate;
}

static void add_if_none_match(struct text *t, const struct http_msg *m, const char *suffix, bool *ours)
{
	struct http_list it = { 0, 0 };
	struct slice member;
	struct text list = { 0 };

	*ours = false;
	while (http_msg_next_member(m, H_IF_NONE_MATCH, &it, &member)) {
		size_t before = list.len;

		if (before)
			text_puts(&list, ", ");
		if (!etag_restore(&list, member, suffix, ours))
			list.len = before;
	}
	if (list.len) {
		text_puts(t, "If-None-Match: ");
		text_add(t, list.bytes, list.len);
		text_puts(t, "\r\n");
	}
	t->failed |= list.failed;
	free(list.bytes);
}

static void add_line(struct text *t, const char *name, struct slice value)
{
	if (!value.at)
		return;
	text_puts(t, name);
	text_puts(t, ": ");
	text_add(t, value.at, value.len);
	text_puts(t, "\r\n");
}

/* The request as the origin sees it. */
static char *request_head(const struct request_context *ctx, const struct http_msg *m, const struct target *target,
    struct stage_options *stage, size_t *len)
{
	struct slice agent = http_msg_get(m, H_USER_AGENT);
	struct text t = { 0 };

	text_puts(&t, "GET ");
	text_add(&t, target->path, target->path_len);
	text_printf(&t, " HTTP/1.1\r\nHost: %s\r\n", target->authority);
	for (uint32_t i = 0; i < m->n_fields; i++) {
		const struct http_field *f = &m->fields[i];
		struct slice name = http_field_name(m, f), value = http_field_value(m, f);

		if (f->hop || http_header_request((enum header_id)f->id) != REQUEST_SEND)
			continue;
		text_add(&t, name.at, name.len);
		text_puts(&t, ": ");
		text_add(&t, value.at, value.len);
		text_puts(&t, "\r\n");
	}
	if (agent.len)
		add_line(&t, "User-Agent", agent);
	else
		text_printf(&t, "User-Agent: %s\r\n", *ctx->conf->user_agent ? ctx->conf->user_agent : "utfeed/" PACKAGE_VERSION);
	add_if_none_match(&t, m, stage->head.etag_suffix, &stage->head.etag_ours);
	add_line(&t, "If-Modified-Since", http_msg_get(m, H_IF_MODIFIED_SINCE));
	for (uint32_t i = 0; i < m->n_fields; i++)
		if (m->fields[i].id == H_VIA)
			add_line(&t, "Via", http_field_value(m, &m->fields[i]));
	text_printf(&t, "Via: %u.%u %s\r\nAccept-Encoding: " STAGE_DECODE_ACCEPT "\r\nConnection: close\r\n\r\n", m->major, m->minor,
	    ctx->conf->via);
	return text_take(&t, len);
}

/* Our own name in Via this often: the request goes round. Chains of a few utfeeds are fine. */
static bool request_loops(const struct request_context *ctx, const struct http_msg *m)
{
	struct http_list it = { 0, 0 };
	struct slice member, by;
	unsigned n = 0;

	while (http_msg_next_member(m, H_VIA, &it, &member)) {
		(void)slice_until(member, ' ', &by);
		n += slice_is(slice_trim(by), ctx->conf->via);
	}
	return n >= REQUEST_VIA_MAX;
}

static struct object *request_fetch(const struct request_context *ctx, const struct http_msg *m, const struct target *target,
    enum policy policy)
{
	const struct conf *conf = ctx->conf;
	const struct conf_route *route = target->route;
	char url[REQUEST_LOG_URL_MAX], escaped[REQUEST_LOG_URL_MAX];
	struct fetch_request r = {
		.host = target->host, .port = target->port, .tls = target->tls, .url = escaped,
		.limits = { conf->connect_timeout_ms, conf->first_byte_timeout_ms, conf->between_bytes_timeout_ms,
		    conf->max_header_bytes, (size_t)conf->max_header_fields },
		.stage = {
			.loop = ctx->loop,
			.normalise = route->normalise,
			.respect_no_transform = target->mode == TARGET_FORWARD,
			.raw_coding = client_takes_codings(m),
			.encoding = { .policy = policy, .forced = route->charset, .http = true, .sniff_bytes = conf->sniff_bytes,
			    .repairs = route->repair, .output = route->output, .on_error = route->on_error },
			.limits = { (uint64_t)conf->decoded_ratio, conf->decoded_ratio_after, conf->decoded_max },
			.head = { .via = conf->via, .output = route->output },
		},
	};
	struct object *o = object_new(conf->transit_bytes);
	int n;

	if (!o)
		return NULL;
	etag_suffix(r.stage.head.etag_suffix, settings_hash(&r.stage.encoding));
	n = snprintf(url, sizeof url, "%s://%s%s", url_scheme_name(target->tls ? URL_HTTPS : URL_HTTP), target->authority, target->path);
	log_escape(escaped, sizeof escaped, url, n < (int)sizeof url ? (size_t)n : sizeof url - 1);
	if (!(r.head = request_head(ctx, m, target, &r.stage, &r.head_len)) || fetch_start(ctx->fetches, &r, o)) {
		free(r.head);
		object_unref(&o);
	}
	return o;
}

static struct object *request_to_target(const struct request_context *ctx, const struct http_msg *m, const struct target *target,
    const struct sockaddr *client)
{
	int policy = request_policy(ctx, m, target->route, client);

	if (policy < 0)
		return request_answer(ctx, 400, "", "X-Encoding-Policy names no policy; `utfeed policies` lists them.", "");
	if (request_loops(ctx, m)) {
		struct object *failed = object_new(0), *o;
		struct proxy_failure f;

		if (!failed)
			return NULL;
		proxy_failure_set(&f, PROXY_ERROR_LOOP_DETECTED, "%s", ctx->conf->via);
		object_fail(failed, &f);
		o = request_failure(ctx, failed);
		object_unref(&failed);
		return o;
	}
	return request_fetch(ctx, m, target, (enum policy)policy);
}

struct object *request_start(const struct request_context *ctx, const struct http_msg *m, const struct sockaddr *client)
{
	struct target target;
	enum target_error e;
	const char *why;
	struct object *o;

	if (m->method != METHOD_GET && m->method != METHOD_HEAD)
		return request_answer(ctx, 405, REQUEST_ALLOW, "Only GET and HEAD are served.", "");
	if ((e = target_find(&target, ctx->conf, m, &why)) != TARGET_OK)
		return request_answer(ctx, target_answers[e].status, "", target_answers[e].text, why);
	o = request_to_target(ctx, m, &target, client);
	target_free(&target);
	return o;
}
