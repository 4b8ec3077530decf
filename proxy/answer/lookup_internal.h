/* Owns what the files of a lookup share: lookup.c has the steps, lookup_origin.c those that ask the origin,
 * lookup_moved.c tells of feeds that have moved, lookup_again.c asks anew. Must not know: connections.
 * Invariant: only these files include it. */
#ifndef UTFEED_PROXY_ANSWER_LOOKUP_INTERNAL_H
#define UTFEED_PROXY_ANSWER_LOOKUP_INTERNAL_H

#include "proxy/answer/answer_internal.h"
#include "proxy/cache/fill.h"

/* Seconds of the monotonic clock. */
static inline int64_t lookup_steady(const struct answer *a)
{
	return (int64_t)(loop_now_ms(a->ctx->loop) / 1000);
}

/* Two readings of the wall clock in seconds: now as an entry's age is computed from it (entry_now()), wall as it
 * stands. */
struct entry_clock { int64_t now, wall; };

static inline struct entry_clock lookup_entry_clock(const struct answer *a, struct entry *e)
{
	int64_t wall = answer_now(a);

	return (struct entry_clock){ entry_now(e, wall, lookup_steady(a)), wall };
}

/* lookup.c */
/* The lines of the request that the origin would get (request_head_sent()), made when they are first needed. at NULL:
 * out of memory. */
struct slice lookup_sent(struct answer *);
/* Makes the key that of the variant which this request selects, where the response varies by names. False: out of
 * memory. */
bool lookup_set_variant(struct answer *, const char *names);
/* Goes on with this step after DONE was reached. */
void lookup_restart(struct answer *, enum lookup_step);
/* Nothing is stored for the key. */
enum lookup_step lookup_miss(struct answer *);
/* Answers with the stored response. */
enum lookup_step lookup_hit(struct answer *, struct entry *, const struct entry_clock *);
/* Whether the entry to validate is a feed that answers while its origin fails; and answering with it.
 * status: that the origin gave; 0: none. */
bool lookup_has_kept(const struct answer *);
enum lookup_step lookup_kept(struct answer *, int status);

/* lookup_moved.c */
/* How the redirects of a fetch for this request are remembered. */
struct fill_moves_params lookup_moves(const struct answer *);
/* Answers with a 308 to the new place of a feed that has moved for good, if the route says so. False: it does not. */
bool lookup_tells_move(struct answer *);

/* lookup_origin.c */
enum lookup_step lookup_step_collapse(struct answer *);
enum lookup_step lookup_step_fill(struct answer *);
/* Fetches the response anew in the background, while the client gets the stored one (RFC 5861 section 3). */
void lookup_refresh(struct answer *, struct entry *);
/* After a hit: if the entry is asked for often and about to become stale, fetches it anew once, before a request has to
 * wait for that. The fetch carries no credentials of the client that asked. */
void lookup_refresh_ahead(struct answer *, struct entry *, int64_t now);

#endif
