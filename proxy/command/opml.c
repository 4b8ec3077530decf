/* Leading a subscription list through a gateway; see opml.h. */
#include "proxy/command/opml.h"

#include <strings.h>

#include "core/text/utf8.h"

/* Where the reader is. What stands before `done` is in the output already. */
struct opml {
	const char *at, *end, *done;
	struct text *out;
	const char *gateway;
	struct opml_counts *counts;
};

static bool opml_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool opml_starts(const struct opml *o, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(o->end - o->at) >= len && memcmp(o->at, word, len) == 0;
}

/* Moves behind the word; to the end where it does not come. */
static void opml_past(struct opml *o, const char *word)
{
	const char *found = memmem(o->at, (size_t)(o->end - o->at), word, strlen(word));

	o->at = found ? found + strlen(word) : o->end;
}

/* Moves behind a comment, an instruction or a CDATA section. False: none starts here. */
static bool opml_skip_span(struct opml *o)
{
	static const char *const spans[][2] = { { "<!--", "-->" }, { "<?", "?>" }, { "<![CDATA[", "]]>" } };

	for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++)
		if (opml_starts(o, spans[i][0])) {
			o->at += strlen(spans[i][0]);
			opml_past(o, spans[i][1]);
			return true;
		}
	return false;
}

/* Moves behind a document type with its literals and its internal subset. */
static void opml_skip_doctype(struct opml *o)
{
	int depth = 0;
	char quote = '\0';

	while (o->at < o->end) {
		if (!quote && *o->at == '<' && opml_skip_span(o))
			continue;
		if (quote)
			quote = *o->at == quote ? '\0' : quote;
		else if (*o->at == '"' || *o->at == '\'')
			quote = *o->at;
		else if (*o->at == '<' || *o->at == '[')
			depth++;
		else if ((*o->at == '>' || *o->at == ']') && --depth == 0) {
			o->at++;
			return;
		}
		o->at++;
	}
}

/* ---- references ---- */

/* A control character that XML 1.0 [2] forbids. */
static bool opml_is_forbidden(uint32_t c)
{
	return c < 0x20 && c != '\t' && c != '\n' && c != '\r';
}

/* A number of XML 1.0 [66], which ends in front of a semicolon. 0: there is none, or it names no character. */
static uint32_t opml_number(const char *at, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	uint32_t base = len > 0 && *at == 'x' ? 16 : 10, c = 0;

	at += base == 16;
	len -= base == 16;
	if (len == 0 || len > 8)
		return 0;
	for (size_t i = 0; i < len; i++) {
		int digit = at[i] >= 'A' && at[i] <= 'F' ? at[i] - 'A' + 'a' : at[i];
		const char *found = digit ? memchr(digits, digit, base) : NULL;

		if (!found || c > 0x10ffff)
			return 0;
		c = c * base + (uint32_t)(found - digits);
	}
	return c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) || opml_is_forbidden(c) ? 0 : c;
}

static uint32_t opml_named(const char *at, size_t len)
{
	static const struct {
		const char *name;
		char c;
	} names[] = { { "amp", '&' }, { "lt", '<' }, { "gt", '>' }, { "quot", '"' }, { "apos", '\'' } };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strlen(names[i].name) == len && memcmp(names[i].name, at, len) == 0)
			return (uint32_t)names[i].c;
	return 0;
}

static bool is_reference_name(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!(at[i] == '#' || (at[i] >= '0' && at[i] <= '9') || ((at[i] | 32) >= 'a' && (at[i] | 32) <= 'z')))
			return false;
	return len > 0;
}

enum { OPML_REFERENCE_MAX = 32 };

/* Appends the character of the reference at *at, and moves behind it. An & that starts none means itself. False: only a
 * document type could explain it. */
static bool opml_reference(struct text *t, const char **at, const char *end)
{
	size_t room = (size_t)(end - *at - 1) < OPML_REFERENCE_MAX ? (size_t)(end - *at - 1) : OPML_REFERENCE_MAX;
	const char *name = *at + 1, *stop = memchr(name, ';', room);
	size_t len = stop ? (size_t)(stop - name) : 0;
	uint8_t bytes[4];
	uint32_t c;

	if (!is_reference_name(name, len)) {
		text_add(t, (*at)++, 1);
		return true;
	}
	c = *name == '#' ? opml_number(name + 1, len - 1) : opml_named(name, len);
	if (c == 0)
		return false;
	text_add(t, (const char *)bytes, utf8_encode(c, bytes));
	*at = stop + 1;
	return true;
}

/* Appends what an attribute's value means, without white space at its ends. False: it cannot be known. */
static bool opml_decode(struct text *t, const char *at, const char *end)
{
	while (at < end && opml_is_space(*at))
		at++;
	while (end > at && opml_is_space(end[-1]))
		end--;
	while (at < end) {
		if (opml_is_forbidden((unsigned char)*at))
			return false;
		if (*at != '&')
			text_add(t, at++, 1);
		else if (!opml_reference(t, &at, end))
			return false;
	}
	return true;
}

static void opml_encode(struct text *t, const char *at, size_t len, char quote)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)at[i];

		if (c == '&')
			text_puts(t, "&amp;");
		else if (c == '<')
			text_puts(t, "&lt;");
		else if (c == '>')
			text_puts(t, "&gt;");
		else if (c == (unsigned char)quote || c < 0x20)
			text_printf(t, "&#%u;", c);
		else
			text_add(t, at + i, 1);
	}
}

/* ---- outlines ---- */

static bool opml_is_http(const struct text *url)
{
	return (url->len > 7 && strncasecmp(url->bytes, "http://", 7) == 0) ||
	    (url->len > 8 && strncasecmp(url->bytes, "https://", 8) == 0);
}

static bool opml_is_rewritten(const struct opml *o, const struct text *url)
{
	size_t len = strlen(o->gateway);

	return url->len > len && strncasecmp(url->bytes, o->gateway, len) == 0 && url->bytes[len] == '/';
}

/* The value between at and end becomes one that leads through the gateway. */
static void opml_lead(struct opml *o, const char *at, const char *end)
{
	struct text url = { 0 };

	if (!opml_decode(&url, at, end) || !opml_is_http(&url)) {
		o->counts->left++;
	} else if (opml_is_rewritten(o, &url)) {
		o->counts->already++;
	} else {
		text_add(o->out, o->done, (size_t)(at - o->done));
		opml_encode(o->out, o->gateway, strlen(o->gateway), *end);
		text_puts(o->out, "/");
		opml_encode(o->out, url.bytes, url.len, *end);
		o->done = end;
		o->counts->rewritten++;
	}
	o->out->failed |= url.failed;
	text_free(&url);
}

static bool opml_ends_name(char c)
{
	return opml_is_space(c) || c == '=' || c == '>' || c == '/' || c == '<' || c == '"' || c == '\'';
}

static size_t opml_name(struct opml *o)
{
	const char *from = o->at;

	while (o->at < o->end && !opml_ends_name(*o->at))
		o->at++;
	return (size_t)(o->at - from);
}

static void opml_skip_space(struct opml *o)
{
	while (o->at < o->end && opml_is_space(*o->at))
		o->at++;
}

/* Reads one attribute, if one is there; leads: its element is an outline. */
static void opml_attribute(struct opml *o, bool leads)
{
	const char *name = o->at, *value;
	size_t len = opml_name(o);
	bool is_url = len == strlen("xmlUrl") && strncasecmp(name, "xmlUrl", len) == 0;

	opml_skip_space(o);
	if (o->at == o->end || *o->at != '=') {
		if (len == 0)
			o->at++;
		return;
	}
	o->at++;
	opml_skip_space(o);
	if (o->at == o->end || (*o->at != '"' && *o->at != '\''))
		return;
	value = o->at + 1;
	o->at = memchr(value, *o->at, (size_t)(o->end - value));
	if (!o->at) {
		o->at = o->end;
		return;
	}
	if (leads && is_url)
		opml_lead(o, value, o->at);
	o->at++;
}

/* Reads a start tag behind its name. */
static void opml_tag(struct opml *o, bool leads)
{
	for (;;) {
		opml_skip_space(o);
		if (o->at == o->end || *o->at == '<')
			return;
		if (*o->at == '>') {
			o->at++;
			return;
		}
		opml_attribute(o, leads);
	}
}

static bool opml_name_is(const char *name, size_t len, const char *want)
{
	return len == strlen(want) && strncasecmp(name, want, len) == 0;
}

/* Moves to the next element and behind its name. 0: there is none. */
static size_t opml_element(struct opml *o, const char **name)
{
	size_t len;

	while (o->at < o->end) {
		o->at = memchr(o->at, '<', (size_t)(o->end - o->at));
		if (!o->at)
			o->at = o->end;
		else if (opml_starts(o, "<!DOCTYPE"))
			opml_skip_doctype(o);
		else if (!opml_skip_span(o)) {
			*name = ++o->at;
			if ((len = opml_name(o)) > 0)
				return len;
		}
	}
	return 0;
}

enum opml_result opml_rewrite(struct text *out, const char *text, size_t len, const char *gateway,
    struct opml_counts *counts)
{
	struct opml o = { text, text + len, text, out, gateway, counts };
	const char *name;
	size_t n = opml_element(&o, &name);

	*counts = (struct opml_counts){ 0 };
	if (!opml_name_is(name, n, "opml"))
		return OPML_NOT_OPML;
	do
		opml_tag(&o, opml_name_is(name, n, "outline"));
	while ((n = opml_element(&o, &name)) > 0);
	text_add(out, o.done, (size_t)(o.end - o.done));
	return out->failed ? OPML_NO_MEMORY : OPML_OK;
}
