/* What the words of a verdict's path mean; see policy_words.h. */
#include "core/policy/policy_words.h"

#include <string.h>
#include <strings.h>

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

static bool rule_has(const char *rule, const char *no)
{
	size_t len = strlen(no);

	for (const char *at = strchr(rule, ':'); at; at = strchr(at + 1, '/'))
		if (!strncmp(at + 1, no, len) && (!at[1 + len] || at[1 + len] == '/'))
			return true;
	return false;
}

static bool rule_has_any(const char *rule, const char *const words[], size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any = any || rule_has(rule, words[i]);
	return any;
}

bool rule_is_default(const char *rule)
{
	static const char *const defaults[] = { "1.0", "2.1", "lenient-default" };
	int policy = policy_lookup(rule, strcspn(rule, ":"));

	return policy >= 0 && (sets[policy] & ROME) && rule_has_any(rule, defaults, sizeof defaults / sizeof *defaults);
}

bool rule_is_mislabelled(const char *rule, const char *named, const char *was)
{
	/* the steps that no label supports */
	static const char *const text[] = { "guess", "guess+lang", "fallback" };

	if (!named || !was || !*named || !*was || !strcasecmp(named, was))
		return false;
	return !rule_is_default(rule) || !rule_has(rule, "2.1") || rule_has_any(rule, text, sizeof text / sizeof *text);
}
