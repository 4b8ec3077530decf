/* Owns the leaves of one authority: made when first asked for, by a thread of their own, and kept in memory alone; of
 * more than its cap the one asked for least recently leaves. All workers share it; it has a lock of its own.
 * Must not know: which hosts are wanted, connections. Invariant: a leaf is made at most once at a time, whoever asks;
 * one that nobody waits for any more is not begun, so that clients that come and go make no queue. */
#ifndef UTFEED_PROXY_NET_LEAVES_H
#define UTFEED_PROXY_NET_LEAVES_H

#include <stdint.h>
#include <sys/queue.h>

#include "proxy/net/ca.h"

struct leaf_entry;
struct leaves;
struct loop;
struct task;

/* A client that waits for a leaf. Then task runs in loop, and leaf is one reference, or NULL: none could be made. */
struct leaf_waiter {
	LIST_ENTRY(leaf_waiter) link;
	struct loop *loop;
	struct task *task;
	struct leaf *leaf;
	struct leaf_entry *entry;      /* waited for; NULL: not waiting. The lock of the leaves guards it */
};

struct leaves *leaves_new(struct ca *, size_t cap);    /* takes a reference; NULL: out of memory */
void leaves_free(struct leaves **);                    /* nobody waits any more */

enum leaves_answer { LEAVES_THERE, LEAVES_WAIT, LEAVES_NO_MEMORY };

/* The leaf for a name (lower case) or address, by a key of that kind. THERE: waiter->leaf is one reference. WAIT: it is
 * being made, and leaves_cancel() must be called before w is freed. */
enum leaves_answer leaves_get(struct leaves *, const char *name, enum ca_kind, int64_t now_s,
    struct leaf_waiter *waiter);
void leaves_cancel(struct leaves *, struct leaf_waiter *);
/* Whether the waiter waits no more: its leaf is there, or could not be made. */
bool leaves_told(struct leaves *, const struct leaf_waiter *);

#endif
