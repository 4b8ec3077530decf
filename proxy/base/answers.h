/* Owns the counts of answers by labels from closed sets: how the request came in, what the cache did, the class of the
 * status, the rule that decided on an encoding, the charset.
 * Must not know: requests. Invariants: one writer per set; no label comes from a peer, and their number is bounded. */
#ifndef UTFEED_PROXY_BASE_ANSWERS_H
#define UTFEED_PROXY_BASE_ANSWERS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/policy/policy.h"

#define ANSWER_WAYS(X) \
	X(NONE, "none") X(ROUTE, "route") X(GATEWAY, "gateway") X(FORWARD, "forward") X(CONNECT, "connect")
#define ANSWER_OUTCOMES(X) \
	X(NONE, "none") X(HIT, "hit") X(STALE, "stale") X(REVALIDATED, "revalidated") X(COLLAPSED, "collapsed") \
	X(MISS, "miss") X(BYPASS, "bypass")

enum answer_way {
#define WAY_ID(id, name) WAY_##id,
	ANSWER_WAYS(WAY_ID)
#undef WAY_ID
	WAY_COUNT
};

enum answer_outcome {
#define OUTCOME_ID(id, name) ANSWER_##id,
	ANSWER_OUTCOMES(OUTCOME_ID)
#undef OUTCOME_ID
	ANSWER_COUNT
};

/* The first digit of a status; 0: the client got no status. */
enum { ANSWER_CLASSES = 6 };
/* Rules behind the last place are counted as one, "other". */
enum { ANSWER_RULES = 256, ANSWER_RULE_MAX = 80 };

struct answer_rule {
	char name[ANSWER_RULE_MAX]; /* written before n_rules counts it, and never again */
	_Atomic uint64_t n;
};

/* Where the rule of a verdict is counted, so that its text is not made and looked up for every answer. */
enum { ANSWER_KNOWN_BITS = 5 };
struct answer_known {
	struct answer_rule *rule; /* NULL: nothing is known in this place */
	enum verdict_kind kind;
	enum policy policy;
	char path[sizeof((struct verdict *)0)->path];
};

struct answers {
	_Atomic uint64_t by[WAY_COUNT][ANSWER_COUNT][ANSWER_CLASSES];
	_Atomic uint64_t charsets[CS_COUNT];
	atomic_uint n_rules;
	struct answer_rule rules[ANSWER_RULES];
	struct answer_known known[1 << ANSWER_KNOWN_BITS]; /* for the writer alone */
};

/* Adds to a number that this thread alone writes. */
static inline void stats_count(_Atomic uint64_t *value, uint64_t n)
{
	atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline uint64_t stats_get(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static inline void answers_add(struct answers *answers, enum answer_way way, enum answer_outcome outcome, int status)
{
	stats_count(&answers->by[way][outcome][status >= 100 && status < 600 ? status / 100 : 0], 1);
}

/* Adds the verdict's rule and charset. */
void answers_add_verdict(struct answers *, const struct verdict *);

extern const char *const answer_way_names[WAY_COUNT];
extern const char *const answer_outcome_names[ANSWER_COUNT];
extern const char *const answer_class_names[ANSWER_CLASSES];

#endif
