/* Owns the shape of every store of entries: memory, LMDB, Redis behind one table of functions.
 * Must not know: freshness, requests. Thread-safe: any worker calls. A store may lose entries whenever it likes; it
 * never gives a damaged one, nor one under another key. */
#ifndef UTFEED_PROXY_STORE_STORE_H
#define UTFEED_PROXY_STORE_STORE_H

#include <string.h>

#include "proxy/net/loop.h"
#include "proxy/store/entry.h"

enum store_result { STORE_FOUND, STORE_MISSING, STORE_WAIT };
/* one URL with all settings and variants; URLs that begin so; all */
enum store_purge { PURGE_URL, PURGE_PREFIX, PURGE_ALL };

/* A lookup or a settlement, which take their time: embedded in whoever waits. */
struct store_wait {
	struct task task;              /* the store's: delivers on the waiter's loop */
	struct loop *loop;
	/* entry: one reference, the receiver's; NULL: not there, or nothing was looked up. */
	void (*got)(struct store_wait *, struct entry *entry);
	struct entry *entry;           /* on its way */
	bool owed;                     /* of a settlement: removals are not done yet; the store goes on trying */
	void *pending;                 /* the store's own; NULL: not waiting */
};

/* entries, bytes, owed and away are as of now, the others since the start. */
struct store_stats {
	uint64_t entries, bytes, hits, misses, evictions, errors;
	uint64_t owed;                 /* removals that are not done yet */
	bool away;                     /* it cannot be reached: lookups miss, entries are dropped */
	bool shared;                   /* others fill it too: entries, bytes and evictions are not known */
};

/* Whether a purge of url means what is stored under that key. */
static inline bool store_purges(enum store_purge what, const char *url, size_t url_len, const char *key, size_t key_len)
{
	return what == PURGE_ALL || (key_len >= url_len && !memcmp(key, url, url_len) &&
	    (what == PURGE_PREFIX || (key_len > url_len && key[url_len] == '\n')));
}

struct store;
struct store_ops {
	const char *name;
	/* FOUND: *entry is one reference. WAIT: w->got() comes from w->loop, never from within. */
	enum store_result (*get)(struct store *, const char *key, size_t len, struct entry **entry,
	    struct store_wait *w);
	/* got() will not be called. */
	void (*cancel)(struct store *, struct store_wait *w);
	/* Replaces what has its key, which also ends where the entry cannot come in. Takes a reference of its own. */
	void (*put)(struct store *, struct entry *);
	void (*remove)(struct store *, const char *key, size_t len);
	/* soft: marked stale from now on (seconds since the epoch) instead of removed. Returns how many, -1 where it is
	 * not known yet. */
	int64_t (*purge)(struct store *, enum store_purge, const char *url, size_t len, bool soft, int64_t now);
	/* True: w->got() comes from w->loop once what was to be removed before is gone for good, as far as the store's
	 * own memory is, or is owed. False: it is gone already. What is owed is not found by lookups of this
	 * process. */
	bool (*settle)(struct store *, struct store_wait *w);
	void (*stats)(struct store *, struct store_stats *);
	void (*free)(struct store *);
};

/* The first member of every store. */
struct store { const struct store_ops *ops; };

/* budget: of entry->bytes in all; an entry over max_entry is not taken. NULL: out of memory. */
struct store *store_memory_new(size_t budget, size_t max_entry);
/* As its get, but neither a hit nor a miss. One reference; NULL: it is not there. */
struct entry *store_memory_peek(struct store *, const char *key, size_t len);
/* Bodies in the making count as well, all but one together up to a share of the budget: room is made for one that had
 * reserved so many bytes and wants so many. False: there is none, and nothing was done. What a body has reserved is
 * released when it ends. */
bool store_memory_reserve(struct store *, size_t had, size_t wants);
void store_memory_release(struct store *, size_t had);
/* What was MAKING becomes KEPT and counts, where that key's entry has this body and the budget has the room for both.
 * False: nothing was done. */
bool store_memory_keep_gzip(struct store *, const char *key, size_t len, struct object *body,
    const struct object *form);
/* NULL: logged why. path: a folder, made where it is missing. */
struct store *store_lmdb_new(const char *path, size_t map_bytes);
struct redis_settings {                /* texts stay the caller's, and must outlive the store */
	const char *host;              /* NULL: path counts */
	uint16_t port;
	const char *path;              /* a Unix socket */
	const char *user, *password;   /* NULL: none */
	const char *prefix;            /* of every key */
	bool tls;                      /* host, never path, must prove to be it */
	const char *ca_file;           /* whom to trust for that; NULL: the system's list */
	uint64_t timeout_ms;           /* without an answer: the server counts as away */
};
/* NULL: logged why. A server that is away is no reason: lookups miss until it is there. */
struct store *store_redis_new(const struct redis_settings *);

#endif
