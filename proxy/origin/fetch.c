/* One request to an origin; see fetch.h. */
#include "proxy/origin/fetch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/base/container_of.h"
#include "proxy/base/log.h"
#include "proxy/base/url_secrets.h"
#include "proxy/origin/fetch_internal.h"
#include "proxy/origin/fetch_timing.h"
#include "proxy/settings/settings.h"

enum { FETCH_LOG_URL_MAX = 512 };

/* Bits of the phases that may follow: a retry, a redirect and a request without validators begin anew. */
#define TO(phase) (1u << FETCH_##phase)
static const unsigned fetch_next[] = {
	[FETCH_CONNECT] = TO(CONNECT) | TO(HEAD) | TO(ENDED),
	[FETCH_HEAD] = TO(CONNECT) | TO(BODY) | TO(ENDED),
	[FETCH_BODY] = TO(ENDED),
	[FETCH_ENDED] = 0,
};

void fetch_enter(struct fetch *f, enum fetch_phase phase)
{
	assert(fetch_next[f->phase] >> phase & 1);
	f->phase = phase;
}

void fetch_end(struct fetch *f)
{
	fetch_enter(f, FETCH_ENDED);
	fetch_end_hooks(f);
	fetch_leave_alone(f);
	fetch_tell_left(f);
	transform_free(&f->transform);
	lease_end(&f->lease, &f->conn, f->reusable);
	loop_disarm(fetch_loop(f), &f->timer);
	loop_disarm(fetch_loop(f), &f->total);
	loop_defer(fetch_loop(f), &f->task);
}

static void fetch_show_url(const struct fetch *f, char url[FETCH_LOG_URL_MAX])
{
	char shown[URL_SHOWN_MAX];

	log_escape(url, FETCH_LOG_URL_MAX, shown, f->url.len ? url_show(shown, f->url.bytes, f->url.len - 1) : 0);
}

void fetch_fail(struct fetch *f)
{
	char url[FETCH_LOG_URL_MAX];

	if (f->phase == FETCH_ENDED)
		return;
	fetch_show_url(f, url);
	log_line_of(LOG_LEVEL_INFO, &f->request.id, "fetch %s: %s%s%s", url, failure_token(f->failure.error),
	    f->failure.details[0] ? ": " : "", f->failure.details);
	stats_count(&loop_stats(fetch_loop(f))->failures[f->failure.error], 1);
	if (f->request.timing)
		f->request.timing->failure = f->failure.error;
	if (!failure_refuses(f->failure.error))     /* already counted as destinations_refused */
		stats_add(loop_stats(fetch_loop(f)),
		    f->failure.retry_after_s ? STAT_BACKOFF_REFUSALS : STAT_FETCHES_FAILED, 1);
	fetch_tell_failed(f);
	if (object_phase(f->object) == OBJECT_WAITING && f->hooks.failed &&
	    f->hooks.failed(f->hooks.arg, &f->failure, f->object))
		fetch_tell_kept(f);
	else
		object_fail(f->object, &f->failure);
	fetch_end(f);
}

void fetch_fail_lost(struct fetch *f, enum failure_kind error)
{
	conn_explain(f->conn, error, &f->failure);
	fetch_fail(f);
}

void fetch_no_memory(struct fetch *f)
{
	fetch_fail_as(f, FAILURE_PROXY_INTERNAL_ERROR, "out of memory");
}

/* How long one reader may hold up the others of a body in transit. */
enum { FETCH_STALL_MS = 1000 };

/* Before the head is complete the timer runs from the moment the request was sent, whatever trickles in; while the
 * request is being sent it runs only as long as the origin takes nothing of it. Within the body it runs from the latest
 * bytes. */
void fetch_listen(struct fetch *f)
{
	conn_want(f->conn, !f->halted, f->blocked);
	if (f->phase == FETCH_BODY)
		loop_arm(fetch_loop(f), &f->timer,
		    f->halted ? FETCH_STALL_MS : f->request.limits.between_bytes_timeout_ms);
	else if (!f->timer.queue && (f->sent || f->blocked))
		loop_arm(fetch_loop(f), &f->timer, f->request.limits.first_byte_timeout_ms);
}

void fetch_protocol_error(struct fetch *f)
{
	enum http_parse_error e = http_parser_error(f->parser);
	enum failure_kind error = FAILURE_HTTP_PROTOCOL_ERROR;

	if (e == HTTP_E_TOO_MANY_FIELDS)
		error = FAILURE_HTTP_HEADER_SIZE;
	else if (e == HTTP_E_FRAMING && f->phase == FETCH_HEAD && http_msg_has(&f->msg, H_TRANSFER_ENCODING))
		error = FAILURE_HTTP_TRANSFER_CODING;
	else if (e == HTTP_E_INCOMPLETE)
		error = f->phase == FETCH_HEAD && !f->head.len
		    ? FAILURE_CONNECTION_TERMINATED
		    : FAILURE_HTTP_RESPONSE_INCOMPLETE;
	fetch_fail_as(f, error, "%s", http_parser_reason(f->parser));
}

/* Sends the request, as far as the socket takes it. -1: the fetch has ended. */
static int fetch_send(struct fetch *f)
{
	uint64_t before = f->sender.bytes;
	enum sender_result r;

	if (f->sent)
		return 0;
	r = sender_write(&f->sender, f->conn, &f->body);
	f->blocked = r == SENDER_BLOCKED;
	if (r == SENDER_PAUSED) {
		f->more = true;
		loop_defer(fetch_loop(f), &f->task);
	}
	if (!f->blocked || f->sender.bytes > before)
		loop_disarm(fetch_loop(f), &f->timer);
	switch (r) {
	case SENDER_DONE:
	case SENDER_LOST:      /* an origin may answer and close without reading: its answer is still to be read */
		f->sent = true;
		return 0;
	case SENDER_CUT:
		fetch_fail_as(f, FAILURE_REQUEST_INCOMPLETE, "the client's request ended too early");
		return -1;
	default:
		return 0;
	}
}

static void fetch_on_conn(void *arg, enum conn_event event)
{
	struct fetch *f = arg;

	if (f->phase == FETCH_ENDED)
		return;
	if (event == CONN_WRITABLE) {
		if (fetch_send(f))
			return;
	} else if ((f->phase == FETCH_HEAD && fetch_read_head(f)) || (f->phase == FETCH_BODY && fetch_read_body(f)))
		return;
	fetch_listen(f);
}

static void fetch_on_ready(void *arg, struct conn *conn, bool reused, const struct failure *failure)
{
	struct fetch *f = arg;

	if (!conn) {
		f->failure = *failure;
		fetch_fail(f);
		return;
	}
	f->conn = conn;
	f->reused = reused;
	conn_set_owner(conn, fetch_on_conn, f);
	if (fetch_may_ask(f) == BACKOFF_WAIT) {        /* a pause began while it connected, or waited for that */
		f->reusable = true;
		fetch_fail(f);
		return;
	}
	fetch_enter(f, FETCH_HEAD);
	if (f->request.timing)                 /* an address as text takes time to make */
		fetch_timing_address(f->request.timing, conn_peer(conn));
	fetch_timing_begin(f->request.timing, STAGE_ORIGIN, fetch_loop(f));
	log_step(&f->request.id, "fetch: connected to %s%s", conn_peer(conn), reused ? ", open before" : "");
	stats_add(loop_stats(fetch_loop(f)), STAT_FETCHES, 1);
	stats_add(loop_stats(fetch_loop(f)), STAT_CONNECTIONS_REUSED, reused);
	if (!fetch_send(f))
		fetch_listen(f);
}

bool fetch_asks_parent(const struct fetch *f)
{
	return parent_reads(f->parent, f->request.to.tls);
}

static void fetch_make_head(struct fetch *f)
{
	const struct fetch_request *r = &f->request;
	bool absolute = fetch_asks_parent(f);
	struct text *t = &f->request_head;

	text_empty(t);
	text_puts(t, r->method);
	text_puts(t, " ");
	if (absolute)
		text_add(t, f->url.bytes, f->url.len - 1);
	else
		text_add(t, r->to.path, r->to.path_len);
	text_puts(t, " HTTP/1.1\r\nHost: ");
	text_puts(t, r->to.authority);
	text_puts(t, "\r\n");
	if (absolute)
		parent_add_credentials(t, f->parent);
	text_add(t, r->fields, r->fields_len);
	cookie_jar_write(f->jar, t, &r->to);
	if (!f->private_gone)
		text_add(t, r->private_fields, r->private_len);
	if (f->conditional)
		text_add(t, r->conditional, r->conditional_len);
}

/* Whether the request carries the validators. They belong to the response of one URL: sent to another one, to which
 * redirects now lead, they would be compared with something else; so they would beside cookies, without which the
 * stored response came. */
static bool fetch_is_conditional(const struct fetch *f)
{
	const struct fetch_request *r = &f->request;

	return r->conditional && !f->cookies &&
	    (r->conditional_url ? !strcmp(f->url.bytes, r->conditional_url) : !f->trail.n);
}

void fetch_make_url(struct fetch *f)
{
	text_empty(&f->url);
	destination_url(&f->url, &f->request.to);
	text_add(&f->url, "", 1);
}

/* Whether the request may go out again: its method is idempotent (RFC 9110 section 9.2.2), and it has no body. */
static bool fetch_repeatable(const struct fetch *f)
{
	static const char *const idempotent[] = { "GET", "HEAD", "PUT", "DELETE", "OPTIONS" };

	for (size_t i = 0; i < sizeof idempotent / sizeof *idempotent; i++)
		if (!strcmp(f->request.method, idempotent[i]))
			return !f->body.object;
	return false;
}

void fetch_start_parser(struct fetch *f)
{
	http_parser_start(f->parser, &f->msg, !strcmp(f->request.method, "HEAD"));
}

static void fetch_tell_begin(const struct fetch *f)
{
	char url[FETCH_LOG_URL_MAX];

	if (!log_is(LOG_LEVEL_DEBUG))
		return;
	fetch_show_url(f, url);
	log_step(&f->request.id, "fetch: %s %s%s%s%s", f->request.method, url, f->conditional ? " with validators" : "",
	    f->parent ? " through the parent proxy " : "", f->parent ? f->parent->host : "");
}

/* A request that cannot be repeated never goes out on a connection that was idle and may be dead. */
static void fetch_lease(struct fetch *f)
{
	const struct fetch_request *r = &f->request;
	struct dial_target target = { .host = r->to.host, .port = r->to.port, .tls = r->to.tls ? r->tls : NULL,
		.guard = r->guard,
		.parent = f->parent, .connect_timeout_ms = r->limits.connect_timeout_ms,
		.generation = r->settings->generation, .id = r->id, .timing = r->timing };
	const struct lease_terms terms = { r->limits.max_connections, r->limits.queue_timeout_ms,
		f->retried || f->elsewhere || !fetch_repeatable(f) };

	if (!(f->lease = pool_lease(f->pool->connections, &target, &terms, fetch_on_ready, f)))
		fetch_no_memory(f);
}

static void fetch_ask(struct fetch *f)
{
	const struct fetch_request *r = &f->request;

	f->parent = parent_choose(&r->parents, &r->to);
	f->cookies |= cookie_jar_has(f->jar, &r->to);
	f->conditional = !f->url.failed && fetch_is_conditional(f);
	if (!f->url.failed)
		fetch_make_head(f);
	if (f->url.failed || f->request_head.failed) {
		fetch_no_memory(f);
		return;
	}
	fetch_tell_begin(f);
	sender_begin_request(&f->sender, f->request_head.bytes, f->request_head.len, f->body.object, r->body_length);
	fetch_enter(f, FETCH_CONNECT);
	f->sent = f->blocked = f->reusable = false;
	f->interims = 0;
	text_empty(&f->head);
	f->received = 0;
	loop_disarm(fetch_loop(f), &f->timer);
	fetch_start_parser(f);
	switch (fetch_may_ask(f)) {
	case BACKOFF_GO:
		fetch_lease(f);
		break;
	case BACKOFF_SOON:
		loop_arm(fetch_loop(f), &f->timer, f->asked.soon_ms);
		break;
	case BACKOFF_WAIT:
		fetch_fail(f);
	}
}

void fetch_connect(struct fetch *f)
{
	fetch_make_url(f);
	if (!fetch_follow_known(f))
		fetch_ask(f);
}

/* The origin may have closed a connection that was idle while the request was on its way. RFC 9112 section 9.3.1 lets
 * the request be tried again, once, if no byte came back. Only repeatable requests are sent on such a connection. */
bool fetch_retry(struct fetch *f)
{
	if (!f->reused || f->retried || f->head.len || f->interims)
		return false;
	f->retried = true;
	if (f->request.timing)
		f->request.timing->retries++;
	lease_end(&f->lease, &f->conn, false);
	stats_add(loop_stats(fetch_loop(f)), STAT_FETCHES_RETRIED, 1);
	log_step(&f->request.id, "fetch: retried, the connection that was open before is dead");
	fetch_connect(f);
	return true;
}

bool fetch_asks_elsewhere(struct fetch *f)
{
	if ((f->msg.status != 408 && f->msg.status != 421) || f->elsewhere || !f->request.elsewhere ||
	    !fetch_repeatable(f))
		return false;
	f->elsewhere = true;
	if (f->request.timing)
		f->request.timing->retries++;
	lease_end(&f->lease, &f->conn, false);
	stats_add(loop_stats(fetch_loop(f)), STAT_FETCHES_RETRIED, 1);
	log_step(&f->request.id, "fetch: retried, status %u speaks of the connection", f->msg.status);
	fetch_connect(f);
	return true;
}

static void fetch_on_timeout(struct timer *t)
{
	struct fetch *f = container_of(t, struct fetch, timer);

	if (f->phase == FETCH_CONNECT) {           /* its host may be asked now */
		fetch_lease(f);
		return;
	}
	if (f->phase == FETCH_BODY && f->halted) {
		loop_arm(fetch_loop(f), &f->timer, FETCH_STALL_MS);
		if (!f->yields)            /* the transform itself takes so long where it yields; no reader does */
			object_expel_slow(f->object);
		return;
	}
	if (f->phase == FETCH_HEAD && f->blocked)
		fetch_fail_as(f, FAILURE_CONNECTION_WRITE_TIMEOUT, "%llu bytes of the request sent",
		    (unsigned long long)f->sender.bytes);
	else if (f->phase == FETCH_HEAD)
		fetch_fail_as(f, FAILURE_HTTP_RESPONSE_TIMEOUT, "no response header within %llu ms",
		    (unsigned long long)f->request.limits.first_byte_timeout_ms);
	else
		fetch_fail_as(f, FAILURE_CONNECTION_READ_TIMEOUT, "silent for %llu ms",
		    (unsigned long long)f->request.limits.between_bytes_timeout_ms);
}

static void fetch_on_total(struct timer *t)
{
	struct fetch *f = container_of(t, struct fetch, total);

	fetch_fail_as(f, f->phase == FETCH_BODY ? FAILURE_CONNECTION_READ_TIMEOUT : FAILURE_HTTP_RESPONSE_TIMEOUT,
	    "not complete within %llu ms", (unsigned long long)f->request.limits.total_timeout_ms);
}

/* A request may be about to join the object that nobody fills any more: it is told that the fetch was abandoned, and
 * asks for itself. */
void fetch_abandon(struct fetch *f)
{
	stats_add(loop_stats(fetch_loop(f)), STAT_FETCHES_ABANDONED, 1);
	log_step(&f->request.id, "fetch: abandoned after %llu bytes", (unsigned long long)f->received);
	failure_set(&f->failure, FAILURE_ABANDONED, "nobody waited");
	fetch_end_hooks(f);
	object_fail(f->object, &f->failure);
	fetch_end(f);
}

static void fetch_look_for_readers(struct fetch *f)
{
	f->left = false;
	if (object_readers(f->object))
		fetch_leave_alone(f);
	else if (!fetch_goes_on_alone(f))
		fetch_abandon(f);
}

static void fetch_on_task(struct task *t)
{
	struct fetch *f = container_of(t, struct fetch, task);
	bool more;

	if (f->left && f->phase != FETCH_ENDED)
		fetch_look_for_readers(f);
	if (f->phase == FETCH_ENDED) {
		fetch_free(f);
		return;
	}
	more = f->more;
	f->more = false;
	if (more && f->conn && !f->blocked && f->phase != FETCH_CONNECT && !fetch_send(f))
		fetch_listen(f);
	if (f->phase != FETCH_ENDED && f->room) {
		f->room = false;
		fetch_go_on(f);
	}
}

static void fetch_on_more(struct object_reader *r)
{
	struct fetch *f = container_of(r, struct fetch, body);

	f->more = true;
	loop_wake(fetch_loop(f), &f->task);
}

static void fetch_on_room(struct object_writer *w)
{
	struct fetch *f = container_of(w, struct fetch, writer);

	f->room = true;
	loop_wake(fetch_loop(f), &f->task);
}

void fetch_on_abandoned(struct object_writer *w)
{
	struct fetch *f = container_of(w, struct fetch, writer);

	f->left = true;
	loop_wake(fetch_loop(f), &f->task);
}

void fetch_request_free(struct fetch_request *r)
{
	destination_free(&r->to);
	free(r->fields);
	free(r->private_fields);
	free(r->conditional);
	free(r->conditional_url);
	free(r->gateway);
	r->fields = r->private_fields = r->conditional = r->conditional_url = r->gateway = NULL;
	settings_unref(&r->settings);
	fetch_timing_unref(&r->timing);
}

int fetch_start(struct fetch_pool *p, const struct fetch_request *request, struct object *o)
{
	struct fetch *f = fetch_new(p, request->limits.max_header_fields);

	if (!f)
		return -1;
	LIST_INSERT_HEAD(&p->fetches, f, link);
	f->pool = p;
	f->timer.fire = fetch_on_timeout;
	f->total.fire = fetch_on_total;
	f->alone_timer.fire = fetch_on_alone_timeout;
	f->task.run = fetch_on_task;
	f->writer = (struct object_writer){ fetch_on_room, fetch_on_abandoned };
	f->request = *request;
	f->request.body = NULL;
	if (request->hooks)
		f->hooks = *request->hooks;
	f->body.wake = fetch_on_more;
	if (request->body)
		object_attach(request->body, &f->body);
	f->object = object_ref(o);
	object_set_writer(o, &f->writer);
	loop_arm(p->loop, &f->total, request->limits.total_timeout_ms);
	redirect_upgrade(&f->request.to, &f->request.redirects);
	fetch_connect(f);
	return 0;
}
