/* Passing on a request's body as it arrives; see client_internal.h. */
#include "proxy/answer/request_read.h"
#include "proxy/client/client_internal.h"

#include <string.h>

#include "conf/conf.h"
#include "proxy/base/container_of.h"
#include "proxy/http/http_parse.h"
#include "proxy/net/conn.h"

void client_drop_body(struct client *c)
{
	static const struct failure gone = { .error = FAILURE_REQUEST_INCOMPLETE };
	struct object *body = c->exchange ? c->exchange->body : NULL;

	if (!body)
		return;
	loop_disarm(client_loop(c), &c->upload);
	if (object_phase(body) == OBJECT_BODY)
		object_fail(body, &gone);
	object_set_writer(body, NULL);
	object_unref(&c->exchange->body);
	c->exchange->body_starved = false;
}

int client_on_body(void *arg, const char *at, size_t len)
{
	struct exchange *exchange = arg;

	exchange->upload_bytes += len;
	return exchange->body ? object_append(exchange->body, at, len) : 0;
}

/* Refuses the rest of the body: it stays unread, and the fetch gets no more of it. -1: the answer had begun, and the
 * connection is closed. */
static int client_refuse_body(struct client *c, int status, const char *text)
{
	if (c->state != CL_WAIT) {
		client_close(c, true);
		return -1;
	}
	client_drop_body(c);
	answer_refuse(&c->exchange->answer);
	client_refuse(c, status, text);
	return 0;
}

int client_feed_body(struct client *c)
{
	struct exchange *exchange = c->exchange;
	size_t head = exchange->msg.head_len, used;

	exchange->body_starved = object_full(exchange->body);
	if (exchange->body_starved)
		loop_disarm(client_loop(c), &c->upload);
	else if (exchange->in_len > head || !c->upload.queue)
		loop_arm(client_loop(c), &c->upload, client_conf(c)->between_bytes_timeout_ms);
	if (c->eof && exchange->in_len == head) {
		client_close(c, false);
		return -1;
	}
	if (exchange->body_starved || exchange->in_len == head)
		return 0;
	switch (http_parse(exchange->parser, exchange->in + head, exchange->in_len - head, &used)) {
	case PARSE_MORE:
		if (!c->eof)
			break;
		client_close(c, false);
		return -1;
	case PARSE_DONE:
		object_done(exchange->body);
		client_drop_body(c);
		break;
	default:
		return client_refuse_body(c, 400, "The request's body cannot be understood.");
	}
	exchange->in_len -= used;
	memmove(exchange->in + head, exchange->in + head + used, exchange->in_len - head);
	return 0;
}

static void client_on_body_room(struct object_writer *writer)
{
	struct client *c = container_of(writer, struct client, body_writer);

	loop_wake(client_loop(c), &c->task);
}

int client_open_body(struct client *c)
{
	struct exchange *exchange = c->exchange;
	struct object_head *head = object_head_new();

	if (!head || !(exchange->body = object_new(client_conf(c)->transit_bytes))) {
		object_head_unref(&head);
		return -1;
	}
	head->content_length = -1;
	object_head(exchange->body, head);
	c->body_writer = (struct object_writer){ client_on_body_room, client_on_body_room };
	object_set_writer(exchange->body, &c->body_writer);
	http_parser_go_on(exchange->parser);
	conn_acknowledge(c->conn);
	return 0;
}

/* Sends 100 (Continue) to a client that waits for it before it sends its body (RFC 9110 section 10.1.1). */
void client_say_continue(struct client *c)
{
	static char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct iovec iov = { line, sizeof line - 1 };

	if (request_awaits_continue(&c->exchange->request) && !conn_cork(c->conn, &iov, 1))
		client_close(c, false);
}

void client_on_upload_timeout(struct timer *timer)
{
	struct client *c = container_of(timer, struct client, upload);

	if (!client_refuse_body(c, 408, "The request's body was not complete in time."))
		client_pump(c);
}
