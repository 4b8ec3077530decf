/* Owns the latest changes of a feed: when its answers began to fail or were good again, when a kept feed began to
 * answer, and when its charset or its label became another.
 * Must not know: lists, requests. Pure. Invariant: it holds FEED_EVENTS changes at most, the latest ones. Two that
 * follow each other differ in more than their time. */
#ifndef UTFEED_PROXY_FEEDS_FEED_HISTORY_H
#define UTFEED_PROXY_FEEDS_FEED_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FEED_EVENTS = 8 };

/* What answers were like from a moment on. Texts are static storage. */
struct feed_event {
	int64_t at;                /* Seconds since the epoch. */
	const char *charset, *was; /* As in struct feed_seen. */
	int status;                /* Of the first answer that was like this; 0: the client got none. */
	bool kept;                 /* The kept feed answered. */
	bool unlabelled;           /* As in struct feed_seen. */
};

struct feed_history {
	size_t n; /* Changes so far. */
	struct feed_event events[FEED_EVENTS];
};

/* Whether the answer was an error, of the origin or of utfeed. */
bool feed_event_fails(const struct feed_event *);
/* Notes what an answer was like, if the one before it was not. */
void feed_history_note(struct feed_history *, const struct feed_event *);
/* How many changes are there, and the one with that number, counted from the latest. */
size_t feed_history_count(const struct feed_history *);
const struct feed_event *feed_history_event(const struct feed_history *, size_t i);

#endif
