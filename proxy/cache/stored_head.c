/* Heads of stored responses; see stored_head.h. */
#include "proxy/cache/stored_head.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "proxy/http/head_text.h"
#include "proxy/object/response_head.h"

/* Whether the field is about one connection (RFC 9110 section 7.6.1). */
static bool is_of_connection(const struct http_field *field)
{
	return field->hop || field->id == H_CONNECTION || field->id == H_KEEP_ALIVE ||
	    field->id == H_PROXY_CONNECTION || field->id == H_TE || field->id == H_UPGRADE ||
	    field->id == H_TRANSFER_ENCODING;
}

/* Whether the field is about the body's bytes, which the newer response does not change. */
static bool is_of_bytes(const struct http_field *field)
{
	return field->id == H_CONTENT_LENGTH || field->id == H_CONTENT_ENCODING || field->id == H_CONTENT_TYPE ||
	    field->id == H_CONTENT_RANGE || field->id == H_ETAG;
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
static bool is_for_client(const struct http_field *field)
{
	return http_header_response((enum header_id)field->id) == RESPONSE_CLIENT;
}

/* Both return the number of fields they wrote. */
static size_t add_stored(struct text *t, const struct http_msg *stored, const struct http_msg *m)
{
	size_t n = 0;

	for (uint32_t i = 0; i < stored->n_fields; i++) {
		const struct http_field *field = &stored->fields[i];
		struct slice name = http_field_name(stored, field);

		if (is_of_connection(field) || is_for_client(field) || field->id == H_AGE || field->id == H_DATE ||
		    (!is_of_bytes(field) && has_field(m, name)))
			continue;
		text_field(t, name, http_field_value(stored, field));
		n++;
	}
	return n;
}

static size_t add_newer(struct text *t, const struct http_msg *m, bool client)
{
	size_t n = 0;

	for (uint32_t i = 0; i < m->n_fields; i++) {
		const struct http_field *field = &m->fields[i];

		if (is_of_connection(field) || is_of_bytes(field) || (is_for_client(field) && !client))
			continue;
		text_field(t, http_field_name(m, field), http_field_value(m, field));
		n++;
	}
	return n;
}

size_t stored_head_update(struct text *t, const struct http_msg *stored, const struct http_msg *newer, bool client)
{
	text_printf(t, "HTTP/1.1 %u \r\n", stored->status);
	size_t fields = add_stored(t, stored, newer);
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
	struct object_head *head = object_head_new();
	struct text t = { 0 };
	struct verdict v;
	char rule[VERDICT_FORMAT_MAX];

	text_printf(&t, "HTTP/1.1 %d %s\r\n", from->status, http_reason_phrase(from->status));
	head_text_copy_if(&t, (struct slice){ from->bytes, from->len }, client ? is_for_asker : is_stored);
	if (object_verdict(o, &v)) {
		verdict_format(&v, rule, sizeof rule);
		text_printf(&t, "X-Encoding-Rule: %s\r\n", rule);
	}
	if (!head || !(head->bytes = text_take(&t, &head->len))) {
		text_free(&t);
		object_head_unref(&head);
		return NULL;
	}
	head->status = from->status;
	head->no_body = from->no_body;
	head->content_length = (int64_t)object_length(o);
	head->gzip = from->gzip;
	head->etag_end = head_text_etag_end((struct slice){ head->bytes, head->len });
	return head;
}
