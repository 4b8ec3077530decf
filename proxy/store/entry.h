/* Owns the entry, the unit of every store, and its form as bytes. An entry is one of four kinds: a whole response, a
 * part of one, an index of variants, or a mark. An index has the names of the request fields that the variants of a URL
 * depend on. A mark says that a response may be asked for in parts.
 * Must not know: stores, requests. Invariants: an entry does not change once it is made, except for its counters, and
 * any thread may share it by a reference. Parts and marks have keys of parts, so no lookup for a whole response finds
 * them.
 *
 * A key is URL "\n" SETTINGS; the key of a variant has "\n" VALUES behind that (vary.h), and the key of a part or a
 * mark has ENTRY_PARTS behind either. The key of a whole response ends in a digit of SETTINGS or in a line's end, so it
 * is never also a key of parts. */
#ifndef UTFEED_PROXY_STORE_ENTRY_H
#define UTFEED_PROXY_STORE_ENTRY_H

#include "proxy/base/slice.h"
#include "proxy/http/content_range.h"
#include "proxy/http/freshness.h"
#include "proxy/object/object.h"

#define ENTRY_PARTS "\nparts"
enum { ENTRY_PARTS_KNOWN_S = 24 * 3600 };      /* how long a part or a mark says that parts may be asked for */

/* An entry is one block of memory that holds its texts and its head as well, and a short body (OBJECT_INLAY_MAX). */
struct entry {
	struct home home;              /* entry, head and object end by themselves */
	atomic_uint refs;
	char *key;                     /* may hold any byte */
	uint32_t key_len, upstream_len;
	/* index of variants: the field names (vary_names()), and all that follows is empty; NULL: another kind */
	char *vary;
	/* body and report, DONE and kept; after entry_unpack() its head is the entry's head. NULL: no response */
	struct object *object;
	/* of an index of variants, and of each variant or part stored under it: a variant of another generation was
	 * stored before something else took the index's place */
	uint64_t generation;
	/* the purges of the store that were known when its fetch began (store.known): a later one that covers the key
	 * takes it away, however late it is stored */
	uint64_t since;
	uint64_t asked;                /* the same of this process's own purges (store.asked); not packed */
	struct content_range part;     /* the part of the response that object holds; total 0: the whole response */

	struct object_head *head;      /* of the whole response as clients get it, X-Encoding-Rule included */
	char *upstream;                /* the head as the origin sent it: it has the validators, a 304 updates it */
	struct freshness freshness;
	/* counted against a budget: all memory of the entry but the gzip form of its body */
	size_t bytes;
	atomic_uint hits;              /* since the entry was made or unpacked */
	atomic_flag claimed;
	bool whole;                    /* the body lies in the entry's block, too */
	/* set by entry_now(): how far the wall clock was ahead of the monotonic one; 0: not set yet */
	_Atomic int64_t noted;
};

struct entry_parts {               /* entry_new() takes over the references and strings, also on failure */
	char *vary;
	uint64_t generation, since;
	struct object *object;
	struct object_head *head;
	struct content_range part;
	char *upstream;
	size_t upstream_len;
	const struct freshness *freshness;     /* copied */
};

void entry_parts_free(struct entry_parts *);           /* for parts that were not given to entry_new() */

/* Whether key is a key of parts. */
bool entry_key_of_parts(const char *key, size_t len);

/* One reference; the key is copied. A short object, and one that takes much more memory than it has bytes, is replaced
 * by a compact copy. NULL: out of memory. */
struct entry *entry_new(const char *key, size_t key_len, struct entry_parts *);
struct entry *entry_ref(struct entry *);
void entry_unref(struct entry **);
/* Starts loading the entry into the processor's cache, all of it at once, and does not wait. If the store is larger
 * than that cache, loading one piece after the other takes as long as the rest of a hit. The second function loads the
 * object that lies elsewhere; it waits for the entry. */
void entry_prefetch(const struct entry *);
void entry_prefetch_object(const struct entry *);
/* The memory that the gzip form of a body takes. */
size_t entry_gzip_bytes(const struct object *form);
/* Counts an answer from the entry and returns whether there have been enough of them. The count stops there: a hot
 * entry is not written to any more, because other processors read it. */
bool entry_is_hot(struct entry *, unsigned enough);
/* The time that counts for the entry's age, from both clocks in seconds. It is the wall clock's time, plus the seconds
 * by which that clock was set back since the first call for this entry. The maker of the entry makes that call. Steps
 * up to FRESHNESS_AHEAD_MAX_S do not count, because clocks are set by that much all the time. */
int64_t entry_now(struct entry *, int64_t wall, int64_t monotonic);
/* True for the first caller only: it may fetch the response anew while the entry is still fresh. */
bool entry_claim(struct entry *);
/* The same response, stale from now on (seconds since the epoch; at once, if that is yet to come); an entry without a
 * response is returned as it is. One reference. NULL: out of memory. */
struct entry *entry_expired(struct entry *, int64_t now);

/* For how many seconds from its making the entry may be of use. A response is of use while it may be served fresh or
 * stale. One with a validator is always of use (ENTRY_ENDS_NEVER), and an index of variants as long as any of the
 * variants (ENTRY_ENDS_LAST). */
int64_t entry_ends_s(const struct entry *);
#define ENTRY_ENDS_LAST INT64_C(-1)
#define ENTRY_ENDS_NEVER INT64_MAX

/* The entry as bytes, the same on every machine; the layout stands in entry_pack.c. *len bytes, which the caller
 * free()s. NULL: out of memory. */
char *entry_pack(const struct entry *, size_t *len);
/* A change of the bytes, or of the keys and hashes that a Redis server keeps them in, makes another format. Up to 6,
 * each format had purges of its own. Entries of 7 had format 6 in a Redis server's keys of 7. */
enum { ENTRY_FORMAT = 8 };
/* NULL: the bytes are damaged or of another format, or memory ran out. */
struct entry *entry_unpack(const char *bytes, size_t len);
/* What tells a stored response from an earlier or later one of its key: bytes that stand in its packed form, too, and
 * where. */
enum { ENTRY_VERSION_BYTES = 24 };
size_t entry_version_at(size_t key_len);
void entry_version(const struct entry *, char version[static ENTRY_VERSION_BYTES]);
/* The key of a packed entry; only the key's bounds are checked. at NULL: the key is missing. */
struct slice entry_packed_key(const char *bytes, size_t len);

#endif
