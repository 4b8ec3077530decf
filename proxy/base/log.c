/* Diagnostics on stderr; see log.h. */
#include "proxy/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "core/text/utf8.h"
#include "proxy/base/unseen.h"

enum { LOG_LINE_MAX = 1024 };

_Atomic enum log_level log_threshold = LOG_LEVEL_INFO;
static _Thread_local struct log_ear *listening;

void log_lend_ear(struct log_ear *ear)
{
	listening = ear;
}

void log_set_level(enum log_level level)
{
	atomic_store_explicit(&log_threshold, level, memory_order_relaxed);
}

static size_t log_add_hex(char *at, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";

	at[0] = '\\';
	at[1] = 'x';
	at[2] = hex[c >> 4];
	at[3] = hex[c & 15];
	return 4;
}

/* The bytes of the next character of the text; 0: the first is not of UTF-8. */
static size_t log_character(const char *text, size_t len, uint32_t *c)
{
	const uint8_t *at = (const uint8_t *)text;

	for (size_t n = 1; n <= 4 && n <= len; n++)
		if (utf8_valid_prefix(at, n) == n)
			return utf8_next(at, c);
	return 0;
}

/* Copies a message, whatever of a peer is in it: bytes that are not UTF-8, and characters that would end the line or
 * turn it, as \xHH. */
static size_t log_copy(char *line, size_t cap, const char *text, size_t len)
{
	size_t n = 0;

	while (len) {
		uint32_t c;
		size_t width = log_character(text, len, &c), whole = width ? width : 1;
		bool shown = width && ((c >= 0x20 && c < 0x7f) || !unseen(c));

		if (n + (shown ? whole : 4 * whole) > cap)
			break;
		for (size_t i = 0; i < whole; i++)
			if (shown)
				line[n++] = text[i];
			else
				n += log_add_hex(line + n, (unsigned char)text[i]);
		text += whole;
		len -= whole;
	}
	return n;
}

__attribute__((format(printf, 3, 0)))
static void log_write(enum log_level level, const struct log_id *id, const char *fmt, va_list ap)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };
	char line[LOG_LINE_MAX], message[LOG_LINE_MAX];
	int saved = errno;

	if (!log_is(level) && !listening)
		return;
	int n = snprintf(line, sizeof line, "utfeed: %s: ", names[level]);
	if (id && id->connection)
		n += snprintf(line + n, sizeof line - (size_t)n, "c%llu.%llu: ", (unsigned long long)id->connection,
		    (unsigned long long)id->request);
	int text = n;
	int m = vsnprintf(message, sizeof message, fmt, ap);
	if (m > (int)sizeof message - 1)
		m = sizeof message - 1;
	n += (int)log_copy(line + n, sizeof line - (size_t)n - 1, message, m < 0 ? 0 : (size_t)m);
	line[n] = '\0';
	if (listening)
		listening->hear(listening, level, line + text);
	line[n++] = '\n';
	while (log_is(level) && write(STDERR_FILENO, line, (size_t)n) < 0 && errno == EINTR)
		;
	errno = saved;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_write(level, NULL, fmt, ap);
	va_end(ap);
}

void log_line_of(enum log_level level, const struct log_id *id, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_write(level, id, fmt, ap);
	va_end(ap);
}

void log_write_time(char buf[LOG_TIME_BYTES], int64_t wall_ms)
{
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm tm;
	size_t n = strftime(buf, LOG_TIME_BYTES, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &tm));

	snprintf(buf + n, LOG_TIME_BYTES - n, ".%03dZ", (int)(wall_ms % 1000));
}

uint64_t log_count_lines(const char *bytes, size_t len)
{
	uint64_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += bytes[i] == '\n';
	return n;
}

size_t log_escape(char *buf, size_t cap, const char *bytes, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c > 0x20 && c < 0x7f && c != '"' && c != '\\') {
			if (n + 1 >= cap)
				break;
			buf[n++] = (char)c;
		} else {
			if (n + 4 >= cap)
				break;
			n += log_add_hex(buf + n, c);
		}
	}
	if (cap)
		buf[n] = '\0';
	return n;
}
