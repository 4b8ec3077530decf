/* Owns what the parts of answer share: lookup.c finds what a request is answered with, deliver.c makes of it what goes out.
 * outcome.c counts which of these it was. Must not know: connections. Invariant: an answer is its worker's alone. */
#ifndef UTFEED_PROXY_CACHE_LOOKUP_INTERNAL_H
#define UTFEED_PROXY_CACHE_LOOKUP_INTERNAL_H

#include "proxy/cache/context.h"
#include "proxy/cache/lookup.h"
#include "proxy/http/conditional.h"
#include "proxy/net/loop.h"

static inline int64_t answer_now(const struct answer *a)
{
	return loop_wall_ms(a->ctx->loop) / 1000;
}

/* Seconds of the clock that nobody sets. */
static inline int64_t answer_steady(const struct answer *a)
{
	return (int64_t)(loop_now_ms(a->ctx->loop) / 1000);
}

/* What of a stored response preconditions and If-Range are held against: as the client would see it. Borrowed from head. */
struct conditional_stored answer_validators(const struct answer *, const struct object_head *head);

/* outcome.c: the head goes out: counts how the request was answered, once. */
void answer_count(const struct answer *);

#endif
