/* Owns the table of permanent redirects (301, 308) that utfeed remembers, so that it does not ask the old places again.
 * One table for all workers, under a lock of its own.
 * Must not know: fetches, which redirects may be remembered, routes. A scope stands for route, rights, policy and the
 * client's fields that go along: what was learned in one scope is not found in another.
 * Bounded: MOVES_BYTES_MAX in all; the redirect that was used least recently is forgotten first. Invariant: a redirect
 * is found only in its scope, under the settings under which it was learned, for a request that sends the fields of its
 * Vary alike, and until its time is over. Source: RFC 9110 section 15.4, RFC 9111. */
#ifndef UTFEED_PROXY_CACHE_MOVES_H
#define UTFEED_PROXY_CACHE_MOVES_H

#include "proxy/base/slice.h"
#include "proxy/http/freshness.h"
#include "proxy/store/store.h"

enum { MOVES_BYTES_MAX = 4 * 1024 * 1024, MOVES_ONE_MAX = 16 * 1024 };

struct moves;

/* Both clocks: a redirect is as old as the one says that counts more, wherever the other was set to. */
struct moves_clock { uint64_t steady_ms; int64_t wall_s; };

/* Who asks. */
struct moves_scope {
	uint64_t hash;
	unsigned generation;           /* of the settings: allow, deny and limits may be others after a reload */
	struct slice sent;             /* the request's lines for origins (request_head_sent()) */
};

/* A redirect to remember. */
struct move_learned {
	const char *url, *to;
	int status;
	uint32_t valid_s;              /* how long; 0: it is forgotten */
	struct freshness freshness;
	struct slice vary;             /* names as vary_names() writes them; at NULL: it does not vary */
	unsigned purges;               /* moves_purges() when the fetch began */
};

/* A redirect that was found, with memory of its own (move_free()). */
struct move {
	int status;
	char *to;
	char *vary;                    /* NULL: it does not vary */
	struct freshness freshness;    /* its response_time by the time of day as it is now */
};

struct moves *moves_new(void);         /* NULL: out of memory */
void moves_free(struct moves **);
/* Whether nothing is remembered. Costs no lock. */
bool moves_is_idle(const struct moves *);
/* How many redirects are remembered. */
size_t moves_count(const struct moves *);
/* How many purges there were. A redirect that was asked for before one is not learned after it. */
unsigned moves_purges(const struct moves *);

/* Does nothing if memory runs out. */
void moves_learn(struct moves *, const struct moves_scope *, const struct move_learned *, const struct moves_clock *);
bool moves_find(struct moves *, const struct moves_scope *, const char *url, const struct moves_clock *, struct move *);
void move_free(struct move *);

enum move_event {
	MOVE_GONE,                     /* the URL does not lead elsewhere for ever any more */
	MOVE_SERVED,                   /* the place to which it leads has served a feed */
	MOVE_FAILED                    /* the place has failed: the URL is asked again */
};
void moves_note(struct moves *, const struct moves_scope *, const char *url, enum move_event);
/* Whether clients get to know the redirect: it was seen first at least so long ago, and its place has served. *to is
 * then as in moves_find(). */
bool moves_told(struct moves *, const struct moves_scope *, const char *url, uint64_t after_ms,
    const struct moves_clock *, struct move *to);
/* Forgets the redirects of the URLs that a purge covers. */
void moves_purge(struct moves *, enum store_purge, const char *url, size_t len);

#endif
