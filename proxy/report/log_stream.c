/* Cutting what comes into lines and feeds; see log_stream.h. */
#include "proxy/report/log_stream.h"

#include <string.h>

static const char list_begin[] = "{\"total\":", list_end[] = "\"feeds\":[";

enum { LIST_HEAD_MAX = 64 };    /* bytes before the first feed, a number of 20 digits among them */

static void stream_add(struct log_stream *s, const char *bytes, size_t len)
{
	size_t room = sizeof s->bytes - s->len;

	if (len > room)
		len = room;
	memcpy(s->bytes + s->len, bytes, len);
	s->len += len;
}

static int stream_take(struct log_stream *s)
{
	int failed = s->len > 0 ? publishers_take(s->publishers, s->bytes, s->len) : 0;

	s->len = 0;
	return failed;
}

static bool stream_is_list(const struct log_stream *s)
{
	size_t begin = sizeof list_begin - 1, end = sizeof list_end - 1;

	return s->len >= begin + end && memcmp(s->bytes, list_begin, begin) == 0 &&
	    memcmp(s->bytes + s->len - end, list_end, end) == 0;
}

/* Takes bytes of a line. Returns how many. */
static size_t stream_line(struct log_stream *s, const char *at, size_t len, int *failed)
{
	const char *end = memchr(at, '\n', len);
	size_t n = end ? (size_t)(end - at) : len, head = s->len < LIST_HEAD_MAX ? LIST_HEAD_MAX - s->len : 0;
	const char *list = memchr(at, '[', n < head ? n : head);

	if (list) {
		stream_add(s, at, (size_t)(list + 1 - at));
		if (stream_is_list(s)) {
			s->mode = LOG_STREAM_LIST;
			s->len = 0;
		}
		return (size_t)(list + 1 - at);
	}
	stream_add(s, at, n);
	if (!end)
		return n;
	*failed = stream_take(s);
	return n + 1;
}

/* Whether the feed at hand ends with this character. */
static bool stream_ends_feed(struct log_stream *s, char c)
{
	if (s->quoted) {
		s->quoted = s->escaped || c != '"';
		s->escaped = !s->escaped && c == '\\';
	} else if (c == '"')
		s->quoted = true;
	else if (c == '{' || c == '[')
		s->depth++;
	else if (c == '}' || c == ']')
		s->depth--;
	return s->depth == 0;
}

static int stream_feed(struct log_stream *s, char c)
{
	stream_add(s, &c, 1);
	if (!stream_ends_feed(s, c))
		return 0;
	s->mode = LOG_STREAM_LIST;
	return stream_take(s);
}

/* Takes a character of the list, whose line ends with a line feed wherever that stands. */
static int stream_list(struct log_stream *s, char c)
{
	if (c == '\n') {
		s->mode = LOG_STREAM_LINE;
		return stream_take(s);
	}
	if (s->mode == LOG_STREAM_FEED)
		return stream_feed(s, c);
	if (s->mode == LOG_STREAM_LIST && c == ']')
		s->mode = LOG_STREAM_REST;
	if (s->mode != LOG_STREAM_LIST || c != '{')
		return 0;
	s->mode = LOG_STREAM_FEED;
	s->quoted = s->escaped = false;
	s->depth = 0;
	return stream_feed(s, c);
}

int log_stream_feed(struct log_stream *s, const char *at, size_t len)
{
	const char *end = at + len;
	int failed = 0;

	while (!failed && at < end) {
		if (s->mode == LOG_STREAM_LINE)
			at += stream_line(s, at, (size_t)(end - at), &failed);
		else
			failed = stream_list(s, *at++);
	}
	return failed;
}

int log_stream_end(struct log_stream *s)
{
	s->mode = LOG_STREAM_LINE;
	return stream_take(s);
}
