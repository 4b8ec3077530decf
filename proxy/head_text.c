/* Looking into heads; see head_text.h. */
#include "head_text.h"

#include <string.h>

/* The line at *at, without CRLF; false at the end. */
static bool next_line(struct slice head, size_t *at, struct slice *line)
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

struct slice head_text_get(struct slice head, const char *name)
{
	struct slice line, value;
	size_t at = 0;

	next_line(head, &at, &line);
	while (next_line(head, &at, &line))
		if (slice_is(slice_until(line, ':', &value), name))
			return slice_trim(value);
	return (struct slice){ NULL, 0 };
}

size_t head_text_etag_end(struct slice head)
{
	struct slice tag = head_text_get(head, "etag");

	return tag.len ? (size_t)(tag.at - head.at) + tag.len - 1 : 0;
}

void head_text_copy(struct text *t, struct slice head, const char *const *names, bool keep)
{
	struct slice line, value, name;
	size_t at = 0;

	next_line(head, &at, &line);
	while (next_line(head, &at, &line)) {
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
