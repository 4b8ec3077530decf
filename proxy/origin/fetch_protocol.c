/* Owns the choice between HTTP/2 and HTTP/1.1, and asking over both. An origin may answer one protocol with the feed,
 * and the other with a wall: an error, or a page where a feed is expected. So a wall is held, its body unread, and the
 * other protocol is asked. The second answer counts if it is neither an error nor a page. Else the held one counts.
 * Must not know: frames, connections. Invariant: an answer is held only if its request may be repeated, once for a URL
 * of a fetch, and within the time that a response's head has. */
#include "proxy/origin/fetch_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/base/container_of.h"
#include "proxy/base/log.h"
#include "proxy/http/pause_fields.h"
#include "proxy/origin/fetch_timing.h"

/* The answer that is held, with what belongs to it of the fetch. */
struct fetch_held {
	struct fetch *fetch;
	struct lease *lease;
	struct conn *conn;
	struct http_parser *parser;
	struct http_msg msg;
	struct text head, behind;
	enum fetch_sending sending;
	bool stream;                   /* it came by HTTP/2 */
	bool unseen;                   /* nothing of its body has come that would tell whether it is a page */
	bool counts;                   /* the other protocol was asked, and gave nothing better */
	struct timer timer;            /* for that */
};

enum { PAGE_BYTES = 1024 };    /* of a body, to see whether it begins as a page does */

static const char *const protocol_names[] = { "HTTP/1.1", "HTTP/2" };

/* ---- by which ---- */

bool fetch_wants_h2(struct fetch *f)
{
	enum conf_http2 http2 = f->request.http2;
	enum backoff_protocol better;

	if (http2 == CONF_HTTP2_OFF || f->tried & AGAIN_BY_HTTP_1)
		return false;
	if (f->held)
		return !f->held->stream;
	better = backoff_protocol(f->pool->backoff, &f->asked, loop_now_ms(fetch_loop(f)));
	if (better != BACKOFF_PROTOCOL_REQUIRED && (better != BACKOFF_PROTOCOL_HTTP_1 || http2 == CONF_HTTP2_ON))
		return true;
	log_step(&f->request.id, "fetch: by HTTP/1.1, which its host %s within the hour",
	    better == BACKOFF_PROTOCOL_REQUIRED ? "required" : "answered better");
	return false;
}

static void fetch_learn(struct fetch *f, enum backoff_protocol better)
{
	if (better)
		stats_add(loop_stats(fetch_loop(f)), STAT_FETCHES_BETTER, 1);
	backoff_learn_protocol(f->pool->backoff, &f->asked, better, loop_now_ms(fetch_loop(f)));
}

void fetch_learn_required(struct fetch *f)
{
	log_step(&f->request.id, "fetch: the origin requires HTTP/1.1");
	fetch_learn(f, BACKOFF_PROTOCOL_REQUIRED);
}

bool fetch_may_fall_back(const struct fetch *f)
{
	return lease_is_stream(f->lease) && f->request.http2 == CONF_HTTP2_AUTO && !f->held;
}

/* Whether HTTP/1.1 is better is not known yet. But it is what the host was asked by if it had no HTTP/2. */
void fetch_learn_failed(struct fetch *f)
{
	fetch_learn(f, BACKOFF_PROTOCOL_HTTP_1);
}

/* ---- walls ---- */

static bool fetch_asks_for_pause(const struct fetch *f)
{
	return f->msg.status == 429 ||
	    (f->msg.status == 503 && pause_fields_wait_s(&f->msg, loop_wall_ms(fetch_loop((struct fetch *)f)) / 1000));
}

/* Whether a body that begins with these bytes may be a page. Behind a content coding that is not known. */
static bool fetch_may_be_page(const struct http_msg *m, struct slice body)
{
	static const char *const begins[] = { "<!doctype html", "<html" };
	const char *at = body.at, *end = at + body.len;
	const char *chunk = m->chunked && body.len ? memchr(at, '\n', body.len) : NULL;

	if (http_msg_has(m, H_CONTENT_ENCODING) || (m->chunked && !chunk))
		return true;
	if (chunk)
		at = chunk + 1;
	while (at < end && strchr("\xef\xbb\xbf \t\r\n", *at))
		at++;
	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
		size_t len = strlen(begins[i]);

		if (!strncasecmp(at, begins[i], (size_t)(end - at) < len ? (size_t)(end - at) : len))
			return true;
	}
	return false;
}

/* Whether the response is a page by its type, where a feed is expected: the client asks for one, or one is kept. */
static bool fetch_is_typed_page(const struct fetch *f)
{
	struct slice type, parameters;

	if (f->msg.status != 200 || !(f->request.accepts_feeds || (f->hooks.expects && f->hooks.expects(f->hooks.arg))))
		return false;
	type = slice_until(http_msg_get(&f->msg, H_CONTENT_TYPE), ';', &parameters);
	return slice_is(type, "text/html") || slice_is(type, "application/xhtml+xml");
}

static bool fetch_is_page(const struct fetch *f)
{
	return fetch_is_typed_page(f) && fetch_may_be_page(&f->msg, f->behind);
}

/* An answer that asks for a pause is meant for utfeed, over either protocol. */
static bool fetch_is_wall(const struct fetch *f)
{
	int status = f->msg.status;

	return fetch_is_page(f) || (status == 403 && !fetch_is_refusal(f)) ||
	    (status >= 500 && !fetch_asks_for_pause(f));
}

/* ---- two answers ---- */

static void fetch_on_held_event(void *arg, enum conn_event event);

static void fetch_on_held_timeout(struct timer *timer)
{
	struct fetch *f = container_of(timer, struct fetch_held, timer)->fetch;

	fetch_fail_as(f, FAILURE_HTTP_RESPONSE_TIMEOUT, "no response header in time");
}

static void fetch_free_held(struct fetch_held *held)
{
	loop_disarm(fetch_loop(held->fetch), &held->timer);
	lease_end(&held->lease, &held->conn, false);
	http_parser_free(&held->parser);
	http_msg_free(&held->msg);
	text_free(&held->head);
	text_free(&held->behind);
	free(held);
}

void fetch_drop_held(struct fetch *f)
{
	fetch_free_held(f->held);
	f->held = NULL;
}

/* Both the fetch and the answer that is held have these. */
static void fetch_swap_held(struct fetch *f, struct fetch_held *held)
{
	struct http_parser *parser = held->parser;
	struct http_msg msg = held->msg;
	struct text head = held->head;

	held->parser = f->parser;
	held->msg = f->msg;
	held->head = f->head;
	f->parser = parser;
	f->msg = msg;
	f->head = head;
}

/* Whether more of the response in f->msg has to come before its body says anything. */
static bool fetch_is_unseen(const struct fetch *f)
{
	const struct http_msg *m = &f->msg;

	return !f->behind.len && m->status == 200 && !http_msg_has(m, H_CONTENT_ENCODING) &&
	    strcmp(f->request.method, "HEAD") != 0 && !(m->has_length && !m->content_length);
}

/* Holds the answer. -1: out of memory. */
static int fetch_hold(struct fetch *f)
{
	struct fetch_held *held = calloc(1, sizeof *held);

	if (!held)
		return -1;
	text_add(&held->behind, f->behind.at, f->behind.len);
	if (!(held->parser = http_parser_new(false, fetch_on_body, f)) ||
	    http_msg_init(&held->msg, f->msg.max_fields) || held->behind.failed) {
		http_parser_free(&held->parser);
		http_msg_free(&held->msg);
		text_free(&held->behind);
		free(held);
		return -1;
	}
	held->unseen = fetch_is_unseen(f);
	fetch_swap_held(f, held);
	held->fetch = f;
	held->timer.fire = fetch_on_held_timeout;
	held->sending = f->sending;
	held->stream = lease_is_stream(f->lease);
	held->lease = f->lease;
	held->conn = f->conn;
	f->lease = NULL;
	f->conn = NULL;
	loop_disarm(fetch_loop(f), &f->timer);         /* it is of the connection that the fetch has no more */
	conn_set_owner(held->conn, fetch_on_held_event, held);
	conn_want(held->conn, held->unseen, false);
	f->held = held;
	return 0;
}

/* How much of the time for a response's head is left. */
static uint64_t fetch_time_left(struct fetch *f)
{
	uint64_t now = loop_now_ms(fetch_loop(f)), due = f->asked.asked_ms + f->request.limits.first_byte_timeout_ms;

	if (f->total.queue && f->total.due_ms < due)
		due = f->total.due_ms;
	return due > now ? due - now : 0;
}

/* Whether there is another protocol to ask: of an origin that was offered HTTP/2, and chose HTTP/1.1, there is not. Two
 * requests at once would break host-interval. */
static bool fetch_may_ask_twice(struct fetch *f)
{
	uint64_t interval_ms = f->request.terms.host_interval_ms;

	return f->request.http2 == CONF_HTTP2_AUTO && !f->body.object &&
	    (!interval_ms || interval_ms == BACKOFF_LEARNED) &&
	    (!strcmp(f->request.method, "GET") || !strcmp(f->request.method, "HEAD")) &&
	    (lease_is_stream(f->lease) || !lease_offered_h2(f->lease));
}

/* False: the URL was asked for twice within the hour. */
static bool fetch_ask_other(struct fetch *f)
{
	if (!backoff_asks_twice(f->pool->backoff, &f->asked, loop_now_ms(fetch_loop(f))))
		return false;
	log_step(&f->request.id, "fetch: status %u by %s, asked by %s too", f->held->msg.status,
	    protocol_names[f->held->stream], protocol_names[!f->held->stream]);
	stats_add(loop_stats(fetch_loop(f)), STAT_FETCHES_ASKED_TWICE, 1);
	if (f->request.timing)
		f->request.timing->retries++;
	fetch_learn(f, BACKOFF_PROTOCOL_ANY);
	fetch_ask(f);
	return true;
}

/* The first answer counts; the fetch goes on with it in a later turn of the loop. */
static void fetch_go_back(struct fetch *f, bool keep)
{
	lease_end(&f->lease, &f->conn, keep);
	loop_disarm(fetch_loop(f), &f->timer);
	loop_disarm(fetch_loop(f), &f->held->timer);
	f->held->counts = true;
	fetch_defer(f, NOTE_HELD);
}

/* The first bytes of a body have come, or its end. An empty body counts as a page. */
static void fetch_on_held_event(void *arg, enum conn_event event)
{
	struct fetch_held *held = arg;
	struct fetch *f = held->fetch;
	char *scratch = (char *)loop_scratch(fetch_loop(f));
	ssize_t n;

	(void)event;
	if (!held->unseen || (n = conn_read(held->conn, scratch, PAGE_BYTES)) == CONN_AGAIN)
		return;
	held->unseen = false;
	conn_want(held->conn, false, false);
	if (n > 0)
		text_add(&held->behind, scratch, (size_t)n);
	if (held->behind.failed)
		fetch_no_memory(f);
	else if (n == CONN_FAILED ||
	    !fetch_may_be_page(&held->msg, (struct slice){ held->behind.bytes, held->behind.len }) ||
	    !fetch_ask_other(f))
		fetch_go_back(f, false);
}

static bool fetch_ask_twice(struct fetch *f)
{
	uint64_t left;

	if (!fetch_may_ask_twice(f) || !fetch_is_wall(f) || !(left = fetch_time_left(f)) || fetch_hold(f))
		return false;
	loop_arm(fetch_loop(f), &f->held->timer, left);
	if (!f->held->unseen && !fetch_ask_other(f))
		fetch_go_back(f, false);
	return true;
}

/* The second answer has come. False: it counts. */
static bool fetch_compare(struct fetch *f)
{
	const struct fetch_held *held = f->held;

	if (f->msg.status >= 400 || fetch_is_page(f)) {
		log_step(&f->request.id, "fetch: status %u by %s, no better", f->msg.status,
		    protocol_names[!held->stream]);
		if (fetch_asks_for_pause(f))
			fetch_tell_head(f);
		fetch_go_back(f, fetch_skip_body(f));
		return true;
	}
	log_step(&f->request.id, "fetch: %s is answered better: status %u, not %u", protocol_names[!held->stream],
	    f->msg.status, held->msg.status);
	fetch_learn(f, held->stream ? BACKOFF_PROTOCOL_HTTP_1 : BACKOFF_PROTOCOL_HTTP_2);
	fetch_drop_held(f);
	return false;
}

bool fetch_asks_twice(struct fetch *f)
{
	return f->held ? fetch_compare(f) : fetch_ask_twice(f);
}

bool fetch_is_same_protocol(const struct fetch *f)
{
	return f->held->stream == lease_is_stream(f->lease);
}

bool fetch_has_held(struct fetch *f)
{
	bool late = f->request.limits.total_timeout_ms && !f->total.queue;

	if (!f->held || f->held->counts || late)
		return false;
	log_step(&f->request.id, "fetch: by %s: %s%s%s; the first answer counts", protocol_names[!f->held->stream],
	    failure_token(f->failure.error), f->failure.details[0] ? ": " : "", f->failure.details);
	fetch_go_back(f, false);
	return true;
}

void fetch_take_held(struct fetch *f)
{
	struct fetch_held *held = f->held;
	struct text behind = held->behind;

	assert(held->counts && !f->lease && !f->conn);
	fetch_swap_held(f, held);
	f->lease = held->lease;
	f->conn = held->conn;
	held->lease = NULL;
	held->conn = NULL;
	held->behind = (struct text){ 0 };
	if (f->phase == FETCH_CONNECT)
		fetch_enter(f, FETCH_HEAD);
	fetch_set_sending(f, held->sending);
	fetch_drop_held(f);
	fetch_own_conn(f);
	fetch_tell_connection(f);
	f->behind = (struct slice){ behind.bytes, behind.len };
	if (fetch_judge_head(f))
		fetch_listen(f);
	text_free(&behind);
}
