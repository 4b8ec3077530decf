/* Reading heads of our own; see head_text.h. */
#include "proxy/http/head_text.h"

#include <stdio.h>
#include <string.h>

/* The line at *at, without CRLF; false at the end. */
static bool head_text_next_line(struct slice head, size_t *at, struct slice *line)
{
	const char *lf;

	if (*at >= head.len || !(lf = memchr(head.at + *at, '\n', head.len - *at)))
		return false;
	*line = (struct slice){ head.at + *at, (size_t)(lf - head.at) - *at };
	*at += line->len + 1;
	if (line->len && line->at[line->len - 1] == '\r')
		line->len--;
	return true;
}

static bool is_name(struct slice name)
{
	static const char *const framing[] = { "content-length", "transfer-encoding", "connection", NULL };

	for (const char *const *f = framing; *f; f++)
		if (slice_is(name, *f))
			return false;
	for (size_t i = 0; i < name.len; i++)          /* tokens, RFC 9110 section 5.6.2 */
		if (name.at[i] <= ' ' || name.at[i] > '~' || strchr("\"(),/:;<=>?@[\\]{}", name.at[i]))
			return false;
	return name.len;
}

/* RFC 9110 section 5.5 */
static bool is_value(struct slice value)
{
	for (size_t i = 0; i < value.len; i++)
		if (((unsigned char)value.at[i] < ' ' && value.at[i] != '\t') || value.at[i] == 0x7f)
			return false;
	return true;
}

static bool is_start_line(struct slice line, int status)
{
	char want[32];
	int n = snprintf(want, sizeof want, "HTTP/1.1 %d ", status);

	return line.len >= (size_t)n && !memcmp(line.at, want, (size_t)n) && is_value(line) &&
	    line.at[line.len] == '\r';
}

bool head_text_valid(struct slice head, int status)
{
	struct slice line;
	size_t at = 0;

	if (!head_text_next_line(head, &at, &line) || !is_start_line(line, status))
		return false;
	while (head_text_next_line(head, &at, &line)) {
		const char *colon = memchr(line.at, ':', line.len);

		if (!colon || !is_name((struct slice){ line.at, (size_t)(colon - line.at) }) ||
		    !is_value((struct slice){ colon + 1, line.len - (size_t)(colon + 1 - line.at) }) ||
		        line.at[line.len] != '\r')
			return false;
	}
	return at == head.len;
}

struct slice head_text_get(struct slice head, const char *name)
{
	struct slice line, value;
	size_t at = 0;

	head_text_next_line(head, &at, &line);
	while (head_text_next_line(head, &at, &line))
		if (slice_is(slice_until(line, ':', &value), name))
			return slice_trim(value);
	return (struct slice){ NULL, 0 };
}

size_t head_text_etag_end(struct slice head)
{
	struct slice tag = head_text_get(head, "etag");

	return tag.len ? (size_t)(tag.at - head.at) + tag.len - 1 : 0;
}

void head_text_copy_if(struct text *t, struct slice head, bool (*takes)(struct slice name))
{
	struct slice line, value;
	size_t at = 0;

	head_text_next_line(head, &at, &line);
	while (head_text_next_line(head, &at, &line)) {
		if (!takes(slice_until(line, ':', &value)))
			continue;
		text_add(t, line.at, line.len);
		text_puts(t, "\r\n");
	}
}

void head_text_copy(struct text *t, struct slice head, const char *const *names, bool keep)
{
	struct slice line, value, name;
	size_t at = 0;

	head_text_next_line(head, &at, &line);
	while (head_text_next_line(head, &at, &line)) {
		bool listed = false;

		name = slice_until(line, ':', &value);
		for (const char *const *n = names; *n; n++)
			listed |= slice_is(name, *n);
		if (listed != keep)
			continue;
		text_add(t, line.at, line.len);
		text_puts(t, "\r\n");
	}
}
