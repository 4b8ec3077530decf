/* What the words of a verdict's path mean; see policy_words.h. */
#include "core/policy/policy_words.h"

#include <string.h>

enum { ROME = 1 << 0, EXTENDED = 1 << 1, LENIENT = 1 << 2, AUTO = 1 << 3, FIRST = 1 << 4, RFC7303 = 1 << 5,
	FEEDPARSER = 1 << 6, FOURSUITE = 1 << 7, ENTITY = 1 << 8 };

/* A policy's own set stands before ENTITY in the table, so that its words count before those of the entity. */
static const unsigned sets[POLICY_COUNT] = {
	[POLICY_AUTO] = ROME | EXTENDED | LENIENT | AUTO,
	[POLICY_ROME_STRICT] = ROME,
	[POLICY_ROME_LENIENT] = ROME | LENIENT,
	[POLICY_ROME_2004_09_10] = FIRST,
	[POLICY_RFC7303] = RFC7303 | ENTITY,
	[POLICY_FEEDPARSER] = FEEDPARSER,
	[POLICY_FOURSUITE] = FOURSUITE | ENTITY,
	[POLICY_APPENDIX_F] = ENTITY,
};

static const struct {
	unsigned set;
	const char *no, *words;
} rules[] = {
#define RULE(set, no, words) { set, no, words },
#include "core/policy/rule_words.def"
#undef RULE
};

const char *rule_words(enum policy policy, const char *no, size_t len)
{
	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
		if ((sets[policy] & rules[i].set) && strlen(rules[i].no) == len && memcmp(rules[i].no, no, len) == 0)
			return rules[i].words;
	return NULL;
}
