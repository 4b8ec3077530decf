/* Owns what object.c (the life of an object, its writer), object_reader.c, object_segment.c and object_gzip.c share. */
#ifndef UTFEED_PROXY_OBJECT_OBJECT_INTERNAL_H
#define UTFEED_PROXY_OBJECT_OBJECT_INTERNAL_H

#include <pthread.h>

#include "proxy/base/page_run.h"
#include "proxy/object/object.h"

struct object_segment {
	struct object_segment *next;
	uint64_t start;                /* offset of its first byte in the body */
	size_t len, cap;
	uint8_t *bytes;                /* memory behind the struct, or pages of their own */
	bool pages;
	struct pages_region *region;   /* the region that the pages belong to */
};

LIST_HEAD(object_readers, object_reader);

struct object {
	atomic_uint refs;
	_Atomic enum object_phase phase;   /* set under the lock, after the members it announces */
	pthread_mutex_t lock;              /* guards segments, length, readers, writer, gzip */
	bool writer_waits;                 /* object_full() returned true: room() is owed */
	atomic_bool kept;
	bool lasting;                      /* all its bytes come at once and stay for long */
	/* allowance: the share of transit_bytes that counted when the writer last had to wait (bodies.h) */
	size_t transit_bytes, allowance;
	uint64_t keep_max;
	uint64_t expected;                 /* length of the body; 0: not known */
	_Atomic uint64_t length;
	struct object_segment *first, *last;
	struct object_head *head;
	struct object_report report;
	struct audience *audience;
	struct failure failure;
	struct object_writer *writer;
	struct object_readers readers;
	struct object *substitute;
	struct object *gzip;               /* while MAKING or KEPT */
	enum object_gzip gzip_state;
	char *interim;                     /* whole interim responses, at most OBJECT_INTERIM_MAX bytes */
	size_t interim_len;
};

/* Whether the object is done and kept: it does not change any more then. */
static inline bool object_is_settled(const struct object *o)
{
	return atomic_load_explicit(&o->phase, memory_order_acquire) == OBJECT_DONE &&
	    atomic_load_explicit(&o->kept, memory_order_relaxed);
}

/* A segment for the bytes that come next. Only long bodies that are kept get pages, so that the kernel may send them
 * without a copy (splice.h). NULL: out of memory. */
struct object_segment *segment_new(const struct object *);
void segment_free(struct object_segment *);
void segment_trim(struct object_segment *);            /* no byte is to come: gives unused pages back */
size_t segment_memory(struct object_segment *);        /* what malloc adds included */

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
