/* One worker's notes of its answers; see feed_notes.h. Each feed has one place that it may be noted in, found by an
 * address, so that nothing is hashed; a feed that finds another in its place puts that one's sum into the list. */
#include "proxy/feeds/feed_notes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NOTES_BITS = 9, NOTES = 1 << NOTES_BITS };

struct feed_note {
	char *url; /* of the feed that was noted last, owned; NULL: none yet */
	size_t len, cap;
	bool known;          /* what was put of this feed lists it */
	struct feed_sum sum; /* requests 0: everything is put */
};

struct feed_notes {
	pthread_mutex_t lock;
	feed_put *put;
	void *list;
	struct feed_note at[NOTES];
};

struct feed_notes *feed_notes_new(feed_put *put, void *list)
{
	struct feed_notes *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	pthread_mutex_init(&n->lock, NULL);
	n->put = put;
	n->list = list;
	return n;
}

void feed_notes_free(struct feed_notes **np)
{
	struct feed_notes *n = *np;

	if (!n)
		return;
	for (size_t i = 0; i < NOTES; i++)
		free(n->at[i].url);
	pthread_mutex_destroy(&n->lock);
	free(n);
	*np = NULL;
}

static void note_put(struct feed_notes *n, struct feed_note *note)
{
	struct feed_sum *s = &note->sum;

	if (!s->requests)
		return;
	n->put(n->list, (struct slice){ note->url, note->len }, s);
	note->known |= s->listed;
	s->requests = s->hits = s->errors = s->bytes = 0;
	s->listed = s->has_expires = s->decided = false;
	s->state = (struct feed_state){ 0 };
}

static void note_add(struct feed_sum *s, const struct feed_answer *a)
{
	if (!s->requests++)
		s->first = a->now;
	s->last = a->now;
	s->hits += a->hit;
	s->errors += a->failed;
	s->bytes += a->bytes;
	s->status = a->status;
	feed_state_add(&s->state, &a->state);
	s->listed |= a->listed;
	if (a->has_ttl) {
		s->has_expires = true;
		s->expires = a->now + a->ttl;
		s->expires_asked_us = a->asked_us;
	}
	if (!a->verdict)
		return;
	s->verdict = *a->verdict;
	s->decided = true;
	s->listed |= a->verdict->kind == VERDICT_CHARSET;
	s->repairs = a->repairs;
	s->malformed = a->malformed;
}

static bool note_is_of(const struct feed_note *note, struct slice url)
{
	return note->len == url.len && note->url && memcmp(note->url, url.at, url.len) == 0;
}

/* Gives the place to another feed. -1: out of memory, and the place is as it was. */
static int note_give(struct feed_notes *n, struct feed_note *note, struct slice url)
{
	if (note->cap < url.len || !note->url) {
		char *bytes = malloc(url.len + 1);

		if (!bytes)
			return -1;
		note_put(n, note);
		free(note->url);
		note->url = bytes;
		note->cap = url.len;
	} else
		note_put(n, note);
	memcpy(note->url, url.at, url.len);
	note->len = url.len;
	note->known = false;
	return 0;
}

/* Without memory for a place the answer is put by itself. */
static void note_put_alone(struct feed_notes *n, struct slice url, const struct feed_answer *a)
{
	struct feed_sum sum;

	memset(&sum, 0, sizeof sum);
	note_add(&sum, a);
	n->put(n->list, url, &sum);
}

/* Multiplicative hashing: the middle bits of an address are what differs. */
static struct feed_note *note_place(struct feed_notes *n, const void *hint)
{
	return &n->at[(uint64_t)(uintptr_t)hint * UINT64_C(0x9E3779B97F4A7C15) >> (64 - NOTES_BITS)];
}

void feed_notes_add(struct feed_notes *n, const void *hint, struct slice url, const struct feed_answer *a)
{
	struct feed_note *note = note_place(n, hint);

	pthread_mutex_lock(&n->lock);
	if (!note_is_of(note, url) && note_give(n, note, url))
		note_put_alone(n, url, a);
	else {
		if (note->sum.last != a->now)
			note_put(n, note);
		note_add(&note->sum, a);
		if (note->sum.listed && !note->known)
			note_put(n, note);
	}
	pthread_mutex_unlock(&n->lock);
}

/* The lock is free between two places, so that the worker never waits for more than one of them. */
void feed_notes_collect(struct feed_notes *n)
{
	for (size_t i = 0; i < NOTES; i++) {
		pthread_mutex_lock(&n->lock);
		note_put(n, &n->at[i]);
		pthread_mutex_unlock(&n->lock);
	}
}
