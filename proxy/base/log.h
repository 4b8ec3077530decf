/* Owns diagnostics on stderr and the escaping of peers' bytes in every line written.
 * Must not know: sockets or workers. Invariant: no byte of a peer reaches a terminal or a log unescaped. errno survives. */
#ifndef UTFEED_PROXY_BASE_LOG_H
#define UTFEED_PROXY_BASE_LOG_H

#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO };

/* At start, and when the configuration is read again. */
void log_set_level(enum log_level);

/* One line on stderr: "utfeed: LEVEL: message". Written by one write(2), so lines of several threads never mix. */
void log_line(enum log_level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)

enum { LOG_TIME_BYTES = 32 };
/* A moment, in milliseconds since the epoch: "2026-11-21T04:34:26.545Z". */
void log_write_time(char buf[LOG_TIME_BYTES], int64_t wall_ms);

/* Copies peer bytes into buf with everything but printable ASCII as \xHH, and blank, quote and backslash too: one word in a
 * log line. Cut at cap (always terminated). Returns the length. */
size_t log_escape(char *buf, size_t cap, const char *bytes, size_t len);

#endif
