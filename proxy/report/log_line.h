/* Owns reading one line of an access log: text (utfeed-operating(7), ACCESS LOG), or an object of JSON with about the
 * same names; and one feed of the admin listener's /api/feeds.
 * Must not know: files, what is counted. Invariant: any bytes may come; texts are cut where they have no room. */
#ifndef UTFEED_PROXY_REPORT_LOG_LINE_H
#define UTFEED_PROXY_REPORT_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_LINE_MAX = 16 * 1024, LOG_PUBLISHER_MAX = 264, LOG_FEED_MAX = 1024, LOG_WORD_MAX = 48,
	LOG_RULE_MAX = 96 };

/* What a line says of a feed; peers' bytes. */
struct log_line {
	char method[LOG_WORD_MAX];
	char target[LOG_FEED_MAX];              /* as the client sent it, or a whole URL */
	char route[LOG_PUBLISHER_MAX];          /* "": none */
	char host[LOG_PUBLISHER_MAX];           /* with its port, of the URL that was asked for; "": not in the line. */
	char origin[LOG_PUBLISHER_MAX];         /* Its address and port; "": not in the line */
	char rule[LOG_RULE_MAX];                /* "": none */
	char charset[LOG_WORD_MAX], was[LOG_WORD_MAX];  /* "": none */
	char end[LOG_WORD_MAX];
	char failure[LOG_WORD_MAX];             /* Why the fetch failed; "": it did not, or the line does not tell. */
	unsigned status;
	uint64_t repairs, malformed;
	/* a feed of /api/feeds stands for all requests for it; of a line both are 0 */
	uint64_t requests, errors;
	uint64_t good, kept_since, error_at, paused_until, next_fetch, saved; /* of such a feed; 0: null */
	char error[LOG_WORD_MAX];               /* its last error; "": none */
	/* of a line */
	char time[LOG_WORD_MAX], kept[LOG_WORD_MAX], cache[LOG_WORD_MAX], collapsed[LOG_WORD_MAX];
};

/* False: this is not a line of an access log. */
bool log_line_read(struct log_line *, const char *, size_t len);
/* Whether the line has the common or the combined format of Apache and nginx, which tell nothing of encodings. */
bool log_line_is_combined(const char *, size_t len);

/* Whether the line is about a feed, or about a failure to get what may be one. */
bool log_line_counts(const struct log_line *);
bool log_line_is_mislabelled(const struct log_line *);
bool log_line_is_error(const struct log_line *);
/* When the line was written, in seconds since the epoch; 0: it does not tell. */
uint64_t log_line_time(const struct log_line *);
/* Whether the answer needed no request to the origin; only lines of JSON tell. */
bool log_line_saves(const struct log_line *);

/* Who publishes the feed: the host of its URL, that of the origin, else the route; and the feed itself, its URL or
 * target. */
void log_line_publisher(const struct log_line *, char publisher[LOG_PUBLISHER_MAX], char feed[LOG_FEED_MAX]);

#endif
