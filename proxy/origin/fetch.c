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

/* Bits of the phases that may follow each phase, and of the other states that exist in it. A retry, a redirect and a
 * request without validators begin anew. */
#define TO(phase) (1u << FETCH_##phase)
#define ANY (~0u)
static const struct { unsigned next, sending, flow; } fetch_states[] = {
	[FETCH_CONNECT] = { TO(CONNECT) | TO(HEAD) | TO(ENDED), 1u << SENDING_OPEN, 1u << FLOW_READS },
	[FETCH_HEAD] = { TO(CONNECT) | TO(BODY) | TO(ENDED), ANY, 1u << FLOW_READS },
	[FETCH_BODY] = { TO(REST) | TO(ENDED), ANY, ANY },
	[FETCH_REST] = { TO(ENDED), ANY, ANY },
	[FETCH_ENDED] = { 0, ANY, ANY },
};

static void fetch_set(struct fetch *f, enum fetch_phase phase, enum fetch_sending sending, enum fetch_flow flow)
{
	assert(phase == f->phase || fetch_states[f->phase].next >> phase & 1);
	assert(fetch_states[phase].sending >> sending & 1 && fetch_states[phase].flow >> flow & 1);
	f->phase = phase;
	f->sending = sending;
	f->flow = flow;
}

void fetch_enter(struct fetch *f, enum fetch_phase phase)
{
	fetch_set(f, phase, phase == FETCH_CONNECT ? SENDING_OPEN : f->sending, f->flow);
}

void fetch_set_flow(struct fetch *f, enum fetch_flow flow)
{
	fetch_set(f, f->phase, f->sending, flow);
}

void fetch_end(struct fetch *f)
{
	fetch_enter(f, FETCH_ENDED);
	fetch_end_hooks(f);
	fetch_leave_alone(f);
	fetch_tell_left(f);
	transform_free(&f->transform);
	lease_end(&f->lease, &f->conn, false);
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
	conn_want(f->conn, f->flow == FLOW_READS, f->sending == SENDING_BLOCKED);
	if (f->phase == FETCH_BODY)
		loop_arm(fetch_loop(f), &f->timer,
		    f->flow != FLOW_READS ? FETCH_STALL_MS : f->request.limits.between_bytes_timeout_ms);
	else if (!f->timer.queue && f->sending != SENDING_OPEN)
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

void fetch_defer(struct fetch *f, enum fetch_note note)
{
	atomic_fetch_or(&f->notes, note);
	loop_defer(fetch_loop(f), &f->task);
}

/* Sends the request, as far as the socket takes it. -1: the fetch has ended. */
static int fetch_send(struct fetch *f)
{
	static const enum fetch_sending sendings[] = {
		[SENDER_DONE] = SENDING_DONE,
		/* an origin may answer and close without reading: its answer is still to be read */
		[SENDER_LOST] = SENDING_DONE,
		[SENDER_BLOCKED] = SENDING_BLOCKED,
		[SENDER_WAIT] = SENDING_OPEN, [SENDER_PAUSED] = SENDING_OPEN, [SENDER_CUT] = SENDING_OPEN,
	};
	uint64_t before = f->sender.bytes;
	enum sender_result r;

	if (f->sending == SENDING_DONE)
		return 0;
	r = sender_write(&f->sender, f->conn, &f->body);
	fetch_set(f, f->phase, sendings[r], f->flow);
	if (r == SENDER_PAUSED)
		fetch_defer(f, NOTE_MORE);
	if (r != SENDER_BLOCKED || f->sender.bytes > before)
		loop_disarm(fetch_loop(f), &f->timer);
	if (r != SENDER_CUT)
		return 0;
	fetch_fail_as(f, FAILURE_REQUEST_INCOMPLETE, "the client's request ended too early");
	return -1;
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
		lease_end(&f->lease, &f->conn, true);
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
	const struct fetch_request *request = &f->request;
	bool absolute = fetch_asks_parent(f);
	struct text *text = &f->request_head;

	text_empty(text);
	text_puts(text, request->method);
	text_puts(text, " ");
	if (absolute)
		text_add(text, f->url.bytes, f->url.len - 1);
	else
		text_add(text, request->to.path, request->to.path_len);
	text_puts(text, " HTTP/1.1\r\nHost: ");
	text_puts(text, request->to.authority);
	text_puts(text, "\r\n");
	if (absolute)
		parent_add_credentials(text, f->parent);
	text_add(text, request->fields, request->fields_len);
	cookie_jar_write(f->jar, text, &request->to);
	text_add(text, request->private_fields, request->private_len);
	if (fetch_is_conditional(f))
		text_add(text, request->conditional, request->conditional_len);
}

/* The validators belong to the response of one URL, which came without cookies. Another URL, to which redirects now
 * lead, or one that gets cookies, would compare them with something else. */
bool fetch_is_conditional(const struct fetch *f)
{
	const struct fetch_request *request = &f->request;

	return request->conditional && !f->cookies &&
	    (request->conditional_url ? !strcmp(f->url.bytes, request->conditional_url) : f->trail.n < 2);
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
	log_step(&f->request.id, "fetch: %s %s%s%s%s", f->request.method, url,
	    fetch_is_conditional(f) ? " with validators" : "",
	    f->parent ? " through the parent proxy " : "", f->parent ? f->parent->host : "");
}

/* A request that cannot be repeated never goes out on a connection that was idle and may be dead. */
static void fetch_lease(struct fetch *f)
{
	const struct fetch_request *request = &f->request;
	struct dial_target target = { .host = request->to.host, .port = request->to.port,
		.tls = request->to.tls ? request->tls : NULL, .guard = request->guard,
		.parent = f->parent, .connect_timeout_ms = request->limits.connect_timeout_ms,
		.generation = request->settings->generation, .id = request->id, .timing = request->timing };
	const struct lease_terms terms = { request->limits.max_connections, request->limits.queue_timeout_ms,
		f->tried & (AGAIN_DEAD | AGAIN_ELSEWHERE) || !fetch_repeatable(f) };

	if (!(f->lease = pool_lease(f->pool->connections, &target, &terms, fetch_on_ready, f)))
		fetch_no_memory(f);
}

static void fetch_ask(struct fetch *f)
{
	const struct fetch_request *request = &f->request;

	f->parent = parent_choose(&request->parents, &request->to);
	f->cookies |= cookie_jar_has(f->jar, &request->to);
	if (!f->url.failed)
		fetch_make_head(f);
	if (f->url.failed || f->request_head.failed) {
		fetch_no_memory(f);
		return;
	}
	fetch_tell_begin(f);
	sender_begin_request(&f->sender, f->request_head.bytes, f->request_head.len, f->body.object,
	    request->body_length);
	fetch_enter(f, FETCH_CONNECT);
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

static void fetch_retry(struct fetch *f, enum fetch_again why)
{
	f->tried |= why;
	if (f->request.timing)
		f->request.timing->retries++;
	lease_end(&f->lease, &f->conn, false);
	stats_add(loop_stats(fetch_loop(f)), STAT_FETCHES_RETRIED, 1);
	fetch_connect(f);
}

/* The origin may have closed a connection that was idle while the request was on its way. RFC 9112 section 9.3.1 lets
 * the request be tried again, once, if no byte came back. Only repeatable requests are sent on such a connection. */
bool fetch_asks_again(struct fetch *f)
{
	if (!f->reused || f->tried & AGAIN_DEAD || f->head.len || f->interims)
		return false;
	log_step(&f->request.id, "fetch: retried, the connection that was open before is dead");
	fetch_retry(f, AGAIN_DEAD);
	return true;
}

bool fetch_asks_elsewhere(struct fetch *f)
{
	if ((f->msg.status != 408 && f->msg.status != 421) || f->tried & AGAIN_ELSEWHERE || !f->request.elsewhere ||
	    !fetch_repeatable(f))
		return false;
	log_step(&f->request.id, "fetch: retried, status %u speaks of the connection", f->msg.status);
	fetch_retry(f, AGAIN_ELSEWHERE);
	return true;
}

static void fetch_on_timeout(struct timer *timer)
{
	struct fetch *f = container_of(timer, struct fetch, timer);

	if (f->phase == FETCH_CONNECT) {           /* its host may be asked now */
		fetch_lease(f);
		return;
	}
	if (f->flow != FLOW_READS) {
		loop_arm(fetch_loop(f), &f->timer, FETCH_STALL_MS);
		if (f->flow == FLOW_WAITS_FOR_ROOM)
			object_expel_slow(f->object);
		return;
	}
	if (f->phase == FETCH_HEAD && f->sending == SENDING_BLOCKED)
		fetch_fail_as(f, FAILURE_CONNECTION_WRITE_TIMEOUT, "%llu bytes of the request sent",
		    (unsigned long long)f->sender.bytes);
	else if (f->phase == FETCH_HEAD)
		fetch_fail_as(f, FAILURE_HTTP_RESPONSE_TIMEOUT, "no response header within %llu ms",
		    (unsigned long long)f->request.limits.first_byte_timeout_ms);
	else
		fetch_fail_as(f, FAILURE_CONNECTION_READ_TIMEOUT, "silent for %llu ms",
		    (unsigned long long)f->request.limits.between_bytes_timeout_ms);
}

static void fetch_on_total(struct timer *timer)
{
	struct fetch *f = container_of(timer, struct fetch, total);

	fetch_fail_as(f, f->phase >= FETCH_BODY ? FAILURE_CONNECTION_READ_TIMEOUT : FAILURE_HTTP_RESPONSE_TIMEOUT,
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
	if (object_readers(f->object))
		fetch_leave_alone(f);
	else if (!fetch_goes_on_alone(f))
		fetch_abandon(f);
}

static void fetch_on_task(struct task *task)
{
	struct fetch *f = container_of(task, struct fetch, task);
	unsigned notes = atomic_exchange(&f->notes, 0);

	if (notes & NOTE_LEFT && f->phase != FETCH_ENDED)
		fetch_look_for_readers(f);
	if (f->phase == FETCH_ENDED) {
		fetch_free(f);
		return;
	}
	if (notes & NOTE_MORE && f->conn && f->sending == SENDING_OPEN && f->phase != FETCH_CONNECT && !fetch_send(f))
		fetch_listen(f);
	if (notes & NOTE_ROOM && f->phase != FETCH_ENDED)
		fetch_go_on(f);
}

static void fetch_wake(struct fetch *f, enum fetch_note note)
{
	atomic_fetch_or(&f->notes, note);
	loop_wake(fetch_loop(f), &f->task);
}

static void fetch_on_more(struct object_reader *r)
{
	fetch_wake(container_of(r, struct fetch, body), NOTE_MORE);
}

static void fetch_on_room(struct object_writer *w)
{
	fetch_wake(container_of(w, struct fetch, writer), NOTE_ROOM);
}

void fetch_on_abandoned(struct object_writer *w)
{
	fetch_wake(container_of(w, struct fetch, writer), NOTE_LEFT);
}

void fetch_request_free(struct fetch_request *request)
{
	destination_free(&request->to);
	free(request->fields);
	free(request->private_fields);
	free(request->conditional);
	free(request->conditional_url);
	free(request->gateway);
	request->fields = request->private_fields = request->gateway = NULL;
	request->conditional = request->conditional_url = NULL;
	settings_unref(&request->settings);
	fetch_timing_unref(&request->timing);
}

int fetch_start(struct fetch_pool *pool, const struct fetch_request *request, struct object *o)
{
	struct fetch *f = fetch_new(pool, request->limits.max_header_fields);

	if (!f)
		return -1;
	LIST_INSERT_HEAD(&pool->fetches, f, link);
	f->pool = pool;
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
	loop_arm(pool->loop, &f->total, request->limits.total_timeout_ms);
	redirect_upgrade(&f->request.to, &f->request.redirects);
	fetch_connect(f);
	return 0;
}
