/* Owns what the words of a verdict's path mean, in words for people (rule_words.def).
 * Must not know: how a policy came to them. Every word of every policy is there: tests/check-manuals.sh holds the table
 * against the policies' sources. */
#ifndef UTFEED_CORE_POLICY_POLICY_WORDS_H
#define UTFEED_CORE_POLICY_POLICY_WORDS_H

#include "core/policy/policy.h"

/* The meaning of one word of a path, "2.5" or "decl", under that policy; NULL: the policy has no such word. */
const char *rule_words(enum policy, const char *no, size_t len);

/* Whether the published part of a rule, "auto:2.1/utf8", is a default: the server named no charset. */
bool rule_is_default(const char *rule);
/* Whether the labels of a feed are wrong. named, was: those of its verdict; NULL or "": none. Without a label XML is
 * UTF-8. text/xml without a charset is us-ascii only by old rules. So there the labels are wrong only if the bytes are
 * neither UTF-8 nor what is declared. */
bool rule_is_mislabelled(const char *rule, const char *named, const char *was);

#endif
