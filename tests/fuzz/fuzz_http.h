/* Owns what the fuzz targets of proxy/http/http_parse.c share. Input: a byte of switches, a byte of cut, then the message.
 * Invariants: result, head, body and where the message ended do not depend on the cut; offsets lie in the head; no LF, CR or NUL
 * in anything handed out; one framing at most, and what its fields say it is. */
#ifndef UTFEED_TESTS_FUZZ_HTTP_H
#define UTFEED_TESTS_FUZZ_HTTP_H

#include "proxy/http/http_parse.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_HTTP_HEAD = 2, FUZZ_HTTP_FIELDS = 16 };

struct seen {
	struct http_msg msg;
	struct http_field fields[FUZZ_HTTP_FIELDS];
	enum http_parse_result result;
	bool head, ended;
	size_t used, body_len;
	char *body;
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static int on_body(void *arg, const char *at, size_t len)
{
	struct seen *s = arg;

	require(s->head && len > 0);
	memcpy(s->body + s->body_len, at, len);
	s->body_len += len;
	return 0;
}

static void check_slice(struct slice text, const char *base, size_t len)
{
	require(text.len == 0 || (text.at >= base && text.at + text.len <= base + len));
	require(!text.len || (!memchr(text.at, '\n', text.len) && !memchr(text.at, '\r', text.len) && !memchr(text.at, '\0', text.len)));
}

/* Lines end in CRLF, neither of them stands alone, and none is folded (RFC 9112 sections 2.2, 5.2). */
static void check_lines(const char *head, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (head[i] == '\n')
			require(i > 0 && head[i - 1] == '\r' && (i + 1 == len || (head[i + 1] != ' ' && head[i + 1] != '\t')));
		else if (head[i] == '\r')
			require(i + 1 < len && head[i + 1] == '\n');
	}
}

static void check_head(const struct http_msg *m, bool request)
{
	check_lines(m->base, m->head_len);
	require(m->major == 1 && m->minor <= 1 && m->n_fields <= m->max_fields);
	require(!(m->chunked && m->has_length) && !(m->chunked && m->minor == 0));
	require(m->chunked == http_msg_has(m, H_TRANSFER_ENCODING) && http_msg_count(m, H_TRANSFER_ENCODING) <= 1);
	require(http_msg_count(m, H_CONTENT_LENGTH) == m->has_length);
	require(request ? m->target_len > 0 : m->status >= 100 && m->status <= 999);
	if (request)
		check_slice(http_msg_target(m), m->base, m->head_len);
	for (uint32_t i = 0; i < m->n_fields; i++) {
		struct slice name = http_field_name(m, &m->fields[i]), value = http_field_value(m, &m->fields[i]);

		check_slice(name, m->base, m->head_len);
		check_slice(value, m->base, m->head_len);
		require(name.len > 0 && !memchr(name.at, ' ', name.len) && !memchr(name.at, ':', name.len));
		require(value.len == slice_trim(value).len);
		require(m->fields[i].id < H_COUNT);
	}
}

/* Each call gets its bytes in an allocation of just their size, so that a sanitizer sees a read past them. */
static enum http_parse_result step_body(struct http_parser *p, const char *at, size_t len, size_t *used)
{
	char *piece = calloc(1, len ? len : 1);
	enum http_parse_result result;

	require(piece != NULL);
	if (len)
		memcpy(piece, at, len);
	result = http_parse(p, piece, len, used);
	require(*used <= len && result != PARSE_HEAD && (result != PARSE_MORE || *used == len));
	free(piece);
	return result;
}

static void fuzz_run(struct seen *s, bool request, bool no_body, const char *in, size_t len, size_t step)
{
	struct http_parser *p = http_parser_new(request, on_body, s);
	struct http_msg msg;
	char *head = NULL;

	require(p && http_msg_init(&msg, FUZZ_HTTP_FIELDS) == 0 && (s->body = malloc(len + 1)));
	http_parser_start(p, &msg, no_body);
	for (size_t at = 0, n, used; at < len && s->result == PARSE_MORE; at += n) {
		n = len - at < step ? len - at : step;
		if (!s->head) {
			char *moved = malloc(at + n);

			require(moved != NULL);
			memcpy(moved, in, at + n);
			free(head);
			msg.base = head = moved;
			s->result = http_parse(p, head + at, n, &used);
			require(used <= n && (s->result != PARSE_MORE || used == n) && s->result != PARSE_DONE);
			s->used += used;
			if (s->result != PARSE_HEAD)
				continue;
			require(msg.head_len == at + used);
			check_head(&msg, request);
			s->head = true;
			http_parser_go_on(p);
			s->result = step_body(p, in + at + used, n - used, &used);
		} else
			s->result = step_body(p, in + at, n, &used);
		s->used += used;
	}
	if (s->result == PARSE_MORE)
		s->result = http_parse_eof(p);
	require(s->result == PARSE_DONE || s->result == PARSE_ERROR);
	require((s->result == PARSE_ERROR) == (http_parser_error(p) != HTTP_E_NONE) && http_parser_reason(p) != NULL);
	if (s->result == PARSE_DONE && (!s->msg.has_length || no_body))
		require(s->used <= len);
	s->msg = msg;
	memcpy(s->fields, msg.fields, msg.n_fields * sizeof(*msg.fields));
	s->msg.base = NULL;
	s->msg.fields = NULL;
	http_msg_free(&msg);
	http_parser_free(&p);
	free(head);
}

static void check_same(const struct seen *a, const struct seen *b)
{
	require(a->result == b->result && a->head == b->head && a->body_len == b->body_len);
	require(memcmp(a->body, b->body, a->body_len) == 0);
	if (a->result == PARSE_DONE)
		require(a->used == b->used);
	if (!a->head)
		return;
	require(a->msg.head_len == b->msg.head_len && a->msg.status == b->msg.status && a->msg.method == b->msg.method);
	require(a->msg.major == b->msg.major && a->msg.minor == b->msg.minor && a->msg.keep_alive == b->msg.keep_alive);
	require(a->msg.target == b->msg.target && a->msg.target_len == b->msg.target_len && a->msg.chunked == b->msg.chunked);
	require(a->msg.has_length == b->msg.has_length && a->msg.content_length == b->msg.content_length);
	require(a->msg.n_fields == b->msg.n_fields);
	for (uint32_t i = 0; i < a->msg.n_fields; i++) {
		const struct http_field *f = &a->fields[i], *g = &b->fields[i];

		require(f->name == g->name && f->name_len == g->name_len && f->value_len == g->value_len);
		require((!f->value_len || f->value == g->value) && f->id == g->id && f->hop == g->hop);
	}
}

static void fuzz_http(bool request, const uint8_t *data, size_t size)
{
	struct seen whole = { .result = PARSE_MORE }, cut = { .result = PARSE_MORE };
	const char *in = (const char *)data + FUZZ_HTTP_HEAD;

	if (size < FUZZ_HTTP_HEAD)
		return;
	size -= FUZZ_HTTP_HEAD;
	fuzz_run(&whole, request, data[0] & 1, in, size, size + 1);
	fuzz_run(&cut, request, data[0] & 1, in, size, data[1] + 1u);
	check_same(&whole, &cut);
	free(whole.body);
	free(cut.body);
}

#endif
