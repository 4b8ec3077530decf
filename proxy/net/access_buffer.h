/* Owns the lines of the access log that a worker has written and that have not gone out yet.
 * Must not know: what a line says, when the loop ends a turn.
 * Invariant: a line is whole, in the buffer and behind it; a reader of stdout that has stopped stops no worker. */
#ifndef UTFEED_PROXY_NET_ACCESS_BUFFER_H
#define UTFEED_PROXY_NET_ACCESS_BUFFER_H

#include <stddef.h>

enum { ACCESS_BUFFER_BYTES = 32 * 1024 };

struct access_sink;
struct stats;

/* All else is zero. */
struct access_buffer {
	struct stats *stats;            /* lines that are lost are counted here */
	struct access_sink *sink;       /* borrowed; NULL: lines go to stdout */
	size_t len;
	char lines[ACCESS_BUFFER_BYTES];
};

/* Appends whole lines, ACCESS_BUFFER_BYTES at most. If they do not fit, the lines before them go out first. */
void access_buffer_add(struct access_buffer *, const char *lines, size_t len);
void access_buffer_flush(struct access_buffer *);

#endif
