/* One worker's notes of its answers; see feed_notes.h. An address leads to the one place of a feed, so that no URL is
 * hashed. A feed that finds another in its place puts the sum of the other into the list. */
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
	struct feed_notes *notes = calloc(1, sizeof *notes);

	if (!notes)
		return NULL;
	pthread_mutex_init(&notes->lock, NULL);
	notes->put = put;
	notes->list = list;
	return notes;
}

void feed_notes_free(struct feed_notes **np)
{
	struct feed_notes *notes = *np;

	if (!notes)
		return;
	for (size_t i = 0; i < NOTES; i++)
		free(notes->at[i].url);
	pthread_mutex_destroy(&notes->lock);
	free(notes);
	*np = NULL;
}

static void note_put(struct feed_notes *notes, struct feed_note *note)
{
	struct feed_sum *sum = &note->sum;

	if (!sum->requests)
		return;
	notes->put(notes->list, (struct slice){ note->url, note->len }, sum);
	note->known |= sum->listed;
	sum->requests = sum->hits = sum->errors = sum->bytes = 0;
	sum->listed = sum->has_expires = sum->decided = false;
	sum->state = (struct feed_state){ 0 };
}

static void note_add(struct feed_sum *sum, const struct feed_answer *answer)
{
	if (!sum->requests++)
		sum->first = answer->now;
	sum->last = answer->now;
	sum->hits += answer->hit;
	sum->errors += answer->failed;
	sum->bytes += answer->bytes;
	sum->status = answer->status;
	feed_state_add(&sum->state, &answer->state);
	sum->listed |= answer->listed;
	if (answer->has_ttl) {
		sum->has_expires = true;
		sum->expires = answer->now + answer->ttl;
		sum->expires_asked_us = answer->asked_us;
	}
	if (!answer->verdict)
		return;
	sum->verdict = *answer->verdict;
	sum->decided = true;
	sum->listed |= answer->verdict->kind == VERDICT_CHARSET;
	sum->repairs = answer->repairs;
	sum->malformed = answer->malformed;
}

/* Gives the place to another feed. -1: out of memory, and the place is as it was. */
static int note_give(struct feed_notes *notes, struct feed_note *note, struct slice url)
{
	if (note->cap < url.len || !note->url) {
		char *bytes = malloc(url.len + 1);

		if (!bytes)
			return -1;
		note_put(notes, note);
		free(note->url);
		note->url = bytes;
		note->cap = url.len;
	} else
		note_put(notes, note);
	memcpy(note->url, url.at, url.len);
	note->len = url.len;
	note->known = false;
	return 0;
}

void feed_notes_add(struct feed_notes *notes, const void *hint, struct slice url, const struct feed_answer *answer)
{
	/* Multiplicative hashing: addresses differ in their middle bits. */
	uint64_t hash = (uint64_t)(uintptr_t)hint * UINT64_C(0x9E3779B97F4A7C15);
	struct feed_note *note = &notes->at[hash >> (64 - NOTES_BITS)];

	pthread_mutex_lock(&notes->lock);
	/* Without memory for a place the answer is put by itself. */
	if (!(note->url && note->len == url.len && !memcmp(note->url, url.at, url.len)) &&
	    note_give(notes, note, url)) {
		struct feed_sum sum = { 0 };

		note_add(&sum, answer);
		notes->put(notes->list, url, &sum);
	} else {
		if (note->sum.last != answer->now)
			note_put(notes, note);
		note_add(&note->sum, answer);
		if (note->sum.listed && !note->known)
			note_put(notes, note);
	}
	pthread_mutex_unlock(&notes->lock);
}

/* The lock is free between two places, so that the worker never waits for more than one of them. */
void feed_notes_collect(struct feed_notes *notes)
{
	for (size_t i = 0; i < NOTES; i++) {
		pthread_mutex_lock(&notes->lock);
		note_put(notes, &notes->at[i]);
		pthread_mutex_unlock(&notes->lock);
	}
}
