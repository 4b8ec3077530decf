/* Owns feeding arbitrary Set-Cookie fields to proxy/http/cookie_jar.c. Input: a line with the URL that sets them, one with the URL that
 * is asked then, and a line for each field.
 * Invariants: what is sent is one line without a control character, within the bounds; nothing goes to a host that the other one is
 * not below, is not above, and shares no domain with but a public suffix; without TLS no name is sent that promises it; a jar says
 * that it has something exactly where it writes something. */
#include "proxy/http/cookie_jar.h"
#include "proxy/http/public_suffix.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIELDS_MAX = 64, URL_BYTES_MAX = 2048 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Takes a line off the text. */
static struct slice take_line(struct slice *text)
{
	const char *end = text->len ? memchr(text->at, '\n', text->len) : NULL;
	struct slice one = { text->at, end ? (size_t)(end - text->at) : text->len };

	*text = (struct slice){ text->at + one.len + (end != NULL), text->len - one.len - (end != NULL) };
	return one;
}

static bool read_url(struct destination *d, struct slice url)
{
	const char *why;

	*d = (struct destination){ .path = NULL };
	return url.len < URL_BYTES_MAX && destination_from_url(d, url, &why) == DESTINATION_OK;
}

/* Whether the hosts are one, or have a domain in common that somebody owns. */
static bool are_related(const char *a, const char *b)
{
	size_t len = strlen(a), other = strlen(b), at = 0;

	if (!strcmp(a, b))
		return true;
	for (size_t n = 1; n <= len && n <= other && a[len - n] == b[other - n]; n++)
		if ((n == len || a[len - n - 1] == '.') && (n == other || b[other - n - 1] == '.'))
			at = n;
	return at && !public_suffix((struct slice){ a + len - at, at });
}

/* Whether a cookie of the line has a name that promises TLS. */
static bool promises(struct slice line)
{
	struct slice rest = { line.at + 8, line.len - 8 };

	while (rest.at) {
		struct slice one = slice_until(rest, ';', &rest);

		if ((one.len >= 7 && !strncasecmp(one.at, "__host-", 7)) || (one.len >= 9 && !strncasecmp(one.at, "__secure-", 9)))
			return true;
	}
	return false;
}

static void check(const struct cookie_jar *jar, const struct destination *from, const struct destination *to)
{
	struct text t = { 0 };

	cookie_jar_write(jar, &t, to);
	require(cookie_jar_has(jar, to) == (t.len != 0) && !t.failed);
	require(t.len <= COOKIE_JAR_BYTES + 4 * COOKIE_JAR_MAX + sizeof("Cookie: \r\n"));
	require(!t.len || (t.len > 10 && !memcmp(t.bytes, "Cookie: ", 8) && !memcmp(t.bytes + t.len - 2, "\r\n", 2)));
	for (size_t i = 0; i + 2 < t.len; i++)
		require((unsigned char)t.bytes[i] >= 0x20 && t.bytes[i] != 0x7f);
	require(!t.len || are_related(from->host, to->host));
	require(!t.len || (from->tls && to->tls) || !promises((struct slice){ t.bytes, t.len }));
	text_free(&t);
}

static void take(const struct destination *from, const struct destination *to, struct slice lines)
{
	struct http_field fields[FIELDS_MAX];
	struct http_msg m = { .base = lines.at, .max_fields = FIELDS_MAX, .fields = fields, .status = 302 };
	struct cookie_jar *jar = NULL;

	while (lines.len && m.n_fields < FIELDS_MAX) {
		struct slice one = take_line(&lines);
		fields[m.n_fields] = (struct http_field){ .value = (uint32_t)(one.at - m.base), .value_len = (uint32_t)one.len, .id = H_SET_COOKIE };
		http_msg_add(&m);
	}
	require(!cookie_jar_take(&jar, from, &m, 1700000000) || jar);
	check(jar, from, to);
	check(jar, from, from);
	cookie_jar_free(&jar);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = { (const char *)data, size };
	struct slice first = take_line(&text), second = take_line(&text);
	struct destination from, to;

	if (!read_url(&from, first))
		from = (struct destination){ .path = NULL };
	else if (read_url(&to, second)) {
		take(&from, &to, text);
		destination_free(&to);
	}
	destination_free(&from);
	return 0;
}
