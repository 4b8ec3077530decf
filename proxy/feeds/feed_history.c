/* The latest changes of a feed; see feed_history.h. */
#include "proxy/feeds/feed_history.h"

#include <string.h>

bool feed_event_fails(const struct feed_event *event)
{
	return !event->status || event->status >= 400;
}

static bool history_same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* One good status is as good as another: of these, 304 and 206 tell of the client's request. */
static bool history_is_same(const struct feed_event *a, const struct feed_event *b)
{
	return (a->status == b->status || (!feed_event_fails(a) && !feed_event_fails(b))) && a->kept == b->kept &&
	    a->unlabelled == b->unlabelled && history_same_text(a->charset, b->charset) &&
	    history_same_text(a->was, b->was);
}

void feed_history_note(struct feed_history *history, const struct feed_event *event)
{
	if (!history->n || !history_is_same(feed_history_event(history, 0), event))
		history->events[history->n++ % FEED_EVENTS] = *event;
}

size_t feed_history_count(const struct feed_history *history)
{
	return history->n < FEED_EVENTS ? history->n : FEED_EVENTS;
}

const struct feed_event *feed_history_event(const struct feed_history *history, size_t i)
{
	return &history->events[(history->n - 1 - i) % FEED_EVENTS];
}
