/* Messages on a connection; see wire.h. */
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WIRE_BODY_MAX = 1 << 20, WIRE_CONNECT_OK = 2 };

static struct wire *wire_of(llhttp_t *p)
{
	return p->data;
}

const char *message_text(const struct message *m, size_t at)
{
	return m->texts.bytes + at;
}

size_t message_count(const struct message *m, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_fields; i++)
		n += !strcasecmp(message_text(m, m->fields[i].name), name);
	return n;
}

const char *message_field(const struct message *m, const char *name, char *room, size_t cap)
{
	size_t len = 0;

	*room = '\0';
	for (size_t i = 0; i < m->n_fields && len < cap; i++)
		if (!strcasecmp(message_text(m, m->fields[i].name), name))
			len += (size_t)snprintf(room + len, cap - len, "%s%s", len ? ", " : "", message_text(m, m->fields[i].value));
	return room;
}

static void message_clear(struct message *m)
{
	struct text texts = m->texts, body = m->body;

	texts.len = body.len = 0;
	*m = (struct message){ .texts = texts, .body = body };
}

/* Pieces of one text follow each other. */
static int add_piece(struct wire *w, size_t *at, const char *piece, size_t len)
{
	struct message *m = &w->now;

	if (!w->in_field) {
		*at = m->texts.len;
		text_add(&m->texts, "", 1);
	}
	w->in_field = true;
	m->texts.len--;
	text_add(&m->texts, piece, len);
	text_add(&m->texts, "", 1);
	return m->texts.failed ? -1 : 0;
}

static int on_whole(llhttp_t *p)
{
	wire_of(p)->in_field = false;
	return 0;
}

static int on_begin(llhttp_t *p)
{
	struct wire *w = wire_of(p);

	message_clear(&w->now);
	w->in_field = w->headed = false;
	w->in_message = true;
	return 0;
}

static int on_url(llhttp_t *p, const char *at, size_t len)
{
	return add_piece(wire_of(p), &wire_of(p)->now.target, at, len);
}

static int on_name(llhttp_t *p, const char *at, size_t len)
{
	struct message *m = &wire_of(p)->now;

	if (m->n_fields == WIRE_FIELDS_MAX)
		return -1;
	return add_piece(wire_of(p), &m->fields[m->n_fields].name, at, len);
}

static int on_value(llhttp_t *p, const char *at, size_t len)
{
	struct message *m = &wire_of(p)->now;

	return add_piece(wire_of(p), &m->fields[m->n_fields].value, at, len);
}

/* Blanks at its end are no part of it (RFC 9112 section 5). */
static int on_value_whole(llhttp_t *p)
{
	struct wire *w = wire_of(p);
	struct message *m = &w->now;

	if (!w->in_field)
		add_piece(w, &m->fields[m->n_fields].value, "", 0);
	w->in_field = false;
	for (char *end = m->texts.bytes + m->texts.len - 1; end > m->texts.bytes + m->fields[m->n_fields].value && strchr(" \t", end[-1]); )
		*--end = '\0';
	m->n_fields++;
	return 0;
}

static int on_head(llhttp_t *p)
{
	struct wire *w = wire_of(p);
	struct message *m = &w->now;
	const char *method = p->type == HTTP_REQUEST ? llhttp_method_name(p->method) : "";

	add_piece(w, &m->method, method, strlen(method));
	w->in_field = false;
	m->status = p->status_code;
	m->until_close = p->type == HTTP_RESPONSE && llhttp_message_needs_eof(p);
	w->no_body = false;
	w->headed = true;
	w->hooks.head(w->hooks.arg, w, m);
	m->until_close &= !w->no_body;
	return w->tunnel ? WIRE_CONNECT_OK : w->no_body;
}

static int on_body(llhttp_t *p, const char *at, size_t len)
{
	struct message *m = &wire_of(p)->now;

	if (m->body.len < WIRE_BODY_MAX)
		text_add(&m->body, at, len);
	return 0;
}

static int on_end(llhttp_t *p)
{
	struct wire *w = wire_of(p);

	w->now.ended = true;
	w->in_message = false;
	w->hooks.end(w->hooks.arg, w, &w->now);
	return 0;
}

static const llhttp_settings_t callbacks = {
	.on_message_begin = on_begin, .on_url = on_url, .on_url_complete = on_whole, .on_header_field = on_name,
	.on_header_field_complete = on_whole, .on_header_value = on_value, .on_header_value_complete = on_value_whole,
	.on_headers_complete = on_head, .on_body = on_body, .on_message_complete = on_end,
};

void wire_init(struct wire *w, bool requests, const struct wire_hooks *hooks)
{
	*w = (struct wire){ .hooks = *hooks };
	llhttp_init(&w->parser, requests ? HTTP_REQUEST : HTTP_RESPONSE, &callbacks);
	w->parser.data = w;
}

void wire_free(struct wire *w)
{
	free(w->now.texts.bytes);
	free(w->now.body.bytes);
}

static void wire_fail(struct wire *w)
{
	snprintf(w->room, sizeof w->room, "%s: %.40s", llhttp_errno_name(llhttp_get_errno(&w->parser)), llhttp_get_error_reason(&w->parser));
	w->wrong = w->room;
}

/* A request that would like another protocol is one all the same. */
void wire_read(struct wire *w, const char *at, size_t len)
{
	const char *end = at + len;

	while (at < end && !w->wrong && !w->tunnel) {
		switch (llhttp_execute(&w->parser, at, (size_t)(end - at))) {
		case HPE_OK:
			return;
		case HPE_PAUSED_UPGRADE:
			at = llhttp_get_error_pos(&w->parser);
			llhttp_resume_after_upgrade(&w->parser);
			break;
		default:
			wire_fail(w);
		}
	}
}

void wire_close(struct wire *w, bool reset)
{
	if (w->wrong || w->tunnel || !w->in_message)
		return;
	if (!reset && w->now.until_close)
		llhttp_finish(&w->parser);
	if (!w->now.ended && w->headed)
		w->hooks.end(w->hooks.arg, w, &w->now);
	w->in_message = false;
}
