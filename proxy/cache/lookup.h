/* Owns how one request is answered through the cache, step by step, and the last choices made when the head goes out
 * (304, 206, Age, Cache-Status). Must not know: connections.
 *
 *	KEY       what the stored response would be known by
 *	FIND      asks the stores
 *	WAIT      the store behind memory is asked, or has a PURGE to do
 *	PARTS     what is known of it in parts, where a range was asked for
 *	DECIDE    is what was found an answer: fresh, stale, one of several variants, or none
 *	COLLAPSE  the origin must be asked: may it be, does somebody ask it already
 *	FILL      a fetch that fills the cache
 *	DELIVER   the object is there, or there is none: out of memory
 *
 * Invariant: a step says which is next, and lookup_enter() alone goes there.
 * Source: RFC 9111 section 4, RFC 9110 sections 13 and 14, RFC 9211. */
#ifndef UTFEED_PROXY_CACHE_LOOKUP_H
#define UTFEED_PROXY_CACHE_LOOKUP_H

#include "proxy/cache/cache.h"
#include "proxy/http/cache_status.h"
#include "proxy/http/conditional.h"
#include "proxy/http/request.h"
#include "proxy/http/target.h"
#include "proxy/origin/fetch.h"

enum { LOOKUP_LINES_MAX = 512 };

enum lookup_step {
	LOOKUP_NEW, LOOKUP_KEY, LOOKUP_FIND, LOOKUP_WAIT, LOOKUP_PARTS, LOOKUP_DECIDE, LOOKUP_COLLAPSE, LOOKUP_FILL,
	LOOKUP_DELIVER,
	LOOKUP_STEPS
};

/* Where the answer comes from. */
enum lookup_source {
	/* past the cache: an answer of utfeed's own, or a response that nobody else may have */
	SOURCE_PAST,
	SOURCE_FILL,                   /* a fetch of this request's */
	SOURCE_COLLAPSED,              /* another request's fetch */
	SOURCE_STORED,
	SOURCE_SUBSTITUTED             /* a stored response, in the place of the one that was fetched */
};

/* Whom a request may wait with. */
enum lookup_company {
	COMPANY_ANY,
	/* memory was asked again already, for another worker might just have stored it: only with a fetch */
	COMPANY_FETCHES,
	COMPANY_NONE                   /* it asks alone */
};

enum lookup_sought { SOUGHT_WHOLE, SOUGHT_PARTS };

struct purge_wait;
struct request_context;

/* Memory for what every lookup needs, from one to the next of its owner: a hit allocates nothing. */
struct lookup_memory {
	char path[512];                /* longer ones are allocated */
	struct text key;
	struct text sent;              /* what the origin would get of the request (request_head_sent()) */
};

/* One request's way to its response; embedded in whoever asks. */
struct lookup {
	/* DELIVER was reached. From the loop, never from within lookup_start(). */
	void (*ready)(struct lookup *);
	void *owner;                   /* for ready() */
	struct lookup_memory *memory;  /* the owner's, this lookup's until lookup_free() */
	struct object *object;         /* one reference; taken over by whoever asked */
	struct object_head *head;      /* one reference: the head to send; NULL: the object's own */
	/* Private from here on. */
	const struct request_context *ctx;
	const struct request *request;
	enum lookup_step step;
	enum lookup_source source;
	enum lookup_company company;
	enum lookup_sought sought;
	bool ranged;                   /* it goes to the origin for the part it asks for, alone */
	/* collapsed responses that turned out to be for other requests, by what they vary by */
	unsigned others;
	unsigned leaves;               /* cache_in_flight_ends() when the store was asked */
	struct purge_wait *purging;    /* a PURGE that its stores have not done yet; NULL: none */
	/* what to say instead of asking the origin, which wants a pause; NULL: it may be asked */
	struct object *pause;
	struct cache_status status;
	struct entry *found;           /* by FIND, for the next step; NULL: nothing */
	struct entry *entry;           /* to be validated */
	struct entry *part;            /* of what was asked for; NULL: none, or not looked for */
	enum policy policy;
	char *key;                     /* in memory */
	size_t key_len, primary_len;   /* the primary key is the first part */
	char *parts;                   /* the key with ENTRY_PARTS; NULL: no part was asked for */
	size_t parts_len;
	struct slice sent;             /* memory->sent, once it is this request's; at NULL: not yet */
	/* From here on each is written before it is read, and not cleared. */
	const struct cache_control *cc;        /* what the request says, as far as it counts */
	struct cache_control own_cc;
	struct freshness_settings settings;
	uint64_t settings_hash;
	struct freshness freshness;    /* of a stored response that answers */
	struct byte_range range;       /* of the whole, that part holds */
	struct store_wait wait;
	struct cache_ticket ticket;    /* as of the wait's beginning */
	struct target target;          /* where a fetch would go */
};

/* As a request begins; ready, owner and memory are the caller's to set. */
void lookup_clear(struct lookup *);
/* ctx, request, target and policy are filled in, and memory->key holds the URL, the first part of the key; the rest as
 * lookup_clear() says. Afterwards it is at DELIVER, or waits and ready() comes. */
void lookup_start(struct lookup *, const struct freshness_settings *, uint64_t settings_hash);
/* For what waits without a lookup, a PURGE: from NEW to WAIT, to DELIVER. An answer past the cache stays at NEW. */
void lookup_enter(struct lookup *, enum lookup_step);
static inline bool lookup_waits(const struct lookup *l)
{
	return l->step == LOOKUP_WAIT;
}
/* The collapsed response turned out to be for others, or was abandoned: ask for oneself. True: as after lookup_start().
 * One that failed failed for all who waited. */
bool lookup_again(struct lookup *, const struct object *);
/* The collapsed response can no longer be read from its beginning: ask for oneself. As after lookup_start(). */
void lookup_late(struct lookup *, struct object *);
/* The reader's object was SUBSTITUTED by a stored response. *head: one reference. */
void lookup_follow(struct lookup *, struct object_reader *, struct object_head **head);
void lookup_free(struct lookup *);
void lookup_memory_free(struct lookup_memory *);

/* What is left to decide once the head is there. head, body of the object to be sent; the request's own preconditions
 * and range. */
struct delivery {
	struct object_head *head;      /* one reference */
	int64_t content_length;        /* -1: not known */
	uint64_t offset;               /* of the body, where to begin */
	char lines[LOOKUP_LINES_MAX];  /* Age, Cache-Status, Content-Range */
};
/* Takes over the reference to the head. -1: out of memory. */
int deliver(struct lookup *, struct object *, struct object_head *, struct delivery *)
    __attribute__((warn_unused_result));

#endif
