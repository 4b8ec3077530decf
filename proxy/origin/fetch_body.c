/* Owns a response's body on its way through the transform into the object. Bytes are pending while the object is full,
 * or once the decoder has done enough for one turn of the loop.
 * Must not know: heads, redirects, connecting.
 * Invariant: at most the bytes of one read are pending; while any are, the socket is not read. */
#include "proxy/origin/fetch_internal.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/base/bodies.h"

enum { FETCH_READS_PER_EVENT = 4 };

void fetch_fail_transform(struct fetch *f)
{
	f->failure = *transform_failure(f->transform);
	fetch_fail(f);
}

/* All of the body went through the transform, or failed there. */
static void fetch_finish_as(struct fetch *f, enum transform_result r)
{
	if (r == TRANSFORM_FAILED) {
		fetch_fail_transform(f);
		return;
	}
	fetch_tell_done(f);
	log_step(&f->request.id, "fetch: done, %llu bytes of body", (unsigned long long)f->received);
	if (f->hooks.done)
		f->hooks.done(f->hooks.arg, f->object);
	fetch_end(f);
}

static void fetch_finish(struct fetch *f)
{
	fetch_finish_as(f, transform_finish(f->transform));
}

/* Feeds body bytes to the transform. False: the fetch has ended. */
static bool fetch_take(struct fetch *f, const uint8_t *in, size_t len, size_t *used)
{
	static const enum fetch_flow flows[] = { [TRANSFORM_OK] = FLOW_READS, [TRANSFORM_FULL] = FLOW_WAITS_FOR_ROOM,
		[TRANSFORM_PAUSED] = FLOW_WAITS_FOR_TURN };
	enum transform_result r = transform_feed(f->transform, in, len, used);

	if (r == TRANSFORM_FAILED) {
		fetch_fail_transform(f);
		return false;
	}
	if (r == TRANSFORM_OK && transform_is_over(f->transform)) {
		fetch_finish(f);
		return false;
	}
	fetch_set_flow(f, flows[r]);
	if (r == TRANSFORM_PAUSED)         /* other fetches come first */
		fetch_defer(f, NOTE_ROOM);
	if (f->hooks.grew)
		f->hooks.grew(f->hooks.arg, f->object);
	if (!f->alone || fetch_goes_on_alone(f) || object_readers(f->object))
		return true;
	fetch_abandon(f);
	return false;
}

/* Passes a piece of the body on. At most the bytes of one read are pending: reading stops until they went through.
 * False: the fetch has ended. */
static bool fetch_pass(struct fetch *f, struct slice piece)
{
	size_t used = 0, left;
	uint8_t *pending;

	if (f->flow == FLOW_READS && !fetch_take(f, (const uint8_t *)piece.at, piece.len, &used))
		return false;
	if (!(left = piece.len - used))
		return true;
	if (!(pending = realloc(f->pending, f->pending_len + left))) {
		fetch_no_memory(f);
		return false;
	}
	memcpy(pending + f->pending_len, piece.at + used, left);
	f->pending = pending;
	f->pending_len += left;
	return true;
}

/* Each piece is passed on when the parser has come to what follows it, so that the last one is known as such. */
int fetch_on_body(void *arg, const char *at, size_t len)
{
	struct fetch *f = arg;

	stats_add(loop_stats(fetch_loop(f)), STAT_BYTES_FROM_ORIGINS, len);
	f->received += len;
	if (!f->transform)
		return 0;
	if (f->piece.len && !fetch_pass(f, f->piece))
		return -1;
	f->piece = (struct slice){ at, len };
	return 0;
}

/* The object has room again: pending bytes go first, then the socket is read again. */
void fetch_go_on(struct fetch *f)
{
	size_t used;

	if (f->flow == FLOW_READS)
		return;
	if (!fetch_take(f, f->pending + f->pending_at, f->pending_len - f->pending_at, &used))
		return;
	f->pending_at += used;
	if (f->flow != FLOW_READS)
		return;
	free(f->pending);
	f->pending = NULL;
	f->pending_len = f->pending_at = 0;
	if (f->phase == FETCH_REST)
		fetch_finish(f);
	else
		fetch_listen(f);
}

/* The message ended with `left` bytes of the last read behind it. Such bytes do not belong to it (RFC 9112 section
 * 6.3), but they show that its length is not what the origin meant: the response is passed on, but not stored. If that
 * read may have left bytes behind, the next one tells. True: the connection can take another request. */
static bool fetch_is_reusable(struct fetch *f, size_t left)
{
	ssize_t more = left ? (ssize_t)left : CONN_AGAIN;
	char byte;                     /* not in the loop's scratch, which holds the body's last piece */

	if (!left && f->hooks.done && object_is_retained(f->object) && !conn_is_quiet(f->conn))
		more = conn_read(f->conn, &byte, 1);
	if (more > 0) {
		f->hooks.done = NULL;
		object_unretain(f->object);
		transform_leave_end(f->transform);
		stats_add(loop_stats(fetch_loop(f)), STAT_RESPONSES_OVER_LONG, 1);
	}
	return f->msg.keep_alive && more == CONN_AGAIN && f->sending == SENDING_DONE;
}

/* The message ended with this piece of its body, which may be empty. */
static void fetch_end_body(struct fetch *f, struct slice piece, size_t left)
{
	enum transform_result r = TRANSFORM_UNFED;

	lease_end(&f->lease, &f->conn, fetch_is_reusable(f, left));
	loop_disarm(fetch_loop(f), &f->timer);
	fetch_enter(f, FETCH_REST);
	if (piece.len && f->received == piece.len)
		r = transform_feed_whole(f->transform, (const uint8_t *)piece.at, piece.len);
	if (r != TRANSFORM_UNFED)
		fetch_finish_as(f, r);
	else if ((!piece.len || fetch_pass(f, piece)) && f->flow == FLOW_READS)
		fetch_finish(f);
}

/* Feeds body bytes to the parser. */
bool fetch_parse_body(struct fetch *f, const char *data, size_t len)
{
	size_t used;

	f->piece = (struct slice){ NULL, 0 };
	enum http_parse_result r = http_parse(f->parser, data, len, &used);
	struct slice piece = f->piece;
	if (r == PARSE_MORE)
		return !piece.len || fetch_pass(f, piece);
	if (r == PARSE_DONE)
		fetch_end_body(f, piece, len - used);
	else if (f->phase != FETCH_ENDED && (!piece.len || fetch_pass(f, piece)))
		fetch_protocol_error(f);
	return false;
}

bool fetch_read_body(struct fetch *f)
{
	for (int i = 0; i < FETCH_READS_PER_EVENT && f->flow == FLOW_READS; i++) {
		uint8_t *buf = loop_scratch(fetch_loop(f));
		size_t most = bodies_share(LOOP_SCRATCH_BYTES);
		ssize_t n = conn_read(f->conn, buf, most);

		if (n == CONN_AGAIN)
			break;
		if (n == CONN_FAILED) {
			fetch_fail_lost(f, FAILURE_HTTP_RESPONSE_INCOMPLETE);
			return false;
		}
		if (n == CONN_EOF) {
			if (http_parse_eof(f->parser) == PARSE_DONE) {
				fetch_enter(f, FETCH_REST);
				fetch_finish(f);
			} else
				fetch_protocol_error(f);
			return false;
		}
		if (!fetch_parse_body(f, (char *)buf, (size_t)n))
			return false;
		if ((size_t)n < most / 4 || loop_is_spent(fetch_loop(f)))
			break;
	}
	return true;
}

/* If the response has no body, or all of it is here already, the connection can be used again. */
bool fetch_skip_body(struct fetch *f)
{
	size_t used;

	http_parser_go_on(f->parser);
	return f->sending == SENDING_DONE && http_parse(f->parser, f->behind.at, f->behind.len, &used) == PARSE_DONE &&
	    used == f->behind.len && f->msg.keep_alive;
}
