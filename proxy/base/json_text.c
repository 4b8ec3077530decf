/* Strings of JSON; see json_text.h. */
#include "proxy/base/json_text.h"

#include "core/text/utf8.h"

enum { JSON_UNIT_MAX = 6 };            /* "\u0000" */

static size_t write_escape(char out[JSON_UNIT_MAX], unsigned char c)
{
	struct text t = text_on(out, JSON_UNIT_MAX);

	text_puts(&t, "\\u");
	text_hex(&t, c, 4);
	return t.len;
}

/* Writes the character at a place of well-formed text. *width: the bytes it takes there. Returns the bytes it takes
 * here. */
static size_t write_character(char out[JSON_UNIT_MAX], const uint8_t *at, size_t *width)
{
	*width = *at < 0x80 ? 1 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
	if (*at < 0x20 || *at == 0x7f)
		return write_escape(out, *at);
	if (*at == 0xc2 && at[1] < 0xa0)
		return write_escape(out, at[1]);
	if (*at == '"' || *at == '\\') {
		out[0] = '\\';
		out[1] = (char)*at;
		return 2;
	}
	memcpy(out, at, *width);
	return *width;
}

/* Adds well-formed text and lowers *room by what it takes. False: there was no room for all of it. */
static bool add_valid(struct text *t, const uint8_t *text, size_t len, size_t *room)
{
	for (size_t at = 0, width; at < len; at += width) {
		char unit[JSON_UNIT_MAX];
		size_t n = write_character(unit, text + at, &width);

		if (n > *room)
			return false;
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
			if (max < JSON_UNIT_MAX)
				break;
			text_puts(t, "\\ufffd");
			max -= JSON_UNIT_MAX;
			n += utf8_bad_length(at + n, len - n, &incomplete);
		}
		at += n;
		len -= n;
	}
	text_puts(t, "\"");
}
