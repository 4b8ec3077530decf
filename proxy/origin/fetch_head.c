/* Owns a response's head: reading it, interim responses, and asking the hooks.
 * Must not know: bodies beyond the bytes that came with the head. Invariant: f->head holds exactly the bytes that
 * f->msg points into; f->behind is valid only during the event that read it. */
#include "proxy/origin/fetch_internal.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/base/bodies.h"
#include "proxy/origin/fetch_timing.h"

enum { FETCH_INTERIMS_MAX = 16 };

static void fetch_ask_unconditionally(struct fetch *f)
{
	free(f->request.conditional);
	f->request.conditional = NULL;
	f->tried |= AGAIN_UNCONDITIONALLY;
	lease_end(&f->lease, &f->conn, fetch_skip_body(f));
	fetch_connect(f);
}

/* Asks the hooks about the final head. False: the fetch has ended, or makes another request. */
static bool fetch_ask_hooks(struct fetch *f)
{
	const struct fetch_answer answer = { .msg = &f->msg, .upstream = { f->head.bytes, f->msg.head_len },
		.h2 = lease_is_stream(f->lease),
		.conditional = fetch_is_conditional(f), .cookies = f->cookies,
		.foreign = f->request.transform.head.way == RESPONSE_FOREIGN,
		.url = f->url.bytes, .redirected = f->trail.n > 1,
		.astray = f->request.redirects.hops && f->msg.status / 100 == 3 && f->msg.status != 304 };

	switch (f->hooks.head ? f->hooks.head(f->hooks.arg, &answer, f->object) : FETCH_GO_ON) {
	case FETCH_NEEDS_FEED:
		f->request.transform.needs_feed = true;
		return true;
	case FETCH_GO_ON:
		return true;
	case FETCH_ANSWERED:
		fetch_tell_kept(f);
		lease_end(&f->lease, &f->conn, fetch_skip_body(f));
		fetch_end(f);
		return false;
	case FETCH_UNCONDITIONAL:
		fetch_ask_unconditionally(f);
		return false;
	case FETCH_NO_MEMORY:
		break;
	}
	fetch_no_memory(f);
	return false;
}

/* Whether the response to a GET answers something that the request did not ask (RFC 9110 sections 15.3.7 and 15.4.5).
 * A 304 has no body for a client without a copy, and a 206 is only a part. */
static bool fetch_is_unasked(const struct fetch *f)
{
	return !strcmp(f->request.method, "GET") &&
	    ((f->msg.status == 304 && !fetch_is_conditional(f) && !f->request.preconditions) ||
	        (f->msg.status == 206 && !f->request.ranged));
}

/* A server between here and the origin may have taken another client's 304 for this request's: it gets one more try. */
static void fetch_refuse_unasked(struct fetch *f)
{
	if (f->msg.status == 304 && !(f->tried & AGAIN_UNCONDITIONALLY)) {
		fetch_ask_unconditionally(f);
		return;
	}
	fetch_fail_as(f, FAILURE_UNASKED, "status %u that was not asked for", f->msg.status);
}

/* Acts on the final head in f->head, with the bytes that came with it in f->behind. False: the fetch has ended, or
 * makes another request. */
static bool fetch_start_body(struct fetch *f)
{
	fetch_timing_end(f->request.timing, STAGE_ORIGIN, fetch_loop(f));
	log_step(&f->request.id, "fetch: head, status %u", f->msg.status);
	if (f->msg.status == 101) {
		fetch_fail_as(f, FAILURE_HTTP_PROTOCOL_ERROR, "upgrade that was not asked for");
		return false;
	}
	if (fetch_is_unasked(f)) {
		fetch_refuse_unasked(f);
		return false;
	}
	if (fetch_asks_elsewhere(f))
		return false;
	if (f->msg.status == 407 && fetch_asks_parent(f)) {
		fetch_fail_as(f, FAILURE_PARENT_CREDENTIALS, "parent proxy: status 407");
		return false;
	}
	if (f->request.to.tls && fetch_asks_twice(f))
		return false;
	return fetch_judge_head(f);
}

bool fetch_judge_head(struct fetch *f)
{
	fetch_tell_head(f);
	if (fetch_follows(f))
		return false;
	if (!fetch_ask_hooks(f))
		return false;
	fetch_enter(f, FETCH_BODY);
	if (f->hooks.done && !object_is_retained(f->object) && !object_readers(f->object))
		fetch_on_abandoned(&f->writer);
	f->request.transform.head.url = f->url.bytes;
	f->request.transform.head.redirected = f->trail.n > 1;
	f->request.transform.encoding.base = f->url.bytes;
	f->request.transform.encoding.spares = &f->pool->memory;
	if (!(f->transform = transform_new(f->object, &f->msg, &f->request.transform))) {
		fetch_no_memory(f);
		return false;
	}
	if (transform_start(f->transform) == TRANSFORM_FAILED) {
		fetch_fail_transform(f);
		return false;
	}
	http_parser_go_on(f->parser);
	return fetch_parse_body(f, f->behind.at, f->behind.len);
}

/* Passes on an interim response that is for the client, such as 102 and 103 (100 was for us). One longer than
 * OBJECT_INTERIM_MAX is left out. */
static int fetch_pass_interim(struct fetch *f)
{
	char bytes[OBJECT_INTERIM_MAX];
	struct text t = text_on(bytes, sizeof bytes);

	response_interim(&t, &f->msg);
	return t.failed ? 0 : object_interim(f->object, t.bytes, t.len);
}

/* Goes on to the next head after an interim response (RFC 9110 section 15.2), which is not the answer yet. */
static bool fetch_skip_interim(struct fetch *f)
{
	size_t used;

	if (++f->interims > FETCH_INTERIMS_MAX) {
		fetch_fail_as(f, FAILURE_HTTP_PROTOCOL_ERROR, "more than %d interim responses", FETCH_INTERIMS_MAX);
		return false;
	}
	if (f->msg.status != 100 && fetch_pass_interim(f)) {
		fetch_no_memory(f);
		return false;
	}
	http_parser_go_on(f->parser);
	if (http_parse(f->parser, f->head.bytes + f->msg.head_len, 0, &used) == PARSE_ERROR) {
		fetch_protocol_error(f);
		return false;
	}
	text_empty(&f->head);
	fetch_start_parser(f);
	return true;
}

/* The length of the head in these bytes, which an empty line ends (RFC 9112 section 2.1). Where that line came in
 * pieces, the parser finds it. */
static size_t fetch_head_end(struct slice in)
{
	const char *end = in.at + in.len, *lf = in.at;

	while ((lf = memchr(lf, '\n', (size_t)(end - lf))) != NULL) {
		lf++;
		if (lf - in.at >= 4 && !memcmp(lf - 4, "\r\n\r\n", 4))
			return (size_t)(lf - in.at);
	}
	return in.len;
}

static bool fetch_add_head(struct fetch *f, const char *bytes, size_t len)
{
	text_add(&f->head, bytes, len);
	if (f->head.failed) {
		fetch_no_memory(f);
		return false;
	}
	f->msg.base = f->head.bytes;
	return true;
}

/* Takes the head from the bytes read; f->behind is what follows it. False: the fetch has ended, or makes another
 * request. */
static bool fetch_take_head(struct fetch *f, struct slice in)
{
	while (in.len && f->phase == FETCH_HEAD) {
		size_t room = f->request.limits.max_header_bytes - f->head.len, take = fetch_head_end(in),
		       from = f->head.len, used;
		enum http_parse_result r;

		if (take > room)
			take = room;
		if (!fetch_add_head(f, in.at, take))
			return false;
		r = http_parse(f->parser, f->head.bytes + from, take, &used);
		if (r == PARSE_HEAD) {
			take -= f->head.len - f->msg.head_len;
			f->head.len = f->msg.head_len;
		}
		in = (struct slice){ in.at + take, in.len - take };
		if (r == PARSE_HEAD && (f->msg.status / 100 != 1 || f->msg.status == 101)) {
			f->behind = in;
			return fetch_start_body(f);
		}
		if (r == PARSE_HEAD && !fetch_skip_interim(f))
			return false;
		if (r == PARSE_MORE && f->head.len == f->request.limits.max_header_bytes) {
			fetch_fail_as(f, FAILURE_HTTP_HEADER_SIZE, "over %zu bytes", f->head.len);
			return false;
		}
		if (r != PARSE_HEAD && r != PARSE_MORE) {
			fetch_protocol_error(f);
			return false;
		}
	}
	return true;
}

bool fetch_read_head(struct fetch *f)
{
	while (f->phase == FETCH_HEAD) {
		char *buf = (char *)loop_scratch(fetch_loop(f));
		ssize_t n = conn_read(f->conn, buf, bodies_share(LOOP_SCRATCH_BYTES));

		if (n == CONN_AGAIN)
			return true;
		if (n == CONN_FAILED || n == CONN_EOF) {
			enum failure_kind error =
			    f->head.len ? FAILURE_HTTP_RESPONSE_INCOMPLETE : FAILURE_CONNECTION_TERMINATED;

			if (fetch_asks_again(f))
				return false;
			if (n == CONN_FAILED)
				fetch_fail_lost(f, error);
			else
				fetch_fail_as(f, error, "closed before the header was complete");
			return false;
		}
		if (!fetch_take_head(f, (struct slice){ buf, (size_t)n }))
			return false;
		conn_acknowledge(f->conn);
	}
	return true;
}
