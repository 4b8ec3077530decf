/* Owns the lines of the access log that have not gone out yet; see access_buffer.h. */
#include "proxy/net/access_buffer.h"

#include <assert.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "proxy/base/log.h"
#include "proxy/base/stats.h"
#include "proxy/net/access_sink.h"

/* The bytes of lines that one write() takes: whole lines of at most PIPE_BUF together, which no other worker's bytes
 * get into, or that much of a longer line. */
static size_t access_piece(const char *lines, size_t len)
{
	if (len <= PIPE_BUF)
		return len;
	const char *last = memrchr(lines, '\n', PIPE_BUF);
	return last ? (size_t)(last + 1 - lines) : PIPE_BUF;
}

/* Writes piece by piece, each only once poll() says that write() will not block: a reader of stdout that has stopped
 * must not stop this worker. Returns how many lines were lost. */
static uint64_t access_to_stdout(const char *lines, size_t len)
{
	size_t at = 0;

	while (at < len) {
		struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
		ssize_t n = poll(&out, 1, 0) == 1 && !(out.revents & (POLLERR | POLLNVAL))
		    ? write(STDOUT_FILENO, lines + at, access_piece(lines + at, len - at))
		    : -1;

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	return log_count_lines(lines + at, len - at);
}

void access_buffer_flush(struct access_buffer *buffer)
{
	if (!buffer->len)
		return;
	uint64_t lost = buffer->sink ? access_sink_put(buffer->sink, buffer->lines, buffer->len)
	                    : access_to_stdout(buffer->lines, buffer->len);
	stats_add(buffer->stats, STAT_ACCESS_LOST, lost);
	buffer->len = 0;
}

void access_buffer_add(struct access_buffer *buffer, const char *lines, size_t len)
{
	assert(len <= sizeof buffer->lines);
	if (buffer->len + len > sizeof buffer->lines)
		access_buffer_flush(buffer);
	memcpy(buffer->lines + buffer->len, lines, len);
	buffer->len += len;
}
