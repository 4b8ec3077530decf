/* Owns feeding arbitrary bytes to the readers of access logs, as text and as JSON, and to the account that is made of them.
 * Invariant tested: texts end within their room, and a line is counted once, as what it is. */
#include "proxy/report/log_line.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/report/publishers.h"

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
	log_line_publisher(&l, publisher, feed);
	require(memchr(publisher, 0, sizeof publisher) && memchr(feed, 0, sizeof feed));
}

static uint64_t account(struct publishers *p, const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size, *feed;
	uint64_t lines = 0;

	for (; data < end; data = feed + 1, lines++) {
		feed = memchr(data, '\n', (size_t)(end - data));
		if (!feed)
			feed = end;
		check_line((const char *)data, (size_t)(feed - data));
		require(publishers_take(p, (const char *)data, (size_t)(feed - data)) == 0);
	}
	return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct publishers *p = publishers_new();
	uint64_t requests = 0, lines;

	require(p != NULL);
	lines = account(p, data, size);
	require(p->lines == lines && p->unread <= lines && p->n <= p->n_feeds && p->left_out == 0);
	publishers_sort(p);
	for (size_t i = 0; i < p->n; i++)
		requests += p->all[i]->requests;
	require(requests + p->unread <= lines);
	publishers_free(&p);
	return 0;
}
