/* Owns the interface of every store of entries. Stores in memory, LMDB and Redis stand behind one table of functions.
 * Must not know: freshness, requests. Any worker may call the functions at any time. Invariant: a store may lose
 * entries whenever it likes, but it never returns a damaged entry, nor the entry of another key. */
#ifndef UTFEED_PROXY_STORE_STORE_H
#define UTFEED_PROXY_STORE_STORE_H

#include <string.h>

#include "proxy/net/loop.h"
#include "proxy/store/entry.h"
#include "proxy/store/store_call.h"

enum store_result { STORE_FOUND, STORE_MISSING, STORE_WAIT };
enum store_settling { SETTLING_DONE, SETTLING_WAIT };
/* URL: one URL with all settings and variants. PREFIX: every URL that begins with the given text. ALL: every entry. */
enum store_purge { PURGE_URL, PURGE_PREFIX, PURGE_ALL };

/* A lookup or a settlement that is not answered at once. It is embedded in the structure that waits for the answer. */
struct store_wait {
	struct task task;              /* set by the store; it delivers the answer on the waiter's loop */
	struct loop *loop;
	/* entry: one reference for the receiver; NULL: there is no such entry, or this was a settlement. */
	void (*got)(struct store_wait *, struct entry *entry);
	struct entry *entry;           /* the answer on its way to got() */

	bool owed;                     /* settlement: removals are not done yet; the store goes on trying */
	/* settlement that was cancelled: how many other processes have the store, and do not know of a purge yet */
	size_t others, unaware;
	void *pending;                 /* for the store alone, as the next two; NULL: not waiting */
	struct store *store;           /* which of several was asked */
	struct timer late;             /* limit for a lookup */
	uint64_t until_ms;             /* when that is, by the loop's clock; 0 before the first get() */
	bool timed_out;                /* the lookup was given up at that limit */
	/* The lookup waited for a store that was reached only now, and was not made. get() may be called once more with
	 * the same until_ms. Then its caller knows of the purges that came before. */
	bool again;
};

/* entries, bytes, owed and away tell the present state; the others count since the start. */
struct store_stats {
	uint64_t entries, bytes, hits, misses, evictions, errors;
	uint64_t owed;                 /* removals that are not done yet */
	uint64_t learned_ms;           /* when all purges of others were known last, of the monotonic clock; 0: never */

	bool away;                     /* not reached, or not known to be: lookups miss, entries are dropped */
	bool shared;                   /* other processes fill it too: entries, bytes and evictions are unknown */
};

/* Whether a purge of url covers the entry of this key. */
static inline bool store_purges(enum store_purge what, const char *url, size_t url_len, const char *key, size_t key_len)
{
	return what == PURGE_ALL || (key_len >= url_len && !memcmp(key, url, url_len) &&
	    (what == PURGE_PREFIX || (key_len > url_len && key[url_len] == '\n')));
}

/* A purge that a store which processes share remembers. Its number is larger than those of all earlier ones, and 0 is
 * none's. Where no memory for it is left, or another is too long, it covers more than was asked for. */
struct store_mark {
	uint64_t number;
	enum store_purge what;
	bool soft;
	int64_t now;                   /* soft: what it covers is stale since then */
	const char *url;
	size_t len;
	/* of store_ops.purges: who asked for it, and when by the server's clock */
	uint64_t process, at_ms;
};

struct store;
struct store_ops {
	const char *name;
	/* FOUND: *entry is one reference. WAIT: w->loop will call w->got(), never before get() returns. */
	enum store_result (*get)(struct store *, const char *key, size_t len, struct entry **entry,
	    struct store_wait *);
	/* After this call got() will not be called. */
	void (*cancel)(struct store *, struct store_wait *);
	/* Replaces the stored entry of the same key, which is removed even where the new one cannot be stored. The
	 * store takes a reference of its own. */
	void (*put)(struct store *, struct entry *);
	void (*remove)(struct store *, const char *key, size_t len);
	/* soft: entries are marked stale from now on (seconds since the epoch) instead of removed. Returns how many
	 * responses it concerned, -1 where that is not known yet. */
	int64_t (*purge)(struct store *, enum store_purge, const char *url, size_t len, bool soft, int64_t now);
	/* WAIT: w->loop calls w->got() once every earlier removal is as permanent as the store itself, or is owed.
	 * Every process that has the store open knows the purges among them by then. DONE: all of them are done
	 * already. Lookups of this process do not find an entry whose removal is owed. */
	enum store_settling (*settle)(struct store *, struct store_wait *);
	/* purged(arg, mark) is called for each purge by another process from now on, on any thread, before store.known
	 * counts it; with mark NULL after the last one of several that came together. NULL: no other process can have
	 * the store. purged NULL: never again, once this returns. */
	void (*listen)(struct store *, void (*purged)(void *arg, const struct store_mark *), void *arg);
	/* Calls each() for the latest purges of all processes, at most some thousand, on this thread; each() asks
	 * nothing of the store. NULL: no other process can have the store, or it does not tell them. */
	void (*purges)(struct store *, void (*each)(void *arg, const struct store_mark *), void *arg);
	/* Runs a script. False: it is refused, and answered() will not be called. NULL: the store runs none. */
	bool (*call)(struct store *, struct store_call *);
	/* After this answered() will not be called. The script may run yet, or have run. */
	void (*uncall)(struct store *, struct store_call *);
	/* As for listen(). NULL where call is. */
	void (*hear)(struct store *, const struct store_ears *);
	/* The one of several stores that has the key, by its first line. NULL: it is a single store. */
	struct store *(*shard)(struct store *, const char *key, size_t len);
	void (*stats)(struct store *, struct store_stats *);
	void (*free)(struct store *);
};

/* The first member of every store. What it counts is of the store that has a key (store_of()). */
struct store {
	const struct store_ops *ops;
	/* The number of the latest purge that this process knows of. An entry whose fetch began before a purge that
	 * covers it (entry.since) is not stored; so a fetch notes this number before it begins. */
	_Atomic uint64_t known;
	_Atomic uint64_t asked;        /* how many purges this process has asked for: a fetch knows of these, too */
};

static inline struct store *store_of(struct store *store, const char *key, size_t len)
{
	return store->ops->shard ? store->ops->shard(store, key, len) : store;
}

#endif
