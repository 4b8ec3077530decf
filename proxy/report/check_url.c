/* Getting one body from a URL, to be checked; see check_url.h. */
#include "proxy/report/check_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/answer/fetch_plan.h"
#include "proxy/base/container_of.h"
#include "proxy/dns/resolve.h"
#include "proxy/http/location.h"
#include "proxy/net/loop.h"
#include "proxy/object/response_head.h"
#include "proxy/origin/backoff.h"
#include "proxy/origin/fetch.h"
#include "proxy/origin/pool.h"
#include "proxy/settings/settings.h"

enum {
	CHECK_URL_TIME_MS = 60 * 1000,          /* where fetch-timeout does not say less */
	CHECK_URL_BYTES = 64 << 20,             /* of a body, decoded */
	CHECK_URL_PIECES = 8,
	CHECK_URL_WHY = 512
};

static_assert(CHECK_HOPS_MAX >= CONF_REDIRECTS_MAX, "every redirect that is followed has room");

struct check_url {
	char *url;
	struct check_options options;
	struct check *check;
	char *type, *language, *final, *head;   /* of the response; NULL: there is none */
	struct check_response response;
	struct destination at;                  /* where redirects have led so far */
	bool finished;                          /* the report is there */
	struct failure failure;                 /* why it is not; FAILURE_NONE: the URL is wrong, as `why` says */
	char why[CHECK_URL_WHY];
	uint64_t taken;                         /* bytes of the body */

	/* the means: one worker's, without a listener */
	const struct guard *guard;
	struct settings *settings;
	struct loop *loop;
	struct resolver *resolver;
	struct pool *connections;
	struct backoff *backoff;
	struct fetch_pool *fetches;
	struct object_reader reader;
	struct task task, cancel;
};

static int url_no_memory(struct check_url *u)
{
	failure_set(&u->failure, FAILURE_PROXY_INTERNAL_ERROR, "out of memory");
	return -1;
}

/* ---- the means ---- */

static int url_open(struct check_url *u)
{
	const struct conf *conf = u->settings->conf;
	const struct resolver_options names = { conf->resolver, conf->resolv_conf, conf->hosts_file };
	const struct pool_limits limits = { .h2 = pool_h2_settings(conf) };

	if (!(u->loop = loop_new()) || !(u->resolver = resolver_new(u->loop, &names)) ||
	    !(u->connections = pool_new(u->loop, u->resolver)) || !(u->backoff = backoff_new()) ||
	    !(u->fetches = fetch_pool_new(u->loop, u->connections, u->backoff, NULL)))
		return -1;
	pool_renew(u->connections, &limits, u->settings->generation);
	return 0;
}

/* ---- the response ---- */

static char *url_copy(struct slice s)
{
	char *copy = s.at ? malloc(s.len + 1) : NULL;

	if (copy) {
		memcpy(copy, s.at, s.len);
		copy[s.len] = '\0';
	}
	return copy;
}

static char *url_text(const struct destination *to)
{
	struct text t = { 0 };
	size_t len;

	destination_url(&t, to);
	text_add(&t, "", 1);
	return text_take(&t, &len);
}

static int url_on_hop(void *arg, const struct fetch_hop *followed)
{
	struct check_url *u = arg;
	const struct http_msg *m = followed->msg;
	struct slice location = http_msg_get(m, H_LOCATION);
	struct check_hop *hop = &u->response.hops[u->response.n_hops];
	struct destination next = { 0 };
	const char *why;

	*hop = (struct check_hop){ m->status, url_text(&u->at), url_copy(location) };
	u->response.n_hops++;
	if (!hop->url || !hop->location || location_follow(&next, &u->at, location, &why) != DESTINATION_OK)
		return -1;
	destination_free(&u->at);
	u->at = next;
	return 0;
}

/* Fills in what the response says and no option does. */
static int url_read_head(struct check_url *u, const struct http_msg *m)
{
	struct normalise_options *options = &u->options.normalise;
	struct slice type = http_msg_get(m, H_CONTENT_TYPE), language = http_msg_get(m, H_CONTENT_LANGUAGE);

	u->type = url_copy(type);
	u->language = http_msg_count(m, H_CONTENT_LANGUAGE) == 1 ? url_copy(language) : NULL;
	if (type.at && !u->type)
		return -1;
	if (!options->http) {
		options->http = true;
		options->content_type = u->type;
		options->content_type_len = u->type ? strlen(u->type) : 0;
	}
	if (!options->content_language && u->language) {
		options->content_language = u->language;
		options->content_language_len = strlen(u->language);
	}
	if (!options->base)
		options->base = u->final;
	u->options.untouched = response_untouched(m, true, false);
	u->options.misnamed = u->options.untouched == VREASON_NONE && content_coding_kind(m) == CODING_UNKNOWN;
	options->unpacked = u->options.misnamed;
	return 0;
}

/* The head as the origin sent it; of HTTP/2, which has no status line, as curl shows it. */
static char *url_head(const struct fetch_answer *answer)
{
	struct slice head = answer->upstream;
	struct text text = { 0 };
	const char *line_end = memchr(head.at, '\n', head.len);
	size_t len;

	if (!answer->h2 || !line_end)
		return url_copy(head);
	text_printf(&text, "HTTP/2 %u\r\n", answer->msg->status);
	text_add(&text, line_end + 1, head.len - (size_t)(line_end + 1 - head.at));
	text_add(&text, "", 1);
	return text_take(&text, &len);
}

static enum fetch_choice url_on_head(void *arg, const struct fetch_answer *answer, struct object *o)
{
	struct check_url *u = arg;

	(void)o;
	u->head = url_head(answer);
	u->final = answer->url ? strdup(answer->url) : url_text(&u->at);
	if (!u->head || !u->final || url_read_head(u, answer->msg) || !(u->check = check_new(&u->options)))
		return FETCH_NO_MEMORY;
	u->response.final = u->final;
	u->response.status = answer->msg->status;
	u->response.head = u->head;
	u->response.head_len = strlen(u->head);
	return FETCH_GO_ON;
}

/* ---- the body ---- */

/* Feeds the bytes that have come. -1: they are too many, or memory ran out. */
static int url_take(struct check_url *u, size_t *taken)
{
	struct iovec pieces[CHECK_URL_PIECES];
	int n = object_peek(&u->reader, pieces, CHECK_URL_PIECES, LOOP_SCRATCH_BYTES, taken);

	u->taken += *taken;
	if (u->taken > CHECK_URL_BYTES) {
		failure_set(&u->failure, FAILURE_HTTP_BODY_SIZE, "over %d bytes", CHECK_URL_BYTES);
		return -1;
	}
	for (int i = 0; i < n; i++)
		if (check_feed(u->check, pieces[i].iov_base, pieces[i].iov_len))
			return url_no_memory(u);
	object_consume(&u->reader, *taken);
	return 0;
}

static void url_on_task(struct task *task)
{
	struct check_url *u = container_of(task, struct check_url, task);
	enum object_phase phase = object_phase(u->reader.object);
	size_t taken = 0;

	if (phase == OBJECT_FAILED)
		u->failure = *object_failure(u->reader.object);
	if (phase == OBJECT_FAILED || (phase != OBJECT_WAITING && url_take(u, &taken))) {
		loop_stop(u->loop);
	} else if (phase == OBJECT_DONE && !taken) {
		u->finished = !check_finish(u->check);
		if (!u->finished)
			url_no_memory(u);
		loop_stop(u->loop);
	} else if (taken) {
		loop_defer(u->loop, task);
	}
}

static void url_on_wake(struct object_reader *reader)
{
	struct check_url *u = container_of(reader, struct check_url, reader);

	loop_wake(u->loop, &u->task);
}

/* ---- the request ---- */

/* The fetch of a GET for u->at through the gateway, from a client that sent no field. */
static int url_plan(struct check_url *u, struct fetch_request *asked)
{
	const struct conf *conf = u->settings->conf;
	struct http_msg m = { .base = "GET", .method_len = 3, .method = METHOD_GET, .major = 1, .minor = 1 };
	const struct request request = { .msg = &m, .method = METHOD_GET };
	const struct target target = { .mode = TARGET_GATEWAY, .route = &conf->by_url, .to = u->at };
	const struct request_context ctx = { .loop = u->loop, .conf = conf, .fetches = u->fetches,
		.backoff = u->backoff, .tls = u->settings->tls, .settings = u->settings, .guard = u->guard };

	if (fetch_plan(&ctx, &request, &target, POLICY_AUTO, NULL, false, (struct slice){ NULL, 0 }, asked))
		return -1;
	asked->transform.normalise = false;
	if (asked->limits.total_timeout_ms == 0 || asked->limits.total_timeout_ms > CHECK_URL_TIME_MS)
		asked->limits.total_timeout_ms = CHECK_URL_TIME_MS;
	return 0;
}

static int url_start(struct check_url *u)
{
	const struct fetch_hooks hooks = { .hop = url_on_hop, .head = url_on_head, .arg = u };
	struct object *o = object_new((size_t)u->settings->conf->transit_bytes);
	struct fetch_request r = { 0 };

	u->task.run = url_on_task;
	u->reader.wake = url_on_wake;
	if (!o || url_plan(u, &r)) {
		object_unref(&o);
		return url_no_memory(u);
	}
	r.hooks = &hooks;
	object_share(o);               /* a check is made on a thread of its own, and read by whoever waits for it */
	object_attach(o, &u->reader);
	if (fetch_start(u->fetches, &r, o)) {
		fetch_request_free(&r);
		url_no_memory(u);
	}
	object_unref(&o);
	return u->failure.error ? -1 : 0;
}

static void url_on_cancel(struct task *task)
{
	struct check_url *u = container_of(task, struct check_url, cancel);

	failure_set(&u->failure, FAILURE_ABANDONED, "cancelled");
	loop_stop(u->loop);
}

struct check_url *check_url_new(const char *url, const struct check_options *options, struct settings *settings,
    const struct guard *guard)
{
	struct check_url *u = calloc(1, sizeof *u);

	if (!u)
		return NULL;
	u->response.url = u->url = strdup(url);
	u->options = *options;
	u->settings = settings_ref(settings);
	u->guard = guard;
	u->cancel.run = url_on_cancel;
	if (!u->url || url_open(u))
		check_url_free(&u);
	return u;
}

int check_url_run(struct check_url *u)
{
	const struct failure *failure = &u->failure;
	const char *why = "out of memory";

	if (destination_from_url(&u->at, (struct slice){ u->url, strlen(u->url) }, &why) != DESTINATION_OK) {
		snprintf(u->why, sizeof u->why, "%s", why);
		return -1;
	}
	if (!url_start(u) && loop_run(u->loop))
		failure_set(&u->failure, FAILURE_PROXY_INTERNAL_ERROR, "the event loop failed");
	if (u->finished)
		return 0;
	if (failure->error != FAILURE_NONE)
		snprintf(u->why, sizeof u->why, "%s%s%s%s", failure_text(failure->error),
		    failure->details[0] ? " (" : "", failure->details, failure->details[0] ? ")" : "");
	return -1;
}

const struct check_response *check_url_response(const struct check_url *u)
{
	return &u->response;
}

void check_url_cancel(struct check_url *u)
{
	loop_wake(u->loop, &u->cancel);
}

const char *check_url_why(const struct check_url *u)
{
	return u->why;
}

struct check_report *check_url_report(struct check_url *u)
{
	struct check_report *report = check_report_of(u->check);

	report->file = u->url;
	report->response = &u->response;
	return report;
}

static void url_close(struct check_url *u)
{
	object_detach(&u->reader);
	if (u->fetches)
		fetch_pool_free(&u->fetches);
	if (u->loop)
		loop_forget(u->loop, &u->task);
	if (u->loop)
		loop_forget(u->loop, &u->cancel);
	if (u->connections)
		pool_free(&u->connections);
	resolver_free(&u->resolver);
	backoff_free(&u->backoff);
	settings_unref(&u->settings);
	if (u->loop)
		loop_free(&u->loop);
}

void check_url_free(struct check_url **up)
{
	struct check_url *u = *up;

	if (!u)
		return;
	url_close(u);
	check_free(&u->check);
	for (size_t i = 0; i < u->response.n_hops; i++) {
		free(u->response.hops[i].url);
		free(u->response.hops[i].location);
	}
	destination_free(&u->at);
	free(u->url);
	free(u->type);
	free(u->language);
	free(u->final);
	free(u->head);
	free(u);
	*up = NULL;
}
