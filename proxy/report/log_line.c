/* Reading one line of an access log; see log_line.h. */
#include "proxy/report/log_line.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conf/url.h"
#include "core/policy/policy_words.h"
#include "proxy/report/log_json.h"

/* ---- values ---- */

enum log_kind { LOG_TEXT, LOG_STATUS, LOG_COUNT };

/* Where a value goes. position: its place in a line of text, counted from 0; -1: it stands there as NAME=VALUE. */
static const struct {
	const char *name;
	int position;
	enum log_kind kind;
	size_t at, cap;
} log_fields[] = {
#define FIELD(member) offsetof(struct log_line, member), sizeof(((struct log_line *)0)->member)
	{ "time", 0, LOG_TEXT, FIELD(time) },
	{ "method", 2, LOG_TEXT, FIELD(method) },
	{ "target", 3, LOG_TEXT, FIELD(target) },
	{ "url", -1, LOG_TEXT, FIELD(target) },
	{ "uri", -1, LOG_TEXT, FIELD(target) },
	{ "status", 4, LOG_STATUS, FIELD(status) },
	{ "rule", 6, LOG_TEXT, FIELD(rule) },
	{ "charset", -1, LOG_TEXT, FIELD(charset) },
	{ "was", -1, LOG_TEXT, FIELD(was) },
	{ "repairs", -1, LOG_COUNT, FIELD(repairs) },
	{ "malformed", -1, LOG_COUNT, FIELD(malformed) },
	{ "requests", -1, LOG_COUNT, FIELD(requests) },
	{ "errors", -1, LOG_COUNT, FIELD(errors) },
	{ "good", -1, LOG_COUNT, FIELD(good) },
	{ "kept_since", -1, LOG_COUNT, FIELD(kept_since) },
	{ "last_error", -1, LOG_TEXT, FIELD(error) },
	{ "last_error_at", -1, LOG_COUNT, FIELD(error_at) },
	{ "paused_until", -1, LOG_COUNT, FIELD(paused_until) },
	{ "next_fetch", -1, LOG_COUNT, FIELD(next_fetch) },
	{ "saved", -1, LOG_COUNT, FIELD(saved) },
	{ "kept", -1, LOG_TEXT, FIELD(kept) },
	{ "cache", -1, LOG_TEXT, FIELD(cache) },
	{ "collapsed", -1, LOG_TEXT, FIELD(collapsed) },
	{ "end", -1, LOG_TEXT, FIELD(end) },
	{ "failure", -1, LOG_TEXT, FIELD(failure) },
	{ "route", -1, LOG_TEXT, FIELD(route) },
	{ "origin_host", -1, LOG_TEXT, FIELD(host) },
	{ "origin", -1, LOG_TEXT, FIELD(origin) },
#undef FIELD
};
enum { LOG_FIELDS = sizeof log_fields / sizeof log_fields[0], LOG_POSITIONS = 7,
	LOG_WORDS_BEFORE = 12 /* of syslog and of virtual hosts, before the time of a combined log */ };

static bool log_number(const char *text, size_t len, uint64_t most, uint64_t *n)
{
	*n = 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9' || *n > most / 10)
			return false;
		*n = *n * 10 + (uint64_t)(text[i] - '0');
	}
	return len > 0;
}

static void log_text(char *room, size_t cap, const char *text, size_t len)
{
	if (len == 1 && *text == '-')
		len = 0;
	if (len >= cap)
		len = cap - 1;
	memcpy(room, text, len);
	room[len] = '\0';
}

/* Sets a field. False: its value is none for it. */
static bool log_set(struct log_line *line, size_t i, const char *text, size_t len)
{
	char *to = (char *)line + log_fields[i].at;
	uint64_t n;

	switch (log_fields[i].kind) {
	case LOG_TEXT:
		log_text(to, log_fields[i].cap, text, len);
		return true;
	case LOG_STATUS:
		if (!log_number(text, len, 9999, &n))
			return false;
		line->status = (unsigned)n;
		return true;
	case LOG_COUNT:
		return log_number(text, len, UINT64_MAX / 16, (uint64_t *)(void *)to);
	}
	return false;
}

/* ---- text ---- */

static bool log_set_word(struct log_line *line, int position, const char *word, size_t len)
{
	const char *sign = memchr(word, '=', len);

	for (size_t i = 0; i < LOG_FIELDS; i++) {
		size_t name = strlen(log_fields[i].name);

		if (position < LOG_POSITIONS ? log_fields[i].position == position :
		    log_fields[i].position < 0 && sign == word + name && !memcmp(word, log_fields[i].name, name))
			return position < LOG_POSITIONS ? log_set(line, i, word, len) :
			    log_set(line, i, sign + 1, len - name - 1);
	}
	return true;
}

static bool log_read_text(struct log_line *line, const char *at, const char *end)
{
	int position = 0;

	for (; at < end; position++) {
		const char *blank = memchr(at, ' ', (size_t)(end - at)), *stop = blank ? blank : end;

		if (stop == at || !log_set_word(line, position, at, (size_t)(stop - at)))
			return false;
		at = blank ? stop + 1 : end;
	}
	return position > LOG_POSITIONS;
}

/* ---- JSON ---- */

static bool log_read_json(struct log_line *line, const char *at, const char *end)
{
	struct log_json j = { .at = at, .end = end };

	while (log_json_next(&j))
		for (size_t i = 0; i < LOG_FIELDS; i++)
			if (j.value[0] && !strcmp(j.key, log_fields[i].name) &&
			    !log_set(line, i, j.value, strlen(j.value)))
				return false;
	return !j.failed && line->target[0] && (line->method[0] || line->requests);
}

bool log_line_read(struct log_line *out, const char *line, size_t len)
{
	while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		len--;
	memset(out, 0, sizeof *out);
	if (len == 0 || len > LOG_LINE_MAX || memchr(line, '\0', len))
		return false;
	return *line == '{' ? log_read_json(out, line, line + len) : log_read_text(out, line, line + len);
}

/* ---- other formats ---- */

/* Takes what stands between two characters, and the blank behind it, if there is one. False: it is not there. */
static bool log_take_between(const char **at, const char *end, char open, char close)
{
	const char *stop = *at < end && **at == open ? *at + 1 : end;

	while (stop < end && *stop != close)
		stop += *stop == '\\' && stop + 1 < end ? 2 : 1;
	if (stop >= end || (stop + 1 < end && stop[1] != ' '))
		return false;
	*at = stop + 1 < end ? stop + 2 : end;
	return true;
}

/* Takes a word and the blank behind it. */
static bool log_take_word(const char **at, const char *end)
{
	const char *blank = memchr(*at, ' ', (size_t)(end - *at));

	if (!blank || blank == *at)
		return false;
	*at = blank + 1;
	return true;
}

bool log_line_is_combined(const char *line, size_t len)
{
	const char *at = line, *end = line + len;
	uint64_t status;
	int words = 0;

	while (words < LOG_WORDS_BEFORE && at < end && *at != '[' && log_take_word(&at, end))
		words++;
	return words >= 3 && log_take_between(&at, end, '[', ']') && log_take_between(&at, end, '"', '"') &&
	    end - at > 3 && at[3] == ' ' && log_number(at, 3, 999, &status);
}

/* ---- what it means ---- */

bool log_line_is_mislabelled(const struct log_line *line)
{
	return rule_is_mislabelled(line->rule, line->charset, line->was);
}

/* Failures of the publisher's: what a client did wrong, and what utfeed refuses, is none. */
bool log_line_is_error(const struct log_line *line)
{
	if (line->requests)
		return line->errors > 0;
	return line->status == 404 || line->status == 410 || line->status >= 500 || !strcmp(line->end, "cut");
}

/* "2026-11-21T04:34:26.545Z"; the shape is checked before the numbers are read. */
uint64_t log_line_time(const struct log_line *line)
{
	static const char shape[] = "0000-00-00T00:00:00";
	struct tm tm = { 0 };

	for (size_t i = 0; shape[i]; i++)
		if (shape[i] == '0' ? line->time[i] < '0' || line->time[i] > '9' : line->time[i] != shape[i])
			return 0;
	tm.tm_year = atoi(line->time) - 1900;
	tm.tm_mon = atoi(line->time + 5) - 1;
	tm.tm_mday = atoi(line->time + 8);
	tm.tm_hour = atoi(line->time + 11);
	tm.tm_min = atoi(line->time + 14);
	tm.tm_sec = atoi(line->time + 17);
	time_t t = timegm(&tm);
	return t > 0 ? (uint64_t)t : 0;
}

bool log_line_saves(const struct log_line *line)
{
	return !strcmp(line->cache, "hit") || !strcmp(line->collapsed, "true") ||
	    (*line->cache && *line->kept && !*line->origin);
}

bool log_line_counts(const struct log_line *line)
{
	return strcmp(line->method, "CONNECT") && (line->charset[0] || log_line_is_error(line));
}

/* Undoes percent-encoding, except that of control characters. */
static void log_decode(char *out, size_t cap, const char *text)
{
	size_t n = 0;

	for (; *text && n + 1 < cap; text++) {
		int high = *text == '%' ? url_hex_digit(text[1]) : -1, low = high >= 0 ? url_hex_digit(text[2]) : -1;
		int c = low >= 0 ? high * 16 + low : 0;

		out[n++] = c > 0x20 && c < 0x7f ? (char)c : *text;
		if (c > 0x20 && c < 0x7f)
			text += 2;
	}
	out[n] = '\0';
}

/* The URL in a target: whole, behind the slash of the gateway, or in its query. False: there is none. */
static bool log_find_url(const char *target, char url[LOG_FEED_MAX])
{
	const char *at = *target == '/' ? target + 1 : target;

	if (url_is_http(at, strlen(at))) {
		log_text(url, LOG_FEED_MAX, at, strlen(at));
		return true;
	}
	log_decode(url, LOG_FEED_MAX, !strncmp(at, "?url=", 5) ? at + 5 : at);
	return url_is_http(url, strlen(url));
}

/* Copies a host in lower case. */
static void log_lower(char host[LOG_PUBLISHER_MAX], const char *text, size_t len)
{
	log_text(host, LOG_PUBLISHER_MAX, text, len);
	for (char *c = host; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
}

/* The host of a URL, with a port that is not its scheme's, in lower case. */
static void log_host(const char *url, char host[LOG_PUBLISHER_MAX])
{
	bool tls = (url[4] | 32) == 's';
	const char *at = strstr(url, "//") + 2, *user;
	size_t len = strcspn(at, "/?#\\"), port = tls ? 4 : 3;

	while ((user = memchr(at, '@', len))) {
		len -= (size_t)(user + 1 - at);
		at = user + 1;
	}
	if (len > port && !memcmp(at + len - port, tls ? ":443" : ":80", port))
		len -= port;
	log_lower(host, at, len);
}

/* Whether a host and its port begin with a name. An address has no letters but hexadecimal digits. */
static bool log_is_named(const char *host)
{
	size_t len = strcspn(host, ":");

	return *host != '[' && strspn(host, "0123456789.") < len;
}

void log_line_publisher(const struct log_line *line, char publisher[LOG_PUBLISHER_MAX], char feed[LOG_FEED_MAX])
{
	const char *name = line->host[0] ? line->host : log_is_named(line->origin) ? line->origin : NULL;

	if (log_find_url(line->target, feed)) {
		log_host(feed, publisher);
		return;
	}
	log_text(feed, LOG_FEED_MAX, line->target, strlen(line->target));
	if (name)
		log_lower(publisher, name, strlen(name));
	else
		log_text(publisher, LOG_PUBLISHER_MAX, line->route, strlen(line->route));
	if (!*publisher)
		log_text(publisher, LOG_PUBLISHER_MAX, "(no host)", strlen("(no host)"));
}
