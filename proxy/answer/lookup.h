/* Owns the way of one answer through the cache, step by step. Must not know: connections, how the answer is given.
 *
 *	KEY       makes the key under which the response would be stored.
 *	FIND      asks the stores.
 *	WAIT      waits for the store behind memory.
 *	PARTS     looks for stored parts of the response, if the request asks for a range.
 *	DECIDE    decides what the found entry is: a fresh or stale answer, one of several variants, or none.
 *	COLLAPSE  decides whether the origin may be asked now, and whether another request asks it already.
 *	FILL      starts a fetch that fills the cache.
 *	DONE      has the object of the answer, or NULL: out of memory.
 *
 * Invariants: a step says which step is next, and lookup_enter() alone goes there. Only lookup*.c name a member of
 * struct lookup.
 * Source: RFC 9111 section 4, RFC 5861. */
#ifndef UTFEED_PROXY_ANSWER_LOOKUP_H
#define UTFEED_PROXY_ANSWER_LOOKUP_H

#include "core/policy/policy.h"
#include "proxy/cache/cache.h"
#include "proxy/http/conditional.h"

enum lookup_step {
	LOOKUP_KEY, LOOKUP_FIND, LOOKUP_WAIT, LOOKUP_PARTS, LOOKUP_DECIDE, LOOKUP_COLLAPSE, LOOKUP_FILL, LOOKUP_DONE,
	LOOKUP_STEPS
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

struct answer;

/* Embedded in its answer. */
struct lookup {
	enum lookup_step step;
	enum lookup_company company;
	enum lookup_sought sought;
	bool ranged;                   /* it asks the origin for its range only, and waits with no other request */
	/* how many collapsed responses turned out to be for other variants */
	unsigned others;
	unsigned looks;                /* how often another process had stored the response meanwhile */
	unsigned ends;                 /* cache_in_flight_ends() when the stores were asked */

	bool late;                     /* slow-after is over, and the origin has not begun to answer */
	bool plain;                    /* its fetch has none of its fields: the answer may be for another variant */

	struct entry *found;           /* by FIND, for the step after it; NULL: nothing */
	struct entry *entry;           /* the entry to validate */
	struct entry *part;            /* the stored part; NULL: none, or not looked for */
	enum policy policy;
	char *key;                     /* points into the answer's memory */
	size_t key_len, primary_len;   /* begins with the primary key; a variant's goes on */
	uint64_t generation;           /* of the index that the variant's key was made by */
	char *parts;                   /* with ENTRY_PARTS; NULL: the request asks for no part */
	size_t parts_len;
	struct slice sent;             /* of the answer's memory, once written for this request; at NULL: not yet */
	size_t sent_open;              /* of these, the bytes that any origin may see */
	uint64_t until_ms;             /* limit of a lookup in the store that is to be made again; 0: of a new one */

	/* lookup_start() leaves the members from here on as they are: each is written before it is read. */
	const struct cache_control *cc;        /* what the request says to caches, as far as the route lets it count */
	struct cache_control own_cc;
	struct freshness_settings settings;
	uint64_t settings_hash;
	struct cache_key busy;         /* the key in flight, once the origin is to be asked */
	struct byte_range range;       /* of the whole body; lies inside part */
	struct timer slow;             /* armed while the client waits for a fetch, and a feed is kept */
	struct store_wait wait;
	struct cache_ticket ticket;    /* taken when the wait began, if there was one */
	bool waited;                   /* for what was looked for last */
};

/* Begins: the answer has its target, and its memory the URL as the first part of the key. Afterwards the lookup is
 * DONE, or it waits, and answer_came() is called when it is DONE. alone: the request waits with no other. */
void lookup_start(struct answer *, const struct freshness_settings *, uint64_t settings_hash, enum policy, bool alone);
bool lookup_waits(const struct answer *);
/* As answer_again() and answer_late(), of what the cache answers. */
bool lookup_again(struct answer *, const struct object *);
void lookup_late(struct answer *, struct object *);
/* The key of the response. */
struct slice lookup_key(const struct answer *);
/* The stored part that answers, and the range of the whole body that it answers with; NULL: no part does. */
const struct entry *lookup_part(const struct answer *, struct byte_range *);
/* The head goes out: the origin is no longer watched. */
void lookup_settle(struct answer *);
void lookup_free(struct answer *);

#endif
