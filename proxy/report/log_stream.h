/* Owns cutting what comes into lines of an access log, and the answer of the admin listener's /api/feeds into its
 * feeds.
 * Must not know: files, what a line means.
 * Invariant: the account does not depend on how the input was cut; a line that is too long is read to its end, and
 * counts as one that cannot be read. */
#ifndef UTFEED_PROXY_REPORT_LOG_STREAM_H
#define UTFEED_PROXY_REPORT_LOG_STREAM_H

#include "proxy/report/publishers.h"

enum log_stream_mode {
	LOG_STREAM_LINE,
	LOG_STREAM_LIST,        /* between the feeds of {"total":N,"feeds":[...]} */
	LOG_STREAM_FEED,        /* within one of them */
	LOG_STREAM_REST         /* behind them, up to the line's end */
};

/* Zeroed, but for publishers. */
struct log_stream {
	struct publishers *publishers;  /* borrowed */
	enum log_stream_mode mode;
	bool spread;                    /* the list has many lines */
	bool quoted, escaped;           /* in a string of a feed, or of what comes behind them */
	int depth;                      /* of its objects and lists */
	size_t len;
	char bytes[LOG_LINE_MAX + 1];   /* of the line or feed that is not complete yet */
};

/* -1: out of memory. */
int log_stream_feed(struct log_stream *, const char *, size_t len) __attribute__((warn_unused_result));
/* The input has ended; another one may begin. */
int log_stream_end(struct log_stream *) __attribute__((warn_unused_result));

#endif
