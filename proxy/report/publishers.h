/* Owns the account of feeds and their publishers, made from lines of access logs.
 * Must not know: where the lines come from, how the account is shown.
 * Invariant: memory is bounded whatever the lines say: once it is full, feeds that are not in it yet are left out and
 * counted. */
#ifndef UTFEED_PROXY_REPORT_PUBLISHERS_H
#define UTFEED_PROXY_REPORT_PUBLISHERS_H

#include "proxy/report/log_line.h"

enum { PUBLISHERS_FEEDS_MAX = 100000, PUBLISHERS_BYTES_MAX = 64 << 20 };

/* One feed: its labels, repairs and malformed sequences are those of its latest response. Texts are peers'. */
struct publisher_feed {
	struct publisher *publisher;
	struct publisher_feed *next;            /* in its bucket */
	uint64_t requests, errors, repairs, malformed;
	/* How its origin does; times are seconds since the epoch, 0: not known, or not so. From a log, good is the
	 * latest answer that was neither an error nor kept. */
	uint64_t good, kept_since, error_at, paused_until, next_fetch, saved;
	char error[LOG_WORD_MAX];
	bool mislabelled;
	char charset[LOG_WORD_MAX];
	char label[LOG_WORD_MAX]; /* that is wrong; "": none is, or nothing is labelled */
	char url[];
};

/* One publisher: the sums over its feeds, which publishers_sort() makes. */
struct publisher {
	struct publisher *next;                 /* in its bucket */
	uint64_t feeds, bad, mislabelled, requests, errors, repairs, malformed;
	char name[];
};

struct publishers {
	uint64_t lines, unread, left_out;       /* read; no lines of an access log; of feeds that had no room */
	uint64_t combined;                      /* of those that are unread: in a format that lacks the encodings */
	size_t n, n_feeds, bytes;
	struct publisher **all;                 /* sorted by publishers_sort() */
	struct publisher_feed **feeds;
	struct publisher **buckets;
	struct publisher_feed **feed_buckets;
};

struct publishers *publishers_new(void);        /* NULL: out of memory */
void publishers_free(struct publishers **);
/* Takes one line without limit to what it may be. -1: out of memory. */
int publishers_take(struct publishers *, const char *line, size_t len) __attribute__((warn_unused_result));
/* Called once, after the last line: the worst come first, a publisher's feeds together in the order of publishers. */
void publishers_sort(struct publishers *);
/* Whether there is something to tell the publisher. One repair of a feed that is right in another encoding than UTF-8
 * is nothing: its declaration has to change. */
bool publisher_feed_is_bad(const struct publisher_feed *);

#endif
