/* One request to an origin; see fetch.h. */
#include "proxy/origin/fetch.h"

#include <assert.h>

#include "proxy/base/container_of.h"
#include "proxy/base/log.h"
#include "proxy/base/url_secrets.h"
#include "proxy/origin/fetch_internal.h"
#include "proxy/origin/fetch_timing.h"

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

void fetch_set_sending(struct fetch *f, enum fetch_sending sending)
{
	fetch_set(f, f->phase, sending, f->flow);
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
	if (f->held)
		fetch_drop_held(f);
	fetch_leave_pace(f);
	fetch_tell_left(f);
	transform_free(&f->transform);
	lease_end(&f->lease, &f->conn, false);
	loop_disarm(fetch_loop(f), &f->timer);
	loop_disarm(fetch_loop(f), &f->total);
	loop_defer(fetch_loop(f), &f->task);
}

void fetch_show_url(const struct fetch *f, char url[FETCH_LOG_URL_MAX])
{
	char shown[URL_SHOWN_MAX];

	log_escape(url, FETCH_LOG_URL_MAX, shown, f->url.len ? url_show(shown, f->url.bytes, f->url.len - 1) : 0);
}

void fetch_fail(struct fetch *f)
{
	char url[FETCH_LOG_URL_MAX];

	if (f->phase == FETCH_ENDED || fetch_has_held(f))
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
	    f->hooks.failed(f->hooks.arg, &f->failure, f->failure.error == FAILURE_UNASKED ? f->msg.status : 0,
	        f->object))
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

/* While the request is being sent the timer runs only as long as the origin takes nothing of it. Before the head is
 * complete it runs from the moment the request was sent, whatever trickles in. Within the body it runs from the latest
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
	lease_doubt(f->lease, f->conn);
	if (f->phase == FETCH_HEAD && fetch_may_fall_back(f))
		fetch_learn_failed(f);
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

/* Ends the fetch without a response. The requests that read its object, or are about to join it, learn that nobody
 * fills it, and ask for themselves. */
void fetch_spare(struct fetch *f)
{
	failure_set(&f->failure, FAILURE_ABANDONED, "nobody waited");
	fetch_end_hooks(f);
	object_fail(f->object, &f->failure);
	fetch_end(f);
}

void fetch_abandon(struct fetch *f)
{
	stats_add(loop_stats(fetch_loop(f)), STAT_FETCHES_ABANDONED, 1);
	log_step(&f->request.id, "fetch: abandoned after %llu bytes", (unsigned long long)f->received);
	fetch_spare(f);
}

void fetch_answered(struct fetch *f)
{
	fetch_end(f);
}

static void fetch_on_task(struct task *task)
{
	struct fetch *f = container_of(task, struct fetch, task);
	unsigned notes = atomic_exchange(&f->notes, 0);

	if (notes & NOTE_LEFT && f->phase != FETCH_ENDED) {
		if (object_readers(f->object))
			fetch_leave_alone(f);
		else if (!fetch_goes_on_alone(f))
			fetch_abandon(f);
	}
	if (f->phase == FETCH_ENDED) {
		fetch_free(f);
		return;
	}
	if (notes & NOTE_HELD) {
		fetch_take_held(f);
		return;
	}
	if (notes & NOTE_MORE && f->conn && f->sending == SENDING_OPEN && f->phase != FETCH_CONNECT && fetch_send(f))
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

static void fetch_on_room(struct object_writer *writer)
{
	fetch_wake(container_of(writer, struct fetch, writer), NOTE_ROOM);
}

void fetch_on_abandoned(struct object_writer *writer)
{
	fetch_wake(container_of(writer, struct fetch, writer), NOTE_LEFT);
}

void fetch_begin(struct fetch *f)
{
	loop_arm(fetch_loop(f), &f->total, f->request.limits.total_timeout_ms);
	fetch_connect(f);
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
	redirect_upgrade(&f->request.to, &f->request.redirects);
	fetch_make_url(f);
	if (!f->hooks.waits || !f->hooks.waits(f->hooks.arg, f))
		fetch_begin(f);
	return 0;
}
