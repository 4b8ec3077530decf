/* Owns the world of test_client.c: loop, pool, cache and connections, all real; the far end of each connection, which is a plain
 * descriptor; answers that a row makes; and rows, whose steps are taken one after another.
 * Must not know: which rows there are, origins. Invariant: no step waits for a time to pass but for something to happen, and what never
 * happens fails the row and does not hang it. */
#ifndef UTFEED_TESTS_CLIENT_WORLD_H
#define UTFEED_TESTS_CLIENT_WORLD_H

#include <netinet/in.h>

#include "proxy/client/client_internal.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum {
	WORLD_FARS = 4, WORLD_MADE = 4, WORLD_STEPS = 14, WORLD_TRACE = 256, WORLD_HEARD = 64 * 1024,
	WORLD_LONG = 15000                     /* more than the least buffers of two sockets hold, and little enough to be gathered */
};

/* Of enum client_state, and what may follow each, itself where that is said again (client.h). */
extern const char *const world_names[CL_CLOSED + 1], *const world_follow[CL_CLOSED + 1];
extern unsigned world_walked[CL_CLOSED + 1];   /* bits of the states that followed in any row so far */

/* The far end of a connection, and what is seen of the near one. */
struct far {
	int fd, near;                          /* fd -1: closed; near: the client's own, to see whether something has come */
	uint64_t id;                           /* of the client's connection; 0: none was seen yet, or the far end is an origin's */
	enum client_state state;
	enum { GOES_ON, ENDED_ORDERLY, ENDED_BY_RESET } end;
	size_t trace_len, heard_len, at;       /* at: where what was listened for last ends */
	char trace[WORLD_TRACE], heard[WORLD_HEARD];
};

/* An answer in the making, and the body of the request that it is for. */
struct made {
	struct object *object, *body;
	struct object_writer writer;
	struct object_reader reader;           /* of the body */
	bool let_go;                           /* its last reader left before the end */
};

extern struct world {
	struct loop *loop;
	struct resolver *resolver;
	struct backoff *backoff;
	struct settings *settings;
	struct cache *cache;
	struct client_pool *pool;
	struct store slow;
	struct store_wait *wait;               /* of a lookup that asks the slow store */
	int listener, silent;                  /* silent: the name server's, which answers nobody */
	struct sockaddr_in address;            /* of what was bound last */
	bool small, refuses;                   /* as in struct row */
	unsigned changed;                      /* how often the pool said so */
	struct far fars[WORLD_FARS];
	struct made made[WORLD_MADE];
	size_t n_fars, n_made, answered;
} world;

/* ---- rows ---- */

enum op {
	OVER,                                  /* nothing follows */
	SAYS, SHUTS, LEAVES, RESETS,           /* what the far end does; SHUTS: it will say no more */
	HEARS,                                 /* the far end: text, somewhere behind what it heard before */
	ENDED, IS_RESET,                       /* it sees that, and hears nothing but text before; NULL: anything */
	COMES_TO, HAS_BEEN, KNOWS_END, IS_GONE,        /* the client: in the state; that no more will be said; its memory is given back */
	FETCHES, COUNTS,                       /* n answers were asked for; counter n stands at one */
	ANSWERS, ANSWERS_LONG, INTERIM,
	BEGINS, BODY, DONE, FAILS,             /* n: the length that the head tells; -1: none */
	UPLOADED, UPLOAD_CUT, LET_GO,          /* the body of the answer's request has come so; nobody waits for the answer any more */
	STORE_MISSES,
	LEAVE, DRAIN, POOL_ENDS                /* what the pool is told */
};

struct step { enum op op; const char *text; int n; };

struct row {
	const char *rule, *options;            /* of world_open() */
	size_t answers;                        /* asked for */
	const char *states;                    /* a blank behind each */
	struct step steps[WORLD_STEPS];        /* at least the last one is OVER */
	/* SMALL: sockets have the least buffers; SECOND: a second store is asked; REFUSES: there is no memory for answers; EARLY: the first
	 * step is said before the pool gets the connection */
	enum { PLAIN, SMALL, SECOND, REFUSES, EARLY } with;
};

/* options: of `utfeed serve`, a blank between them; NULL: none. */
void world_open(const char *options, bool asks_second);
/* Who has not left leaves, every client's memory comes back, and every answer is let go of. */
void world_close(const char *rule);
int world_bound(int type);                     /* a socket on the loopback, its address in world.address */
/* A new connection, whose near end is the pool's; says: what is there before the pool gets it; NULL: nothing. */
struct far *world_come(const char *says);
bool world_has_come(int fd);                   /* there is something to read, or to accept */
void world_play(const char *rule, struct far *, const struct step *);
#define PLAY(rule, far, ...) world_play(rule, far, (const struct step[WORLD_STEPS]){ __VA_ARGS__ })
void world_run(const struct row *, size_t n);

#endif
