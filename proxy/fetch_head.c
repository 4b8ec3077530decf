/* Owns a response's head: reading, interim responses, redirects, and the answer of the hooks.
 * Must not know: bodies beyond the bytes that came with the head. Invariant: f->head holds exactly what f->msg points into. */
#include "fetch_internal.h"

#include <stdlib.h>
#include <string.h>

#include "polite.h"

enum { FETCH_HEAD_FIRST_BYTES = 4096, FETCH_INTERIMS_MAX = 16 };

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
		f->request.parents = f->request.hop_parents;
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
	if (f->msg.status == 407 && fetch_asks_parent(f)) {
		fetch_fail_as(f, PROXY_ERROR_PARENT_CREDENTIALS, "parent proxy: status 407");
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

int fetch_read_head(struct fetch *f)
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
		conn_acknowledge(f->conn);
	}
	return 0;
}
