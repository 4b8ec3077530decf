/* Strings of JSON; see json_text.h. */
#include "proxy/base/json_text.h"

#include "core/text/utf8.h"
#include "proxy/base/unseen.h"

static void add_unit(struct text *t, uint32_t unit)
{
	text_puts(t, "\\u");
	text_hex(t, unit, 4);
}

/* A character beyond 16 bits is a pair of surrogates (RFC 8259 section 7). */
static size_t write_escape(char out[JSON_CHARACTER_MAX], uint32_t c)
{
	struct text t = text_on(out, JSON_CHARACTER_MAX);

	if (c >= 0x10000)
		add_unit(&t, 0xd800 + ((c - 0x10000) >> 10));
	add_unit(&t, c < 0x10000 ? c : 0xdc00 + (c & 0x3ff));
	return t.len;
}

size_t json_text_character(char out[JSON_CHARACTER_MAX], const uint8_t *at, size_t *width)
{
	uint32_t c;

	*width = utf8_next(at, &c);
	if (c == '"' || c == '\\') {
		out[0] = '\\';
		out[1] = (char)c;
		return 2;
	}
	if ((c < 0x20 || c > 0x7e) && unseen(c))
		return write_escape(out, c);
	memcpy(out, at, *width);
	return *width;
}

/* How many characters stand as they are in a string: printable ASCII, of which most strings are made. */
static size_t plain_prefix(const uint8_t *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[n] >= 0x20 && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

/* Adds well-formed text and lowers *room by what it takes. False: it did not fit. */
static bool add_valid(struct text *t, const uint8_t *text, size_t len, size_t *room)
{
	for (size_t at = 0, width; at < len; at += width) {
		size_t left = len - at, n = plain_prefix(text + at, left < *room ? left : *room);
		char unit[JSON_CHARACTER_MAX];

		width = n;
		if (n)
			text_add(t, (const char *)text + at, n);
		else if ((n = json_text_character(unit, text + at, &width)) > *room)
			return false;
		else
			text_add(t, unit, n);
		*room -= n;
	}
	return true;
}

void json_text_bytes(struct text *t, struct slice bytes, size_t max)
{
	const uint8_t *at = (const uint8_t *)bytes.at;
	size_t len = bytes.len;
	bool incomplete;

	text_puts(t, "\"");
	while (len) {
		size_t n = utf8_valid_prefix(at, len);

		if (!add_valid(t, at, n, &max))
			break;
		if (n < len) {
			if (max < strlen(JSON_REPLACEMENT))
				break;
			text_puts(t, JSON_REPLACEMENT);
			max -= strlen(JSON_REPLACEMENT);
			n += utf8_bad_length(at + n, len - n, &incomplete);
		}
		at += n;
		len -= n;
	}
	text_puts(t, "\"");
}
