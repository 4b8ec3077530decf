/* One request to an origin; see fetch.h. */
#include "fetch.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "http_parse.h"
#include "log.h"
#include "loop.h"
#include "owner.h"
#include "polite.h"
#include "pool.h"
#include "sender.h"

enum fetch_phase { FETCH_CONNECT, FETCH_HEAD, FETCH_BODY, FETCH_ENDED };

enum { FETCH_HEAD_FIRST_BYTES = 4096, FETCH_READS_PER_EVENT = 4, FETCH_INTERIMS_MAX = 16, FETCH_LOG_URL_MAX = 512 };

struct fetch {
	LIST_ENTRY(fetch) link;
	struct fetch_pool *pool;
	enum fetch_phase phase;
	bool blocked;                  /* the socket took no more of the request */
	bool paused;                   /* the object is full: reading stopped, held not empty or the decoder has output */
	bool complete;                 /* the message ended; what is held still has to go through */
	bool sent;                     /* the request is out, all of it */
	bool reusable;                 /* complete, and the connection is between messages */
	bool reused;                   /* the connection was idle before: it may have been dead */
	bool retried;
	bool private_gone;             /* a redirect led to another origin */
	atomic_bool room, left, more;  /* noted for the task: the object has room again; its last reader left; request body came */
	struct object *object;
	struct object_writer writer;
	struct object_reader body;     /* of the request's body; its object NULL: none */
	struct lease *lease;
	struct conn *conn;
	struct http_parser *parser;
	struct http_msg msg;
	struct stage *stage;
	struct fetch_request request;
	struct fetch_hooks hooks;
	struct redirect_trail trail;
	char *url;                     /* where it goes now */
	char *request_head;
	struct sender sender;
	int interims;                  /* 1xx responses so far */
	char *head;                    /* the response head as read, and what came with it */
	size_t head_len, head_cap;
	uint8_t *held;                 /* body bytes that found no room */
	size_t held_len, held_at;
	struct timer timer, total;
	struct task task;
	struct proxy_failure failure;
};

struct fetch_pool {
	struct loop *loop;
	struct pool *connections;
	struct polite *polite;
	LIST_HEAD(, fetch) fetches;
};

static void fetch_connect(struct fetch *f);
static bool fetch_retry(struct fetch *f);
static void fetch_on_abandoned(struct object_writer *w);

struct fetch_pool *fetch_pool_new(struct loop *l, struct pool *connections, struct polite *polite)
{
	struct fetch_pool *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->loop = l;
	p->connections = connections;
	p->polite = polite;
	LIST_INIT(&p->fetches);
	return p;
}

/* Before the object's reference goes: the hooks may still tell others that nobody can join it any more. */
static void fetch_end_hooks(struct fetch *f)
{
	struct fetch_hooks hooks = f->hooks;

	f->hooks = (struct fetch_hooks){ 0 };
	if (hooks.end)
		hooks.end(hooks.arg);
}

static void fetch_free(struct fetch *f)
{
	fetch_end_hooks(f);
	LIST_REMOVE(f, link);
	loop_disarm(f->pool->loop, &f->timer);
	loop_disarm(f->pool->loop, &f->total);
	loop_undefer(f->pool->loop, &f->task);
	lease_end(&f->lease, &f->conn, false);
	object_detach(&f->body);
	if (f->object)
		object_set_writer(f->object, NULL);
	object_unref(&f->object);
	stage_free(&f->stage);
	http_parser_free(&f->parser);
	http_msg_free(&f->msg);
	redirect_trail_free(&f->trail);
	destination_free(&f->request.to);
	free(f->request.fields);
	free(f->request.private_fields);
	free(f->request_head);
	free(f->url);
	free(f->head);
	free(f->held);
	free(f);
}

void fetch_pool_free(struct fetch_pool **pp)
{
	if (!*pp)
		return;
	while (!LIST_EMPTY(&(*pp)->fetches))
		fetch_free(LIST_FIRST(&(*pp)->fetches));
	free(*pp);
	*pp = NULL;
}

static struct loop *fetch_loop(struct fetch *f)
{
	return f->pool->loop;
}

/* The one way out: no more events, the memory goes at the end of the turn. */
static void fetch_end(struct fetch *f)
{
	f->phase = FETCH_ENDED;
	fetch_end_hooks(f);
	lease_end(&f->lease, &f->conn, f->reusable);
	loop_disarm(fetch_loop(f), &f->timer);
	loop_disarm(fetch_loop(f), &f->total);
	loop_defer(fetch_loop(f), &f->task);
}

static void fetch_fail(struct fetch *f)
{
	char url[FETCH_LOG_URL_MAX];

	if (f->phase == FETCH_ENDED)
		return;
	log_escape(url, sizeof url, f->url ? f->url : "", f->url ? strlen(f->url) : 0);
	log_info("fetch %s: %s%s%s", url, proxy_error_token(f->failure.error), f->failure.details[0] ? ": " : "",
	    f->failure.details);
	stats_add(loop_stats(fetch_loop(f)), f->failure.retry_after_s ? STAT_POLITE_REFUSALS : STAT_FETCHES_FAILED, 1);
	if (object_phase(f->object) != OBJECT_WAITING || !f->hooks.failed ||
	    !f->hooks.failed(f->hooks.arg, &f->failure, f->object))
		object_fail(f->object, &f->failure);
	fetch_end(f);
}

#define fetch_fail_as(f, ...) (proxy_failure_set(&(f)->failure, __VA_ARGS__), fetch_fail(f))

/* The connection failed: as TLS explains it, else as error. */
static void fetch_fail_lost(struct fetch *f, enum proxy_error error)
{
	conn_explain(f->conn, error, &f->failure);
	fetch_fail(f);
}

static void fetch_no_memory(struct fetch *f)
{
	fetch_fail_as(f, PROXY_ERROR_PROXY_INTERNAL_ERROR, "out of memory");
}

/* Until the head is there the timer runs from the request sent, whatever trickles in, before that only while the origin takes
 * nothing of it; within the body from the latest bytes. */
static void fetch_listen(struct fetch *f)
{
	conn_want(f->conn, !f->paused, f->blocked);
	if (f->phase == FETCH_BODY)
		loop_arm(fetch_loop(f), &f->timer, f->paused ? 0 : f->request.limits.between_bytes_timeout_ms);
	else if (!f->timer.queue && (f->sent || f->blocked))
		loop_arm(fetch_loop(f), &f->timer, f->request.limits.first_byte_timeout_ms);
}

/* Everything was read and went through the stages. */
static void fetch_finish(struct fetch *f)
{
	if (stage_finish(f->stage, &f->failure) == STAGE_FAILED) {
		fetch_fail(f);
		return;
	}
	if (f->hooks.done)
		f->hooks.done(f->hooks.arg, f->object);
	fetch_end(f);
}

/* -1: the fetch has ended. */
static int fetch_take(struct fetch *f, const uint8_t *in, size_t len, size_t *used)
{
	switch (stage_feed(f->stage, in, len, used, &f->failure)) {
	case STAGE_OK:
		f->paused = false;
		return 0;
	case STAGE_FULL:
		f->paused = true;
		return 0;
	default:
		fetch_fail(f);
		return -1;
	}
}

static int fetch_on_body(void *arg, const char *at, size_t len)
{
	struct fetch *f = arg;
	size_t used = 0;
	uint8_t *held;

	stats_add(loop_stats(fetch_loop(f)), STAT_BYTES_FROM_ORIGINS, len);
	if (!f->stage)
		return 0;
	if (!f->paused && fetch_take(f, (const uint8_t *)at, len, &used))
		return -1;
	if (used == len)
		return 0;
	/* At most what one read brought: reading stops until it went through. */
	if (!(held = realloc(f->held, f->held_len + len - used))) {
		fetch_no_memory(f);
		return -1;
	}
	memcpy(held + f->held_len, at + used, len - used);
	f->held = held;
	f->held_len += len - used;
	return 0;
}

/* The object has room: first what is held, then the socket again. */
static void fetch_go_on(struct fetch *f)
{
	size_t used;

	if (!f->paused)
		return;
	if (fetch_take(f, f->held + f->held_at, f->held_len - f->held_at, &used))
		return;
	f->held_at += used;
	if (f->paused)
		return;
	free(f->held);
	f->held = NULL;
	f->held_len = f->held_at = 0;
	if (f->complete)
		fetch_finish(f);
	else
		fetch_listen(f);
}

static void fetch_protocol_error(struct fetch *f)
{
	enum http_parse_error e = http_parser_error(f->parser);
	enum proxy_error error = PROXY_ERROR_HTTP_PROTOCOL_ERROR;

	if (e == HTTP_E_TOO_MANY_FIELDS)
		error = PROXY_ERROR_HTTP_HEADER_SIZE;
	else if (e == HTTP_E_FRAMING && f->phase == FETCH_HEAD && http_msg_count(&f->msg, H_TRANSFER_ENCODING))
		error = PROXY_ERROR_HTTP_TRANSFER_CODING;
	else if (e == HTTP_E_INCOMPLETE)
		error = f->phase == FETCH_HEAD && !f->head_len ? PROXY_ERROR_CONNECTION_TERMINATED : PROXY_ERROR_HTTP_RESPONSE_INCOMPLETE;
	fetch_fail_as(f, error, "%s", http_parser_reason(f->parser));
}

/* Feeds body bytes to the parser. -1: the fetch has ended. */
static int fetch_parse_body(struct fetch *f, const char *data, size_t len)
{
	size_t used;

	switch (http_parse(f->parser, data, len, &used)) {
	case PARSE_MORE:
		return 0;
	case PARSE_DONE:
		f->complete = true;
		f->reusable = f->msg.keep_alive && used == len && f->sent;
		if (!f->paused)
			fetch_finish(f);
		else {
			lease_end(&f->lease, &f->conn, f->reusable);
			loop_disarm(fetch_loop(f), &f->timer);
		}
		return -1;
	default:
		if (f->phase != FETCH_ENDED)
			fetch_protocol_error(f);
		return -1;
	}
}

static int fetch_read_body(struct fetch *f)
{
	for (int i = 0; i < FETCH_READS_PER_EVENT && !f->paused; i++) {
		uint8_t *buf = loop_scratch(fetch_loop(f));
		ssize_t n = conn_read(f->conn, buf, LOOP_SCRATCH_BYTES);

		if (n == CONN_AGAIN)
			break;
		if (n == CONN_FAILED) {
			fetch_fail_lost(f, PROXY_ERROR_HTTP_RESPONSE_INCOMPLETE);
			return -1;
		}
		if (n == CONN_EOF) {
			if (http_parse_eof(f->parser) == PARSE_DONE) {
				f->complete = true;
				fetch_finish(f);
			} else
				fetch_protocol_error(f);
			return -1;
		}
		if (fetch_parse_body(f, (char *)buf, (size_t)n))
			return -1;
		if (n < LOOP_SCRATCH_BYTES / 4)
			break;
	}
	return 0;
}

/* The body of this response is not wanted; where there is none, or it is here already, the connection stays good. */
static bool fetch_skip_body(struct fetch *f)
{
	size_t used, len = f->head_len - f->msg.head_len;

	http_parser_go_on(f->parser);
	return f->sent && http_parse(f->parser, f->head + f->msg.head_len, len, &used) == PARSE_DONE && used == len && f->msg.keep_alive;
}

static int fetch_leave(struct fetch *f)
{
	f->reusable = fetch_skip_body(f);
	fetch_end(f);
	return -1;
}

static int fetch_redirect(struct fetch *f, bool same_origin)
{
	bool keep = fetch_skip_body(f);

	lease_end(&f->lease, &f->conn, keep);
	stats_add(loop_stats(fetch_loop(f)), STAT_REDIRECTS, 1);
	if (!same_origin) {
		f->private_gone = true;
		f->request.guard = f->request.hop_guard;
		f->request.tls = f->request.hop_tls;
	}
	fetch_connect(f);
	return -1;
}

/* The final head stands in f->head; what follows it there is body. -1: the fetch has ended. */
static int fetch_start_body(struct fetch *f)
{
	const struct destination from = f->request.to;     /* but for its path, which may be gone */
	size_t at = f->msg.head_len;

	if (f->msg.status == 101) {
		fetch_fail_as(f, PROXY_ERROR_HTTP_PROTOCOL_ERROR, "upgrade that was not asked for");
		return -1;
	}
	polite_told(f->pool->polite, f->url, loop_now_ms(fetch_loop(f)), loop_wall_ms(fetch_loop(f)) / 1000, f->msg.status,
	    http_msg_get(&f->msg, H_RETRY_AFTER));
	switch (redirect_next(&f->trail, &f->request.redirects, f->msg.status, http_msg_get(&f->msg, H_LOCATION), &f->request.to,
	    &f->failure)) {
	case REDIRECT_NOT:
		break;
	case REDIRECT_FOLLOW:
		return fetch_redirect(f, destination_same_origin(&from, &f->request.to));
	case REDIRECT_REFUSED:
		fetch_fail(f);
		return -1;
	case REDIRECT_NO_MEMORY:
		fetch_no_memory(f);
		return -1;
	}
	if (f->hooks.head)
		switch (f->hooks.head(f->hooks.arg, &f->msg, (struct slice){ f->head, f->msg.head_len }, f->object)) {
		case FETCH_GO_ON:
			break;
		case FETCH_ANSWERED:
			return fetch_leave(f);
		case FETCH_NO_MEMORY:
			fetch_no_memory(f);
			return -1;
		}
	f->phase = FETCH_BODY;
	if (f->hooks.done && !object_is_kept(f->object) && !object_readers(f->object))
		fetch_on_abandoned(&f->writer);
	f->request.stage.head.content_location = f->trail.n > 1 ? f->url : NULL;
	if (!(f->stage = stage_new(f->object, &f->msg, &f->request.stage))) {
		fetch_no_memory(f);
		return -1;
	}
	if (stage_start(f->stage, &f->failure) == STAGE_FAILED) {
		fetch_fail(f);
		return -1;
	}
	http_parser_go_on(f->parser);
	return fetch_parse_body(f, f->head + at, f->head_len - at);
}

/* 102, 103 and the like are for the client; 100 was for us. */
static int fetch_pass_interim(struct fetch *f)
{
	struct text t = { 0 };
	size_t len;
	char *bytes;
	int status;

	text_printf(&t, "HTTP/1.1 %u %s\r\n", f->msg.status, http_reason_phrase(f->msg.status));
	for (uint32_t i = 0; i < f->msg.n_fields; i++) {
		const struct http_field *field = &f->msg.fields[i];
		struct slice name = http_field_name(&f->msg, field), value = http_field_value(&f->msg, field);

		if (field->hop || http_header_response((enum header_id)field->id) != RESPONSE_KEEP)
			continue;
		text_field(&t, name, value);
	}
	text_puts(&t, "\r\n");
	bytes = text_take(&t, &len);
	status = bytes ? object_interim(f->object, bytes, len) : -1;
	free(bytes);
	return status;
}

/* Interim responses (RFC 9110 section 15.2) are not the answer yet. */
static int fetch_skip_interim(struct fetch *f)
{
	size_t used;

	if (++f->interims > FETCH_INTERIMS_MAX) {
		fetch_fail_as(f, PROXY_ERROR_HTTP_PROTOCOL_ERROR, "more than %d interim responses", FETCH_INTERIMS_MAX);
		return -1;
	}
	if (f->msg.status != 100 && fetch_pass_interim(f)) {
		fetch_no_memory(f);
		return -1;
	}
	http_parser_go_on(f->parser);
	if (http_parse(f->parser, f->head + f->msg.head_len, 0, &used) == PARSE_ERROR) {
		fetch_protocol_error(f);
		return -1;
	}
	f->head_len -= f->msg.head_len;
	memmove(f->head, f->head + f->msg.head_len, f->head_len);
	http_parser_start(f->parser, &f->msg, false);
	return 0;
}

static int fetch_parse_head(struct fetch *f, size_t from)
{
	for (;;) {
		size_t used;

		f->msg.base = f->head;
		switch (http_parse(f->parser, f->head + from, f->head_len - from, &used)) {
		case PARSE_MORE:
			return 0;
		case PARSE_HEAD:
			if (f->msg.status / 100 != 1 || f->msg.status == 101)
				return fetch_start_body(f);
			if (fetch_skip_interim(f))
				return -1;
			from = 0;
			break;
		default:
			fetch_protocol_error(f);
			return -1;
		}
	}
}

static int fetch_grow_head(struct fetch *f)
{
	size_t cap = f->head_cap ? f->head_cap * 2 : FETCH_HEAD_FIRST_BYTES;
	char *head;

	if (f->head_len >= f->request.limits.max_header_bytes) {
		fetch_fail_as(f, PROXY_ERROR_HTTP_HEADER_SIZE, "over %zu bytes", f->request.limits.max_header_bytes);
		return -1;
	}
	if (!(head = realloc(f->head, cap))) {
		fetch_no_memory(f);
		return -1;
	}
	f->head = head;
	f->head_cap = cap;
	return 0;
}

static int fetch_read_head(struct fetch *f)
{
	while (f->phase == FETCH_HEAD) {
		size_t from = f->head_len;
		ssize_t n;

		if (f->head_len == f->head_cap && fetch_grow_head(f))
			return -1;
		n = conn_read(f->conn, f->head + f->head_len, f->head_cap - f->head_len);
		if (n == CONN_AGAIN)
			return 0;
		if (n == CONN_FAILED || n == CONN_EOF) {
			enum proxy_error error = f->head_len ? PROXY_ERROR_HTTP_RESPONSE_INCOMPLETE : PROXY_ERROR_CONNECTION_TERMINATED;

			if (fetch_retry(f))
				return -1;
			if (n == CONN_FAILED)
				fetch_fail_lost(f, error);
			else
				fetch_fail_as(f, error, "closed before the header was complete");
			return -1;
		}
		f->head_len += (size_t)n;
		if (fetch_parse_head(f, from))
			return -1;
	}
	return 0;
}

/* -1: the fetch has ended. */
static int fetch_send(struct fetch *f)
{
	uint64_t before = f->sender.bytes;
	enum sender_result r;

	if (f->sent)
		return 0;
	r = sender_write(&f->sender, f->conn, &f->body);
	f->blocked = r == SENDER_BLOCKED;
	if (!f->blocked || f->sender.bytes > before)
		loop_disarm(fetch_loop(f), &f->timer);
	switch (r) {
	case SENDER_DONE:
	case SENDER_LOST:      /* an origin may answer and close without reading: what it said is still to be read */
		f->sent = true;
		return 0;
	case SENDER_CUT:
		fetch_fail_as(f, PROXY_ERROR_REQUEST_INCOMPLETE, "the client's request ended too early");
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

static void fetch_on_ready(void *arg, struct conn *conn, bool reused, const struct proxy_failure *failure)
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
	if (polite_ask(f->pool->polite, f->url, loop_now_ms(fetch_loop(f)), f->retried ? 0 : f->request.limits.min_interval_ms, &f->failure)) {
		f->reusable = true;
		fetch_fail(f);
		return;
	}
	f->phase = FETCH_HEAD;
	stats_add(loop_stats(fetch_loop(f)), STAT_FETCHES, 1);
	stats_add(loop_stats(fetch_loop(f)), STAT_CONNECTIONS_REUSED, reused);
	if (!fetch_send(f))
		fetch_listen(f);
}

static char *fetch_make_head(struct fetch *f, size_t *len)
{
	const struct fetch_request *r = &f->request;
	struct text t = { 0 };

	text_puts(&t, r->method);
	text_puts(&t, " ");
	text_add(&t, r->to.path, r->to.path_len);
	text_printf(&t, " HTTP/1.1\r\nHost: %s\r\n", r->to.authority);
	text_add(&t, r->fields, r->fields_len);
	if (!f->private_gone)
		text_add(&t, r->private_fields, r->private_len);
	return text_take(&t, len);
}

static char *fetch_make_url(struct fetch *f)
{
	struct text t = { 0 };
	size_t len;

	destination_url(&t, &f->request.to);
	text_add(&t, "", 1);
	return text_take(&t, &len);
}

/* Doing it twice is like doing it once (RFC 9110 section 9.2.2), and nothing of a body was sent: it may go out again. */
static bool fetch_repeatable(const struct fetch *f)
{
	static const char *const idempotent[] = { "GET", "HEAD", "PUT", "DELETE", "OPTIONS" };

	for (size_t i = 0; i < sizeof idempotent / sizeof *idempotent; i++)
		if (!strcmp(f->request.method, idempotent[i]))
			return !f->body.object;
	return false;
}

/* Towards request.to, from the start; what cannot be repeated never on a connection that may be dead. Failing ends the fetch in a turn of its own. */
static void fetch_connect(struct fetch *f)
{
	const struct fetch_request *r = &f->request;
	struct origin_target target = { .host = r->to.host, .port = r->to.port, .tls = r->to.tls ? r->tls : NULL, .guard = r->guard,
		.connect_timeout_ms = r->limits.connect_timeout_ms };
	size_t len;

	free(f->url);
	free(f->request_head);
	f->url = fetch_make_url(f);
	f->request_head = fetch_make_head(f, &len);
	if (!f->url || !f->request_head) {
		fetch_no_memory(f);
		return;
	}
	sender_begin_request(&f->sender, (struct slice){ f->request_head, len }, f->body.object, r->body_length);
	f->phase = FETCH_CONNECT;
	f->sent = f->blocked = f->reusable = false;
	f->interims = 0;
	f->head_len = 0;
	loop_disarm(fetch_loop(f), &f->timer);
	http_parser_start(f->parser, &f->msg, !strcmp(r->method, "HEAD"));
	if (!(f->lease = pool_lease(f->pool->connections, &target, r->limits.max_connections, f->retried || !fetch_repeatable(f),
	    fetch_on_ready, f)))
		fetch_no_memory(f);
}

/* A connection that was idle may have been closed by the origin while the request was on its way: RFC 9112 section 9.3.1 lets
 * that be tried again, once, where no byte came back. Only what is repeatable was sent on such a connection. */
static bool fetch_retry(struct fetch *f)
{
	if (!f->reused || f->retried || f->head_len || f->interims)
		return false;
	f->retried = true;
	lease_end(&f->lease, &f->conn, false);
	stats_add(loop_stats(fetch_loop(f)), STAT_FETCHES_RETRIED, 1);
	fetch_connect(f);
	return true;
}

static void fetch_on_timeout(struct timer *t)
{
	struct fetch *f = OWNER_OF(t, struct fetch, timer);

	if (f->phase == FETCH_HEAD && f->blocked)
		fetch_fail_as(f, PROXY_ERROR_CONNECTION_WRITE_TIMEOUT, "%llu bytes of the request sent", (unsigned long long)f->sender.bytes);
	else if (f->phase == FETCH_HEAD)
		fetch_fail_as(f, PROXY_ERROR_HTTP_RESPONSE_TIMEOUT, "no response header within %llu ms",
		    (unsigned long long)f->request.limits.first_byte_timeout_ms);
	else
		fetch_fail_as(f, PROXY_ERROR_CONNECTION_READ_TIMEOUT, "silent for %llu ms",
		    (unsigned long long)f->request.limits.between_bytes_timeout_ms);
}

static void fetch_on_total(struct timer *t)
{
	struct fetch *f = OWNER_OF(t, struct fetch, total);

	fetch_fail_as(f, f->phase == FETCH_BODY ? PROXY_ERROR_CONNECTION_READ_TIMEOUT : PROXY_ERROR_HTTP_RESPONSE_TIMEOUT,
	    "not complete within %llu ms", (unsigned long long)f->request.limits.total_timeout_ms);
}

/* Though nobody reads: by the store. */
static bool fetch_is_wanted(struct fetch *f)
{
	return f->hooks.done && object_is_kept(f->object);
}

static void fetch_on_task(struct task *t)
{
	struct fetch *f = OWNER_OF(t, struct fetch, task);

	if (f->left && fetch_is_wanted(f))
		f->left = false;
	if (f->phase != FETCH_ENDED && f->left)
		stats_add(loop_stats(fetch_loop(f)), STAT_FETCHES_ABANDONED, 1);
	if (f->phase == FETCH_ENDED || f->left) {
		/* Somebody may be about to join what nobody fills any more. */
		if (f->phase != FETCH_ENDED) {
			proxy_failure_set(&f->failure, PROXY_ERROR_CONNECTION_TERMINATED, "nobody waited");
			object_fail(f->object, &f->failure);
		}
		fetch_free(f);
		return;
	}
	if (f->more && f->conn && !f->blocked && f->phase != FETCH_CONNECT && !fetch_send(f))
		fetch_listen(f);
	f->more = false;
	if (f->phase != FETCH_ENDED && f->room) {
		f->room = false;
		fetch_go_on(f);
	}
}

static void fetch_on_more(struct object_reader *r)
{
	struct fetch *f = OWNER_OF(r, struct fetch, body);

	f->more = true;
	loop_wake(fetch_loop(f), &f->task);
}

static void fetch_on_room(struct object_writer *w)
{
	struct fetch *f = OWNER_OF(w, struct fetch, writer);

	f->room = true;
	loop_wake(fetch_loop(f), &f->task);
}

static void fetch_on_abandoned(struct object_writer *w)
{
	struct fetch *f = OWNER_OF(w, struct fetch, writer);

	f->left = true;
	loop_wake(fetch_loop(f), &f->task);
}

void fetch_request_free(struct fetch_request *r)
{
	destination_free(&r->to);
	free(r->fields);
	free(r->private_fields);
	r->fields = r->private_fields = NULL;
}

int fetch_start(struct fetch_pool *p, const struct fetch_request *request, struct object *o)
{
	struct fetch *f = calloc(1, sizeof *f);

	if (!f || !(f->parser = http_parser_new(false, fetch_on_body, f)) ||
	    http_msg_init(&f->msg, request->limits.max_header_fields)) {
		if (f)
			http_parser_free(&f->parser);
		free(f);
		return -1;
	}
	LIST_INSERT_HEAD(&p->fetches, f, link);
	f->pool = p;
	f->timer.fire = fetch_on_timeout;
	f->total.fire = fetch_on_total;
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
