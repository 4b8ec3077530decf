/* Cutting what comes into lines and feeds; see log_stream.h. */
#include "proxy/report/log_stream.h"

#include <string.h>

static const char list_begin[] = "{\"total\":", list_end[] = "\"feeds\":[";

enum { LIST_HEAD_MAX = 64 };    /* bytes before the first feed, a number of 20 digits among them */

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

static bool stream_is_list(const struct log_stream *stream)
{
	size_t begin = sizeof list_begin - 1, end = sizeof list_end - 1;

	return stream->len >= begin + end && !memcmp(stream->bytes, list_begin, begin) &&
	    !memcmp(stream->bytes + stream->len - end, list_end, end);
}

/* Takes bytes of a line. Returns how many. */
static size_t stream_line(struct log_stream *stream, const char *at, size_t len, int *failed)
{
	const char *end = memchr(at, '\n', len);
	size_t n = end ? (size_t)(end - at) : len, head = stream->len < LIST_HEAD_MAX ? LIST_HEAD_MAX - stream->len : 0;
	const char *list = memchr(at, '[', n < head ? n : head);

	if (list) {
		stream_add(stream, at, (size_t)(list + 1 - at));
		if (stream_is_list(stream)) {
			stream->mode = LOG_STREAM_LIST;
			stream->len = 0;
		}
		return (size_t)(list + 1 - at);
	}
	stream_add(stream, at, n);
	if (!end)
		return n;
	*failed = stream_take(stream);
	return n + 1;
}

/* Whether the feed at hand ends with this character. */
static bool stream_ends_feed(struct log_stream *stream, char c)
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
	stream_add(stream, &c, 1);
	if (!stream_ends_feed(stream, c))
		return 0;
	stream->mode = LOG_STREAM_LIST;
	return stream_take(stream);
}

/* Takes a character of the list, whose line ends with a line feed wherever that stands. */
static int stream_list(struct log_stream *stream, char c)
{
	if (c == '\n') {
		stream->mode = LOG_STREAM_LINE;
		return stream_take(stream);
	}
	if (stream->mode == LOG_STREAM_FEED)
		return stream_feed(stream, c);
	if (stream->mode == LOG_STREAM_LIST && c == ']')
		stream->mode = LOG_STREAM_REST;
	if (stream->mode != LOG_STREAM_LIST || c != '{')
		return 0;
	stream->mode = LOG_STREAM_FEED;
	stream->quoted = stream->escaped = false;
	stream->depth = 0;
	return stream_feed(stream, c);
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
