/* Leading a subscription list through a gateway; see opml.h. */
#include "proxy/command/opml.h"

#include <strings.h>

#include "conf/url.h"
#include "core/text/utf8.h"

/* Where the reader is. The output has all that stands before `done`. */
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

static bool opml_starts(const struct opml *opml, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(opml->end - opml->at) >= len && !memcmp(opml->at, word, len);
}

/* Moves behind the word; to the end where it does not come. */
static void opml_past(struct opml *opml, const char *word)
{
	const char *found = memmem(opml->at, (size_t)(opml->end - opml->at), word, strlen(word));

	opml->at = found ? found + strlen(word) : opml->end;
}

/* Moves behind a comment, an instruction or a CDATA section. False: none starts here. */
static bool opml_skip_span(struct opml *opml)
{
	static const char *const spans[][2] = { { "<!--", "-->" }, { "<?", "?>" }, { "<![CDATA[", "]]>" } };

	for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++)
		if (opml_starts(opml, spans[i][0])) {
			opml->at += strlen(spans[i][0]);
			opml_past(opml, spans[i][1]);
			return true;
		}
	return false;
}

/* Moves behind a document type with its literals and its internal subset. */
static void opml_skip_doctype(struct opml *opml)
{
	int depth = 0;
	char quote = '\0';

	while (opml->at < opml->end) {
		if (!quote && *opml->at == '<' && opml_skip_span(opml))
			continue;
		if (quote)
			quote = *opml->at == quote ? '\0' : quote;
		else if (*opml->at == '"' || *opml->at == '\'')
			quote = *opml->at;
		else if (*opml->at == '<' || *opml->at == '[')
			depth++;
		else if ((*opml->at == '>' || *opml->at == ']') && --depth == 0) {
			opml->at++;
			return;
		}
		opml->at++;
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
		if (strlen(names[i].name) == len && !memcmp(names[i].name, at, len))
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

	if (!is_reference_name(name, len)) {
		text_add(t, (*at)++, 1);
		return true;
	}
	uint32_t c = *name == '#' ? opml_number(name + 1, len - 1) : opml_named(name, len);
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

static bool opml_is_rewritten(const struct opml *opml, const struct text *url)
{
	size_t len = strlen(opml->gateway);

	return url->len > len && !strncasecmp(url->bytes, opml->gateway, len) && url->bytes[len] == '/';
}

/* The value between at and end becomes one that leads through the gateway. */
static void opml_lead(struct opml *opml, const char *at, const char *end)
{
	struct text url = { 0 };

	if (!opml_decode(&url, at, end) || !url_is_http(url.bytes, url.len)) {
		opml->counts->left++;
	} else if (opml_is_rewritten(opml, &url)) {
		opml->counts->already++;
	} else {
		text_add(opml->out, opml->done, (size_t)(at - opml->done));
		opml_encode(opml->out, opml->gateway, strlen(opml->gateway), *end);
		text_puts(opml->out, "/");
		opml_encode(opml->out, url.bytes, url.len, *end);
		opml->done = end;
		opml->counts->rewritten++;
	}
	opml->out->failed |= url.failed;
	text_free(&url);
}

static size_t opml_name(struct opml *opml)
{
	const char *from = opml->at;

	while (opml->at < opml->end && (!*opml->at || !strchr(" \t\n\r=>/<\"'", *opml->at)))
		opml->at++;
	return (size_t)(opml->at - from);
}

static void opml_skip_space(struct opml *opml)
{
	while (opml->at < opml->end && opml_is_space(*opml->at))
		opml->at++;
}

/* Reads one attribute, if one is there; leads: its element is an outline. */
static void opml_attribute(struct opml *opml, bool leads)
{
	const char *name = opml->at;
	size_t len = opml_name(opml);
	bool is_url = len == strlen("xmlUrl") && !strncasecmp(name, "xmlUrl", len);

	opml_skip_space(opml);
	if (opml->at == opml->end || *opml->at != '=') {
		if (len == 0)
			opml->at++;
		return;
	}
	opml->at++;
	opml_skip_space(opml);
	if (opml->at == opml->end || (*opml->at != '"' && *opml->at != '\''))
		return;
	const char *value = opml->at + 1;
	opml->at = memchr(value, *opml->at, (size_t)(opml->end - value));
	if (!opml->at) {
		opml->at = opml->end;
		return;
	}
	if (leads && is_url)
		opml_lead(opml, value, opml->at);
	opml->at++;
}

/* Reads a start tag behind its name. */
static void opml_tag(struct opml *opml, bool leads)
{
	for (;;) {
		opml_skip_space(opml);
		if (opml->at == opml->end || *opml->at == '<')
			return;
		if (*opml->at == '>') {
			opml->at++;
			return;
		}
		opml_attribute(opml, leads);
	}
}

static bool opml_name_is(const char *name, size_t len, const char *want)
{
	return len == strlen(want) && !strncasecmp(name, want, len);
}

/* Moves to the next element and behind its name. 0: there is none. */
static size_t opml_element(struct opml *opml, const char **name)
{
	size_t len;

	while (opml->at < opml->end) {
		opml->at = memchr(opml->at, '<', (size_t)(opml->end - opml->at));
		if (!opml->at)
			opml->at = opml->end;
		else if (opml_starts(opml, "<!DOCTYPE"))
			opml_skip_doctype(opml);
		else if (!opml_skip_span(opml)) {
			*name = ++opml->at;
			if ((len = opml_name(opml)) > 0)
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
