/* Owns the question whether every worker's loop still turns, for the service manager's watchdog. Must not know: what a
 * worker does.
 * Invariant: the manager hears WATCHDOG=1 only where each loop has turned since it heard the last one: of a loop that
 * is stuck it hears by silence. */
#ifndef UTFEED_PROXY_SERVER_WATCHDOG_H
#define UTFEED_PROXY_SERVER_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct notify;
struct worker;

struct watchdog {
	uint64_t every_ms;             /* 0: nobody waits for it */
	uint64_t due_ms;               /* when the loops are looked at next */
	unsigned *turns;               /* those of each worker when it was asked last */
	bool stuck;                    /* and this was logged */
};

/* Workers run already. -1: out of memory (logged). */
int watchdog_start(struct watchdog *, const struct notify *, struct worker **, size_t n, uint64_t now_ms)
    __attribute__((warn_unused_result));
/* Looks, where the time has come, and tells the manager. */
void watchdog_look(struct watchdog *, const struct notify *, struct worker **, size_t n, uint64_t now_ms);
void watchdog_end(struct watchdog *);

#endif
