/* Owns the thread that compares passwords with their hashes, and the queue before it. Clients of all workers wait for
 * it; it has a lock of its own.
 * Must not know: users, requests, what an answer is for.
 * Invariant: the queue is bounded; one password for one hash is compared once at a time, whoever asks; what nobody
 * waits for any more is not begun. A password is overwritten once it was compared. Askers take turns. An
 * asker with one place in the queue keeps it. One without gets a place, unless the queue is full of askers with one. */
#ifndef UTFEED_PROXY_NET_VERIFIER_H
#define UTFEED_PROXY_NET_VERIFIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct loop;
struct task;
struct verifier;
struct verifier_job;

enum verifier_answer { VERIFIER_WAITS, VERIFIER_RIGHT, VERIFIER_WRONG, VERIFIER_FULL, VERIFIER_NO_MEMORY };

/* A client that waits. Then task runs in loop. */
struct verifier_waiter {
	LIST_ENTRY(verifier_waiter) link;
	struct loop *loop;
	struct task *task;
	struct verifier_job *job;      /* waited for; NULL: not waiting. The lock of the verifier guards both */
	enum verifier_answer answer;
};

/* key: what tells this question from all others. asker: whose place it takes. password: as password_is() has it. */
struct verifier_question {
	uint64_t key[2], asker;
	const char *hash, *password;
	size_t password_len;
};

struct verifier *verifier_new(size_t cap);     /* of the queue; NULL: out of memory */
void verifier_free(struct verifier **);        /* nobody waits any more */

/* Waits with those who asked the same already. False: nobody has. */
bool verifier_join(struct verifier *, const struct verifier_question *, struct verifier_waiter *);

/* WAITS: verifier_leave() must be called before the waiter is freed. FULL, NO_MEMORY: it does not wait. */
enum verifier_answer verifier_ask(struct verifier *, const struct verifier_question *, struct verifier_waiter *);
void verifier_leave(struct verifier *, struct verifier_waiter *);
/* RIGHT, WRONG, FULL (others have its place now), or WAITS as long as it waits. */
enum verifier_answer verifier_told(struct verifier *, const struct verifier_waiter *);

#endif
