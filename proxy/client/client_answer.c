/* Sending responses; see client_internal.h. */
#include "proxy/client/client_internal.h"

#include <string.h>

#include "conf/conf.h"
#include "proxy/answer/request_read.h"
#include "proxy/net/conn.h"
#include "proxy/net/h2.h"
#include "proxy/origin/fetch_timing.h"
#include "proxy/settings/settings.h"

/* Answers are gathered while fewer bytes than this are waiting; there is room beyond it for the last of them and for
 * interim responses. */
enum { CLIENT_GATHER_BYTES = 32 * 1024 };

void client_drop_answer(struct exchange *exchange)
{
	answer_end(&exchange->answer);
	object_head_unref(&exchange->head);
	settings_unref(&exchange->ctx.settings);
	if (exchange->timing)
		fetch_timing_unref(&exchange->timing);
}

static void client_count_response(struct client *c)
{
	struct object_report report;
	const struct object_report *object_report = object_snapshot(c->reader.object, &report);
	struct stats *stats = loop_stats(client_loop(c));

	if (!object_report->decided)
		return;
	stats_add(stats,
	    object_report->verdict.kind == VERDICT_CHARSET ? STAT_RESPONSES_NORMALISED : STAT_RESPONSES_UNTOUCHED, 1);
	stats_add(stats, STAT_RESPONSES_REVISED, object_report->revised);
	stats_add(stats, STAT_MALFORMED, object_report->malformed);
	stats_add(stats, STAT_REPAIRS, object_report->repairs);
}

void client_take_object(struct client *c, struct object *o)
{
	object_detach(&c->reader);
	if (!o) {
		client_close(c, false);
		return;
	}
	if (!object_join(o, &c->reader)) {
		answer_late(&c->exchange->answer, o);
		object_unref(&o);
		client_take_answer(c);
		return;
	}
	c->exchange->interim = 0;
	loop_disarm(client_loop(c), &c->timer);
	client_enter(c, CL_WAIT);
}

void client_on_answer(void *arg)
{
	struct client *c = arg;

	loop_defer(client_loop(c), &c->task);
}

void client_take_answer(struct client *c)
{
	struct object *o = answer_take(&c->exchange->answer);

	if (o || !answer_waits(&c->exchange->answer))
		client_take_object(c, o);
	if (client_is_over(c))
		return;
	loop_disarm(client_loop(c), &c->timer);
	client_enter(c, CL_WAIT);
}

/* Lets the reader go on with the gzip form of a stored response, which is made once for all clients. */
static void client_take_gzip(struct client *c, struct delivery *delivery, struct sender_client *asked)
{
	struct slice key = answer_key(&c->exchange->answer);
	struct object *form;

	if (gzip_form(&c->pool->forms, c->reader.object, key.at, key.len, !asked->head, &form) ==
	    OBJECT_GZIP_USELESS)
		asked->gzip = false;
	if (!form)
		return;
	object_detach(&c->reader);
	object_attach(form, &c->reader);
	delivery->content_length = object_content_length(form);
	asked->coded = true;
	object_unref(&form);
}

/* Begins the response: makes the last choices about it and hands it to the sender. head: one reference, taken over. */
static bool client_begin_with(struct client *c, struct object_head *head, bool stored)
{
	struct exchange *exchange = c->exchange;
	struct object *o = c->reader.object;
	struct delivery final;
	struct sender_client asked = { .head = exchange->msg.method == METHOD_HEAD,
		.http_1_0 = exchange->msg.minor == 0,
		.trailers = request_wants_trailer(&exchange->request),
		.keep = c->after == AFTER_STAYS,
		.lines = final.lines,
		.gzip = head->gzip && client_conf(c)->gzip && request_accepts_gzip(&exchange->request),
		.gzip_min = client_conf(c)->gzip_min };
	struct verdict v;

	if (answer_deliver(&exchange->answer, o, head, &final)) {
		object_head_unref(&final.head);
		client_close(c, false);
		return true;
	}
	object_head_unref(&exchange->head);
	exchange->head = final.head;
	asked.coded = final.head->coded;
	exchange->offset = final.offset;
	if (final.offset)
		object_seek(&c->reader, final.offset);
	if (!stored && object_verdict(o, &v))
		asked.verdict = &v;
	if (stored && sender_packs(final.head, final.content_length, &asked))
		client_take_gzip(c, &final, &asked);
	client_enter(c, CL_SEND);
	exchange->status = final.head->status;
	if (!sender_begin_response(&exchange->sender, final.head, final.content_length, &asked))
		client_ends(c, AFTER_CLOSES);
	return true;
}

/* Passes on the origin's interim responses, whole ones only. A client that has stopped reading, so that there is not
 * enough room for them, does without. They belong to the request that began the fetch. A request that joined it may
 * differ, and waits for the final head. */
static void client_pass_interim(struct client *c)
{
	char bytes[OBJECT_INTERIM_MAX];
	struct iovec iov = { bytes, 0 };

	if (c->exchange->msg.minor == 0 || answer_is_collapsed(&c->exchange->answer))
		return;
	iov.iov_len = object_take_interim(&c->reader, &c->exchange->interim, bytes);
	if (iov.iov_len)
		(void)conn_cork(c->conn, &iov, 1);
}

/* A refused request may have no version: its answer has the form of HTTP/1.0, and the connection is closed. */
bool client_begin(struct client *c)
{
	struct exchange *exchange = c->exchange;
	struct object *o = c->reader.object;
	struct object_head *head;
	bool stored;

	if (!o) {
		if (answer_waits(&exchange->answer))
			return false;
		client_take_answer(c);
		return c->state == CL_WAIT;
	}
	if (answer_again(&exchange->answer, o)) {
		object_detach(&c->reader);
		client_take_answer(c);
		return c->state == CL_WAIT;
	}
	client_pass_interim(c);
	if ((head = answer_head(&exchange->answer, &c->reader, &stored)))
		return client_begin_with(c, head, stored);
	if (!answer_has_failed(&exchange->answer, o))
		return false;
	client_take_object(c, answer_failure(&exchange->answer, o));
	return c->state == CL_WAIT;
}

/* The response is out: the connection goes on with the next request, or ends. */
static void client_finish(struct client *c)
{
	struct exchange *exchange = c->exchange;
	size_t head_len = exchange->msg.head_len;

	client_count_response(c);
	client_log(c, "done");
	object_detach(&c->reader);
	loop_disarm(client_loop(c), &c->timer);
	client_enter(c, CL_IDLE);
	sender_end(&exchange->sender);
	if (exchange->body) {
		client_drop_body(c);
		client_ends(c, AFTER_LINGERS);
	}
	if (c->after != AFTER_STAYS) {
		if (c->after == AFTER_LINGERS || exchange->in_len > head_len)
			client_linger(c);
		else
			client_close(c, false);
		return;
	}
	client_drop_answer(exchange);
	exchange->interim = 0;
	exchange->status = 0;                 /* nothing is sent yet of the next response */
	exchange->in_len -= head_len;
	memmove(exchange->in, exchange->in + head_len, exchange->in_len);
	exchange->parsed = 0;
}

/* The origin's transfer failed after the head went out, or the client held up others: it must not take what it has for
 * complete. */
void client_cut(struct client *c)
{
	h2_say_why(c->conn, c->reader.expelled ? H2_WHY_CANCELLED : H2_WHY_FAILED);
	stats_add(loop_stats(client_loop(c)), STAT_RESPONSES_CUT, 1);
	client_log(c, "cut");
	object_detach(&c->reader);
	client_enter(c, CL_IDLE);
	client_close(c, c->exchange->sender.framing == FRAME_CLOSE);
}

bool client_send(struct client *c)
{
	struct exchange *exchange = c->exchange;
	uint64_t before = exchange->sender.bytes;
	size_t unsent = conn_unsent(c->conn);

	exchange->sender.gathers = c->after == AFTER_STAYS && !exchange->body &&
	    exchange->in_len > exchange->msg.head_len && unsent < CLIENT_GATHER_BYTES;
	enum sender_result r = sender_write(&exchange->sender, c->conn, &c->reader);
	/* An answer that goes out at once is measured by one look at the clock. */
	if (client_measures(c) || client_times(c)) {
		exchange->sent_us = loop_now_us(client_loop(c));
		exchange->first_us = exchange->first_us ? exchange->first_us : exchange->sent_us;
	}
	bool moved = exchange->sender.bytes > before || conn_unsent(c->conn) < unsent;
	stats_add(loop_stats(client_loop(c)), STAT_BYTES_TO_CLIENTS, exchange->sender.bytes - before);
	if (r == SENDER_BLOCKED && (moved || !c->blocked))
		loop_arm(client_loop(c), &c->timer, client_conf(c)->write_timeout_ms);
	else if (r == SENDER_WAIT || r == SENDER_PAUSED)
		loop_disarm(client_loop(c), &c->timer);
	c->blocked = r == SENDER_BLOCKED;
	if (r == SENDER_PAUSED)
		loop_defer(client_loop(c), &c->task);
	switch (r) {
	case SENDER_DONE:
		client_finish(c);
		return true;
	case SENDER_CUT:
		client_cut(c);
		return true;
	case SENDER_LOST:
		client_close(c, false);
		return true;
	default:
		return false;
	}
}
