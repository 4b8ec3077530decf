/* Showing peers' bytes to people; see visible.h. */
#include "proxy/report/visible.h"

#include <string.h>

#include "core/text/utf8.h"
#include "proxy/base/unseen.h"

void visible_bytes(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text >= 0x20 && *text < 0x7f && *text != '\\')
			putc(*text, out);
		else
			fprintf(out, "\\x%02x", (unsigned char)*text);
	}
}

/* Reads the next character of len bytes. 0: the first byte is not of UTF-8. */
static size_t visible_next(const uint8_t *text, size_t len, uint32_t *c)
{
	size_t most = len < 4 ? len : 4;

	for (size_t n = 1; n <= most; n++)
		if (utf8_valid_prefix(text, n) == n)
			return utf8_next(text, c);
	return 0;
}

static void visible_character(FILE *out, const uint8_t *text, size_t n, uint32_t c, bool unicode)
{
	if (unseen(c) || (!unicode && c > 0x7e))
		fprintf(out, "\\u{%x}", (unsigned)c);
	else
		fwrite(text, 1, n, out);
}

void visible_text(FILE *out, const char *text, bool unicode, const char *indent)
{
	const uint8_t *at = (const uint8_t *)text, *end = at + strlen(text);
	uint32_t c;

	while (at < end) {
		size_t n = visible_next(at, (size_t)(end - at), &c);

		if (n == 0)
			fprintf(out, "\\x%02x", *at);
		else if (c == '\n')
			fprintf(out, "%s%s", at + 1 < end ? "\n" : "", at + 1 < end ? indent : "");
		else if (c == '\\')
			fputs("\\\\", out);
		else if (c == '\t')
			putc(' ', out);
		else if (c != '\r' || at + 1 == end || at[1] != '\n')
			visible_character(out, at, n, c, unicode);
		at += n ? n : 1;
	}
}

static const char *html_reference(uint32_t c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	case '\n':
		return "\n";
	case '\t':
		return "\t";
	default:
		return NULL;
	}
}

void visible_html(FILE *out, const char *text)
{
	const uint8_t *at = (const uint8_t *)text, *end = at + strlen(text);
	uint32_t c;

	while (at < end) {
		size_t n = visible_next(at, (size_t)(end - at), &c);
		const char *reference = n ? html_reference(c) : NULL;

		if (reference)
			fputs(reference, out);
		else if (n == 0)
			fprintf(out, "\\x%02x", *at);
		else if (c != '\r' || at + 1 == end || at[1] != '\n')
			visible_character(out, at, n, c, true);
		at += n ? n : 1;
	}
}
