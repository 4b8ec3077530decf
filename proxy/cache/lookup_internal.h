/* Owns what the parts of a lookup share: lookup.c has the steps, lookup_origin.c those that ask the origin, deliver.c
 * makes of the result what goes out, outcome.c counts which it was. Must not know: connections. Invariant: a lookup is
 * its worker's alone. */
#ifndef UTFEED_PROXY_CACHE_LOOKUP_INTERNAL_H
#define UTFEED_PROXY_CACHE_LOOKUP_INTERNAL_H

#include "proxy/cache/context.h"
#include "proxy/cache/lookup.h"
#include "proxy/http/conditional.h"
#include "proxy/net/loop.h"

static inline int64_t lookup_now(const struct lookup *l)
{
	return loop_wall_ms(l->ctx->loop) / 1000;
}

/* Seconds of the clock that nobody sets. */
static inline int64_t lookup_steady(const struct lookup *l)
{
	return (int64_t)(loop_now_ms(l->ctx->loop) / 1000);
}

/* now: by the clock that an entry's age is told by; wall: by everybody's. Seconds. */
struct entry_clock { int64_t now, wall; };

static inline struct entry_clock lookup_entry_clock(const struct lookup *l, struct entry *e)
{
	int64_t wall = lookup_now(l);

	return (struct entry_clock){ entry_now(e, wall, lookup_steady(l)), wall };
}

/* The lines of the request that the origin would get (request_head_sent()); they are made when first asked for. at
 * NULL: out of memory. */
struct slice lookup_sent(struct lookup *);
/* The stored response answers. */
enum lookup_step lookup_hit(struct lookup *, struct entry *, const struct entry_clock *);

/* lookup_origin.c */
enum lookup_step lookup_step_collapse(struct lookup *);
enum lookup_step lookup_step_fill(struct lookup *);
/* Behind the client's back: its answer is already on its way (RFC 5861 section 3). */
void lookup_refresh(struct lookup *, struct entry *);
/* A hit of what is asked for often and about to be stale: the origin is asked once, before anybody has to wait for it,
 * never in the name of the client that happened to come by. */
void lookup_refresh_ahead(struct lookup *, struct entry *, int64_t now);

/* deliver.c */
/* What of a stored response preconditions and If-Range are held against: as the client would see it. Borrowed from
 * head. */
struct conditional_stored lookup_validators(const struct lookup *, const struct object_head *head);

/* outcome.c: the head goes out: counts how the request was answered, once. */
void lookup_count(const struct lookup *);
/* Where the way has come to rest, to the log. */
void lookup_tell(const struct lookup *);

#endif
