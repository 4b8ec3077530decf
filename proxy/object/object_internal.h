/* Owns what object.c (the life of an object, its writer), object_reader.c, object_segment.c, object_copy.c
 * and object_gzip.c share. */
#ifndef UTFEED_PROXY_OBJECT_OBJECT_INTERNAL_H
#define UTFEED_PROXY_OBJECT_OBJECT_INTERNAL_H

#include <assert.h>
#include <pthread.h>

#include "proxy/object/object.h"

struct object_segment {
	struct object_segment *next;
	uint64_t start;                /* offset of its first byte in the body */
	uint8_t *bytes;                /* memory behind the struct, or pages of their own */
	uint32_t len, cap;
	bool pages;
};

LIST_HEAD(object_readers, object_reader);

/* The part of an object that serves while it is made and followed. It lies behind the object. */
struct object_making {
	bool shared;                       /* Several threads may use it: each takes the lock. */
	const void *maker;                 /* The thread that uses it while it is not shared: object_actor(). */
	pthread_mutex_t lock;              /* Guards segments, length, readers, writer; made by object_share(). */
	bool beside;                       /* There is room behind it (object_beside()). */
	bool writer_waits;                 /* object_full() returned true: room() is owed. */
	bool compact;                      /* All its bytes are known: no memory is taken beyond `expected`. */
	/* allowance: the share of transit_bytes that counted when the writer last had to wait (bodies.h). */
	size_t transit_bytes, allowance;
	uint64_t retain_max;
	uint64_t expected;                 /* about the length of the body; 0: not known */
	struct object_segment *last;
	struct object_report report;
	struct audience *audience;
	struct failure failure;
	struct object_writer *writer;
	struct object_readers readers;
	struct object *substitute;
	char *interim;                     /* whole interim responses, at most OBJECT_INTERIM_MAX bytes */
	size_t interim_len;
};

struct object {
	atomic_uint refs;
	_Atomic enum object_phase phase;   /* set under the lock, after the members it announces */
	atomic_bool kept;
	_Atomic uint8_t hits;              /* times that its pages were asked for, until they are many */
	uint8_t gzip_state;                /* enum object_gzip; guarded with gzip (object_gzip.c) */
	struct object *gzip;               /* while MAKING or KEPT */
	_Atomic uint64_t length;
	struct object_segment *first;
	struct object_head *head;
	const struct object_report *report;    /* that of making, or a shared one (object_report.c) */
	struct home *home;                 /* the block it lies in as an inlay; NULL: its own */
	struct object_making *making;      /* NULL: it came into being DONE, as an inlay */
};

/* Whether the object is done and kept: it does not change any more then. */
static inline bool object_is_settled(const struct object *o)
{
	return atomic_load_explicit(&o->phase, memory_order_acquire) == OBJECT_DONE &&
	    atomic_load_explicit(&o->kept, memory_order_relaxed);
}

/* The name that object_act_for() gave the calling thread, or one of its own. */
extern _Thread_local const void *object_acts_for;
static inline const void *object_actor(void)
{
	return object_acts_for ? object_acts_for : &object_acts_for;
}

/* What the lock guards. One thread needs none: most responses are for one client, on the worker that fetches them. */
static inline void object_lock(const struct object *o)
{
	if (o->making->shared)
		pthread_mutex_lock(&o->making->lock);
	else
		assert(o->making->maker == object_actor());
}

static inline void object_unlock(const struct object *o)
{
	if (o->making->shared)
		pthread_mutex_unlock(&o->making->lock);
}

/* A report that objects share which have the same one: stored responses have a few verdicts only. *made: the memory
 * taken for it, 0 if it was there. NULL: out of memory. */
const struct object_report *report_share(const struct object_report *, size_t *made);
void report_unshare(const struct object_report *);

/* A segment for the bytes that come next, of which so many are at hand. What is kept lies where it will stay: long
 * bodies in pages, so that the kernel may send them without a copy (splice.h). NULL: out of memory. */
struct object_segment *segment_new(const struct object *, size_t at_hand);
void segment_free(struct object_segment *);
void segment_trim(struct object_segment *);            /* no byte is to come: gives unused pages back */
size_t segment_memory(const struct object_segment *);

/* Both are called under the lock. Frees segments that end strictly before offset: a reader's `at` may still be the
 * segment that ends at its offset. */
void object_free_before(struct object *, uint64_t offset);
/* Offset of the reader furthest behind among those that the writer waits for; the object's length if there is none. */
uint64_t object_slowest(const struct object *);
/* Called under the lock: frees the interim responses once no reader can take them any more. */
void object_forget_interim(struct object *);
/* Offset of the reader furthest behind, expelled ones included: such a reader may just be sending bytes that it has
 * seen. */
uint64_t object_needed(const struct object *);
/* Called after a reader moved on or left: frees what no reader needs, and lets the writer go on once half of the room
 * is back. */
void object_settle(struct object *);

#endif
