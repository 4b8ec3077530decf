/* Owns one process's part in choosing the process that asks the origin for a response. One process of the fleet holds
 * the lease, and the others wait for what it stores. Must not know: fetches, entries' meaning.
 * Invariants: the asker gets one answer, or a refusal at once. A lease waits for one owner as long as leases
 * last, and once more if the lease passes to another owner meanwhile; never longer. Whatever the store did with what it
 * was asked, an ended lease is released there, or ends by itself. Everything but fleet_wake() belongs to the thread of
 * its loop. Memory is the asker's, so there are as many leases as fetches. */
#ifndef UTFEED_PROXY_FLEET_LEASE_H
#define UTFEED_PROXY_FLEET_LEASE_H

#include <sys/queue.h>

#include "proxy/fleet/fleet.h"
#include "proxy/net/loop.h"
#include "proxy/store/store.h"

enum fleet_answer {
	LEASE_MINE,                    /* this process asks the origin */
	LEASE_STORED,                  /* another version of the response is stored */
	LEASE_PRIVATE,                 /* the responses are each client's own: nobody waits */
	LEASE_NONE                     /* the fleet cannot tell now, or the wait was too long */
};
/* The outcome of a lease, for the processes that wait. */
enum fleet_came { CAME_NOTHING, CAME_STORED, CAME_PRIVATE };
enum fleet_lease_state { LEASE_UNUSED, LEASE_ASKING, LEASE_WAITING, LEASE_TOLD };

/* Embedded in the structure of the asker, and all zero at first. */
struct fleet_lease {
	/* set before fleet_lease_ask() */
	struct loop *loop;
	struct slice key;              /* of the response; outlives the lease */
	/* how long it lasts, and so how long one owner is waited for; 0: none is asked for */
	uint64_t lasts_ms;
	uint64_t private_ms;           /* how long CAME_PRIVATE holds */
	/* entry: one reference for the receiver, with STORED; else NULL. The lease may be freed within it. */
	void (*told)(struct fleet_lease *, enum fleet_answer, struct entry *entry);
	/* lease.c alone */
	enum fleet_lease_state state;
	struct fleet *fleet;
	LIST_ENTRY(fleet_lease) link;  /* guarded by the fleet's lock */
	struct task woken;
	struct timer timer;
	struct store_call call;
	uint64_t number, by, until_ms;
	/* The number in the message that wakes it, a hash of the key. The store remembers one waiting lease for each
	 * process, so all leases of a process that wait for a key have the same. */
	uint64_t message;
	bool owed;                     /* the store may hold it for this process */
	bool anyhow;                   /* no stored response counts as an answer */
	bool again;                    /* woken while it asked */
	bool renewed;                  /* it waits for a second owner */
	bool held;                     /* told MINE, and not ended yet */
	char known[ENTRY_VERSION_BYTES];
	size_t known_len;
};

/* known: the response that is known here; NULL: none. anyhow: no stored response counts as an answer.
 * False: NONE, at once. fleet NULL: there is none. */
bool fleet_lease_ask(struct fleet_lease *, struct fleet *, const struct entry *known, bool anyhow);
/* Whether it has waited for another process. */
bool fleet_lease_waited(const struct fleet_lease *);
/* The asker is done. It may be called twice, and of a lease that was never asked for. told() is not called
 * afterwards. */
void fleet_lease_end(struct fleet_lease *, enum fleet_came);

#endif
