/* Owns how long the turns of one loop take: from the first call after the loop waited until it waits again. In the
 * meantime nobody else of that worker is served. Must not know: what is called.
 * Invariant: only the loop's thread touches it. A developer's build (LOOP_WATCHED) logs the place of each
 * function that used the processor for longer than LOOP_TELL_US, and each turn that did so in many short calls. */
#ifndef UTFEED_PROXY_NET_LOOP_TURN_H
#define UTFEED_PROXY_NET_LOOP_TURN_H

#include "proxy/base/stats.h"

enum {
	LOOP_TURN_LONG_US = 5000,
	LOOP_TURN_SPENT_US = 2000,     /* after so long whatever can wait goes on in the next turn */
	LOOP_CALL_SPENT_US = 250,      /* after so long one callback or task leaves its rest to later turns */
	LOOP_ROUND_SPENT_US = 1000     /* after so long tasks wait for the next turn */
};
#ifndef LOOP_TELL_US
#define LOOP_TELL_US LOOP_TURN_LONG_US
#endif

typedef void loop_callback(void);      /* any function */

struct loop_turn {
	bool counts;                   /* whether the turns are counted; false for loops that serve no clients */
	uint64_t began_us;             /* 0: the loop waits */
	uint64_t looked_us;            /* when the present callback first asked whether it is spent; 0: it has not */
#ifdef LOOP_WATCHED
	loop_callback *called;         /* NULL: none yet in this turn */
	/* what the thread had used of the processor by then, and when the turn began */
	uint64_t used_us, used_at_first_us;
	unsigned calls;                /* in this turn */
	bool told;                     /* one of them was too long */
#endif
};

/* The function is about to be called. */
void loop_turn_enter(struct loop_turn *, loop_callback *);
/* Whether the present turn has taken LOOP_TURN_SPENT_US; false outside of a turn. */
bool loop_turn_is_spent(const struct loop_turn *);
/* The same, or the present callback has taken LOOP_CALL_SPENT_US since it first asked. */
bool loop_turn_call_is_spent(struct loop_turn *);
/* Whether the callback that was called last has asked whether it is spent. One that does not ask is short. */
bool loop_turn_looked(const struct loop_turn *);
/* The loop is about to wait. */
void loop_turn_end(struct loop_turn *, struct stats *);

#endif
