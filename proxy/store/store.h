/* Owns the interface of every store of entries: memory, LMDB and Redis stand behind one table of functions.
 * Must not know: freshness, requests. Any worker may call the functions at any time. Invariant: a store may lose
 * entries whenever it likes, but it never returns a damaged entry, nor the entry of another key. */
#ifndef UTFEED_PROXY_STORE_STORE_H
#define UTFEED_PROXY_STORE_STORE_H

#include <string.h>

#include "proxy/net/loop.h"
#include "proxy/store/entry.h"

enum store_result { STORE_FOUND, STORE_MISSING, STORE_WAIT };
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
	void *pending;                 /* for the store alone; NULL: not waiting */
};

/* entries, bytes, owed and away tell the present state; the others count since the start. */
struct store_stats {
	uint64_t entries, bytes, hits, misses, evictions, errors;
	uint64_t owed;                 /* removals that are not done yet */
	bool away;                     /* the store cannot be reached: lookups miss, entries are dropped */
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
};

struct store;
struct store_ops {
	const char *name;
	/* FOUND: *entry is one reference. WAIT: w->loop will call w->got(), never before get() returns. */
	enum store_result (*get)(struct store *, const char *key, size_t len, struct entry **entry,
	    struct store_wait *w);
	/* After this call got() will not be called. */
	void (*cancel)(struct store *, struct store_wait *w);
	/* Replaces the stored entry of the same key, which is removed even where the new one cannot be stored. The
	 * store takes a reference of its own. */
	void (*put)(struct store *, struct entry *);
	void (*remove)(struct store *, const char *key, size_t len);
	/* soft: entries are marked stale from now on (seconds since the epoch) instead of removed. Returns how many
	 * responses it concerned, -1 where that is not known yet. */
	int64_t (*purge)(struct store *, enum store_purge, const char *url, size_t len, bool soft, int64_t now);
	/* True: w->loop calls w->got() once every removal that was asked for before is as permanent as the store
	 * itself, and every process that has the store open knows the purges among them, or they are owed. False: all
	 * of them are done already. Lookups of this process do not find an entry whose removal is owed. */
	bool (*settle)(struct store *, struct store_wait *w);
	/* purged(arg, mark) is called for each purge by another process from now on, on any thread, before store.known
	 * counts it; with mark NULL after the last one of several that came together. NULL: no other process can have
	 * the store. purged NULL: never again, once this returns. */
	void (*listen)(struct store *, void (*purged)(void *arg, const struct store_mark *), void *arg);
	void (*stats)(struct store *, struct store_stats *);
	void (*free)(struct store *);
};

/* The first member of every store. */
struct store {
	const struct store_ops *ops;
	/* The number of the latest purge that this process knows of. An entry whose fetch began before a purge that
	 * covers it (entry.since) is not stored; so a fetch notes this number before it begins. */
	_Atomic uint64_t known;
	_Atomic uint64_t asked;        /* how many purges this process has asked for: a fetch knows of these, too */
};

/* budget: the most that entry->bytes of all entries may come to; an entry with more than max_entry bytes is not stored.
 * NULL: out of memory. */
struct store *store_memory_new(size_t budget, size_t max_entry);
/* Like get() of the memory store, but counts neither a hit nor a miss. One reference; NULL: there is no such entry. */
struct entry *store_memory_peek(struct store *, const char *key, size_t len);
/* purge() of the memory store, by a mark: from now on no entry that it covers is found, or found fresh. The entries
 * themselves are removed by store_memory_sweep(), which any thread goes on with, some ten microseconds at a time, until
 * it is false: nothing is left to do. Returns how many responses it concerned, or -1: *number tells which purge
 * store_memory_purged() is asked about. It is true once the sweep is through; *count is how many responses it was, or
 * will have been at least (-1: not known any more). */
int64_t store_memory_purge(struct store *, enum store_purge, const char *url, size_t len, bool soft, int64_t now,
    uint32_t *number);
bool store_memory_sweep(struct store *);
bool store_memory_purged(struct store *, uint32_t number, int64_t *count);
/* Makes room for a body that is still being made and counts it against the budget: it has reserved had bytes so far and
 * wants that many in all. A single body may take the whole budget, several of them a share of it together. False: there
 * is no room, and nothing was done. The caller releases the reservation when the body ends. */
bool store_memory_reserve(struct store *, size_t had, size_t wants);
void store_memory_release(struct store *, size_t had);
/* The gzip form of a body goes from MAKING to KEPT and counts against the budget, provided that the entry of this key
 * has this body and the budget has room for both. False: nothing was done. */
bool store_memory_keep_gzip(struct store *, const char *key, size_t len, struct object *body,
    const struct object *form);
/* path: a folder, which is made where it is missing. NULL: the store cannot be used; the reason was logged. */
struct store *store_lmdb_new(const char *path, size_t map_bytes);
/* The strings belong to the caller and must outlive the store, but for user and password, which are copied. */
struct redis_settings {
	const char *host;              /* NULL: use path */
	uint16_t port;
	const char *path;              /* a Unix socket */
	const char *user, *password;   /* NULL: none */
	const char *prefix;            /* of every key */
	bool tls;                      /* with host only, never path: the server must prove that it is host */
	const char *ca_file;           /* authorities trusted for that; NULL: the system's list */
	uint64_t timeout_ms;           /* a server that does not answer for so long counts as away */
};
/* NULL: the store cannot be made; the reason was logged. A server that is away is no such reason: lookups miss until it
 * can be reached. */
struct store *store_redis_new(const struct redis_settings *);
/* Whether store_redis_new() would refuse these settings. why: the reason, and whether ca_file is to blame. */
struct store_redis_why { char text[512]; bool ca_file; };
bool store_redis_refuses(const struct redis_settings *, struct store_redis_why *);
/* Another user and password (copied; NULL: none), from the next connection on. -1: out of memory, and nothing was
 * done. */
int store_redis_login(struct store *, const char *user, const char *password) __attribute__((warn_unused_result));

#endif
