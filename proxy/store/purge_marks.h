/* Owns the purges of a store that are in force but not carried out yet. A purge takes effect by a mark: whatever was
 * stored before it and is covered by it is gone, or stale, from then on. Then the store's sweep passes every entry, and
 * the mark is done.
 * Must not know: entries, locks: their owner guards them. Invariant: there are at most MARKS_MAX marks, and none is
 * lost. If room or memory runs out, one mark covers more than was asked for. */
#ifndef UTFEED_PROXY_STORE_PURGE_MARKS_H
#define UTFEED_PROXY_STORE_PURGE_MARKS_H

#include "proxy/store/store.h"

/* An entry that the sweep has not come to yet is compared with this many marks at most, once. */
enum { MARKS_MAX = 128, MARKS_DONE = 128 };

struct purge_mark {
	uint32_t number;
	enum store_purge what;
	bool soft;
	char *url;
	size_t len;
	int64_t now;                   /* soft: what it covers is stale since then */
	uint64_t end;                  /* the position at which the sweep has passed every entry */
	int64_t count;                 /* responses that it concerned so far */
};

struct purge_marks {
	struct purge_mark at[MARKS_MAX];       /* the oldest first */
	size_t n;
	uint32_t number;               /* of the latest mark; an entry that has seen this number is covered by none */
	uint64_t position;             /* of the sweep: buckets passed so far */
	struct { uint32_t number; int64_t count; } done[MARKS_DONE];   /* the latest that are done, by number */
};

struct purge_marks *marks_new(void);           /* NULL: out of memory */
void marks_free(struct purge_marks **);

/* Adds a mark; the sweep has so many buckets to pass. Older marks that this one covers are done with it. Returns its
 * number. */
uint32_t marks_add(struct purge_marks *, enum store_purge, const char *url, size_t len, bool soft, int64_t now,
    size_t buckets);
/* The next mark, the oldest first, that covers the key of an entry which has seen all up to *seen; *seen is its number
 * from now on. NULL: no other mark covers it, and *seen is the latest number. */
struct purge_mark *marks_next(struct purge_marks *, uint32_t *seen, const char *key, size_t len);
/* The sweep has passed one more bucket. */
void marks_pass(struct purge_marks *);
/* Whether the mark is done. *count: the responses that it has concerned so far; -1: no longer known. */
bool marks_are_done(const struct purge_marks *, uint32_t number, int64_t *count);

#endif
