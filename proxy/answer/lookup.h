/* Owns how one request is answered through the cache, step by step, and the last choices when the head goes out (304,
 * 206, Age, Cache-Status). Must not know: connections.
 *
 *	KEY       makes the key under which the response would be stored
 *	FIND      asks the stores
 *	WAIT      waits for the store behind memory, which is asked or has a PURGE to do
 *	PARTS     looks at what is stored of the response in parts, where a range was asked for
 *	DECIDE    decides what the found entry is: a fresh or stale answer, one of several variants, or none
 *	COLLAPSE  the origin must be asked: may it be asked now, and does another request ask it already
 *	FILL      starts a fetch that fills the cache
 *	DELIVER   the object is there, or there is none: out of memory
 *
 * Invariant: a step says which step is next, and lookup_enter() alone goes there.
 * Source: RFC 9111 section 4, RFC 9110 sections 13 and 14, RFC 9211. */
#ifndef UTFEED_PROXY_ANSWER_LOOKUP_H
#define UTFEED_PROXY_ANSWER_LOOKUP_H

#include "proxy/base/answers.h"
#include "proxy/cache/cache.h"
#include "proxy/http/cache_status.h"
#include "proxy/http/conditional.h"
#include "proxy/http/cors.h"
#include "proxy/http/request.h"
#include "proxy/http/target.h"
#include "proxy/feeds/feed_state.h"
#include "proxy/origin/fetch.h"

enum { LOOKUP_LINES_MAX = 512 };

enum lookup_step {
	LOOKUP_NEW, LOOKUP_KEY, LOOKUP_FIND, LOOKUP_WAIT, LOOKUP_PARTS, LOOKUP_DECIDE, LOOKUP_COLLAPSE, LOOKUP_FILL,
	LOOKUP_DELIVER,
	LOOKUP_STEPS
};

/* Where the answer comes from. */
enum lookup_source {
	/* not the cache: an answer of utfeed's own, or a response that no other request may have */
	SOURCE_PAST,
	SOURCE_FILL,                   /* the fetch that this request began */
	SOURCE_COLLAPSED,              /* another request's fetch */
	SOURCE_STORED,
	SOURCE_SUBSTITUTED             /* a stored response in the place of the fetched one */
};

/* Which other requests a request may wait with. */
enum lookup_company {
	COMPANY_ANY,
	/* those whose fetch is in flight: memory has been asked a second time, in case another worker had just stored
	 * the response */
	COMPANY_FETCHES,
	COMPANY_NONE                   /* none: it has a fetch of its own */
};

enum lookup_sought { SOUGHT_WHOLE, SOUGHT_PARTS };

struct purge_wait;
struct request_context;

/* Buffers that every lookup needs. Their owner passes them from one lookup to the next, so that a hit allocates
 * nothing. */
struct lookup_memory {
	char path[512];                /* longer paths are allocated */
	struct text key;
	struct text sent;              /* the request's lines for the origin (request_head_sent()) */
};

/* One request's way to its response; embedded in its owner. */
struct lookup {
	/* Called when a lookup that had to wait has reached DELIVER, or when one that is there has waited for too long
	 * (lookup_again()); comes from the loop, never from within lookup_start(). */
	void (*ready)(struct lookup *);
	void *owner;                   /* for ready() */
	struct lookup_memory *memory;  /* belongs to the owner; in use until lookup_free() */
	struct object *object;         /* one reference, which the owner takes over */
	struct object_head *head;      /* one reference: the head to send; NULL: the object's own */
	/* Private from here on. */
	const struct request_context *ctx;
	const struct request *request;
	enum lookup_step step;
	enum lookup_source source;
	enum lookup_company company;
	enum lookup_sought sought;
	bool ranged;                   /* it asks the origin for its range only, and waits with no other request */
	/* how many collapsed responses turned out to be for other variants */
	unsigned others;
	unsigned leaves;               /* cache_in_flight_ends() when the stores were asked */
	bool late;                     /* slow-after is over, and the origin has not begun to answer */
	bool asks;                     /* a fetch was begun for this request */
	bool paused;                   /* the origin was not asked because of a pause */
	/* for which a kept feed answers; NONE: for a status, or because the origin is slow */
	enum failure_kind why;
	bool plain;                    /* its fetch has none of its fields: the answer may be for another variant */
	struct purge_wait *purging;    /* a PURGE that the stores have not done yet; NULL: none */
	struct cache_status status;
	struct entry *found;           /* by FIND, for the step after it; NULL: nothing */
	struct entry *entry;           /* the entry to validate */
	struct entry *part;            /* the stored part; NULL: none, or not looked for */
	enum policy policy;
	char *key;                     /* points into memory->key */
	size_t key_len, primary_len;   /* the key begins with the primary key; a variant's goes on */
	uint64_t generation;           /* of the record that the variant's key was made by */
	size_t url_len;                /* memory->key begins with the URL; 0: it is not written for this request */
	char *parts;                   /* the key with ENTRY_PARTS; NULL: no part was asked for */
	size_t parts_len;
	struct slice sent;             /* memory->sent, once written for this request; at NULL: not yet */
	size_t sent_open;              /* of these, the bytes that any origin may see */
	/* lookup_clear() leaves the members from here on as they are: each is written before it is read. */
	const struct cache_control *cc;        /* what the request says to caches, as far as the route lets it count */
	struct cache_control own_cc;
	struct freshness_settings settings;
	uint64_t settings_hash;
	struct freshness freshness;    /* of the stored response that answers */
	struct cache_key busy;         /* the key in flight, once the origin is to be asked */
	struct byte_range range;       /* of the whole body; lies inside part */
	struct timer slow;             /* armed while the client waits for a fetch, and a feed is kept */
	struct store_wait wait;
	struct cache_ticket ticket;    /* taken when the wait began, if there was one */
	bool waited;                   /* for what was looked for last */
	struct target target;          /* the destination of a fetch */
};

/* Clears a lookup for the next request; the caller sets ready, owner and memory. */
void lookup_clear(struct lookup *);
/* Starts a lookup. Before the call ctx, request, target and policy are filled in, memory->key holds the URL (the first
 * part of the key), and the rest is as lookup_clear() left it. Afterwards the lookup is at DELIVER, or waits, and then
 * ready() is called. */
void lookup_start(struct lookup *, const struct freshness_settings *, uint64_t settings_hash);
/* Goes to a step. Other files call it only for a PURGE, which waits without being looked up: it goes from NEW to WAIT
 * and then to DELIVER. An answer past the cache stays at NEW. */
void lookup_enter(struct lookup *, enum lookup_step);
/* The origins of the web pages that may read the response; NULL: none may, or the client knows the origin itself. */
static inline cors_origins lookup_cors(const struct lookup *l)
{
	bool ours = l->target.mode != TARGET_FORWARD && l->target.route->cors_allow[0];

	return ours ? l->target.route->cors_allow : NULL;
}
static inline bool lookup_waits(const struct lookup *l)
{
	return l->step == LOOKUP_WAIT;
}
/* Asks anew where the collapsed response turned out to be for other requests, or was abandoned, or where a feed is kept
 * and the origin is slow. True: the lookup went on, as after lookup_start(). A collapsed response that failed otherwise
 * has failed for all who waited. */
bool lookup_again(struct lookup *, const struct object *);
/* Asks anew because the collapsed response can no longer be read from its beginning. As after lookup_start(). */
void lookup_late(struct lookup *, struct object *);
/* Moves the reader to the stored response that the SUBSTITUTED object names. *head: one reference. */
void lookup_follow(struct lookup *, struct object_reader *, struct object_head **head);
/* What the cache did for the request, once its answer has begun. */
enum answer_outcome lookup_answer(const struct lookup *);
/* When the response that the object answered with has to be fetched again, in seconds since the epoch. 0: not known,
 * since nothing is stored. */
int64_t lookup_next_fetch(const struct lookup *, const struct object *);
/* What the answer tells of the feed's origin. report: of the object that answered. */
struct lookup_end {
	int status;                    /* of the answer */
	uint64_t asked_us;             /* when the request came */
	bool cut;
	enum failure_kind why;         /* how the fetch failed behind the head */
};
void lookup_account(const struct lookup *, const struct object_report *report, const struct lookup_end *,
    struct feed_state *);
/* Why a kept feed answered: failure_cause(), or "slow". NULL: none did. */
const char *lookup_kept_cause(const struct lookup *, char room[FAILURE_CAUSE_MAX]);
void lookup_free(struct lookup *);
void lookup_memory_free(struct lookup_memory *);

/* The last choices, made once the head is there: which head and how much of the body are sent, by the request's own
 * preconditions and range. */
struct delivery {
	struct object_head *head;      /* one reference */
	int64_t content_length;        /* -1: not known */
	uint64_t offset;               /* where in the body to begin */
	char lines[LOOKUP_LINES_MAX];  /* Age, Cache-Status, Content-Range */
};
/* Fills in the delivery; takes over the reference to the head. -1: out of memory. */
int deliver(struct lookup *, struct object *, struct object_head *, struct delivery *)
    __attribute__((warn_unused_result));

#endif
