/* The session: bytes in and out, its beginning and its end; see h2.h. */
#include "proxy/net/h2_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "proxy/base/container_of.h"

enum {
	H2_OUT_FIRST = 4096,
	H2_RECORD_BYTES = 16 * 1024,
	H2_READS = 4,                  /* of one turn */
	H2_TABLE_BYTES = 4096,         /* of HPACK, as is the default (RFC 9113 section 6.5.2) */
	H2_CONNECTION_WINDOW = 1 << 20,
	H2_ASK_CONNECTION_WINDOW = 1 << 23,
	H2_LAST_MS = 500               /* for the peer to see the first GOAWAY */
};

/* ---- out ---- */

/* Takes the frames that nghttp2 has. What it has is bounded by what it was asked for, the bytes of bodies by
 * H2_OUT_BYTES. */
static void h2_take(struct h2 *h2)
{
	const uint8_t *at;
	ssize_t n = 0;

	if (h2->broken)
		return;
	h2->inside = true;
	while (h2->out.len < H2_OUT_BYTES && (n = nghttp2_session_mem_send(h2->ng, &at)) > 0)
		if (held_add(&h2->out, at, (size_t)n, H2_OUT_FIRST)) {
			n = NGHTTP2_ERR_NOMEM;
			break;
		}
	h2->inside = false;
	if (n < 0)
		h2->broken = h2->ending = true;
}

void h2_pull(struct h2 *h2)
{
	if (h2->inside)
		return;
	h2_take(h2);
	loop_defer(h2->loop, &h2->task);
}

void h2_fail(struct h2 *h2, uint32_t code)
{
	if (h2->ending)
		return;
	h2->ending = true;
	nghttp2_session_terminate_session(h2->ng, code);
	h2_pull(h2);
}

/* Writes what waits. TLS takes a record in a call, and the kernel sends several together. Where more frames follow,
 * what would not fill a record waits for them. False: the connection failed. */
static bool h2_write_out(struct h2 *h2)
{
	bool full = h2->settings.secure && !h2->ending && h2->out.len >= H2_OUT_BYTES;
	size_t end = full ? h2->out.len / H2_RECORD_BYTES * H2_RECORD_BYTES : h2->out.len, written = 0;
	ssize_t n = 0;

	while (written < end) {
		struct iovec iov = { h2->out.bytes + written, end - written };

		n = h2->settings.secure && iov.iov_len > H2_RECORD_BYTES ? conn_writev_more(h2->conn, &iov, 1)
		                                                          : conn_writev(h2->conn, &iov, 1);
		if (n < 0)
			break;
		written += (size_t)n;
	}
	if (written)
		held_drop(&h2->out, written);
	if (!h2->out.len && !h2->waiting)
		held_free(&h2->out);
	return n != CONN_FAILED;
}

/* ---- the end ---- */

static void h2_end_streams(struct h2 *h2)
{
	struct h2_stream *stream;

	while ((stream = TAILQ_FIRST(&h2->streams)))
		h2_stream_end(stream, !h2->asks || h2_ask_has_failed(stream, NGHTTP2_NO_ERROR));
}

/* The owner may free the session. */
static void h2_tell_end(struct h2 *h2, bool lost)
{
	if (h2->told)
		return;
	h2->told = h2->ending = true;
	h2_end_streams(h2);
	h2->owner.ended(h2->owner.arg, lost);
}

static bool h2_is_over(const struct h2 *h2)
{
	return !h2->out.len && (h2->ending ||
	    (!nghttp2_session_want_read(h2->ng) && !nghttp2_session_want_write(h2->ng)) ||
	    ((h2->left || h2->doubted) && TAILQ_EMPTY(&h2->streams)));
}

/* A client that does not read is not read either: what it asks for is output. An origin that does not read may wait for
 * its own output to be read. The windows bound that, since it does not see them grow. */
static bool h2_may_read(const struct h2 *h2)
{
	return !h2->ending && (h2->asks || h2->out.len < H2_OUT_BYTES);
}

static void h2_listen(struct h2 *h2)
{
	conn_want(h2->conn, h2_may_read(h2), h2->out.len > 0);
}

/* Does what can be done now: frames go out, those who wait for room hear of it. */
static void h2_go_on(struct h2 *h2)
{
	if (h2->told)
		return;
	size_t before = h2->out.len;
	if (!h2_write_out(h2)) {
		h2_tell_end(h2, true);
		return;
	}
	if (!h2->out.len)
		loop_disarm(h2->loop, &h2->stuck);
	else if (h2->out.len < before || !h2->stuck.queue)
		loop_arm(h2->loop, &h2->stuck, h2->settings.write_timeout_ms);
	if (h2->ending)
		h2_end_streams(h2);
	h2_wake_writers(h2);
	if (before >= H2_OUT_BYTES && h2->out.len < H2_OUT_BYTES)
		h2_pull(h2);           /* behind the writers, whose frames go out with what is left */
	if (h2_is_over(h2)) {
		h2_tell_end(h2, h2->broken);
		return;
	}
	h2_listen(h2);
	if (h2->asks)
		h2_ask_tell(h2);
	if (h2->used && !h2->open && !h2->out.len && TAILQ_EMPTY(&h2->streams)) {
		h2->used = false;
		h2->owner.idle(h2->owner.arg);
	}
}

static void h2_on_task(struct task *task)
{
	struct h2 *h2 = container_of(task, struct h2, task);

	if (!h2->told)
		h2_take(h2);
	h2_tell_malformed(h2);
	h2_go_on(h2);
}

/* ---- in ---- */

void h2_arm(struct h2 *h2)
{
	uint64_t due = h2->timed ? h2_first_late(h2) : h2->asks ? h2_ask_due(h2) : 0, now = loop_now_ms(h2->loop);

	if (h2->leaving && !h2->left)
		return;
	if (!due) {
		loop_disarm(h2->loop, &h2->timer);
		return;
	}
	loop_arm(h2->loop, &h2->timer, due > now ? due - now : 1);
}

void h2_feed(struct h2 *h2, const char *at, size_t len)
{
	ssize_t n = 0;

	h2->inside = true;
	h2->heard_ms = loop_now_ms(h2->loop);
	if (h2_count_frames(h2, (const uint8_t *)at, len))
		n = nghttp2_session_mem_recv(h2->ng, (const uint8_t *)at, len);
	h2->inside = false;
	if (n == NGHTTP2_ERR_FLOODED || n == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS)
		h2_flood(h2, "frames that nghttp2 bounds");
	else if (n < 0 && !h2->ending)
		h2_fail(h2, n == NGHTTP2_ERR_NOMEM ? NGHTTP2_INTERNAL_ERROR : NGHTTP2_PROTOCOL_ERROR);
	h2_pull(h2);           /* of what nghttp2 resets nothing is begun */
	if (!h2->ending)
		h2_open_streams(h2);
	h2_tell_malformed(h2);
	if (!h2->ending)
		h2_wake_writers(h2);
	h2_arm(h2);
}

void h2_on_event(struct h2 *h2)
{
	char *scratch = (char *)loop_scratch(h2->loop);

	for (int i = 0; i < H2_READS && h2_may_read(h2); i++) {
		if (i && (conn_is_quiet(h2->conn) || conn_must_pause(h2->conn)))
			break;
		ssize_t n = conn_read(h2->conn, scratch, LOOP_SCRATCH_BYTES);

		if (n == CONN_AGAIN)
			break;
		if (n == CONN_FAILED || (n == CONN_EOF && h2->asks)) {
			h2_tell_end(h2, true);
			return;
		}
		if (n == CONN_EOF) {           /* what is written goes out: the peer may read on */
			h2->ending = true;
			break;
		}
		h2_feed(h2, scratch, (size_t)n);
	}
	h2_go_on(h2);
}

/* ---- its life ---- */

static void h2_on_timer(struct timer *timer)
{
	struct h2 *h2 = container_of(timer, struct h2, timer);

	if (h2->leaving && !h2->left) {
		h2->left = true;
		nghttp2_submit_goaway(h2->ng, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(h2->ng),
		    NGHTTP2_NO_ERROR, NULL, 0);
	} else {
		h2_end_late(h2, loop_now_ms(h2->loop));
		if (h2->asks)
			h2_ask_on_time(h2, loop_now_ms(h2->loop));
	}
	h2_pull(h2);
	h2_arm(h2);
}

static void h2_on_stuck(struct timer *timer)
{
	h2_tell_end(container_of(timer, struct h2, stuck), true);
}

void h2_leave(struct h2 *h2)
{
	if (h2->leaving || h2->ending)
		return;
	h2->leaving = true;
	nghttp2_submit_shutdown_notice(h2->ng);
	nghttp2_submit_ping(h2->ng, NGHTTP2_FLAG_NONE, NULL);
	loop_arm(h2->loop, &h2->timer, H2_LAST_MS);
	h2_pull(h2);
}

bool h2_end(struct h2 *h2)
{
	if (h2->ending)
		return false;
	h2_fail(h2, NGHTTP2_NO_ERROR);
	return true;
}

/* -1: out of memory. */
static int h2_open_session(struct h2 *h2)
{
	nghttp2_session_callbacks *callbacks = h2_callbacks();
	nghttp2_option *option = NULL;
	int r = -1;

	if (!callbacks || nghttp2_option_new(&option))
		goto end;
	nghttp2_option_set_no_auto_window_update(option, 1);
	nghttp2_option_set_no_closed_streams(option, 1);
	nghttp2_option_set_builtin_recv_extension_type(option, NGHTTP2_PRIORITY_UPDATE);
	nghttp2_option_set_max_deflate_dynamic_table_size(option, H2_TABLE_BYTES);
	nghttp2_option_set_max_send_header_block_length(option, 2 * H2_HEAD_MAX);
#if HAVE_DECL_NGHTTP2_OPTION_SET_STREAM_RESET_RATE_LIMIT
	nghttp2_option_set_stream_reset_rate_limit(option, UINT32_MAX, UINT32_MAX);      /* h2_limits.def has its own */
#endif
#if HAVE_DECL_NGHTTP2_OPTION_SET_MAX_CONTINUATIONS
	/* nghttp2 1.52 of Debian counts a frame again with each piece of it that comes; h2_limits.def counts frames */
	if (h2->asks)
		nghttp2_option_set_max_continuations(option, SIZE_MAX);
#endif
	r = h2->asks ? nghttp2_session_client_new2(&h2->ng, callbacks, h2, option)
	             : nghttp2_session_server_new2(&h2->ng, callbacks, h2, option);
end:
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
	return r;
}

static int h2_greet(struct h2 *h2)
{
	uint64_t list = h2->asks ? h2_list_bytes_max(h2) : h2->settings.max_head;
	const nghttp2_settings_entry settings[] = {
		{ h2->asks ? NGHTTP2_SETTINGS_ENABLE_PUSH : NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
		  h2->asks ? 0 : H2_STREAMS_MAX },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, h2->asks ? H2_WINDOW_FIRST : h2->settings.window },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)list },
		{ NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
	};

	return nghttp2_submit_settings(h2->ng, NGHTTP2_FLAG_NONE, settings, sizeof settings / sizeof *settings) ||
	        nghttp2_session_set_local_window_size(h2->ng, NGHTTP2_FLAG_NONE, 0,
	            h2->asks ? H2_ASK_CONNECTION_WINDOW : H2_CONNECTION_WINDOW)
	    ? -1
	    : 0;
}

struct h2 *h2_new(struct conn *conn, struct loop *loop, const struct h2_settings *settings,
    const struct h2_translation *translation, const struct h2_owner *owner, bool asks)
{
	struct h2 *h2 = calloc(1, sizeof *h2);

	if (!h2)
		return NULL;
	*h2 = (struct h2){ .conn = conn, .loop = loop, .settings = *settings, .translation = translation,
		.owner = *owner, .asks = asks, .task.run = h2_on_task, .timer.fire = h2_on_timer,
		.stuck.fire = h2_on_stuck };
	TAILQ_INIT(&h2->streams);
	if (h2_open_session(h2) || h2_greet(h2)) {
		h2->ending = true;     /* without a word: SETTINGS would have to be the first (section 3.4) */
		h2_free(&h2);
	}
	return h2;
}

struct h2 *h2_serve(struct conn *conn, struct loop *loop, const struct h2_settings *settings,
    const struct h2_translation *translation, const struct h2_owner *owner)
{
	struct h2 *h2 = h2_new(conn, loop, settings, translation, owner, false);

	if (!h2)
		return NULL;
	h2_count_from_preface(h2);
	stats_add(loop_stats(loop), STAT_H2_CONNECTIONS, 1);
	h2_pull(h2);
	return h2;
}

void h2_free(struct h2 **hp)
{
	struct h2 *h2 = *hp;
	if (!h2)
		return;
	*hp = NULL;
	h2_end_streams(h2);
	if (!h2->ending && !nghttp2_session_terminate_session(h2->ng, NGHTTP2_NO_ERROR)) {
		h2->ending = true;
		h2_take(h2);
		h2_write_out(h2);
	}
	if (!h2->broken)       /* else nghttp2 1.52 may free a frame twice: rather a leak, where memory has run out */
		nghttp2_session_del(h2->ng);
	loop_disarm(h2->loop, &h2->timer);
	loop_disarm(h2->loop, &h2->stuck);
	loop_forget_own(h2->loop, &h2->task);
	assert(task_is_out(&h2->task) && !h2->inside);
	held_free(&h2->out);
	free(h2);
}
