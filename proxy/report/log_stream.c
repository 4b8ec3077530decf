/* Cutting what comes into lines and feeds; see log_stream.h. */
#include "proxy/report/log_stream.h"

#include <ctype.h>
#include <string.h>

enum { LIST_HEAD_MAX = 64 };    /* bytes before the first feed, a number of 20 digits and blanks among them */

static void stream_add(struct log_stream *stream, const char *bytes, size_t len)
{
	size_t room = sizeof stream->bytes - stream->len;

	if (len > room)
		len = room;
	memcpy(stream->bytes + stream->len, bytes, len);
	stream->len += len;
}

static int stream_take(struct log_stream *stream)
{
	int failed = stream->len > 0 ? publishers_take(stream->publishers, stream->bytes, stream->len) : 0;

	stream->len = 0;
	return failed;
}

/* Whether the bytes begin a list, whatever blanks are in them. *whole: its first feed comes next. */
static bool stream_begins_list(const struct log_stream *stream, bool *whole)
{
	static const char list[] = "{\"total\":0,\"feeds\":[";        /* 0: digits */
	const char *want = list;

	for (size_t i = 0; i < stream->len; i++) {
		char c = stream->bytes[i];

		if (isspace((unsigned char)c) || (*want == '0' && c >= '0' && c <= '9'))
			continue;
		want += *want == '0';
		if (!*want || c != *want++)
			return false;
	}
	*whole = !*want;
	return want > list;
}

/* Takes bytes of a line. Returns how many. */
static size_t stream_line(struct log_stream *stream, const char *at, size_t len, int *failed)
{
	const char *end = memchr(at, '\n', len);
	size_t n = end ? (size_t)(end - at) : len, head = stream->len < LIST_HEAD_MAX ? LIST_HEAD_MAX - stream->len : 0;
	const char *list = memchr(at, '[', n < head ? n : head);
	bool whole;

	if (list) {
		stream_add(stream, at, (size_t)(list + 1 - at));
		if (stream_begins_list(stream, &whole) && whole) {
			stream->mode = LOG_STREAM_LIST;
			stream->spread = memchr(stream->bytes, '\n', stream->len);
			stream->len = 0;
		}
		return (size_t)(list + 1 - at);
	}
	stream_add(stream, at, n);
	if (!end)
		return n;
	if (head > n && stream_begins_list(stream, &whole))
		stream_add(stream, end, 1);
	else
		*failed = stream_take(stream);
	return n + 1;
}

/* Whether the object at hand ends with this character. */
static bool stream_ends_object(struct log_stream *stream, char c)
{
	if (stream->quoted) {
		stream->quoted = stream->escaped || c != '"';
		stream->escaped = !stream->escaped && c == '\\';
	} else if (c == '"')
		stream->quoted = true;
	else if (c == '{' || c == '[')
		stream->depth++;
	else if (c == '}' || c == ']')
		stream->depth--;
	return stream->depth == 0;
}

static int stream_feed(struct log_stream *stream, char c)
{
	if (stream->quoted || !isspace((unsigned char)c))
		stream_add(stream, &c, 1);
	if (!stream_ends_object(stream, c))
		return 0;
	stream->mode = LOG_STREAM_LIST;
	return stream_take(stream);
}

/* Takes a character of the list. It ends with its line; if it has many lines, with the last one's. */
static int stream_list(struct log_stream *stream, char c)
{
	if (c == '\n' && (!stream->spread || (stream->mode == LOG_STREAM_REST && !stream->depth))) {
		stream->mode = LOG_STREAM_LINE;
		return stream_take(stream);
	}
	if (stream->mode == LOG_STREAM_FEED)
		return stream_feed(stream, c);
	if (stream->mode == LOG_STREAM_REST) {
		if (stream->depth)
			(void)stream_ends_object(stream, c);
		return 0;
	}
	if (c != ']' && c != '{')
		return 0;
	stream->mode = c == ']' ? LOG_STREAM_REST : LOG_STREAM_FEED;
	stream->quoted = stream->escaped = false;
	stream->depth = c == ']';              /* in the object that has the list */
	return c == ']' ? 0 : stream_feed(stream, c);
}

int log_stream_feed(struct log_stream *stream, const char *at, size_t len)
{
	const char *end = at + len;
	int failed = 0;

	while (!failed && at < end) {
		if (stream->mode == LOG_STREAM_LINE)
			at += stream_line(stream, at, (size_t)(end - at), &failed);
		else
			failed = stream_list(stream, *at++);
	}
	return failed;
}

int log_stream_end(struct log_stream *stream)
{
	stream->mode = LOG_STREAM_LINE;
	return stream_take(stream);
}
