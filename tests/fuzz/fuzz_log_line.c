/* Owns feeding arbitrary bytes to the readers of access logs and of /api/feeds, and to the account that is made of them.
 * Invariant tested: texts end within their room, and the account is the same however the input is cut. */
#include "proxy/report/log_line.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/report/log_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_line(const char *line, size_t len)
{
	char publisher[LOG_PUBLISHER_MAX], feed[LOG_FEED_MAX];
	struct log_line l;

	if (!log_line_read(&l, line, len))
		return;
	require(memchr(l.method, 0, sizeof l.method) && memchr(l.target, 0, sizeof l.target) && memchr(l.route, 0, sizeof l.route));
	require(memchr(l.charset, 0, sizeof l.charset) && memchr(l.was, 0, sizeof l.was) && memchr(l.end, 0, sizeof l.end));
	require(memchr(l.rule, 0, sizeof l.rule) && memchr(l.failure, 0, sizeof l.failure));
	log_line_publisher(&l, publisher, feed);
	require(memchr(publisher, 0, sizeof publisher) && memchr(feed, 0, sizeof feed));
}

/* The account of the input, fed in pieces. */
static struct publishers *account(const uint8_t *data, size_t size, size_t piece)
{
	struct log_stream *stream = calloc(1, sizeof *stream);
	struct publishers *p = publishers_new();

	require(stream != NULL && p != NULL);
	stream->publishers = p;
	for (size_t at = 0; at < size; at += piece)
		require(log_stream_feed(stream, (const char *)data + at, size - at < piece ? size - at : piece) == 0);
	require(log_stream_end(stream) == 0);
	free(stream);
	publishers_sort(p);
	return p;
}

static void check_lines(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size, *feed;

	for (; data < end; data = feed + 1) {
		feed = memchr(data, '\n', (size_t)(end - data));
		if (!feed)
			feed = end;
		check_line((const char *)data, (size_t)(feed - data));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct publishers *whole = account(data, size, size + 1), *cut = account(data, size, 1 + size / 3);

	check_lines(data, size);
	require(whole->combined <= whole->unread && whole->unread <= whole->lines && whole->n <= whole->n_feeds && whole->left_out == 0);
	require(cut->lines == whole->lines && cut->unread == whole->unread && cut->n == whole->n && cut->n_feeds == whole->n_feeds);
	for (size_t i = 0; i < whole->n; i++)
		require(strcmp(whole->all[i]->name, cut->all[i]->name) == 0 && whole->all[i]->requests == cut->all[i]->requests);
	publishers_free(&whole);
	publishers_free(&cut);
	return 0;
}
