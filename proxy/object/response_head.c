/* Response heads for clients; see response_head.h. */
#include "proxy/object/response_head.h"

#include <stdlib.h>
#include <string.h>

#include "core/evidence/media_type.h"
#include "proxy/base/text.h"
#include "proxy/http/etag.h"
#include "proxy/http/location.h"

static const struct { int status; const char *phrase; } phrases[] = {   /* RFC 9110 section 15, RFC 6585, RFC 4918 */
	{ 102, "Processing" }, { 103, "Early Hints" }, { 200, "OK" }, { 201, "Created" }, { 202, "Accepted" },
	{ 203, "Non-Authoritative Information" }, { 204, "No Content" }, { 205, "Reset Content" },
	{ 206, "Partial Content" },
	{ 207, "Multi-Status" }, { 226, "IM Used" }, { 300, "Multiple Choices" },
	{ 301, "Moved Permanently" }, { 302, "Found" }, { 303, "See Other" }, { 304, "Not Modified" },
	{ 305, "Use Proxy" },
	{ 307, "Temporary Redirect" }, { 308, "Permanent Redirect" }, { 400, "Bad Request" }, { 401, "Unauthorized" },
	{ 402, "Payment Required" }, { 403, "Forbidden" }, { 404, "Not Found" }, { 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" }, { 407, "Proxy Authentication Required" }, { 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 410, "Gone" }, { 411, "Length Required" }, { 412, "Precondition Failed" }, { 413, "Content Too Large" },
	{ 414, "URI Too Long" }, { 415, "Unsupported Media Type" }, { 416, "Range Not Satisfiable" },
	{ 417, "Expectation Failed" },
	{ 421, "Misdirected Request" }, { 422, "Unprocessable Content" }, { 425, "Too Early" },
	{ 426, "Upgrade Required" },
	{ 428, "Precondition Required" }, { 429, "Too Many Requests" }, { 431, "Request Header Fields Too Large" },
	{ 451, "Unavailable For Legal Reasons" }, { 500, "Internal Server Error" }, { 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" }, { 504, "Gateway Timeout" }, { 505, "HTTP Version Not Supported" },
	{ 507, "Insufficient Storage" },
	{ 508, "Loop Detected" }, { 511, "Network Authentication Required" },
};

const char *http_reason_phrase(int status)
{
	for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
		if (phrases[i].status == status)
			return phrases[i].phrase;
	return "";
}

static bool has_directive(const struct http_msg *m, const char *directive)
{
	struct http_list it = { 0, 0 };
	struct slice member;

	while (http_msg_next_member(m, H_CACHE_CONTROL, &it, &member))
		if (slice_is(member, directive))
			return true;
	return false;
}

enum verdict_reason response_untouched(const struct http_msg *m, bool normalise, bool respect_no_transform)
{
	if (m->status == 206)
		return VREASON_PARTIAL;
	if (!normalise)
		return VREASON_DISABLED;
	if (m->status != 200 && m->status != 203)      /* others do not carry the feed itself (RFC 9110 section 15.3) */
		return VREASON_STATUS;
	if (respect_no_transform && has_directive(m, "no-transform"))
		return VREASON_NO_TRANSFORM;
	if (m->has_length && !m->content_length)
		return VREASON_EMPTY;
	return VREASON_NONE;
}

static void response_head_add_field(struct text *t, const char *name, const char *value)
{
	text_puts(t, name);
	text_puts(t, ": ");
	text_puts(t, value);
	text_puts(t, "\r\n");
}

static void response_head_add_line(struct text *t, const char *name, struct slice value)
{
	text_puts(t, name);
	text_puts(t, ": ");
	text_add(t, value.at, value.len);
	text_puts(t, "\r\n");
}

/* Adds a line for each field of that id. */
static void response_head_add_all(struct text *t, const struct http_msg *m, enum header_id id, const char *name)
{
	for (uint32_t i = 0; http_msg_has(m, id) && i < m->n_fields; i++)
		if (m->fields[i].id == id)
			response_head_add_line(t, name, http_field_value(m, &m->fields[i]));
}

static bool keeps(enum header_response what, enum response_body body, enum response_way way)
{
	switch (what) {
	case RESPONSE_KEEP:
		return true;
	case RESPONSE_BODY:
		return body == RESPONSE_RAW;
	case RESPONSE_FRONT:
		return way == RESPONSE_CHOSEN;
	case RESPONSE_SITE:
	case RESPONSE_CLIENT:
		return way != RESPONSE_FOREIGN;
	default:
		return false;
	}
}

static void add_etag(struct text *t, struct slice upstream, int status, enum response_body body,
    const struct response_settings *settings)
{
	bool own = (body != RESPONSE_RAW || settings->way == RESPONSE_FOREIGN) && !etag_is_valid(upstream);

	if (!upstream.len)
		return;
	if (own || body == RESPONSE_NORMALISED || (status == 304 && settings->etag_ours)) {
		struct text tag = { 0 };

		etag_transform(&tag, upstream, settings->etag_suffix);
		if (tag.len && status == 304 && settings->etag_gzip) {
			tag.len--;
			text_puts(&tag, ETAG_GZIP "\"");
		}
		if (tag.len)
			response_head_add_line(t, "ETag", (struct slice){ tag.bytes, tag.len });
		t->failed |= tag.failed;
		text_free(&tag);
		return;
	}
	text_puts(t, "ETag: ");
	if (body == RESPONSE_DECODED && upstream.at[0] == '"')
		text_puts(t, "W/");
	text_add(t, upstream.at, upstream.len);
	text_puts(t, "\r\n");
}

static bool vary_covers_coding(const struct http_msg *m)
{
	struct http_list it = { 0, 0 };
	struct slice member;

	while (http_msg_next_member(m, H_VARY, &it, &member))
		if (slice_is(member, "*") || slice_is(member, "accept-encoding"))
			return true;
	return false;
}

static void add_status_line(struct text *t, int status)
{
	text_puts(t, "HTTP/1.1 ");
	text_integer(t, status);
	text_puts(t, " ");
	text_puts(t, http_reason_phrase(status));
	text_puts(t, "\r\n");
}

/* Content-Location names the URL at which the response was found, if the client does not know it. That is so behind
 * redirects, and in the gateway, where the origin's own field counts first: a feed's links do not start from the
 * gateway's URLs. */
static void add_content_location(struct text *t, const struct http_msg *m, const struct response_settings *settings)
{
	struct slice own = http_msg_get(m, H_CONTENT_LOCATION);
	bool found = m->status / 100 == 2 || m->status == 304;

	if (settings->url && (settings->redirected || (settings->way == RESPONSE_FOREIGN && found && !own.len)))
		response_head_add_field(t, "Content-Location", settings->url);
	else if (own.len)
		response_head_add_line(t, "Content-Location", own);
}

/* Writes the URL that Location names, as the origin meant it, which the client would resolve against another URL. A
 * value that cannot be read stays as it is. */
static void add_location(struct text *t, struct slice value, const struct response_settings *settings)
{
	struct destination at = { .path = NULL }, to = { .path = NULL };
	size_t start = t->len;
	const char *why;

	text_puts(t, "Location: ");
	if (destination_from_url(&at, (struct slice){ settings->url, strlen(settings->url) }, &why) == DESTINATION_OK &&
	    location_follow(&to, &at, value, &why) == DESTINATION_OK) {
		destination_url(t, &to);
		text_puts(t, "\r\n");
	} else {
		t->len = start;
		response_head_add_line(t, "Location", value);
	}
	destination_free(&at);
	destination_free(&to);
}

/* The type of a normalised body. */
static void add_own_type(struct text *t, struct slice type, const struct response_settings *settings)
{
	const char *charset = normalise_charset(settings->output);
	char *own = settings->keeps_type ? media_type_relabel(type.at, type.len, charset) : NULL;

	t->failed |= settings->keeps_type && !own;
	response_head_add_field(t, "Content-Type", own ? own : normalise_content_type(settings->output));
	free(own);
}

struct object_head *response_head_build(const struct http_msg *m, enum response_body body,
    const struct response_settings *settings)
{
	struct object_head *out = object_head_new();
	struct text t = { 0 };
	struct slice type = http_msg_get(m, H_CONTENT_TYPE), date = http_msg_get(m, H_DATE);
	bool about_ours = m->status == 304 && settings->etag_ours;

	add_status_line(&t, m->status);
	if (date.len)
		response_head_add_line(&t, "Date", date);
	else
		response_head_add_field(&t, "Date", settings->date);
	for (uint32_t i = 0; i < m->n_fields; i++) {
		const struct http_field *field = &m->fields[i];
		struct slice name = http_field_name(m, field), value = http_field_value(m, field);

		if (field->hop ||
		    !keeps(http_header_response((enum header_id)field->id), about_ours ? RESPONSE_NORMALISED : body,
		        settings->way))
			continue;
		if (field->id == H_LOCATION && settings->way == RESPONSE_FOREIGN && settings->url)
			add_location(&t, value, settings);
		else
			text_field(&t, name, value);
	}
	if (body == RESPONSE_NORMALISED)
		add_own_type(&t, type, settings);
	else if (type.len && !about_ours)
		response_head_add_line(&t, "Content-Type", type);
	if (body == RESPONSE_RAW && !about_ours)
		response_head_add_all(&t, m, H_CONTENT_ENCODING, "Content-Encoding");
	if (settings->way == RESPONSE_FOREIGN)
		text_puts(&t, RESPONSE_SANDBOX);
	add_content_location(&t, m, settings);
	if ((settings->varies || (settings->gzip && (about_ours || body == RESPONSE_NORMALISED))) &&
	    !vary_covers_coding(m))
		response_head_add_field(&t, "Vary", "Accept-Encoding");
	size_t before = t.len;
	add_etag(&t, http_msg_get(m, H_ETAG), m->status, body, settings);
	if (out) {
		out->gzip = body == RESPONSE_NORMALISED && settings->gzip;
		out->etag_end = t.len > before ? t.len - 3 : 0;      /* CRLF follows the quote */
	}
	response_head_add_all(&t, m, H_VIA, "Via");
	http_msg_add_via(&t, m, settings->via);
	if (!out || !(out->bytes = text_take(&t, &out->len))) {
		text_free(&t);
		object_head_unref(&out);
		return NULL;
	}
	out->status = m->status;
	out->no_body = m->status == 204 || m->status == 304;
	out->content_length = body == RESPONSE_RAW && m->has_length && !about_ours ? (int64_t)m->content_length : -1;
	return out;
}

/* Whether user agents act on the field before the final head (HTML Living Standard, "process early hint headers"). */
static bool is_hint(const struct http_msg *m, const struct http_field *field)
{
	static const char *const hints[] = { "link", "content-security-policy", "referrer-policy" };

	for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
		if (slice_is(http_field_name(m, field), hints[i]))
			return !field->hop;
	return false;
}

void response_interim(struct text *t, const struct http_msg *m)
{
	add_status_line(t, m->status);
	for (uint32_t i = 0; i < m->n_fields && m->status == 103; i++)
		if (is_hint(m, &m->fields[i]))
			text_field(t, http_field_name(m, &m->fields[i]), http_field_value(m, &m->fields[i]));
	text_puts(t, "\r\n");
}

int response_own(struct object *o, int status, const char *fields, const char *date, const char *body, size_t len)
{
	struct object_head *head = object_head_new();
	struct text t = { 0 };

	add_status_line(&t, status);
	response_head_add_field(&t, "Date", date);
	if (status != 204 && strncmp(fields, "Content-Type:", 13))
		response_head_add_field(&t, "Content-Type", "text/plain; charset=utf-8");
	if (!strstr(fields, "\r\nCache-Control:"))
		response_head_add_field(&t, "Cache-Control", "no-store");
	text_puts(&t, strstr(fields, "\r\nContent-Security-Policy:") ? RESPONSE_NOSNIFF : RESPONSE_SANDBOX);
	text_puts(&t, fields);
	if (!head || !(head->bytes = text_take(&t, &head->len))) {
		text_free(&t);
		object_head_unref(&head);
		return -1;
	}
	head->status = status;
	head->no_body = status == 204;
	head->content_length = (int64_t)len;
	object_head(o, head);
	if (object_append(o, body, len))
		return -1;
	object_done(o);
	return 0;
}
