/* Owns what the files of a store's thread share: the queue and the workers' side of it (store_thread.c), and the
 * thread's side (store_thread_work.c); calls of scripts (store_thread_call.c). Only they include it. */
#ifndef UTFEED_PROXY_STORE_STORE_THREAD_INTERNAL_H
#define UTFEED_PROXY_STORE_STORE_THREAD_INTERNAL_H

#include "proxy/store/store_thread.h"

/* Beyond them everything is removed instead. */
enum { STORE_OWED_MAX = 65536, STORE_OWED_BYTES_MAX = 16 << 20 };

/* NULL: out of memory */
struct store_op *store_op_new(struct store_thread *, enum store_op_type, const char *key, size_t len);
/* Whether the operation is a removal, which is owed until it is done. */
bool store_op_removes(const struct store_op *);

/* Under the lock. */
void store_queue_count_in(struct store_thread *, struct store_op *);
void store_queue_count_out(struct store_thread *, struct store_op *);
void store_queue_dequeue(struct store_thread *, struct store_op *);
/* Whether this removal is in the queue already. While the store is away no entry can come between the two, so one
 * removal is enough. */
bool store_queue_owes(const struct store_thread *, const struct store_op *);
void store_queue_enqueue(struct store_thread *, struct store_op *);
/* While everything is to be removed, no lookup, entry or call is accepted either. */
bool store_queue_refuses(const struct store_thread *);
/* Of a call: with the reply that the operation has. */
void store_queue_answer_call(struct store_op *);
/* Brings the waiter what stands in the wait. */
void store_queue_wake(struct store_thread *, struct store_wait *);
/* Takes over the reference in answer. */
void store_queue_answer(struct store_thread *, struct store_op *, struct entry *answer, bool owed);
/* Nobody waits for it any more. In the queue it would take another's place, and hold up the end of the store. */
void store_queue_cancel(struct store_thread *, struct store_op *);
/* Replaces the queue by one removal of everything, for which there is always room. The lookups in the queue, and those
 * that come before it is done, find nothing; settlements wait for it. */
void store_queue_wipe(struct store_thread *);

/* store_thread_call.c */
void store_op_call_free(struct store_op_call **);

#endif
