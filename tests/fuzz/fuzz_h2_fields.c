/* Owns feeding arbitrary header lists and heads to the translation between HTTP/2 and HTTP/1.1 (proxy/http/h2_fields.h). Input: a byte
 * of switches, then a list as h2_lists.h has it, or a head.
 * Invariants: the parser of HTTP/1.1 reads what was written as one head with the same method, target, Host and fields, and nothing more;
 * its framing is what the list said. A head that is refused leaves nothing. The fields that are made of a head make the same head. */
#include "proxy/http/h2_fields.h"
#include "proxy/http/http_parse.h"
#include "proxy/http/raw_target.h"
#include "tests/unit/h2_lists.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SECURE = 1, ENDS = 2, WAYS = 4 /* of five */, PLACES = H2_LISTS_FIELDS + 8 };

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool equals(struct slice a, struct slice b)
{
	return a.len == b.len && !memcmp(a.at, b.at, a.len);
}

static struct slice slice_of(const char *text)
{
	return (struct slice){ text, strlen(text) };
}

static struct slice find(const struct h2_field *fields, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (equals(fields[i].name, slice_of(name)))
			return fields[i].value;
	return (struct slice){ NULL, 0 };
}

/* A head in an allocation of just its size, as the parser reads it: its target is visible ASCII. False: the target is no UTF-8. */
static bool encode_target(const struct text *head, struct text *out)
{
	struct raw_target raw = { 0 };
	struct raw_part part;

	if (!raw_target_read(&raw, head->bytes, head->len, &part))
		return false;
	out->len = head->len + 2 * part.beyond;
	require((out->bytes = malloc(out->len)) != NULL);
	memcpy(out->bytes, head->bytes, head->len);
	if (part.beyond)
		raw_target_encode(out->bytes, head->len, &part);
	return true;
}

/* The whole of it has to be one head. error: HTTP_E_NONE where it is. */
static enum http_parse_error parse(bool request, const char *bytes, size_t len, struct http_msg *m)
{
	struct http_parser *parser = http_parser_new(request, NULL, NULL);
	enum http_parse_error error;
	size_t used;

	require(parser && http_msg_init(m, PLACES) == 0);
	http_parser_start(parser, m, false);
	m->base = bytes;
	require(http_parse(parser, bytes, len, &used) != PARSE_HEAD || (used == len && m->head_len == len));
	error = http_parser_error(parser);
	require(error != HTTP_E_NONE || m->head_len == len);
	http_parser_free(&parser);
	return error;
}

/* Methods are those of the parser; it answers the others itself. */
static bool method_is_known(struct slice method)
{
	struct text head = { 0 };
	struct http_msg m;
	enum http_parse_error error;

	text_add(&head, method.at, method.len);
	text_puts(&head, " /a HTTP/1.1\r\nHost: a\r\n\r\n");
	require(!head.failed);
	error = parse(true, head.bytes, head.len, &m);
	http_msg_free(&m);
	text_free(&head);
	return error == HTTP_E_NONE;
}

static bool is_crumb(struct slice name, bool request)
{
	return request && equals(name, slice_of("cookie"));
}

/* The lines that the list must become. */
static size_t expected_lines(const struct h2_field *fields, size_t n, bool request, struct h2_field *lines, struct text *cookie)
{
	size_t count = 0, crumbs = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_crumb(fields[i].name, request)) {
			text_puts(cookie, crumbs++ ? "; " : "");
			text_add(cookie, fields[i].value.at, fields[i].value.len);
		}
	}
	for (size_t i = 0; i < n; i++) {
		bool crumb = is_crumb(fields[i].name, request), own = equals(fields[i].name, slice_of("content-length")) ||
		    (request && equals(fields[i].name, slice_of("host")));

		if (fields[i].name.at[0] == ':' || own || (crumb && !crumbs))
			continue;
		lines[count++] = crumb ? (struct h2_field){ fields[i].name, { cookie->len ? cookie->bytes : "", cookie->len } } : fields[i];
		crumbs = crumb ? 0 : crumbs;
	}
	return count;
}

/* The message's fields, in their order, besides Host and framing. A cookie of blanks and semicolons alone may be trimmed. */
static void check_lines(const struct http_msg *m, const struct h2_field *fields, size_t n, bool request)
{
	struct h2_field lines[PLACES];
	struct text cookie = { 0 };
	size_t count = expected_lines(fields, n, request, lines, &cookie), at = 0;

	for (uint32_t i = 0; i < m->n_fields; i++) {
		unsigned id = m->fields[i].id;

		if (id == H_CONTENT_LENGTH || id == H_TRANSFER_ENCODING || (request && id == H_HOST))
			continue;
		require(at < count && equals(http_field_name(m, &m->fields[i]), lines[at].name));
		require(equals(http_field_value(m, &m->fields[i]), slice_trim(lines[at].value)) && !m->fields[i].hop);
		at++;
	}
	require(at == count);
	text_free(&cookie);
}

/* A length of 0 is not said of a request that has not ended. */
static void check_framing(const struct http_msg *m, const struct h2_field *fields, size_t n, bool request, bool body)
{
	struct slice length = find(fields, n, "content-length");

	if (request && body && length.at && !strtoull(length.at, NULL, 10))
		length.at = NULL;

	require(m->has_length == (length.at != NULL) && m->chunked == (body && !length.at));
	require(!m->has_length || m->content_length == strtoull(length.at, NULL, 10));
}

static void check_target(const struct http_msg *m, const struct h2_field *fields, size_t n, struct slice host, bool secure)
{
	struct slice path = find(fields, n, ":path"), scheme = find(fields, n, ":scheme");
	bool other = scheme.len && slice_is(scheme, "https") != secure;
	struct text want = { 0 };
	struct raw_target raw = { .phase = RAW_TARGET };
	struct raw_part part;

	text_puts(&want, !other ? "" : secure ? "http://" : "https://");
	text_add(&want, host.at, other || !scheme.len ? host.len : 0);
	if (!other || !equals(path, slice_of("*")))
		text_add(&want, path.at, path.len);
	require(!want.failed && raw_target_read(&raw, want.bytes, want.len, &part));
	require(text_reserve(&want, 2 * part.beyond));
	raw_target_encode(want.bytes, want.len, &part);
	require(equals(http_msg_target(m), (struct slice){ want.bytes, want.len + 2 * part.beyond }));
	text_free(&want);
}

static void check_request(const struct h2_field *fields, size_t n, bool secure, bool ends)
{
	struct text head = { 0 }, read = { 0 };
	struct slice method = find(fields, n, ":method"), host = find(fields, n, ":authority");
	bool connect = equals(method, slice_of("CONNECT"));
	enum h2_fault fault = h2_request_head(fields, n, secure, ends, &head);
	struct http_msg m = { 0 };

	require(fault == H2_FINE || (fault == H2_MALFORMED && !head.len));
	host = host.at ? host : find(fields, n, "host");
	if (fault == H2_FINE && encode_target(&head, &read)) {
		if (parse(true, read.bytes, read.len, &m) != HTTP_E_NONE)
			require(!method_is_known(method) || (connect && memchr(host.at, '@', host.len)));
		else {
			require(!memcmp(head.bytes, method.at, method.len) && head.bytes[method.len] == ' ');
			require(http_msg_count(&m, H_HOST) == 1 && equals(http_msg_get(&m, H_HOST), host));
			check_target(&m, fields, n, host, secure);
			check_lines(&m, fields, n, true);
			if (connect)
				require(!m.chunked && !m.has_length);
			else
				check_framing(&m, fields, n, true, !ends);
		}
		http_msg_free(&m);
	}
	text_free(&read);
	text_free(&head);
}

/* From the head that a list became back to the list. */
static void check_back(const struct text *head, const struct http_msg *m, const struct h2_field *fields, size_t n)
{
	struct text names = { 0 };
	struct h2_field got[PLACES];
	struct h2_framing framing;
	int count = h2_response_fields((struct slice){ head->bytes, head->len }, &names, got, PLACES, &framing);
	size_t at = 1;

	require(count >= 1 && equals(got[0].name, slice_of(":status")) && equals(got[0].value, find(fields, n, ":status")));
	require(framing.status == m->status && framing.chunked == m->chunked);
	require(m->has_length ? framing.content_length == (int64_t)m->content_length : framing.content_length == -1);
	for (size_t i = 1; i < n; i++)
		if (!equals(fields[i].name, slice_of("content-length"))) {
			require(at < (size_t)count && equals(got[at].name, fields[i].name) && equals(got[at].value, fields[i].value));
			at++;
		}
	require(at + m->has_length == (size_t)count);
	text_free(&names);
}

static void check_response(const struct h2_field *fields, size_t n, bool ends)
{
	struct text head = { 0 };
	struct h2_framing framing;
	enum h2_fault fault = h2_response_head(fields, n, ends, &head, &framing);
	struct http_msg m;

	require(fault == H2_FINE || (fault == H2_MALFORMED && !head.len));
	if (fault == H2_FINE) {
		require(parse(false, head.bytes, head.len, &m) == HTTP_E_NONE);
		check_lines(&m, fields, n, false);
		check_framing(&m, fields, n, false, !ends && m.status >= 200 && m.status != 204 && m.status != 304);
		check_back(&head, &m, fields, n);
		require(framing.status == (int)m.status && framing.chunked == m.chunked);
		require(framing.content_length == (m.has_length ? (int64_t)m.content_length : -1));
		http_msg_free(&m);
	}
	text_free(&head);
}

/* A chunked message with these trailer lines ends where they end. */
static void check_trailer(const struct h2_field *fields, size_t n)
{
	static const char before[] = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", last[] = "0\r\n";
	struct text lines = { 0 }, message = { 0 }, names = { 0 };
	struct h2_field got[PLACES];
	size_t used, rest, at = 0;
	struct http_msg m;
	struct http_parser *parser = http_parser_new(true, NULL, NULL);
	enum h2_fault fault = h2_trailer_lines(fields, n, &lines);

	require(parser && http_msg_init(&m, PLACES) == 0 && (fault == H2_FINE || (fault == H2_MALFORMED && !lines.len)));
	if (fault == H2_FINE) {
		text_puts(&message, before);
		text_puts(&message, last);
		text_add(&message, lines.bytes, lines.len);
		text_puts(&message, "\r\n");
		http_parser_start(parser, &m, false);
		m.base = message.bytes;
		require(http_parse(parser, message.bytes, message.len, &used) == PARSE_HEAD && used == sizeof before - 1);
		http_parser_go_on(parser);
		require(http_parse(parser, message.bytes + used, message.len - used, &rest) == PARSE_DONE && used + rest == message.len);
		used += sizeof last - 1;
		int count = h2_trailer_fields((struct slice){ message.bytes + used, message.len - used }, &names, got, PLACES);
		for (size_t i = 0; i < n; i++)
			if (!equals(fields[i].name, slice_of("content-length"))) {
				require((int)at < count && equals(got[at].name, fields[i].name));
				require(equals(got[at].value, fields[i].value));
				at++;
			}
		require((int)at == count);
	}
	http_msg_free(&m);
	http_parser_free(&parser);
	text_free(&names);
	text_free(&message);
	text_free(&lines);
}

static bool lies_in(struct slice s, const char *from, size_t len)
{
	return !s.len || (s.at >= from && s.at + s.len <= from + len);
}

/* Each name is a pseudo-header field's or stands in names, each value but the scheme in the head. */
static void check_fields(const struct h2_field *got, size_t n, struct slice head, const struct text *names, bool request)
{
	for (size_t i = 0; i < n; i++) {
		bool pseudo = got[i].name.at[0] == ':';

		require(got[i].name.len && (pseudo || lies_in(got[i].name, names->bytes, names->len)));
		require((pseudo && request) || lies_in(got[i].value, head.at, head.len));
	}
}

/* Fields of a head, the head that they become, and its fields. */
static void check_head(struct slice head, bool request, bool secure)
{
	struct text names = { 0 }, again = { 0 }, more = { 0 };
	struct h2_field got[PLACES], same[PLACES];
	struct h2_framing framing, twice;
	const char *scheme = secure ? "https" : "http";
	int n = request ? h2_request_fields(head, scheme, &names, got, PLACES, &framing) :
	    h2_response_fields(head, &names, got, PLACES, &framing), m;
	bool ends = framing.content_length <= 0 && !framing.chunked;

	if (n >= 0) {
		check_fields(got, (size_t)n, head, &names, request);
		enum h2_fault fault = request ? h2_request_head(got, (size_t)n, secure, ends, &again) :
		    h2_response_head(got, (size_t)n, ends && framing.status >= 200, &again, &twice);

		require(fault == H2_FINE);
		struct slice second = { again.bytes, again.len };
		m = request ? h2_request_fields(second, scheme, &more, same, PLACES, &twice) :
		    h2_response_fields(second, &more, same, PLACES, &twice);
		require(m >= 1 && twice.status == framing.status && twice.content_length == framing.content_length);
		require(request ? twice.chunked == framing.chunked : twice.chunked <= framing.chunked);
		require(equals(got[0].value, same[0].value));
		for (int i = 0; i < (request ? 4 : 1); i++)
			require(equals(got[i].name, same[i].name) && equals(got[i].value, same[i].value));
	}
	text_free(&more);
	text_free(&again);
	text_free(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct h2_field fields[H2_LISTS_FIELDS];
	bool secure, ends;
	size_t n;
	char *text;
	int how;

	if (!size || !(text = malloc(size)))
		return 0;
	how = data[0];
	memcpy(text, data + 1, --size);
	n = h2_list_read(text, size, fields);
	secure = how & SECURE;
	ends = how & ENDS;
	switch (how / WAYS % 5) {
	case 0: check_request(fields, n, secure, ends); break;
	case 1: check_response(fields, n, ends); break;
	case 2: check_trailer(fields, n); break;
	case 3: check_head((struct slice){ text, size }, true, secure); break;
	default: check_head((struct slice){ text, size }, false, secure); break;
	}
	free(text);
	return 0;
}
