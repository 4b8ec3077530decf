/* Owns a response while it is made and read: one writer appends, any number of readers follow, each at its own offset,
 * on any worker, once it is shared. Must not know: clients, fetches, sockets; they meet here and nowhere else.
 *
 * These calls alone move between the phases.
 *   WAITING --object_head()--> BODY --object_done()--> DONE.
 *   WAITING or BODY --object_fail()--> FAILED.
 *   WAITING --object_substitute()--> SUBSTITUTED: another, complete object answers in its place (a stored response).
 * Invariant: bytes once appended never change or move. Until object_done() nothing can be taken for complete.
 *
 * An object in transit frees bytes that all readers have read. Its writer is asked to stop while more than
 * transit_bytes wait for the slowest reader, or that one is expelled for the others' sake. A retained object holds all
 * its bytes; done, it never changes again and is read without its lock. */
#ifndef UTFEED_PROXY_OBJECT_OBJECT_H
#define UTFEED_PROXY_OBJECT_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "core/normalise/normalise.h"
#include "proxy/base/failure.h"
#include "proxy/base/home.h"
#include "proxy/http/freshness.h"

enum object_phase { OBJECT_WAITING, OBJECT_BODY, OBJECT_DONE, OBJECT_FAILED, OBJECT_SUBSTITUTED };

/* The response head: everything that a client gets, except framing, Connection and what differs from client to client.
 * Shared, never changed. */
struct object_head {
	atomic_uint refs;
	int status;
	/* status line and field lines, each ended by CRLF, without the blank line; owned */
	char *bytes;
	size_t len;
	int64_t content_length;        /* of the whole body; -1: not known yet */
	/* where in bytes the ETag's closing quote stands, before which a suffix goes; 0: no ETag */
	uint32_t etag_end;
	bool no_body;                  /* 204, 304. */
	bool gzip;                     /* Normalised text, which clients may get as gzip; Vary says so. */
	bool coded;                    /* The object's bytes are the gzip form, for the one client that waits for it. */
	struct home *home;             /* The block in which head and bytes lie; NULL: each in its own. */
};

/* One reference. NULL: out of memory. */
struct object_head *object_head_new(void);
struct object_head *object_head_ref(struct object_head *);
void object_head_unref(struct object_head **);

/* The access log's account of a response; complete when the object is complete. */
struct object_report {
	bool decided;                  /* there is a verdict; false for answers of our own */
	struct verdict verdict;
	bool revised;                  /* verdict was corrected after the head was made */
	uint64_t repairs, malformed;
	bool normalised, decoded;      /* what was done to the body (response_head.h) */
	bool cut;                      /* a feed whose connection ended before its root; known at its end */
};

/* What is known of a body's gzip form. */
enum object_gzip {
	OBJECT_GZIP_UNKNOWN,
	OBJECT_GZIP_MAKING,
	OBJECT_GZIP_KEPT,              /* the store that keeps the body counts its form too */
	OBJECT_GZIP_USELESS,           /* the form is hardly shorter */
	OBJECT_GZIP_UNKEPT             /* the store has no room for the form, or no longer has the body */
};

struct object;

struct object_reader {
	LIST_ENTRY(object_reader) link;
	struct object *object;         /* NULL: not attached. */
	bool listed;                   /* In the object's list of readers; not so if the object was done and kept. */
	uint64_t offset;               /* Body bytes consumed. */
	struct object_segment *at;     /* The segment that holds offset; NULL: the first. */
	atomic_bool expelled;          /* It held up other readers: it gets no more bytes and no end. */
	/* Called when the phase or the bytes changed, by the writer's thread under the object's lock; it may only note
	 * that (loop_wake()). */
	void (*wake)(struct object_reader *);
};

struct audience;

struct object_writer {
	/* Called when there is room again after object_full() returned true, by a reader's thread under the object's
	 * lock; it may only note that. */
	void (*room)(struct object_writer *);
	/* Called when the last reader left before the end, so that nobody waits any more. Likewise. */
	void (*abandoned)(struct object_writer *);
};

/* One reference, the caller's. NULL: out of memory. */
struct object *object_new(size_t transit_bytes);
/* The same, with room of that size behind it for what its maker tells those who read it: zero at first.
 * object_beside() gives it; NULL: there is none. */
struct object *object_new_beside(size_t transit_bytes, size_t beside);
void *object_beside(const struct object *);
/* To be called before another thread may learn of an object that is not done and retained. Until then it belongs to the
 * thread that made it, and takes no lock. */
void object_share(struct object *);
/* Names the owner of the objects that the calling thread makes and does not share. A thread that takes over what an
 * ended thread has left takes that thread's name. NULL: a name of the calling thread's own, as at first. */
void object_act_for(const void *name);
struct object *object_ref(struct object *);
void object_unref(struct object **);

/* Writing. The writer keeps its own reference, and calls object_set_writer(o, NULL) before it dies. */
void object_set_writer(struct object *, struct object_writer *);
/* Makes the object retain its bytes; called before the first one. A body that grows longer than max is in transit from
 * there on. */
void object_retain(struct object *, uint64_t max);
/* Tells about how long the body will be, where that can be said: memory is taken in fewer pieces, but never for much
 * more than has come. */
void object_expect(struct object *, uint64_t length);
void object_head(struct object *, struct object_head *);           /* takes over the reference */
/* -1: out of memory */
int object_append(struct object *, const void *bytes, size_t len) __attribute__((warn_unused_result));
bool object_full(struct object *);
/* The writer has waited for room for too long: expels the readers it waits for, if another reader waits for more
 * bytes. */
void object_expel_slow(struct object *);
/* From here on the object is in transit. */
void object_unretain(struct object *);
void object_done(struct object *);
/* Adds an interim response (RFC 9110 section 15.2) for the readers that wait: its head as it is sent, the blank line
 * included. It is left out if all interim responses together would exceed OBJECT_INTERIM_MAX. -1: out of memory. */
enum { OBJECT_INTERIM_MAX = 8 * 1024 };
int object_interim(struct object *, const char *bytes, size_t len) __attribute__((warn_unused_result));
/* Takes references to head and body; the body is DONE. */
void object_substitute(struct object *, struct object_head *head, struct object *body);
void object_fail(struct object *, const struct failure *);
/* Says whom the response is for; called before object_head() or object_substitute(). Takes the audience over. Without
 * one the response is for every request that joined. */
void object_set_audience(struct object *, struct audience *);
/* Sets the verdict; called again where it is corrected later. */
void object_set_verdict(struct object *, const struct verdict *, bool revised);
/* The rest of the report, to be written before object_head() or object_substitute(), so that a reader that sees the
 * head sees the report too. Not of an object_inlay(). */
struct object_report *object_report(struct object *);
/* The report, to read only. */
const struct object_report *object_reported(const struct object *);
/* Sets the report's counts, which come with the end of the body. */
void object_count(struct object *, uint64_t repairs, uint64_t malformed);
/* The report as it stands while the writer may go on; copied to *room if need be. */
const struct object_report *object_snapshot(struct object *, struct object_report *room);

/* Reading. */
void object_attach(struct object *, struct object_reader *);       /* takes a reference */
/* As object_attach(), for a response that others may be reading already; the caller's reference is taken over. False:
 * its first bytes are gone, and nothing was done. */
bool object_join(struct object *, struct object_reader *) __attribute__((warn_unused_result));
void object_detach(struct object_reader *);
/* Moves a reader of a SUBSTITUTED object to the object that answers in its place; *head: one reference. */
void object_follow(struct object_reader *, struct object_head **head);
/* Moves the reader of a DONE object to that offset. */
void object_seek(struct object_reader *, uint64_t offset);
size_t object_readers(struct object *);
/* Copies all interim responses from *at on, each of them whole, and moves *at behind them. They last until the object
 * has ended and the readers that came before that have left; a later reader has the final head. */
size_t object_take_interim(struct object_reader *, size_t *at, char buf[OBJECT_INTERIM_MAX]);
enum object_phase object_phase(const struct object *);
/* NULL while WAITING, or if none was set. */
const struct audience *object_audience(const struct object *);
/* The reader will never see the end: the object failed, or the reader was expelled. */
bool object_is_cut(const struct object_reader *);
/* The verdict as it stands; false: there is none. */
bool object_verdict(struct object *, struct verdict *);
/* NULL while WAITING, or FAILED before a head. The reference stays the object's. */
struct object_head *object_get_head(const struct object *);
int64_t object_content_length(const struct object *);              /* of the whole body; -1: not known yet */
bool object_is_retained(const struct object *);
/* Whether two finished and retained bodies are the same bytes (object_same.c). */
bool object_same(struct object *, struct object *);
const struct failure *object_failure(const struct object *);
uint64_t object_length(const struct object *);                     /* body bytes appended so far */
/* What is known of the gzip form of a DONE and retained object. The form is an object of its own (gzip_form.h). *form:
 * one reference while the form is MAKING or KEPT, else NULL. */
enum object_gzip object_gzip(struct object *, struct object **form);
/* Sets a form to be made; false: something was known of it. object_gzip_end() tells what came of it. */
bool object_gzip_begin(struct object *, struct object *form);
void object_gzip_end(struct object *, enum object_gzip);
/* The memory that the object takes; its head is not counted. */
size_t object_memory(const struct object *);
size_t object_unused(const struct object *);                       /* bytes of it that hold no body */
/* Whether the body is long enough for pages of its own (object_internal.h) but does not lie in such pages as a
 * whole. */
bool object_wants_pages(const struct object *);
/* A copy of the response in memory of exactly its size, one reference; NULL: out of memory. */
struct object *object_compact(const struct object *);
/* An inlay is a copy of a short response in a block of its owner's, beside other things (home.h). This many bytes it
 * takes; 0: the response is too long or an inlay already. object_inlay() writes it at an address that is aligned to 8,
 * with the owner's head. It is one reference, and leaves home when it ends. *more: the memory taken elsewhere. NULL:
 * out of memory. */
enum { OBJECT_INLAY_MAX = 4096 };
size_t object_inlay_bytes(const struct object *);
struct object *object_inlay(void *at, const struct object *, struct object_head *, struct home *, size_t *more);
/* The block in which an inlay lies; NULL: the object is not an inlay. */
const struct home *object_home(const struct object *);
/* Gives up to n pieces of the body that follow the reader's offset, at most max bytes in all. Returns how many pieces;
 * *bytes is the sum of their lengths. */
int object_peek(struct object_reader *, struct iovec *, int n, size_t max, size_t *bytes);
/* The same, but only pieces that are to be sent by splice.h: whole pages of a body that is complete and was read often.
 * Memory sent so can hardly be used again when the body goes. */
int object_peek_pages(struct object_reader *, struct iovec *, int n, size_t max, size_t *bytes);
void object_consume(struct object_reader *, size_t bytes);

#endif
