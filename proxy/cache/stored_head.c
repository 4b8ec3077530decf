/* Heads of stored responses; see stored_head.h. */
#include "proxy/cache/stored_head.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "proxy/http/head_text.h"
#include "proxy/object/response_head.h"

/* Whether the field is about one connection (RFC 9110 section 7.6.1). */
static bool is_of_connection(const struct http_field *f)
{
	return f->hop || f->id == H_CONNECTION || f->id == H_KEEP_ALIVE || f->id == H_PROXY_CONNECTION ||
	    f->id == H_TE || f->id == H_UPGRADE || f->id == H_TRANSFER_ENCODING;
}

/* Whether the field is about the body's bytes, which the newer response does not change. */
static bool is_of_bytes(const struct http_field *f)
{
	return f->id == H_CONTENT_LENGTH || f->id == H_CONTENT_ENCODING || f->id == H_CONTENT_TYPE ||
	    f->id == H_CONTENT_RANGE || f->id == H_ETAG;
}

static bool has_field(const struct http_msg *m, struct slice name)
{
	for (uint32_t i = 0; i < m->n_fields; i++) {
		struct slice other = http_field_name(m, &m->fields[i]);

		if (!m->fields[i].hop && other.len == name.len && !strncasecmp(other.at, name.at, name.len))
			return true;
	}
	return false;
}

/* Whether the field was for the client alone that asked. */
static bool is_for_client(const struct http_field *f)
{
	return http_header_response((enum header_id)f->id) == RESPONSE_CLIENT;
}

/* Both return the number of fields they wrote. */
static size_t add_stored(struct text *t, const struct http_msg *stored, const struct http_msg *m)
{
	size_t n = 0;

	for (uint32_t i = 0; i < stored->n_fields; i++) {
		const struct http_field *f = &stored->fields[i];
		struct slice name = http_field_name(stored, f);

		if (is_of_connection(f) || is_for_client(f) || f->id == H_AGE || f->id == H_DATE ||
		    (!is_of_bytes(f) && has_field(m, name)))
			continue;
		text_field(t, name, http_field_value(stored, f));
		n++;
	}
	return n;
}

static size_t add_newer(struct text *t, const struct http_msg *m, bool client)
{
	size_t n = 0;

	for (uint32_t i = 0; i < m->n_fields; i++) {
		const struct http_field *f = &m->fields[i];

		if (is_of_connection(f) || is_of_bytes(f) || (is_for_client(f) && !client))
			continue;
		text_field(t, http_field_name(m, f), http_field_value(m, f));
		n++;
	}
	return n;
}

size_t stored_head_update(struct text *t, const struct http_msg *stored, const struct http_msg *newer, bool client)
{
	size_t fields;

	text_printf(t, "HTTP/1.1 %u \r\n", stored->status);
	fields = add_stored(t, stored, newer);
	fields += add_newer(t, newer, client);
	text_puts(t, "\r\n");
	return fields;
}

/* utfeed computes Age anew for each response. */
static bool is_stored(struct slice name)
{
	enum header_id id = http_header_id(name.at, name.len);

	return id != H_AGE && http_header_response(id) != RESPONSE_CLIENT;
}

static bool is_for_asker(struct slice name)
{
	return http_header_id(name.at, name.len) != H_AGE;
}

struct object_head *stored_head_of(const struct object_head *from, struct object *o, bool client)
{
	struct object_head *h = object_head_new();
	struct text t = { 0 };
	struct verdict v;
	char rule[VERDICT_FORMAT_MAX];

	text_printf(&t, "HTTP/1.1 %d %s\r\n", from->status, http_reason_phrase(from->status));
	head_text_copy_if(&t, (struct slice){ from->bytes, from->len }, client ? is_for_asker : is_stored);
	if (object_verdict(o, &v)) {
		verdict_format(&v, rule, sizeof rule);
		text_printf(&t, "X-Encoding-Rule: %s\r\n", rule);
	}
	if (!h || !(h->bytes = text_take(&t, &h->len))) {
		text_free(&t);
		object_head_unref(&h);
		return NULL;
	}
	h->status = from->status;
	h->no_body = from->no_body;
	h->content_length = (int64_t)object_length(o);
	h->gzip = from->gzip;
	h->etag_end = head_text_etag_end((struct slice){ h->bytes, h->len });
	return h;
}
