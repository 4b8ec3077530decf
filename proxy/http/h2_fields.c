/* Header lists of HTTP/2 for heads of HTTP/1.1; see h2_fields.h. Sections without a name are of RFC 9113. */
#include "proxy/http/h2_fields.h"

#include <string.h>

#include "proxy/http/h2_syntax.h"

const struct h2_translation h2_server_side = {
	.request_body = h2_request_body, .request_head = h2_request_head, .response_fields = h2_response_fields,
	.trailer_lines = h2_trailer_lines, .trailer_fields = h2_trailer_fields
};
const struct h2_translation h2_client_side = { .request_fields = h2_request_fields,
	.response_head = h2_response_head, .trailer_lines = h2_trailer_lines, .trailer_fields = h2_trailer_fields };

/* Lines that are being taken for fields. */
struct h2_taken {
	struct text *names;            /* never moves, since room was made for all */
	struct h2_field *fields;
	size_t n, max;
	struct slice *host;            /* where a request's Host goes; NULL: it is a field */
	bool trailer;
	struct h2_framing *framing;
};

/* The next line, without its end. False: none ends in CRLF. */
static bool h2_next_line(struct slice *rest, struct slice *line)
{
	const char *lf = rest->len ? memchr(rest->at, '\n', rest->len) : NULL;

	if (!lf || lf == rest->at || lf[-1] != '\r')
		return false;
	*line = (struct slice){ rest->at, (size_t)(lf - 1 - rest->at) };
	*rest = (struct slice){ lf + 1, rest->len - line->len - 2 };
	return true;
}

static bool h2_field_add(struct h2_taken *taken, struct slice name, struct slice value)
{
	if (taken->n == taken->max)
		return false;
	taken->fields[taken->n++] = (struct h2_field){ name, value };
	return true;
}

static bool h2_field_pseudo(struct h2_taken *taken, enum h2_pseudo which, struct slice value)
{
	const char *name = h2_pseudo_names[which];

	return h2_field_add(taken, (struct slice){ name, strlen(name) }, value);
}

/* Makes the name one of HTTP/2 (section 8.2.1). */
static struct slice h2_lower_case(struct text *names, struct slice name)
{
	char *lower = names->bytes + names->len;

	text_add(names, name.at, name.len);
	for (size_t i = 0; i < name.len; i++)
		if (lower[i] >= 'A' && lower[i] <= 'Z')
			lower[i] |= 0x20;
	return (struct slice){ lower, name.len };
}

static bool h2_field_coding(struct h2_framing *framing, struct slice coding)
{
	framing->chunked = true;
	return slice_is(coding, "chunked");
}

/* A length or Host that comes twice is refused: utfeed writes no such head. */
static bool h2_field_length(struct h2_framing *framing, struct slice length)
{
	return framing->content_length < 0 && h2_read_length(length, &framing->content_length);
}

static bool h2_field_authority(struct slice *host, struct slice value)
{
	bool first = !host->len;

	*host = value;
	return first && h2_is(value, H2_IN_AUTHORITY);
}

static bool h2_field_line(struct h2_taken *taken, struct slice line)
{
	const char *colon = memchr(line.at, ':', line.len);
	struct slice name = { line.at, colon ? (size_t)(colon - line.at) : 0 };
	struct slice value = slice_trim((struct slice){ line.at + name.len + 1, colon ? line.len - name.len - 1 : 0 });
	enum h2_kind kind;

	if (!h2_is(name, H2_IN_TOKEN) || !h2_is_value(value))
		return false;
	kind = h2_kind_of(name, value);
	if (kind == H2_KIND_CONNECTION || kind == H2_KIND_TE)
		return true;
	if (kind == H2_KIND_CODING)
		return h2_field_coding(taken->framing, value);
	if (kind == H2_KIND_LENGTH && !h2_field_length(taken->framing, value))
		return false;
	if (kind == H2_KIND_LENGTH && taken->trailer)
		return true;
	if (kind == H2_KIND_HOST && taken->host)
		return h2_field_authority(taken->host, value);
	return h2_field_add(taken, h2_lower_case(taken->names, name), value);
}

/* Lines up to the blank one, which is the last. Returns how many fields there are; -1. */
static int h2_field_lines(struct h2_taken *taken, struct slice rest)
{
	struct slice line;

	if (!text_reserve(taken->names, rest.len))
		return -1;
	while (h2_next_line(&rest, &line)) {
		if (!line.len)
			return rest.len || (taken->framing->chunked && taken->framing->content_length >= 0)
			    ? -1 : (int)taken->n;
		if (!h2_field_line(taken, line))
			return -1;
	}
	return -1;
}

int h2_response_fields(struct slice head, struct text *names, struct h2_field *fields, size_t max,
    struct h2_framing *framing)
{
	static const char version[] = "HTTP/1.1 ";
	enum { STATUS_AT = sizeof version - 1, STATUS_END = STATUS_AT + 3 };
	struct h2_taken taken = { .names = names, .fields = fields, .max = max, .framing = framing };
	struct slice line;

	*framing = (struct h2_framing){ .content_length = -1 };
	if (!h2_next_line(&head, &line) || line.len < STATUS_END || memcmp(line.at, version, STATUS_AT) ||
	    (line.len > STATUS_END && line.at[STATUS_END] != ' ') ||
	    !(framing->status = h2_read_status(line.at + STATUS_AT)))
		return -1;
	return h2_field_pseudo(&taken, H2_STATUS, (struct slice){ line.at + STATUS_AT, STATUS_END - STATUS_AT })
	    ? h2_field_lines(&taken, head) : -1;
}

int h2_trailer_fields(struct slice lines, struct text *names, struct h2_field *fields, size_t max)
{
	struct h2_framing framing = { .content_length = -1 };
	struct h2_taken taken = { .names = names, .fields = fields, .max = max, .trailer = true, .framing = &framing };

	return h2_field_lines(&taken, lines);
}

/* The target has origin form: a CONNECT, or what goes to a parent, is written for HTTP/1.1 alone. */
int h2_request_fields(struct slice head, const char *scheme, struct text *names, struct h2_field *fields, size_t max,
    struct h2_framing *framing)
{
	struct h2_taken taken = { .names = names, .fields = fields, .max = max, .framing = framing };
	struct slice line, method, path, version, host = { NULL, 0 };
	int n;

	*framing = (struct h2_framing){ .content_length = -1 };
	if (!h2_next_line(&head, &line))
		return -1;
	method = slice_until(line, ' ', &path);
	path = slice_until(path, ' ', &version);
	if (!h2_is(method, H2_IN_TOKEN) || !h2_is_path(path, method) || !h2_equals(version, "HTTP/1.1"))
		return -1;
	taken.host = &host;
	if (!h2_field_pseudo(&taken, H2_METHOD, method) ||
	    !h2_field_pseudo(&taken, H2_SCHEME, (struct slice){ scheme, strlen(scheme) }) ||
	    !h2_field_pseudo(&taken, H2_AUTHORITY, host) || !h2_field_pseudo(&taken, H2_PATH, path))
		return -1;
	n = h2_field_lines(&taken, head);
	fields[H2_AUTHORITY].value = host;
	return host.len ? n : -1;
}
