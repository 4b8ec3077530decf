/* Reading one flat object of JSON; see log_json.h. */
#include "proxy/report/log_json.h"

#include <stdint.h>
#include <string.h>

#include "conf/url.h"
#include "core/text/utf8.h"

enum { LOG_JSON_DEPTH = 64 };

static void json_skip_space(struct log_json *out)
{
	while (out->at < out->end && strchr(" \t\r\n", *out->at) && *out->at)
		out->at++;
}

static bool json_take(struct log_json *out, char c)
{
	json_skip_space(out);
	if (out->at == out->end || *out->at != c)
		return false;
	out->at++;
	return true;
}

static bool json_fail(struct log_json *out)
{
	out->failed = true;
	return false;
}

/* Four hexadecimal digits. -1: there are none. */
static int32_t json_unit(struct log_json *out)
{
	int32_t unit = 0;

	if (out->end - out->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = url_hex_digit(*out->at++);

		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

/* The character of \uXXXX, or of two that are a surrogate pair; what is none is U+FFFD. -1: malformed. */
static int32_t json_escaped(struct log_json *out)
{
	int32_t high = json_unit(out);

	if (high < 0 || high < 0xd800 || high > 0xdfff)
		return high;
	if (high > 0xdbff || out->end - out->at < 6 || out->at[0] != '\\' || out->at[1] != 'u')
		return 0xfffd;
	out->at += 2;
	int32_t low = json_unit(out);
	if (low < 0)
		return -1;
	return low < 0xdc00 || low > 0xdfff ? 0xfffd : 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

struct json_room {
	char *at;
	size_t len, cap;
};

static void json_put(struct json_room *room, const void *bytes, size_t len)
{
	if (room->cap - room->len <= len)
		room->cap = room->len + 1;    /* cut: nothing that follows has room, either */
	else {
		memcpy(room->at + room->len, bytes, len);
		room->len += len;
	}
}

/* Takes what stands behind a backslash. */
static bool json_escape(struct log_json *out, struct json_room *room)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	uint8_t bytes[4];
	int32_t c;

	if (out->at == out->end)
		return json_fail(out);
	char e = *out->at++;
	if (e != 'u') {
		found = e ? strchr(from, e) : NULL;
		if (!found)
			return json_fail(out);
		json_put(room, &to[found - from], 1);
		return true;
	}
	if ((c = json_escaped(out)) < 0)
		return json_fail(out);
	json_put(room, bytes, utf8_encode(c ? (uint32_t)c : 0xfffd, bytes));
	return true;
}

/* Takes a string behind its first quote. */
static bool json_take_string(struct log_json *out, char *room, size_t cap)
{
	struct json_room r = { room, 0, cap };

	while (out->at < out->end && *out->at != '"') {
		char c = *out->at++;

		if ((unsigned char)c < 0x20)
			return json_fail(out);
		if (c != '\\')
			json_put(&r, &c, 1);
		else if (!json_escape(out, &r))
			return false;
	}
	room[r.len] = '\0';
	return json_take(out, '"') || json_fail(out);
}

/* Steps over a list or an object behind its first bracket. */
static bool json_skip_nested(struct log_json *out)
{
	char ignored[1];
	int depth = 1;

	while (depth > 0 && out->at < out->end && depth < LOG_JSON_DEPTH) {
		char c = *out->at++;

		if (c == '"' && !json_take_string(out, ignored, sizeof ignored))
			return false;
		depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
	}
	return depth == 0 || json_fail(out);
}

/* Takes a number, true, false or null. */
static bool json_take_word(struct log_json *out)
{
	struct json_room r = { out->value, 0, sizeof out->value };

	while (out->at < out->end && *out->at && !strchr(",}] \t\r\n\"{[:", *out->at))
		json_put(&r, out->at++, 1);
	out->value[r.len] = '\0';
	if (r.len == 0)
		return json_fail(out);
	if (!strcmp(out->value, "null"))
		out->value[0] = '\0';
	return true;
}

static bool json_take_value(struct log_json *out)
{
	out->value[0] = '\0';
	json_skip_space(out);
	if (out->at == out->end)
		return json_fail(out);
	switch (*out->at) {
	case '"':
		out->at++;
		return json_take_string(out, out->value, sizeof out->value);
	case '{':
	case '[':
		out->at++;
		return json_skip_nested(out);
	default:
		return json_take_word(out);
	}
}

/* Takes the end of the object, behind which nothing may stand. */
static bool json_end(struct log_json *out)
{
	json_skip_space(out);
	out->failed = out->failed || out->at != out->end;
	return false;
}

bool log_json_next(struct log_json *out)
{
	if (out->failed)
		return false;
	if (!out->begun && !json_take(out, '{'))
		return json_fail(out);
	if (json_take(out, '}'))
		return json_end(out);
	if (out->begun && !json_take(out, ','))
		return json_fail(out);
	out->begun = true;
	if (!json_take(out, '"') || !json_take_string(out, out->key, sizeof out->key) || !json_take(out, ':'))
		return json_fail(out);
	return json_take_value(out);
}
