/* Owns what a worker may ask, beside entries, of a store that processes share. The worker names a script, and the
 * store's server runs it at once and alone. The store also hears the other processes. Must not know: what scripts are
 * for.
 * Invariant: a call never waits for a store that is known to be away. It is refused at once, or answered within the
 * store's timeout, perhaps with nothing; a script that was not answered may have run. */
#ifndef UTFEED_PROXY_STORE_STORE_CALL_H
#define UTFEED_PROXY_STORE_STORE_CALL_H

#include "proxy/base/slice.h"
#include "proxy/net/loop.h"

/* The store has a table of them (store_redis_call.c), which says what they are given and what they answer. HEAR
 * alone does not run a script: the answer comes once the store has heard all news that others had told by then. */
enum store_script {
	SCRIPT_LEASE, SCRIPT_RELEASE, SCRIPT_TELL, SCRIPT_MEMBERS, SCRIPT_PACE, SCRIPT_HEAR, STORE_SCRIPTS
};

enum { CALL_ARGS_MAX = 12 };

/* text.at NULL: a number. */
struct store_value { struct slice text; int64_t number; };

struct entry;
struct store;
/* One block with its texts. */
struct store_reply {
	struct entry *entry;           /* that stands with the script's name; NULL: the script gives none */
	size_t n;
	struct store_value values[];
};

/* It is embedded in the structure that waits for the answer, which sets the members up to answered. */
struct store_call {
	struct task task;              /* set by the store; it delivers the answer on the caller's loop */
	struct loop *loop;
	enum store_script script;
	/* What the script's state is kept under. It chooses the server where there are many: as the key of an entry
	 * does, by its first line. Copied, as are the arguments. */
	struct slice name;
	size_t n;
	struct slice args[CALL_ARGS_MAX];
	/* NULL: nobody waits for the answer, and the structure need not outlive call(). */
	void (*answered)(struct store_call *);
	/* For answered(), which may take the entry and set it to NULL; freed behind it. NULL: the store is away now,
	 * has refused the script, or its reply is none. */
	struct store_reply *reply;
	void *pending;                 /* for the store alone, as the next two; NULL: not waiting */
	struct store *store;           /* which of several was asked */
	struct timer late;             /* limit for the answer */
};

void store_reply_free(struct store_reply **);

/* What other processes say. Both are called on the store's thread. */
struct store_ears {
	/* News of another process, that many ms old by the server's clock: each once, in their order. A process that
	 * has just come hears the latest some thousand. One that comes back hears what came since: news heard again
	 * would bring back what it has ended itself. Where the server's clock went back, some are not heard. */
	void (*news)(void *arg, struct slice topic, struct slice text, uint64_t age_ms);
	/* A message to this process. at NULL: some may have been missed. */
	void (*message)(void *arg, struct slice text);
	void *arg;
};

#endif
