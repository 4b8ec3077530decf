/* Reading one flat object of JSON; see log_json.h. */
#include "proxy/report/log_json.h"

#include <stdint.h>
#include <string.h>

#include "core/text/utf8.h"

enum { LOG_JSON_DEPTH = 64 };

static void json_skip_space(struct log_json *j)
{
	while (j->at < j->end && strchr(" \t\r\n", *j->at) && *j->at)
		j->at++;
}

static bool json_take(struct log_json *j, char c)
{
	json_skip_space(j);
	if (j->at == j->end || *j->at != c)
		return false;
	j->at++;
	return true;
}

static bool json_fail(struct log_json *j)
{
	j->failed = true;
	return false;
}

/* Four hexadecimal digits. -1: there are none. */
static int32_t json_unit(struct log_json *j)
{
	int32_t unit = 0;

	if (j->end - j->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = *j->at++, lower = (char)(c | 32);

		if (c >= '0' && c <= '9')
			unit = unit * 16 + (c - '0');
		else if (lower >= 'a' && lower <= 'f')
			unit = unit * 16 + (lower - 'a' + 10);
		else
			return -1;
	}
	return unit;
}

/* The character of \uXXXX, or of two that are a surrogate pair; what is none is U+FFFD. -1: malformed. */
static int32_t json_escaped(struct log_json *j)
{
	int32_t high = json_unit(j), low;

	if (high < 0 || high < 0xd800 || high > 0xdfff)
		return high;
	if (high > 0xdbff || j->end - j->at < 6 || j->at[0] != '\\' || j->at[1] != 'u')
		return 0xfffd;
	j->at += 2;
	low = json_unit(j);
	if (low < 0)
		return -1;
	return low < 0xdc00 || low > 0xdfff ? 0xfffd : 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

struct json_room {
	char *at;
	size_t len, cap;
};

static void json_put(struct json_room *r, const void *bytes, size_t len)
{
	if (r->cap - r->len <= len)
		r->cap = r->len + 1;    /* cut: nothing that follows has room, either */
	else {
		memcpy(r->at + r->len, bytes, len);
		r->len += len;
	}
}

/* Takes what stands behind a backslash. */
static bool json_escape(struct log_json *j, struct json_room *r)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	uint8_t bytes[4];
	int32_t c;
	char e;

	if (j->at == j->end)
		return json_fail(j);
	e = *j->at++;
	if (e != 'u') {
		found = e ? strchr(from, e) : NULL;
		if (!found)
			return json_fail(j);
		json_put(r, &to[found - from], 1);
		return true;
	}
	if ((c = json_escaped(j)) < 0)
		return json_fail(j);
	json_put(r, bytes, utf8_encode(c ? (uint32_t)c : 0xfffd, bytes));
	return true;
}

/* Takes a string behind its first quote. */
static bool json_take_string(struct log_json *j, char *room, size_t cap)
{
	struct json_room r = { room, 0, cap };

	while (j->at < j->end && *j->at != '"') {
		char c = *j->at++;

		if ((unsigned char)c < 0x20)
			return json_fail(j);
		if (c != '\\')
			json_put(&r, &c, 1);
		else if (!json_escape(j, &r))
			return false;
	}
	room[r.len] = '\0';
	return json_take(j, '"') || json_fail(j);
}

/* Steps over a list or an object behind its first bracket. */
static bool json_skip_nested(struct log_json *j)
{
	char ignored[1];
	int depth = 1;

	while (depth > 0 && j->at < j->end && depth < LOG_JSON_DEPTH) {
		char c = *j->at++;

		if (c == '"' && !json_take_string(j, ignored, sizeof ignored))
			return false;
		depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
	}
	return depth == 0 || json_fail(j);
}

/* Takes a number, true, false or null. */
static bool json_take_word(struct log_json *j)
{
	struct json_room r = { j->value, 0, sizeof j->value };

	while (j->at < j->end && *j->at && !strchr(",}] \t\r\n\"{[:", *j->at))
		json_put(&r, j->at++, 1);
	j->value[r.len] = '\0';
	if (r.len == 0)
		return json_fail(j);
	if (strcmp(j->value, "null") == 0)
		j->value[0] = '\0';
	return true;
}

static bool json_take_value(struct log_json *j)
{
	j->value[0] = '\0';
	json_skip_space(j);
	if (j->at == j->end)
		return json_fail(j);
	switch (*j->at) {
	case '"':
		j->at++;
		return json_take_string(j, j->value, sizeof j->value);
	case '{':
	case '[':
		j->at++;
		return json_skip_nested(j);
	default:
		return json_take_word(j);
	}
}

/* Takes the end of the object, behind which nothing may stand. */
static bool json_end(struct log_json *j)
{
	json_skip_space(j);
	j->failed = j->failed || j->at != j->end;
	return false;
}

bool log_json_next(struct log_json *j)
{
	if (j->failed)
		return false;
	if (!j->begun && !json_take(j, '{'))
		return json_fail(j);
	if (json_take(j, '}'))
		return json_end(j);
	if (j->begun && !json_take(j, ','))
		return json_fail(j);
	j->begun = true;
	if (!json_take(j, '"') || !json_take_string(j, j->key, sizeof j->key) || !json_take(j, ':'))
		return json_fail(j);
	return json_take_value(j);
}
