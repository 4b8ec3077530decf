/* Owns what the words of a verdict's path mean, in words for people (rule_words.def).
 * Must not know: how a policy came to them. Every word of every policy is there: tests/check-manuals.sh holds the table
 * against the policies' sources. */
#ifndef UTFEED_CORE_POLICY_POLICY_WORDS_H
#define UTFEED_CORE_POLICY_POLICY_WORDS_H

#include "core/policy/policy.h"

/* The meaning of one word of a path, "2.5" or "decl", under that policy; NULL: the policy has no such word. */
const char *rule_words(enum policy, const char *no, size_t len);

#endif
