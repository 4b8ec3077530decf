/* Finding a file in multipart/form-data; see multipart.h. */
#include "proxy/admin/multipart.h"

#include <stdio.h>
#include <string.h>

enum { MULTIPART_BOUNDARY_MAX = 70 /* RFC 2046 section 5.1.1 */ };

static const struct slice multipart_nothing;
static const struct multipart_part multipart_none;

/* The value of a parameter behind a ';'; at NULL: it is not there. No value that matters here has a ';' in it. */
static struct slice multipart_parameter(struct slice field, const char *name)
{
	struct slice rest, value;

	for (rest = field; rest.at;) {
		struct slice member = slice_until(rest, ';', &rest), word = slice_until(member, '=', &value);

		if (value.at && slice_is(word, name))
			return slice_unquoted(slice_trim(value));
	}
	return multipart_nothing;
}

/* Whether the header lines of a part call it name; *file is the name of its file. */
static bool multipart_is_called(struct slice lines, const char *name, struct slice *file)
{
	struct slice rest, value;

	for (rest = lines; rest.at;) {
		struct slice line = slice_until(rest, '\n', &rest), field = slice_until(line, ':', &value), called;

		if (!value.at || !slice_is(field, "content-disposition"))
			continue;
		if (value.len && value.at[value.len - 1] == '\r')
			value.len--;
		called = multipart_parameter(value, "name");
		*file = multipart_parameter(value, "filename");
		return called.len == strlen(name) && !memcmp(called.at, name, called.len);
	}
	return false;
}

/* Looks for the delimiter in text; at NULL: it is not there. */
static const char *multipart_delimiter(struct slice text, const char *delimiter)
{
	return text.at ? memmem(text.at, text.len, delimiter, strlen(delimiter)) : NULL;
}

static struct slice multipart_behind(struct slice text, const char *at)
{
	return (struct slice){ at, text.len - (size_t)(at - text.at) };
}

struct multipart_part multipart_find(struct slice content_type, struct slice body, const char *name)
{
	struct slice parameters, type = slice_until(content_type, ';', &parameters),
	                         boundary = multipart_parameter(parameters, "boundary");
	char delimiter[MULTIPART_BOUNDARY_MAX + 5];
	const char *end, *content;

	if (!slice_is(type, "multipart/form-data") || !boundary.len || boundary.len > MULTIPART_BOUNDARY_MAX)
		return multipart_none;
	/* Each delimiter but the first has a line's end before it, which is not the content's. */
	snprintf(delimiter, sizeof delimiter, "\r\n--%.*s", (int)boundary.len, boundary.at);
	const char *at = body.len >= strlen(delimiter) - 2 && !memcmp(body.at, delimiter + 2, strlen(delimiter) - 2)
	    ? body.at + strlen(delimiter) - 2
	    : multipart_delimiter(body, delimiter);
	for (; at; at = end) {
		struct slice part = multipart_behind(body, at), file;

		if (part.len < 2 ||
		    !(end = multipart_delimiter((struct slice){ part.at + 1, part.len - 1 }, delimiter)) ||
		    !(content = memmem(part.at, (size_t)(end - part.at), "\r\n\r\n", 4)))
			return multipart_none;
		if (multipart_is_called((struct slice){ part.at, (size_t)(content - part.at) }, name, &file))
			return (struct multipart_part){ { content + 4, (size_t)(end - content) - 4 }, file };
	}
	return multipart_none;
}
