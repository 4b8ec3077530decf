/* HTTP/1 parsing on llhttp; see http_parse.h. */
#include "proxy/http/http_parse.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <llhttp.h>

#include "proxy/http/head_lines.h"

/* The longest stretch of chunk sizes, chunk extensions or trailers without a byte of the body. The count is checked
 * after each read, so that up to one read more may pass. */
enum { HTTP_FRAMING_MAX = 64 * 1024 };

struct http_parser {
	llhttp_t ll;
	struct http_msg *msg;
	http_body_f *body;
	void *arg;
	bool request, head_done, done, in_name, no_body;
	char last;                     /* the last byte parsed */
	const char *body_end;          /* end of the last piece of the body in this call's data; NULL: there was none */
	size_t framing;                /* bytes read since the last byte of the body */
	enum http_parse_error error;
	const char *reason;
};

static int http_fail(struct http_parser *parser, enum http_parse_error error, const char *reason)
{
	if (parser->error == HTTP_E_NONE) {
		parser->error = error;
		parser->reason = reason;
	}
	return HPE_USER;
}

static int on_url(llhttp_t *ll, const char *at, size_t len)
{
	struct http_msg *m = ((struct http_parser *)ll->data)->msg;

	if (!m->target_len)
		m->target = (uint32_t)(at - m->base);
	m->target_len += (uint32_t)len;
	return 0;
}

static int on_field(llhttp_t *ll, const char *at, size_t len)
{
	struct http_parser *parser = ll->data;
	struct http_msg *m = parser->msg;

	if (parser->head_done) {              /* trailers are not kept */
		parser->in_name |= len != 0;
		return 0;
	}
	if (!parser->in_name) {
		if (m->n_fields == m->max_fields)
			return http_fail(parser, HTTP_E_TOO_MANY_FIELDS, "too many header fields");
		m->fields[m->n_fields] = (struct http_field){ .name = (uint32_t)(at - m->base) };
		parser->in_name = true;
	}
	if (len > (size_t)UINT16_MAX - m->fields[m->n_fields].name_len)
		return http_fail(parser, HTTP_E_TOO_MANY_FIELDS, "field name too long");
	m->fields[m->n_fields].name_len = (uint16_t)(m->fields[m->n_fields].name_len + len);
	return 0;
}

static int on_field_complete(llhttp_t *ll)
{
	struct http_parser *parser = ll->data;
	struct http_msg *m = parser->msg;

	if (!parser->in_name || (!parser->head_done && !m->fields[m->n_fields].name_len))
		return http_fail(parser, HTTP_E_SYNTAX, "empty field name");
	if (parser->head_done) {
		parser->in_name = false;
		return 0;
	}
	if (m->base[m->fields[m->n_fields].name + m->fields[m->n_fields].name_len] != ':')
		return http_fail(parser, HTTP_E_SYNTAX, "blank before a colon");
	parser->in_name = false;
	m->fields[m->n_fields].id =
	    (uint8_t)http_header_id(m->base + m->fields[m->n_fields].name, m->fields[m->n_fields].name_len);
	http_msg_add(m);
	return 0;
}

static int on_value(llhttp_t *ll, const char *at, size_t len)
{
	struct http_parser *parser = ll->data;
	struct http_msg *m = parser->msg;

	if (parser->head_done)
		return 0;
	struct http_field *field = &m->fields[m->n_fields - 1];
	if (!field->value_len)
		field->value = (uint32_t)(at - m->base);
	else if (m->base + field->value + field->value_len != at)
		return http_fail(parser, HTTP_E_SYNTAX, "folded header line");
	field->value_len += (uint32_t)len;
	return 0;
}

/* A reason phrase has no control characters (RFC 9112 section 4); llhttp's versions differ in these. */
static int on_status(llhttp_t *ll, const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (((unsigned char)at[i] < 0x20 && at[i] != '\t') || at[i] == 0x7f)
			return http_fail(ll->data, HTTP_E_SYNTAX, "control character in the reason phrase");
	return 0;
}

/* Whether the status code has three digits, 100 to 599: llhttp accepts any number of digits. */
static bool http_status_valid(const struct http_msg *m)
{
	enum { STATUS_AT = sizeof "HTTP/1.1 " - 1, STATUS_LEN = 3 };

	if (m->status < 100 || m->status > 599 || m->base[STATUS_AT] == '0')
		return false;
	return m->base[STATUS_AT + STATUS_LEN] == ' ' || m->base[STATUS_AT + STATUS_LEN] == '\r';
}

/* Whether single spaces separate the parts of the request line (RFC 9112 section 3): llhttp accepts more of them. */
static bool http_request_line_valid(const struct http_msg *m)
{
	const char *target = m->base + m->target, *after = target + m->target_len;

	return m->target >= 2 && target[-1] == ' ' && target[-2] != ' ' && after[0] == ' ' && after[1] == 'H';
}

/* Whether there is one Content-Length, and its text is the number that llhttp read. */
static bool http_length_agrees(const struct http_msg *m)
{
	struct slice v = http_msg_get(m, H_CONTENT_LENGTH);
	uint64_t left = m->content_length;

	if (http_msg_count(m, H_CONTENT_LENGTH) != m->has_length)
		return false;
	while (v.len && v.at[v.len - 1] == (char)('0' + left % 10)) {
		v.len--;
		left /= 10;
	}
	return !v.len && !left;
}

/* Refuses heads that llhttp accepts although they have two meanings, or one that utfeed cannot carry out. llhttp reads
 * the framing fields by itself. If its result differs from their text, the head has two meanings: "chunked" with a tab
 * is chunked for us and nothing for llhttp 8. */
static int http_check_framing(struct http_parser *parser, struct http_msg *m)
{
	size_t codings = http_msg_count(m, H_TRANSFER_ENCODING);

	if (m->major != 1 || m->minor > 1)
		return http_fail(parser, HTTP_E_VERSION, "not HTTP/1.0 or HTTP/1.1");
	if (!parser->request && !http_status_valid(m))
		return http_fail(parser, HTTP_E_SYNTAX, "status code is not of three digits, 100 to 599");
	if (parser->request && !http_request_line_valid(m))
		return http_fail(parser, HTTP_E_SYNTAX, "blanks in the request line");
	if (!http_length_agrees(m))
		return http_fail(parser, HTTP_E_FRAMING, "Content-Length that can be read in two ways");
	if (!codings && !m->chunked)
		return 0;
	if (codings != 1 || !slice_is(http_msg_get(m, H_TRANSFER_ENCODING), "chunked"))
		return http_fail(parser, HTTP_E_FRAMING, "transfer coding other than chunked");
	if (!m->chunked)
		return http_fail(parser, HTTP_E_FRAMING, "Transfer-Encoding that can be read in two ways");
	if (m->minor == 0)       /* RFC 9112 section 6.1 */
		return http_fail(parser, HTTP_E_FRAMING, "Transfer-Encoding in HTTP/1.0");
	if (m->has_length)       /* RFC 9112 section 6.3, rule 3 */
		return http_fail(parser, HTTP_E_FRAMING, "both Transfer-Encoding and Content-Length");
	return 0;
}

/* Marks the fields that Connection names as hop by hop, except those whose removal would change what the message is
 * (RFC 9110 section 7.6.1: senders must not list them). Connection may name no more fields than a message may have,
 * since all fields are searched for each name. */
static int http_mark_hops(struct http_parser *parser, struct http_msg *m)
{
	struct http_list it = { 0, 0 };
	struct slice name;
	uint32_t named = 0;

	while (http_msg_next_member(m, H_CONNECTION, &it, &name)) {
		enum header_id id = http_header_id(name.at, name.len);

		if (++named > m->max_fields)
			return http_fail(parser, HTTP_E_TOO_MANY_FIELDS, "Connection names too many fields");
		m->keep_alive &= !slice_is(name, "close");     /* with blanks around it, too */
		if (id == H_CONTENT_LENGTH || id == H_HOST || id == H_CONTENT_TYPE || id == H_CONTENT_ENCODING ||
		    id == H_CACHE_CONTROL)
			continue;
		for (uint32_t i = 0; i < m->n_fields; i++) {
			struct slice n = http_field_name(m, &m->fields[i]);

			if (n.len == name.len && m->fields[i].id == id && !strncasecmp(n.at, name.at, n.len))
				m->fields[i].hop = true;
		}
	}
	return 0;
}

static void http_trim_value(const struct http_msg *m, struct http_field *field)
{
	struct slice v = http_field_value(m, field);

	if (!v.len || ((unsigned char)v.at[0] > ' ' && (unsigned char)v.at[v.len - 1] > ' '))
		return;
	v = slice_trim(v);
	if (v.len)
		field->value = (uint32_t)(v.at - m->base);
	field->value_len = (uint32_t)v.len;
}

static int on_headers_complete(llhttp_t *ll)
{
	struct http_parser *parser = ll->data;
	struct http_msg *m = parser->msg;

	for (uint32_t i = 0; i < m->n_fields; i++)
		http_trim_value(m, &m->fields[i]);
	m->major = ll->http_major;
	m->minor = ll->http_minor;
	m->status = ll->status_code;
	m->chunked = ll->flags & F_CHUNKED;
	m->has_length = ll->flags & F_CONTENT_LENGTH;
	m->content_length = ll->content_length;
	if (parser->request)
		m->method = ll->method == HTTP_GET ? METHOD_GET : ll->method == HTTP_HEAD ? METHOD_HEAD :
		    ll->method == HTTP_CONNECT ? METHOD_CONNECT :
		    ll->method == HTTP_TRACE ? METHOD_TRACE : METHOD_OTHER;
	if (http_check_framing(parser, m))
		return -1;
	m->keep_alive = llhttp_should_keep_alive(ll);
	if (http_mark_hops(parser, m))
		return -1;
	if (parser->no_body || (!parser->request && (m->status / 100 == 1 || m->status == 204 || m->status == 304)))
		ll->flags |= F_SKIPBODY;
	ll->upgrade = 0;
	parser->head_done = true;
	return HPE_PAUSED;
}

static int on_body(llhttp_t *ll, const char *at, size_t len)
{
	struct http_parser *parser = ll->data;

	parser->body_end = at + len;
	if (parser->body && parser->body(parser->arg, at, len))
		return http_fail(parser, HTTP_E_BODY, "body not taken");
	return 0;
}

static int on_message_complete(llhttp_t *ll)
{
	((struct http_parser *)ll->data)->done = true;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_url = on_url, .on_status = on_status, .on_header_field = on_field,
	.on_header_field_complete = on_field_complete,
	.on_header_value = on_value, .on_headers_complete = on_headers_complete, .on_body = on_body,
	.on_message_complete = on_message_complete,
};

struct http_parser *http_parser_new(bool request, http_body_f *body, void *arg)
{
	struct http_parser *parser = calloc(1, sizeof *parser);

	if (!parser)
		return NULL;
	parser->request = request;
	parser->body = body;
	parser->arg = arg;
	return parser;
}

void http_parser_free(struct http_parser **pp)
{
	free(*pp);
	*pp = NULL;
}

void http_parser_start(struct http_parser *parser, struct http_msg *m, bool no_body)
{
	llhttp_init(&parser->ll, parser->request ? HTTP_REQUEST : HTTP_RESPONSE, &settings);
	parser->ll.data = parser;
	parser->msg = m;
	parser->no_body = no_body;
	parser->head_done = parser->done = parser->in_name = false;
	parser->error = HTTP_E_NONE;
	parser->reason = "";
	parser->framing = 0;
	http_msg_reset(m);
}

void http_parser_go_on(struct http_parser *parser)
{
	llhttp_resume(&parser->ll);
}

/* Method and version differ because their answers do (501, 505). */
static enum http_parse_error http_classify(llhttp_errno_t e)
{
	switch (e) {
	case HPE_INVALID_METHOD:
		return HTTP_E_METHOD;
	case HPE_INVALID_VERSION:
	case HPE_PAUSED_H2_UPGRADE:
		return HTTP_E_VERSION;
	case HPE_UNEXPECTED_CONTENT_LENGTH:
	case HPE_INVALID_CONTENT_LENGTH:
	case HPE_INVALID_TRANSFER_ENCODING:
	case HPE_INVALID_CHUNK_SIZE:
		return HTTP_E_FRAMING;
	default:
		return HTTP_E_SYNTAX;
	}
}

/* Whether chunk extensions and trailers stay within HTTP_FRAMING_MAX: otherwise a peer could send them for ever,
 * without a byte of the body. */
static bool http_framing_ends(struct http_parser *parser, const char *data, size_t used)
{
	parser->framing = parser->body_end ? (size_t)(data + used - parser->body_end) : parser->framing + used;
	return parser->framing <= HTTP_FRAMING_MAX;
}

enum http_parse_result http_parse(struct http_parser *parser, const char *data, size_t len, size_t *used)
{
	bool was_head = !parser->head_done;

	*used = 0;
	if (parser->error != HTTP_E_NONE)
		return PARSE_ERROR;
	if (parser->done)
		return PARSE_DONE;
	parser->body_end = NULL;
	llhttp_errno_t e = llhttp_execute(&parser->ll, data, len);
	*used = e == HPE_OK ? len : (size_t)(llhttp_get_error_pos(&parser->ll) - data);
	/* after an error the byte that was refused counts as seen */
	size_t seen = e == HPE_OK || e == HPE_PAUSED || *used == len ? *used : *used + 1;
	if (was_head && !head_lines_valid(data, seen, data > parser->msg->base ? data[-1] : 0)) {
		http_fail(parser, HTTP_E_SYNTAX, "line not ended by CRLF, or folded");
		return PARSE_ERROR;
	}
	char before = *used > 1 ? data[*used - 2] : parser->last;
	if (*used)
		parser->last = data[*used - 1];
	if (!was_head && !http_framing_ends(parser, data, *used)) {
		http_fail(parser, HTTP_E_FRAMING, "chunk extensions or trailers without end");
		return PARSE_ERROR;
	}
	if (e == HPE_OK)
		return PARSE_MORE;
	if (e == HPE_PAUSED && parser->done && parser->msg->chunked && *used && before != '\r') {
		http_fail(parser, HTTP_E_SYNTAX, "chunked body ended by LF alone");
		return PARSE_ERROR;
	}
	if (e == HPE_PAUSED && parser->done)
		return PARSE_DONE;
	if (e == HPE_PAUSED && parser->head_done) {
		parser->msg->head_len = (uint32_t)(data + *used - parser->msg->base);
		return PARSE_HEAD;
	}
	http_fail(parser, http_classify(e), llhttp_get_error_reason(&parser->ll));
	return PARSE_ERROR;
}

enum http_parse_result http_parse_eof(struct http_parser *parser)
{
	if (parser->error != HTTP_E_NONE)
		return PARSE_ERROR;
	if (parser->done)
		return PARSE_DONE;
	llhttp_errno_t e = llhttp_finish(&parser->ll);
	if (parser->done && parser->head_done)
		return PARSE_DONE;
	http_fail(parser, HTTP_E_INCOMPLETE,
	    e == HPE_OK ? "closed before the message began" : "closed before the message was complete");
	return PARSE_ERROR;
}

enum http_parse_error http_parser_error(const struct http_parser *parser)
{
	return parser->error;
}

const char *http_parser_reason(const struct http_parser *parser)
{
	return parser->reason ? parser->reason : "";
}
