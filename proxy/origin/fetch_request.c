/* Owns a fetch's request: its head, its connection, how it goes out, and what sends it once more.
 * Must not know: responses. Invariant: a request that cannot be repeated never goes out on a connection that was idle,
 * because that may be dead. It is sent again only if the origin says that it has done nothing about it. */
#include "proxy/origin/fetch_internal.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/fleet/fleet.h"
#include "proxy/origin/fetch_timing.h"
#include "proxy/settings/settings.h"
#include "proxy/settings/signing.h"

bool fetch_send(struct fetch *f)
{
	static const enum fetch_sending sendings[] = {
		[SENDER_DONE] = SENDING_DONE,
		/* an origin may answer and close without reading: its answer is still to be read */
		[SENDER_LOST] = SENDING_DONE,
		[SENDER_BLOCKED] = SENDING_BLOCKED,
		[SENDER_WAIT] = SENDING_OPEN, [SENDER_PAUSED] = SENDING_OPEN, [SENDER_CUT] = SENDING_OPEN,
	};
	uint64_t before = f->sender.bytes;

	if (f->sending == SENDING_DONE)
		return true;
	enum sender_result r = sender_write(&f->sender, f->conn, &f->body);
	fetch_set_sending(f, sendings[r]);
	if (r == SENDER_PAUSED)
		fetch_defer(f, NOTE_MORE);
	if (r != SENDER_BLOCKED || f->sender.bytes > before)
		loop_disarm(fetch_loop(f), &f->timer);
	if (r != SENDER_CUT)
		return true;
	fetch_fail_as(f, FAILURE_REQUEST_INCOMPLETE, "the client's request ended too early");
	return false;
}

static void fetch_on_conn(void *arg, enum conn_event event)
{
	struct fetch *f = arg;

	if (f->phase == FETCH_ENDED)
		return;
	if (event == CONN_WRITABLE) {
		if (!fetch_send(f))
			return;
	} else if ((f->phase == FETCH_HEAD && !fetch_read_head(f)) || (f->phase == FETCH_BODY && !fetch_read_body(f)))
		return;
	fetch_listen(f);
}

void fetch_own_conn(struct fetch *f)
{
	conn_set_owner(f->conn, fetch_on_conn, f);
}

void fetch_tell_connection(const struct fetch *f)
{
	if (!f->request.timing)                /* an address as text takes time to make */
		return;
	fetch_timing_address(f->request.timing, conn_peer(f->conn));
	f->request.timing->version = lease_is_stream(f->lease) ? "2.0" : "1.1";
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
	fetch_own_conn(f);
	if (f->held && fetch_is_same_protocol(f)) {
		lease_end(&f->lease, &f->conn, true);
		fetch_fail_as(f, FAILURE_HTTP_PROTOCOL_ERROR, "the origin does not speak it");
		return;
	}
	if (fetch_may_ask(f) == BACKOFF_WAIT) {        /* a pause began while it connected, or waited for that */
		lease_end(&f->lease, &f->conn, true);
		fetch_fail(f);
		return;
	}
	fetch_enter(f, FETCH_HEAD);
	fetch_tell_connection(f);
	fetch_timing_begin(f->request.timing, STAGE_ORIGIN, fetch_loop(f));
	log_step(&f->request.id, "fetch: connected to %s%s%s", conn_peer(conn), reused ? ", open before" : "",
	    lease_is_stream(f->lease) ? ", by HTTP/2" : "");
	stats_add(loop_stats(fetch_loop(f)), STAT_FETCHES, 1);
	stats_add(loop_stats(fetch_loop(f)), STAT_CONNECTIONS_REUSED, reused);
	if (fetch_send(f))
		fetch_listen(f);
}

bool fetch_asks_parent(const struct fetch *f)
{
	return parent_reads(f->parent, f->request.to.tls);
}

/* The origin may get the head only after a wait for a connection. */
static void fetch_sign(struct fetch *f)
{
	const struct fetch_request *request = &f->request;

	if (!request->signer)
		return;
	signer_add(request->signer, &f->request_head, request->to.authority,
	    &(struct signing_times){ loop_wall_ms(fetch_loop(f)) / 1000,
	        FETCH_QUEUE_MS / 1000 });
	stats_add(loop_stats(fetch_loop(f)), STAT_FETCHES_SIGNED, 1);
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
	fetch_sign(f);
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

/* Behind a dead connection others may be dead, too, but not one in use: of many streams that are lost together, each
 * would make a connection otherwise. */
static enum lease_fresh fetch_takes(const struct fetch *f)
{
	if (f->tried & AGAIN_ELSEWHERE)
		return LEASE_ANEW;
	return f->tried & AGAIN_DEAD || !fetch_repeatable(f) ? LEASE_SOUND : LEASE_ANY;
}

/* Each instance of a fleet has its share of the places, and one at least. A held answer has one of them, and may have
 * the only one. */
static size_t fetch_most_connections(const struct fetch *f)
{
	size_t instances = fleet_instances(f->pool->fleet);
	size_t most = (f->request.limits.max_connections + instances - 1) / instances;

	return f->held && most ? most + 1 : most;
}

/* A request over the other protocol does not wait long for a connection: there is an answer already. */
static uint64_t fetch_wait_ms(const struct fetch *f)
{
	enum { SECOND_WAIT_MS = 1000 };

	return f->held ? SECOND_WAIT_MS : FETCH_QUEUE_MS;
}

void fetch_lease(struct fetch *f)
{
	const struct fetch_request *request = &f->request;
	struct dial_target target = { .host = request->to.host, .port = request->to.port,
		.tls = request->to.tls ? request->tls : NULL, .h2 = request->to.tls && fetch_wants_h2(f),
		.guard = request->guard, .parent = f->parent, .connect_timeout_ms = request->limits.connect_timeout_ms,
		.generation = request->settings->generation, .id = request->id, .timing = request->timing };
	const struct lease_terms terms = { .max = fetch_most_connections(f), .wait_ms = fetch_wait_ms(f),
		.fresh = fetch_takes(f) };

	if (!(f->lease = pool_lease(f->pool->connections, &target, &terms, fetch_on_ready, f)))
		fetch_no_memory(f);
}

void fetch_ask(struct fetch *f)
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
	if (fetch_may_ask(f) == BACKOFF_WAIT)
		fetch_fail(f);
	else
		fetch_go(f);
}

void fetch_connect(struct fetch *f)
{
	fetch_make_url(f);
	if (fetch_follow_known(f))
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

/* Whether a request may go out again whose connection was lost before a byte came back; by enum lease_fate. The origin
 * may have closed a connection that was idle while the request was on its way: RFC 9112 section 9.3.1 lets the request
 * be tried again. A request about which nothing was done may always be, as long as its body is still there (RFC 9113
 * section 8.7). */
static const struct fetch_fate {
	enum fetch_again again, once_more;     /* 0: not again */
	bool any;                              /* the method, too, that cannot be repeated otherwise */
	const char *why;
} fetch_fates[] = {
	[LEASE_FAILED] = { AGAIN_BY_HTTP_1, 0, false, "HTTP/2 has failed" },
	[LEASE_DEAD] = { AGAIN_DEAD, 0, false, "the connection that was open before is dead" },
	[LEASE_UNPROCESSED] = { AGAIN_UNDONE, AGAIN_UNDONE_TWICE, true, "the origin has done nothing about it" },
	[LEASE_NEEDS_HTTP_1] = { AGAIN_BY_HTTP_1, 0, false, "the origin wants it by HTTP/1.1" },
	[LEASE_TOO_LONG] = { AGAIN_BY_HTTP_1, 0, true, "its head is too long for the origin's HTTP/2" },
};

bool fetch_asks_again(struct fetch *f)
{
	enum lease_fate fate = lease_fate(f->lease, f->conn);
	const struct fetch_fate *row = &fetch_fates[fate];
	enum fetch_again again = f->tried & row->again ? row->once_more : row->again;

	if (fate == LEASE_FAILED && !fetch_may_fall_back(f))
		return false;
	if (fate == LEASE_NEEDS_HTTP_1)
		fetch_learn_required(f);
	if (!again || f->tried & again || f->head.len || f->interims ||
	    !(row->any ? !f->sender.body_bytes : fetch_repeatable(f)))
		return false;
	log_step(&f->request.id, "fetch: retried, %s", row->why);
	if (fate == LEASE_FAILED)
		fetch_learn_failed(f);
	fetch_retry(f, again);
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
