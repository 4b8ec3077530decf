/* Owns how utfeed answers one request, from its head to the last choices when the answer's head goes out (304, 206,
 * Age, Cache-Status). Must not know: connections.
 *
 * Kinds: an answer of utfeed's OWN, a PURGE, a response that is RELAYed past the cache, a response that is CACHED
 * (lookup.h).
 * States: NEW -> WAIT -> READY -> BEGUN -> NEW. READY: its object is there, or there is none (out of memory).
 *
 * Invariants: answer_enter() alone changes the state, by the table of the answer's kind. No other folder names a member
 * of struct answer.
 * Source: RFC 9110 sections 13 and 14, RFC 9111, RFC 9211. */
#ifndef UTFEED_PROXY_ANSWER_ANSWER_H
#define UTFEED_PROXY_ANSWER_ANSWER_H

#include "proxy/answer/lookup.h"
#include "proxy/base/answers.h"
#include "proxy/feeds/feed_state.h"
#include "proxy/http/cache_status.h"
#include "proxy/http/request.h"
#include "proxy/http/target.h"

enum { ANSWER_LINES_MAX = 512 };

enum answer_kind { KIND_OWN, KIND_PURGE, KIND_RELAY, KIND_CACHED, KIND_COUNT };
enum answer_state { ANSWER_NEW, ANSWER_WAIT, ANSWER_READY, ANSWER_BEGUN, ANSWER_STATES };

/* Where the answer comes from. */
enum answer_source {
	/* not the cache: an answer of utfeed's own, or a response that no other request may have */
	SOURCE_PAST,
	SOURCE_FILL,                   /* the fetch that this request began */
	SOURCE_COLLAPSED,              /* another request's fetch */
	SOURCE_STORED,
	SOURCE_SUBSTITUTED             /* a stored response in the place of the fetched one */
};

struct inside;
struct purge_wait;
struct request_context;
struct requester;

/* What is asked; all of it must live as long as the answer. */
struct answer_asked {
	const struct request_context *ctx;
	const struct request *request;
	const struct requester *who;
	struct object *body;           /* its writer fills it as it arrives; NULL: there is none */
	const struct inside *inside;   /* the CONNECT that the request came in; NULL: none */

	/* Called when an answer that had to wait is READY, or when one that is has waited for too long
	 * (answer_again()). Comes from the loop, never from within answer_start(). */
	void (*ready)(void *owner);
	void *owner;
};

/* Buffers that every answer needs. They stay from one answer to the next, so that a hit allocates nothing. */
struct answer_memory {
	char path[512];                /* longer paths are allocated */
	struct text key;               /* begins with the URL */
	struct text sent;              /* the request's lines for the origin (request_head_sent()) */
};

/* Embedded in its owner, all zero at first. */
struct answer {
	enum answer_kind kind;
	enum answer_state state;
	const struct request_context *ctx;
	const struct request *request;
	void (*ready)(void *owner);
	void *owner;
	struct object *object;         /* one reference, until answer_take() */
	struct object_head *head;      /* one reference, until answer_head(); NULL: the object's own is sent */
	enum answer_source source;
	bool asks;                     /* a fetch was begun for this request */
	bool judged;                   /* answer_again() has seen the object's head or failure */
	bool paused;                   /* the origin was not asked because of a pause */

	enum failure_kind why;         /* how the fetch failed, or why it is paused; NONE: neither, or by a status */
	int64_t came;                  /* of a fetch: when the origin's head came, seconds since the epoch */
	struct cache_status status;
	size_t url_len;                /* memory.key begins with the URL; 0: it is not written for this request */
	struct purge_wait *purging;    /* a PURGE that the stores have not done yet; NULL: none */

	/* answer_start() leaves the members from here on as they are: each is written before it is read. */
	struct freshness freshness;    /* of the stored response that answers */
	struct target target;          /* the destination of a fetch */
	struct lookup lookup;          /* CACHED */
	struct answer_memory memory;
};

/* Starts a NEW answer: afterwards it waits, or is READY. If it is READY without anybody reading the body, its object
 * says why. */
void answer_start(struct answer *, const struct answer_asked *);
/* Its object, one reference; NULL: it is taken already, is waited for, or there is none. */
struct object *answer_take(struct answer *);
/* The request was refused while its body came: nothing is waited for any more. */
void answer_refuse(struct answer *);
/* The answer is NEW again: lets go of everything but the memory for the next one, which answer_free_memory() frees. */
void answer_end(struct answer *);
void answer_free_memory(struct answer *);
size_t answer_memory(const struct answer *);   /* of what stays, the longest piece in bytes */

/* Asks anew where the collapsed response turned out to be for other requests, or was abandoned, or where a feed is kept
 * and the origin is slow. True: it went on, as after answer_start(). A collapsed response that failed otherwise has
 * failed for all who waited. */
bool answer_again(struct answer *, const struct object *);
/* Asks anew because the collapsed response can no longer be read from its beginning. As after answer_start(). */
void answer_late(struct answer *, struct object *);
/* The head to send of the object that is read, one reference; NULL: it was not there for answer_again(). *stored: the
 * head is that of a stored response. The reader of a SUBSTITUTED object moves to that response. */
struct object_head *answer_head(struct answer *, struct object_reader *, bool *stored);

/* Whether the object failed before it had a head, and answer_again() let that stand. */
bool answer_has_failed(const struct answer *, const struct object *);
/* The answer that tells of an object that failed before it had a head. NULL: out of memory. */
struct object *answer_failure(struct answer *, const struct object *);

/* The last choices, made once the head is there: which head and how much of the body are sent, by the request's own
 * preconditions and range. */
struct delivery {
	struct object_head *head;      /* one reference */
	int64_t content_length;        /* -1: not known */
	uint64_t offset;               /* where in the body to begin */
	char lines[ANSWER_LINES_MAX];  /* Age, Cache-Status, Content-Range */
};
/* Fills in the delivery; takes over the reference to the head. The answer has BEGUN then. An answer that is NEW,
 * because the client sent something else than a request, stays NEW and leaves the head as it is. -1: out of memory. */
int answer_deliver(struct answer *, struct object *, struct object_head *, struct delivery *)
    __attribute__((warn_unused_result));

static inline bool answer_waits(const struct answer *a)
{
	return a->state == ANSWER_WAIT;
}
static inline bool answer_is_collapsed(const struct answer *a)
{
	return a->source == SOURCE_COLLAPSED;
}
/* NULL: NEW; path NULL: none was found. */
static inline const struct target *answer_target(const struct answer *a)
{
	return a->state == ANSWER_NEW ? NULL : &a->target;
}
/* NULL: NEW. */
static inline const struct cache_status *answer_status(const struct answer *a)
{
	return a->state == ANSWER_NEW ? NULL : &a->status;
}
/* The URL that is asked for, written into room if it is not known yet; at NULL: no room. */
struct slice answer_url(const struct answer *, struct text *room);
/* The key under which the stored response that answers was found. */
static inline struct slice answer_key(const struct answer *a)
{
	return lookup_key(a);
}

/* What the cache did for the request, once its answer has begun. */
enum answer_outcome answer_outcome(const struct answer *);
/* When the response that the object answered with has to be fetched again, in seconds since the epoch. 0: not known,
 * since nothing is stored. */
int64_t answer_next_fetch(const struct answer *, const struct object *);
/* What the answer tells of the feed's origin. report: of the object that answered. */
struct answer_ended {
	int status;                    /* of the answer */
	uint64_t asked_us;             /* when the request came */
	bool cut;
	enum failure_kind why;         /* how the fetch failed behind the head */
};
void answer_account(const struct answer *, const struct object_report *report, const struct answer_ended *,
    struct feed_state *);
/* Why a kept feed answered: failure_cause(), or "slow". NULL: none did. */
const char *answer_kept_cause(const struct answer *, char room[FAILURE_CAUSE_MAX]);

#endif
