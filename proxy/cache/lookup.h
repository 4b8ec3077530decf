/* Owns how one request is answered through the cache: looking up, joining, leading, validating, fetching anew behind a hit, and the
 * last choices made when the head goes out (304, 206, Age, Cache-Status). Must not know: connections.
 * Source: RFC 9111 section 4, RFC 9110 sections 13 and 14, RFC 9211. */
#ifndef UTFEED_PROXY_CACHE_LOOKUP_H
#define UTFEED_PROXY_CACHE_LOOKUP_H

#include "proxy/cache/cache.h"
#include "proxy/http/cache_control.h"
#include "proxy/http/cache_status.h"
#include "proxy/http/conditional.h"
#include "proxy/http/target.h"
#include "proxy/origin/fetch.h"

enum { ANSWER_LINES_MAX = 512 };

struct purge_wait;
struct request_context;

/* One request's way to its response; embedded in whoever asks. */
/* Memory for what every answer needs, from one to the next of its owner: a hit allocates nothing. */
struct answer_room {
	char path[512];                /* longer ones are allocated */
	struct text key;
	struct text sent;              /* what the origin would get of the request (upstream_sent()) */
};

struct answer {
	/* The object is there, or there is none (out of memory). From the loop, never from within answer_start(). */
	void (*ready)(struct answer *);
	void *owner;                   /* for ready() */
	struct answer_room *room;      /* the owner's, this answer's until answer_free() */
	struct object *object;         /* one reference; taken over by whoever asked */
	struct object_head *head;      /* one reference: the head to send; NULL: the object's own */
	/* Private from here on. */
	const struct request_context *ctx;
	const struct http_msg *msg;
	bool cached;                   /* it goes through the cache at all */
	bool joined, waiting;
	bool looked_twice;             /* memory was asked again, for another worker might just have stored it */
	bool sent_known;               /* room->sent is this request's */
	unsigned others;               /* joined responses that turned out to be for other requests, by what they vary by */
	unsigned leaves;               /* cache_leaves() when the store was asked */
	bool ranged;                   /* it goes to the origin for the part it asks for */
	bool looks_for_parts;          /* ... if what is known of it in parts allows it: that is being looked up */
	bool again;                    /* joining is over for this one */
	bool substituted;              /* a stored response answers in the place of the one asked for */
	struct purge_wait *purging;    /* a PURGE that its stores have not done yet; NULL: none */
	struct object *pause;          /* what to say instead of asking the origin, which wants a pause; NULL: it may be asked */
	struct cache_status status;
	struct entry *entry;           /* found, to be validated */
	struct entry *part;            /* found of what was asked for; NULL: none, or not looked for */
	enum policy policy;
	char *key;                     /* in room */
	size_t key_len, primary_len;   /* the primary key is the first part */
	char *parts;                   /* the key with ENTRY_PARTS; NULL: no part was asked for */
	size_t parts_len;
	/* From here on each is written before it is read, and not cleared. */
	struct cache_control cc;
	struct freshness_settings settings;
	struct freshness freshness;    /* of a stored response that answers */
	struct byte_range range;       /* of the whole, that part holds */
	struct store_wait wait;
	struct cache_ticket ticket;    /* as of the wait's beginning */
	struct target target;          /* where a fetch would go */
};

/* As a request begins; ready, owner and room are the caller's to set. */
void answer_clear(struct answer *);
/* ctx, msg, target and policy are filled in, and room->key holds the URL, the first part of the key; the rest as answer_clear() says.
 * Afterwards a->object, or a->waiting and ready() comes. */
void answer_start(struct answer *, const struct freshness_settings *, uint64_t settings_hash);
/* The joined response turned out to be for others, or was abandoned: ask for oneself. True: as after answer_start(). One that failed
 * failed for all who waited. */
bool answer_again(struct answer *, const struct object *);
/* The joined response can no longer be read from its beginning: ask for oneself. As after answer_start(). */
void answer_late(struct answer *, struct object *);
/* The reader's object was SUBSTITUTED by a stored response. *head: one reference. */
void answer_follow(struct answer *, struct object_reader *, struct object_head **head);
void answer_free(struct answer *);
void answer_room_free(struct answer_room *);

/* What is left to decide once the head is there. head, body of the object to be sent; the request's own preconditions and range. */
struct answer_final {
	struct object_head *head;      /* one reference */
	int64_t content_length;        /* -1: not known */
	uint64_t offset;               /* of the body, where to begin */
	char lines[ANSWER_LINES_MAX];  /* Age, Cache-Status, Content-Range */
};
/* Takes over the reference to the head. -1: out of memory. */
int answer_finish(struct answer *, struct object *, struct object_head *, struct answer_final *);

#endif
