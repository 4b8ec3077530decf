/* Owns writing JSON to a stdio stream. See json.h. */
#include "proxy/base/json.h"

#include <inttypes.h>
#include <string.h>

#include "core/text/utf8.h"
#include "proxy/base/json_text.h"

/* Writes well-formed UTF-8, escaped as json_text.h says. */
static void put_valid(FILE *out, const uint8_t *text, size_t len)
{
	for (size_t i = 0, width; i < len; i += width) {
		char character[JSON_CHARACTER_MAX];

		fwrite(character, 1, json_text_character(character, text + i, &width), out);
	}
}

static void put_string(FILE *out, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t len = strlen(text);
	bool incomplete;

	putc('"', out);
	while (len > 0) {
		size_t n = utf8_valid_prefix(at, len);

		put_valid(out, at, n);
		if (n < len) {
			fputs(JSON_REPLACEMENT, out);
			n += utf8_bad_length(at + n, len - n, &incomplete);
		}
		at += n;
		len -= n;
	}
	putc('"', out);
}

static void put_key(struct json *j, const char *key)
{
	if (j->follows)
		putc(',', j->out);
	if (key) {
		put_string(j->out, key);
		putc(':', j->out);
	}
	j->follows = true;
}

void json_open(struct json *j, const char *key)
{
	put_key(j, key);
	putc('{', j->out);
	j->follows = false;
}

void json_close(struct json *j)
{
	putc('}', j->out);
	j->follows = true;
}

void json_open_list(struct json *j, const char *key)
{
	put_key(j, key);
	putc('[', j->out);
	j->follows = false;
}

void json_close_list(struct json *j)
{
	putc(']', j->out);
	j->follows = true;
}

void json_string(struct json *j, const char *key, const char *text)
{
	put_key(j, key);
	if (text)
		put_string(j->out, text);
	else
		fputs("null", j->out);
}

void json_number(struct json *j, const char *key, uint64_t number)
{
	put_key(j, key);
	fprintf(j->out, "%" PRIu64, number);
}

void json_decimal(struct json *j, const char *key, double number)
{
	put_key(j, key);
	fprintf(j->out, "%.2f", number);
}

void json_bool(struct json *j, const char *key, bool value)
{
	put_key(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json_null(struct json *j, const char *key)
{
	json_string(j, key, NULL);
}
