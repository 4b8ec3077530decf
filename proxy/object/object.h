/* Owns a response while it is made and read: one writer appends, any number of readers follow, each at its own offset,
 * on any worker. Must not know: clients, fetches, sockets; they meet here and nowhere else.
 *
 * Phases, and the only calls that move between them:
 *   WAITING --object_head()--> BODY --object_done()--> DONE
 *   WAITING or BODY --object_fail()--> FAILED
 *   WAITING --object_substitute()--> SUBSTITUTED: another, complete object answers in its place (a stored response)
 * Invariant: bytes once appended never change or move. Until object_done() nothing can be taken for complete.
 *
 * In transit (not kept), what all readers have read is freed, and the writer is asked to stop while more than
 * transit_bytes wait for the slowest, or that one is expelled for the others' sake. A kept object holds all its bytes;
 * done, it never changes again and is read without its lock. */
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
#include "proxy/http/freshness.h"

enum object_phase { OBJECT_WAITING, OBJECT_BODY, OBJECT_DONE, OBJECT_FAILED, OBJECT_SUBSTITUTED };

/* The response head: everything a client gets but framing, Connection and what differs from client to client. Shared,
 * never changed. */
struct object_head {
	atomic_uint refs;
	int status;
	/* status line and field lines, each ended by CRLF, without the blank line; owned */
	char *bytes;
	size_t len;
	int64_t content_length;        /* what the body's length will be; -1: not known yet */
	bool no_body;                  /* 204, 304 */
	bool gzip;                     /* text of ours, which clients may get as gzip; Vary says so */
	size_t etag_end;               /* of bytes: where its ETag's closing quote stands, for a suffix; 0: no ETag */
};

/* One reference. NULL: out of memory. */
struct object_head *object_head_new(void);
struct object_head *object_head_ref(struct object_head *);
void object_head_unref(struct object_head **);

/* What the access log says of a response; complete when the object is. */
struct object_report {
	bool decided;                  /* verdict is one: not so for answers of our own */
	struct verdict verdict;
	bool revised;                  /* verdict was corrected after the head was made */
	uint64_t repairs, malformed;
	/* What the cache did; before object_head() or object_substitute(). */
	bool stored;
	bool normalised, decoded;      /* what was done to the body (response_head.h) */
	bool foreign;                  /* a redirect led to another origin, or the client chose it (response_head.h) */
	int fwd_status;                /* the origin's status; 0: none came */
	const char *detail;            /* why it is not stored, as a token; NULL: not told */
	struct freshness freshness;    /* of the stored response that substitutes */
};

/* What is known of a body's gzip form. */
enum object_gzip {
	OBJECT_GZIP_UNKNOWN,
	OBJECT_GZIP_MAKING,
	OBJECT_GZIP_KEPT,              /* counted, by the store that keeps the body too */
	OBJECT_GZIP_USELESS,           /* it is hardly shorter */
	OBJECT_GZIP_UNKEPT             /* the store has no room for it, or the body no more */
};

struct object;

struct object_reader {
	LIST_ENTRY(object_reader) link;
	struct object *object;         /* NULL: not attached */
	bool listed;                   /* among the object's readers: not so for one that was settled already */
	uint64_t offset;               /* body bytes consumed */
	struct object_segment *at;     /* the segment offset lies in; NULL: the first */
	atomic_bool expelled;          /* it held up others: it gets no more bytes, and no end */
	/* Something changed: phase, bytes. Called by the writer's thread under the object's lock; must only note it
	 * (loop_wake()). */
	void (*wake)(struct object_reader *);
};

struct audience;

struct object_writer {
	/* There is room again after object_full() said there was none. By a reader's thread, under the lock; must only
	 * note it. */
	void (*room)(struct object_writer *);
	/* The last reader left before the end: nobody waits any more. Likewise. */
	void (*abandoned)(struct object_writer *);
};

/* One reference, the caller's. NULL: out of memory. */
struct object *object_new(size_t transit_bytes);
struct object *object_ref(struct object *);
void object_unref(struct object **);

/* Writing. The writer's reference is its own to drop; object_set_writer(o, NULL) before it dies. */
void object_set_writer(struct object *, struct object_writer *);
/* Before the first byte. A body longer than max is in transit from there on. */
void object_keep(struct object *, uint64_t max);
/* of the body, where known: no memory is taken beyond it */
void object_expect(struct object *, uint64_t length);
void object_head(struct object *, struct object_head *);           /* takes over the reference */
/* -1: out of memory */
int object_append(struct object *, const void *bytes, size_t len) __attribute__((warn_unused_result));
bool object_full(struct object *);
/* The writer has waited for room for too long: those it waits for are expelled where another reader waits for more. */
void object_expel_slow(struct object *);
/* From here on in transit. */
void object_unkeep(struct object *);
void object_done(struct object *);
/* An interim response (RFC 9110 section 15.2) for whoever waits: its head as it is sent, the blank line included. One
 * that all of them together have no room for is left out. -1: out of memory. */
enum { OBJECT_INTERIM_MAX = 8 * 1024 };
int object_interim(struct object *, const char *bytes, size_t len) __attribute__((warn_unused_result));
/* head and body (DONE): references are taken. */
void object_substitute(struct object *, struct object_head *head, struct object *body);
void object_fail(struct object *, const struct failure *);
/* Whom it is for: before object_head() or object_substitute(). Taken over. Without one it is for whoever joined. */
void object_set_audience(struct object *, struct audience *);
/* The verdict, and again where it is corrected later. */
void object_set_verdict(struct object *, const struct verdict *, bool revised);
/* The rest of the report: before object_head() or object_substitute(), so that who sees the head sees it too. */
struct object_report *object_report(struct object *);
/* To read only. */
const struct object_report *object_reported(const struct object *);
/* Its counts, which come with the end of the body. */
void object_count(struct object *, uint64_t repairs, uint64_t malformed);
/* The report as it stands while the writer may go on, in room if need be. */
const struct object_report *object_snapshot(struct object *, struct object_report *room);

/* Reading. */
void object_attach(struct object *, struct object_reader *);       /* takes a reference */
/* The same for a response that others read already, with the caller's reference. False: its first bytes are gone, and
 * nothing was done. */
bool object_join(struct object *, struct object_reader *) __attribute__((warn_unused_result));
void object_detach(struct object_reader *);
/* Moves a reader of a SUBSTITUTED object to what answers in its place; *head: one reference. */
void object_follow(struct object_reader *, struct object_head **head);
/* Only for a DONE object: reading begins there. */
void object_seek(struct object_reader *, uint64_t offset);
size_t object_readers(struct object *);
/* The interim responses from *at on, all that are there and each of them whole; *at is moved behind them. They last
 * until the object has ended and those have left who came before: who comes later has its final head. */
size_t object_take_interim(struct object_reader *, size_t *at, char buf[OBJECT_INTERIM_MAX]);
enum object_phase object_phase(const struct object *);
/* NULL while WAITING, and where none was set. */
const struct audience *object_audience(const struct object *);
/* The reader will never see the end: the object failed, or the reader was expelled. */
bool object_is_cut(const struct object_reader *);
/* The verdict as it stands; false: there is none. */
bool object_verdict(struct object *, struct verdict *);
/* NULL while WAITING, or FAILED before a head; the object's */
struct object_head *object_get_head(const struct object *);
int64_t object_content_length(const struct object *);              /* of the whole body; -1: not known yet */
bool object_is_kept(const struct object *);
const struct failure *object_failure(const struct object *);
uint64_t object_length(const struct object *);                     /* body bytes appended so far */
/* Of a DONE and kept object. Its gzip form is an object of its own, shared while it is being made and while it is kept
 * (gzip_form.h): *form is one reference then, NULL otherwise. object_gzip_begin() takes one where nothing was known;
 * object_gzip_end() tells what came of it. */
enum object_gzip object_gzip(struct object *, struct object **form);
bool object_gzip_begin(struct object *, struct object *form);
void object_gzip_end(struct object *, enum object_gzip);
/* of a DONE and kept one: where its body begins; NULL: empty */
const void *object_start(const struct object *);
/* what it takes, with what malloc adds; its head not counted */
size_t object_memory(const struct object *);
size_t object_unused(const struct object *);                       /* bytes of that which the body left empty */
/* Whether it is long enough for pages of its own (object_internal.h) and not all of it lies in such. */
bool object_wants_pages(const struct object *);
/* The same response in memory of exactly its size, one reference; NULL: out of memory. */
struct object *object_compact(const struct object *);
/* Up to n pieces that follow the reader's offset, at most max bytes in all. Returns how many pieces; *bytes their
 * sum. */
int object_peek(struct object_reader *, struct iovec *, int n, size_t max, size_t *bytes);
/* The same, of pieces as may be sent by splice.h only. */
int object_peek_pages(struct object_reader *, struct iovec *, int n, size_t max, size_t *bytes);
void object_consume(struct object_reader *, size_t bytes);

#endif
