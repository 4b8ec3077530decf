/* Owns one stored response, whole or a part of it, or the record that says which request fields its variants depend on,
 * or the mark of what may be asked for in parts; and its form as bytes.
 * Must not know: stores, requests. Invariants: immutable once made but for its count of hits, shared by references on
 * any thread; what is not whole stands under a key of parts only, where nobody looks for the whole.
 *
 * Key: URL "\n" SETTINGS, and for a variant "\n" VALUES more (vary.h); for a part or the mark of either ENTRY_PARTS
 * behind that. A key of responses ends in a digit of SETTINGS or in a line's end: the two never meet. */
#ifndef UTFEED_PROXY_STORE_ENTRY_H
#define UTFEED_PROXY_STORE_ENTRY_H

#include "proxy/base/slice.h"
#include "proxy/http/content_range.h"
#include "proxy/http/freshness.h"
#include "proxy/object/object.h"

#define ENTRY_PARTS "\nparts"
enum { ENTRY_PARTS_KNOWN_S = 24 * 3600 };      /* how long a part or a mark says that it may be asked for in parts */

struct entry {
	atomic_uint refs;
	char *key;                     /* owned; may hold any byte */
	size_t key_len;
	/* names (vary_names()): a record of variants, and the rest is empty; NULL: another kind */
	char *vary;
	/* NULL: no response. DONE and kept: body and report; unpacked, its head is the entry's */
	struct object *object;
	struct content_range part;     /* what of the whole object holds; total 0: all of it */
	struct object_head *head;      /* of the whole as clients get it, X-Encoding-Rule included */
	char *upstream;                /* the origin's head as it came: validators, and what a 304 updates */
	size_t upstream_len;
	struct freshness freshness;
	/* what it counts against a budget: all of the above, but for the body's gzip form */
	size_t bytes;
	atomic_uint hits;              /* since it was made or came out of a store of bytes */
	atomic_flag claimed;
	/* by entry_now(): how far the wall clock was ahead of the monotonic one; 0: not yet */
	_Atomic int64_t noted;
};

struct entry_parts {               /* references and strings that the new entry takes over, also on failure */
	char *vary;
	struct object *object;
	struct object_head *head;
	struct content_range part;
	char *upstream;
	size_t upstream_len;
	const struct freshness *freshness;     /* copied */
};

void entry_parts_free(struct entry_parts *);           /* what no entry took over */

/* Whether it is a key of parts. */
bool entry_key_of_parts(const char *key, size_t len);

/* One reference; the key is copied. An object that takes much more memory than it has bytes is replaced by a compact
 * copy.
 * NULL: out of memory. */
struct entry *entry_new(const char *key, size_t key_len, struct entry_parts *);
struct entry *entry_ref(struct entry *);
void entry_unref(struct entry **);
/* What an answer reads of it, for a store to remember beside the key: memory far apart, one pointer leading to the
 * next, which takes a processor as long as all the rest of a hit once the store is larger than its caches. Only hints:
 * nothing is read through them. */
struct entry_hints { const void *key, *object, *head, *head_bytes, *body; };
struct entry_hints entry_hints(const struct entry *);
/* Begins to load entry and hints into the cache, all at once; nothing is waited for. */
void entry_prefetch(const struct entry *, const struct entry_hints *);
/* What the body's gzip form takes. */
size_t entry_gzip_bytes(const struct object *form);
/* Counts an answer, up to enough of them; whether there were so many. What is hot is not written to any more: other
 * processors read it. */
bool entry_is_hot(struct entry *, unsigned enough);
/* What time it is for its age, both clocks given in seconds: the wall clock's, but for what that was set back by since
 * it was first asked about here, which its maker does. Less than FRESHNESS_AHEAD_MAX_S does not count: clocks are set
 * by as much all the time. */
int64_t entry_now(struct entry *, int64_t wall, int64_t monotonic);
/* Whether the caller is the first to ask: it may fetch the response anew while it is still fresh. */
bool entry_claim(struct entry *);
/* The same response, stale from now on (seconds since the epoch); any other kind as it is. One reference. NULL: out of
 * memory. */
struct entry *entry_expired(struct entry *, int64_t now);

/* Packed: magic, format version, checksum, lengths, then the parts; the same on every machine. *len; the caller's to
 * free().
 * NULL: out of memory. */
char *entry_pack(const struct entry *, size_t *len);
enum { ENTRY_FORMAT = 2 };
/* NULL: damaged, of another format, or out of memory. */
struct entry *entry_unpack(const char *bytes, size_t len);
/* The key of a packed entry, checked for nothing but its bounds; at NULL: there is none. */
struct slice entry_packed_key(const char *bytes, size_t len);

#endif
