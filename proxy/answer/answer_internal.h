/* Owns what the files of an answer share. The states of an answer are in answer.c, and dispatch.c decides its kind. The
 * way through the cache is in lookup.c and its parts. When the head goes out, deliver.c makes the last choices, and
 * outcome.c counts the result. Must not know: connections. Invariant: an answer belongs to its worker alone. */
#ifndef UTFEED_PROXY_ANSWER_ANSWER_INTERNAL_H
#define UTFEED_PROXY_ANSWER_ANSWER_INTERNAL_H

#include "proxy/answer/answer.h"
#include "proxy/answer/context.h"
#include "proxy/http/cors.h"
#include "proxy/net/loop.h"

static inline int64_t answer_now(const struct answer *a)
{
	return loop_wall_ms(a->ctx->loop) / 1000;
}

/* The origins of the web pages that may read the response; NULL: none may, or the client knows the origin itself. */
static inline cors_origins answer_cors(const struct answer *a)
{
	bool ours = a->target.mode != TARGET_FORWARD && a->target.route->cors_allow[0];

	return ours ? a->target.route->cors_allow : NULL;
}

/* answer.c */
/* The one way from state to state. */
void answer_enter(struct answer *, enum answer_state);
/* The answer has what it waited for, and becomes READY. */
void answer_came(struct answer *);
/* Its head goes out. */
void answer_begin(struct answer *);
/* Says that the kept feed answers. fwd_status: what the origin said; 0: nothing, or it was not asked. */
void answer_set_kept(struct answer *, int fwd_status);

/* dispatch.c. Decides the kind: afterwards the answer has its object, waits for it, or has none (out of memory). */
void dispatch(struct answer *, const struct answer_asked *);

/* deliver.c. The validators that preconditions and If-Range are compared with: those of the stored response as the
 * client would see it. Borrowed from head. */
struct conditional_stored answer_validators(const struct answer *, const struct object_head *head);

/* outcome.c. Counts how the request was answered; called once, when its head goes out. */
void answer_count(const struct answer *);

#endif
