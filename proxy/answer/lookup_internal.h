/* Owns what the files of a lookup share: lookup.c has the steps, lookup_origin.c those that ask the origin, deliver.c
 * makes the last choices when the head goes out, outcome.c counts the result. Must not know: connections. Invariant: a
 * lookup belongs to its worker alone. */
#ifndef UTFEED_PROXY_ANSWER_LOOKUP_INTERNAL_H
#define UTFEED_PROXY_ANSWER_LOOKUP_INTERNAL_H

#include "proxy/answer/context.h"
#include "proxy/answer/lookup.h"
#include "proxy/cache/fill.h"
#include "proxy/http/conditional.h"
#include "proxy/net/loop.h"

static inline int64_t lookup_now(const struct lookup *l)
{
	return loop_wall_ms(l->ctx->loop) / 1000;
}

/* Seconds of the monotonic clock. */
static inline int64_t lookup_steady(const struct lookup *l)
{
	return (int64_t)(loop_now_ms(l->ctx->loop) / 1000);
}

/* Two readings of the wall clock in seconds: now as an entry's age is computed from it (entry_now()), wall as it
 * stands. */
struct entry_clock { int64_t now, wall; };

static inline struct entry_clock lookup_entry_clock(const struct lookup *l, struct entry *e)
{
	int64_t wall = lookup_now(l);

	return (struct entry_clock){ entry_now(e, wall, lookup_steady(l)), wall };
}

/* The lines of the request that the origin would get (request_head_sent()), made when they are first needed. at NULL:
 * out of memory. */
struct slice lookup_sent(struct lookup *);
/* How the redirects of a fetch for this request are remembered. */
struct fill_moves_params lookup_moves(const struct lookup *);
/* Answers with a 308 to the new place of a feed that has moved for good, if the route says so. False: it does not. */
bool lookup_tells_move(struct lookup *);
/* Answers with the stored response. */
enum lookup_step lookup_hit(struct lookup *, struct entry *, const struct entry_clock *);

/* Whether the entry to validate is a feed that answers while its origin fails; and answering with it.
 * status: that the origin gave; 0: none. */
bool lookup_has_kept(const struct lookup *);
enum lookup_step lookup_kept(struct lookup *, int status);
/* Says that the kept feed answers. fwd_status: what the origin said; 0: nothing, or it was not asked. */
void lookup_set_kept(struct lookup *, int fwd_status);

/* lookup_origin.c */
enum lookup_step lookup_step_collapse(struct lookup *);
enum lookup_step lookup_step_fill(struct lookup *);
/* Fetches the response anew in the background, while the client gets the stored one (RFC 5861 section 3). */
void lookup_refresh(struct lookup *, struct entry *);
/* After a hit: if the entry is asked for often and about to become stale, fetches it anew once, before a request has to
 * wait for that. The fetch carries no credentials of the client that asked. */
void lookup_refresh_ahead(struct lookup *, struct entry *, int64_t now);

/* deliver.c */
/* The validators that preconditions and If-Range are compared with: those of the stored response as the client would
 * see it. Borrowed from head. */
struct conditional_stored lookup_validators(const struct lookup *, const struct object_head *head);

/* outcome.c. Counts how the request was answered; called once, when its head goes out. */
void lookup_count(const struct lookup *);
/* Logs the outcome, or that the lookup waits. */
void lookup_tell(const struct lookup *);

#endif
