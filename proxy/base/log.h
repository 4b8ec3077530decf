/* Owns diagnostics on stderr and the escaping of peers' bytes in log lines.
 * Must not know: sockets or workers. Invariant: no byte of a peer reaches a terminal or a log unescaped. errno
 * survives. */
#ifndef UTFEED_PROXY_BASE_LOG_H
#define UTFEED_PROXY_BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Called at the start, and when the configuration is read again. */
void log_set_level(enum log_level);

/* Writes one line to stderr: "utfeed: LEVEL: message". It is one write(2), so that lines of several threads never
 * mix. */
void log_line(enum log_level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)

/* Hears each line of the thread that lent it, whatever level is written; the text has no line end. */
struct log_ear {
	void (*hear)(struct log_ear *, enum log_level, const char *text);
};
/* NULL: nobody listens any more. */
void log_lend_ear(struct log_ear *);

/* The least important level that is written. */
extern _Atomic enum log_level log_threshold;
static inline bool log_is(enum log_level level)
{
	return level <= atomic_load_explicit(&log_threshold, memory_order_relaxed);
}

/* A client connection of this process and a request on it, both counted from 1. A line about them shows "c17.3".
 * connection 0: the line is about neither. */
struct log_id { uint64_t connection, request; };

/* Like log_line(), with "ID: " before the message. */
void log_line_of(enum log_level, const struct log_id *, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Logs one step of a request. The arguments are evaluated with log-level = debug only. */
#define log_step(id, ...) (log_is(LOG_LEVEL_DEBUG) ? log_line_of(LOG_LEVEL_DEBUG, (id), __VA_ARGS__) : (void)0)

enum { LOG_TIME_BYTES = 32 };
/* Writes a time, given in milliseconds since the epoch, as "2026-11-21T04:34:26.545Z". */
void log_write_time(char buf[LOG_TIME_BYTES], int64_t wall_ms);

/* How many newlines the bytes have. */
uint64_t log_count_lines(const char *bytes, size_t len);

/* Copies a peer's bytes into buf as one word of a log line: anything but printable ASCII becomes \xHH, and so do
 * blanks, quotes and backslashes. The text is cut at cap and always terminated. Returns its length. */
size_t log_escape(char *buf, size_t cap, const char *bytes, size_t len);

#endif
