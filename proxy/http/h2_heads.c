/* Heads of HTTP/1.1 for header lists of HTTP/2; see h2_fields.h. Sections without a name are of RFC 9113. */
#include "proxy/http/h2_fields.h"

#include <string.h>
#include <strings.h>

#include "proxy/http/h2_syntax.h"

enum {
	H2_OF_REQUEST = 1 << H2_METHOD | 1 << H2_SCHEME | 1 << H2_AUTHORITY | 1 << H2_PATH,
	H2_OF_RESPONSE = 1 << H2_STATUS
};

/* A header list that is being written as lines. */
struct h2_list {
	const struct h2_field *fields;
	size_t n, regular;             /* where the fields begin that are not pseudo-header fields */
	struct text *head;
	size_t start;                  /* of what is written, in head */
	struct slice pseudo[H2_PSEUDOS];
	struct slice authority;        /* of a request: :authority, else Host */
	const char *port;              /* the default port of its scheme, as ":443"; empty: it has none */
	bool request, connect, https;  /* connect: a request of that method */
	bool host, cookie;             /* such a field was seen */
	int64_t content_length;        /* -1: none was seen */
};

/* Whether it ends in a port. target_authority() judges the name before it. */
static bool h2_has_port(struct slice authority)
{
	size_t digits = 0;

	while (digits < authority.len && authority.at[authority.len - 1 - digits] >= '0' &&
	    authority.at[authority.len - 1 - digits] <= '9')
		digits++;
	return digits && authority.len - digits > 1 && authority.at[authority.len - 1 - digits] == ':';
}

static struct slice h2_without_port(struct slice authority, const char *port)
{
	size_t len = strlen(port);

	if (authority.len > len && !memcmp(authority.at + authority.len - len, port, len))
		authority.len -= len;
	return authority;
}

static bool h2_same_authority(struct slice a, struct slice b, const char *port)
{
	a = h2_without_port(a, port);
	b = h2_without_port(b, port);
	return a.len == b.len && !strncasecmp(a.at, b.at, a.len);
}

static struct h2_list h2_list_of(const struct h2_field *fields, size_t n, struct text *head)
{
	return (struct h2_list){
		.fields = fields, .n = n, .head = head, .start = head->len, .port = "", .content_length = -1
	};
}

/* The pseudo-header fields that stand first: each once, and of those that are allowed (section 8.3). A later one has no
 * valid name. */
static bool h2_read_pseudo(struct h2_list *list, unsigned allowed)
{
	for (; list->regular < list->n; list->regular++) {
		const struct h2_field *field = &list->fields[list->regular];
		unsigned which = 0;

		if (!field->name.len || field->name.at[0] != ':')
			break;
		while (which < H2_PSEUDOS && !h2_equals(field->name, h2_pseudo_names[which]))
			which++;
		if (which == H2_PSEUDOS || !(allowed >> which & 1) || list->pseudo[which].len || !field->value.len)
			return false;
		list->pseudo[which] = field->value;
	}
	return true;
}

/* A Host that differs, or comes twice, is malformed (section 8.3.1). */
static bool h2_take_host(struct h2_list *list, struct slice host)
{
	bool first = !list->host;

	list->host = true;
	return first && h2_same_authority(host, list->authority, list->port);
}

/* Writes this crumb and those behind it in one line (section 8.2.3). */
static void h2_add_crumbs(struct h2_list *list, size_t first)
{
	if (list->cookie)
		return;
	list->cookie = true;
	text_puts(list->head, "cookie: ");
	for (size_t i = first; i < list->n; i++) {
		if (!h2_equals(list->fields[i].name, "cookie"))
			continue;
		text_puts(list->head, i > first ? "; " : "");
		text_add(list->head, list->fields[i].value.at, list->fields[i].value.len);
	}
	text_puts(list->head, "\r\n");
}

static bool h2_add_line(struct h2_list *list, size_t at)
{
	const struct h2_field *field = &list->fields[at];
	enum h2_kind kind;

	if (!h2_is(field->name, H2_IN_NAME) || !h2_is_value(field->value))
		return false;
	kind = h2_kind_of(field->name, field->value);
	if (kind == H2_KIND_CONNECTION || kind == H2_KIND_CODING || kind == H2_KIND_TE)
		return false;
	if (kind == H2_KIND_LENGTH)
		return h2_read_length(field->value, &list->content_length);
	if (kind == H2_KIND_HOST && list->request)
		return h2_take_host(list, field->value);
	if (kind == H2_KIND_CRUMB && list->request)
		h2_add_crumbs(list, at);
	else
		text_field(list->head, field->name, field->value);
	return true;
}

static bool h2_add_lines(struct h2_list *list)
{
	for (size_t i = list->regular; i < list->n; i++)
		if (!h2_add_line(list, i))
			return false;
	return true;
}

/* chunked: that is how a body without a length is announced. */
static void h2_add_framing(const struct h2_list *list, bool chunked)
{
	if (list->content_length >= 0) {
		text_puts(list->head, "Content-Length: ");
		text_number(list->head, (uint64_t)list->content_length);
		text_puts(list->head, "\r\n");
	} else if (chunked)
		text_puts(list->head, "Transfer-Encoding: chunked\r\n");
	text_puts(list->head, "\r\n");
}

static enum h2_fault h2_list_end(const struct h2_list *list, bool valid)
{
	if (!valid)
		list->head->len = list->start;
	return !valid ? H2_MALFORMED : list->head->failed ? H2_NO_MEMORY : H2_FINE;
}

static struct slice h2_find_host(const struct h2_list *list)
{
	for (size_t i = list->regular; i < list->n; i++)
		if (h2_equals(list->fields[i].name, "host"))
			return list->fields[i].value;
	return (struct slice){ NULL, 0 };
}

static struct slice h2_first(const struct h2_field *fields, size_t n, enum h2_pseudo which)
{
	for (size_t i = 0; i < n; i++)
		if (h2_equals(fields[i].name, h2_pseudo_names[which]))
			return fields[i].value;
	return (struct slice){ NULL, 0 };
}

void h2_known_line(const struct h2_field *fields, size_t n, struct slice *method, struct slice *target)
{
	*method = h2_first(fields, n, H2_METHOD);
	*target = h2_first(fields, n, h2_equals(*method, "CONNECT") ? H2_AUTHORITY : H2_PATH);
}

/* Sections 8.3.1 and 8.5. A CONNECT may have user information here; target_authority() refuses it, as for HTTP/1.1. */
static bool h2_read_request(struct h2_list *list)
{
	const struct slice *pseudo = list->pseudo;

	list->request = true;
	if (!h2_read_pseudo(list, H2_OF_REQUEST) || !h2_is(pseudo[H2_METHOD], H2_IN_TOKEN))
		return false;
	list->connect = h2_equals(pseudo[H2_METHOD], "CONNECT");
	list->authority = pseudo[H2_AUTHORITY];
	if (list->connect)
		return !pseudo[H2_SCHEME].len && !pseudo[H2_PATH].len && h2_has_port(list->authority) &&
		    h2_is(list->authority, H2_IN_AUTHORITY | H2_IN_USER);
	list->https = slice_is(pseudo[H2_SCHEME], "https");
	list->port = list->https ? ":443" : ":80";
	if (!list->authority.len)
		list->authority = h2_find_host(list);
	return (list->https || slice_is(pseudo[H2_SCHEME], "http")) && h2_is(list->authority, H2_IN_AUTHORITY) &&
	    h2_is_path(pseudo[H2_PATH], pseudo[H2_METHOD]);
}

/* absolute: with scheme and authority, where the "*" of OPTIONS is left out (RFC 9112 section 3.2.4). */
static void h2_add_request_line(const struct h2_list *list, bool absolute)
{
	struct slice path = list->pseudo[H2_PATH];

	text_add(list->head, list->pseudo[H2_METHOD].at, list->pseudo[H2_METHOD].len);
	text_puts(list->head, !absolute ? " " : list->https ? " https://" : " http://");
	if (absolute || list->connect)
		text_add(list->head, list->authority.at, list->authority.len);
	if (!absolute || !h2_equals(path, "*"))
		text_add(list->head, path.at, path.len);
	text_puts(list->head, " HTTP/1.1\r\nHost: ");
	text_add(list->head, list->authority.at, list->authority.len);
	text_puts(list->head, "\r\n");
}

enum h2_fault h2_request_head(const struct h2_field *fields, size_t n, bool secure, bool ends, struct text *head)
{
	struct h2_list list = h2_list_of(fields, n, head);
	bool valid;

	if (!h2_read_request(&list))
		return H2_MALFORMED;
	h2_add_request_line(&list, !list.connect && list.https != secure);
	valid = h2_add_lines(&list) && (list.content_length <= 0 || !(ends || list.connect));
	/* A tunnel follows (RFC 9110 section 9.3.6), or perhaps a trailer section, which only chunks have. */
	if (list.connect || (!ends && !list.content_length))
		list.content_length = -1;
	h2_add_framing(&list, !ends && !list.connect);
	return h2_list_end(&list, valid);
}

/* A length in a trailer section is not written: it would be framing. */
enum h2_fault h2_trailer_lines(const struct h2_field *fields, size_t n, struct text *lines)
{
	struct h2_list list = h2_list_of(fields, n, lines);

	return h2_list_end(&list, h2_add_lines(&list));
}

/* A response that ends with its head and names no length gets none: the length 0 would be wrong for a HEAD. Nothing
 * follows it, and that is its end (RFC 9112 section 6.3, rule 8). */
enum h2_fault h2_response_head(const struct h2_field *fields, size_t n, bool ends, struct text *head,
    struct h2_framing *framing)
{
	struct h2_list list = h2_list_of(fields, n, head);
	bool valid;
	int status;

	if (!h2_read_pseudo(&list, H2_OF_RESPONSE) || list.pseudo[H2_STATUS].len != 3 ||
	    !(status = h2_read_status(list.pseudo[H2_STATUS].at)) || (ends && status < 200))
		return H2_MALFORMED;
	text_puts(head, "HTTP/1.1 ");
	text_add(head, list.pseudo[H2_STATUS].at, list.pseudo[H2_STATUS].len);
	text_puts(head, " \r\n");
	valid = h2_add_lines(&list);
	*framing = (struct h2_framing){ .status = status, .content_length = list.content_length,
		.chunked = list.content_length < 0 && !ends && status >= 200 && status != 204 && status != 304 };
	h2_add_framing(&list, framing->chunked);
	return h2_list_end(&list, valid);
}

static bool h2_names_a_body(struct slice length)
{
	int64_t n = -1;

	return !h2_read_length(length, &n) || n;
}

/* Expect says that the client waits for a 100 (Continue) before it sends the body. A length of 0 says nothing yet: DATA
 * would make the request malformed, which is not to be forwarded (section 8.1.1). */
enum h2_body h2_request_body(const struct h2_field *fields, size_t n)
{
	enum h2_body body = H2_BODY_UNKNOWN;

	for (size_t i = 0; i < n; i++) {
		if ((h2_equals(fields[i].name, ":method") && h2_equals(fields[i].value, "CONNECT")) ||
		    (h2_equals(fields[i].name, "content-length") && h2_names_a_body(fields[i].value)))
			return H2_BODY_PLAIN;
		if (h2_equals(fields[i].name, "expect"))
			body = H2_BODY_CHUNKED;
	}
	return body;
}
