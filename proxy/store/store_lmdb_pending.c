/* Writes on their way to the file; see store_lmdb_internal.h. Invariant: a lookup sees every write that was asked for
 * before it, whether or not the file has it already. Of an entry that a purge may cover it sees nothing. */
#include "proxy/store/store_lmdb_internal.h"

#include <string.h>

#include "proxy/base/hash.h"

/* The hash of a key's URL, which ends at the first line's end. */
static uint64_t pending_hash(const char *key, size_t len)
{
	const char *end = len ? memchr(key, '\n', len) : NULL;

	return hash_xx64(key, end ? (size_t)(end - key) : len);
}

void pending_add(struct lmdb_pending *pending, struct store_op *op)
{
	bool wide = op->type == OP_PURGE && op->what != PURGE_URL;

	op->number = ++pending->number;
	LIST_INSERT_HEAD(wide ? &pending->wide : &pending->urls[pending_hash(op->key, op->len) % PENDING_BUCKETS], op,
	    near);
}

void pending_remove(struct store_op *op)
{
	LIST_REMOVE(op, near);
}

static bool pending_means(const struct store_op *op, const char *key, size_t len)
{
	if (op->type == OP_SETTLE)
		return false;
	if (op->type == OP_PURGE)
		return store_purges(op->what, op->key, op->len, key, len);
	return op->len == len && !memcmp(op->key, key, len);
}

static void pending_purge_list(struct lmdb_near *list, const struct store_mark *mark)
{
	struct store_op *op;

	LIST_FOREACH(op, list, near)
		op->late |= op->type == OP_PUT && op->entry->since < mark->number &&
		    store_purges(mark->what, mark->url, mark->len, op->key, op->len);
}

void pending_purge(struct lmdb_pending *pending, const struct store_mark *mark)
{
	if (mark->what == PURGE_URL) {
		pending_purge_list(&pending->urls[hash_xx64(mark->url, mark->len) % PENDING_BUCKETS], mark);
		return;
	}
	for (size_t i = 0; i < PENDING_BUCKETS; i++)
		pending_purge_list(&pending->urls[i], mark);
}

struct entry *lmdb_stale(struct entry *e, int64_t since)
{
	struct entry *stale = since && e ? entry_expired(e, since) : NULL;

	if (!since)
		return e;
	entry_unref(&e);
	return stale;
}

enum pending_answer pending_get(const struct lmdb_pending *pending, const char *key, size_t len, struct entry **entry,
    int64_t *stale)
{
	const struct store_op *near = LIST_FIRST(&pending->urls[pending_hash(key, len) % PENDING_BUCKETS]),
	                      *wide = LIST_FIRST(&pending->wide), *op;

	*stale = 0;
	while (near || wide) {
		if (!wide || (near && near->number > wide->number)) {
			op = near;
			near = LIST_NEXT(near, near);
		} else {
			op = wide;
			wide = LIST_NEXT(wide, near);
		}
		if (!pending_means(op, key, len))
			continue;
		if (op->type == OP_PURGE && op->soft) {
			*stale = *stale ? *stale : op->now;
			continue;
		}
		*entry = op->type == OP_PUT && !op->late ? lmdb_stale(entry_ref(op->entry), *stale) : NULL;
		return *entry ? PENDING_FOUND : PENDING_GONE;
	}
	return PENDING_UNKNOWN;
}
