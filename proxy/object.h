/* Owns a response while it is made and read: one writer appends, any number of readers follow, each at its own offset.
 * Must not know: clients, fetches, sockets; they meet here and nowhere else.
 *
 * Phases, and the only calls that move between them:
 *   WAITING --object_head()--> BODY --object_done()--> DONE
 *   WAITING or BODY --object_fail()--> FAILED
 * Invariant: bytes once appended never change or move. Until object_done() nothing can be taken for complete.
 *
 * An object in transit (not kept) frees what all its readers have read and asks its writer to stop while more than
 * transit_bytes wait for the slowest. Only its own worker's thread touches it. */
#ifndef UTFEED_PROXY_OBJECT_H
#define UTFEED_PROXY_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "core/normalise.h"
#include "proxy_status.h"

enum object_phase { OBJECT_WAITING, OBJECT_BODY, OBJECT_DONE, OBJECT_FAILED };

/* The response head: everything a client gets but framing, Connection and what differs from client to client. */
struct object_head {
	int status;
	char *bytes;                   /* status line and field lines, each ended by CRLF, without the blank line; owned */
	size_t len;
	int64_t content_length;        /* what the body's length will be; -1: not known yet */
	bool no_body;                  /* 204, 304 */
};

/* What the access log says of a response; complete when the object is. */
struct object_report {
	bool decided;                  /* verdict is one: not so for answers of our own */
	struct verdict verdict;
	bool revised;                  /* verdict was corrected after the head was made */
	uint64_t repairs, malformed;
};

struct object;

struct object_reader {
	LIST_ENTRY(object_reader) link;
	struct object *object;         /* NULL: not attached */
	uint64_t offset;               /* body bytes consumed */
	struct object_segment *at;     /* the segment offset lies in; NULL: the first */
	/* Something changed: phase, bytes. May be called from within the writer; must only note it (loop_defer()). */
	void (*wake)(struct object_reader *);
};

struct object_writer {
	/* There is room again after object_full() said there was none. Must only note it. */
	void (*room)(struct object_writer *);
	/* The last reader left before the end. Must only note it. */
	void (*abandoned)(struct object_writer *);
};

/* One reference, the caller's. NULL: out of memory. */
struct object *object_new(size_t transit_bytes);
struct object *object_ref(struct object *);
void object_unref(struct object **);

/* Writing. The writer's reference is its own to drop; object_set_writer(o, NULL) before it dies. */
void object_set_writer(struct object *, struct object_writer *);
void object_head(struct object *, const struct object_head *);     /* takes over head->bytes */
int object_append(struct object *, const void *bytes, size_t len) __attribute__((warn_unused_result));  /* -1: out of memory */
bool object_full(struct object *);
void object_done(struct object *);
void object_fail(struct object *, const struct proxy_failure *);
struct object_report *object_report(struct object *);

/* Reading. */
void object_attach(struct object *, struct object_reader *);       /* takes a reference */
void object_detach(struct object_reader *);
enum object_phase object_phase(const struct object *);
const struct object_head *object_get_head(const struct object *);  /* NULL while WAITING, or FAILED before a head */
const struct proxy_failure *object_failure(const struct object *);
uint64_t object_length(const struct object *);                     /* body bytes appended so far */
/* Up to n pieces that follow the reader's offset, at most max bytes in all. Returns how many pieces; *bytes their sum. */
int object_peek(struct object_reader *, struct iovec *, int n, size_t max, size_t *bytes);
void object_consume(struct object_reader *, size_t bytes);

#endif
