/* Counts of answers by labels; see answers.h. */
#include "proxy/base/answers.h"

#include <string.h>

#define LABEL_NAME(id, name) name,
const char *const answer_way_names[WAY_COUNT] = { ANSWER_WAYS(LABEL_NAME) };
const char *const answer_outcome_names[ANSWER_COUNT] = { ANSWER_OUTCOMES(LABEL_NAME) };
const char *const answer_class_names[ANSWER_CLASSES] = { "none", "1xx", "2xx", "3xx", "4xx", "5xx" };
#undef LABEL_NAME

/* The place of a rule. When all places are taken, it is the last one. */
static struct answer_rule *answers_rule(struct answers *answers, const char rule[ANSWER_RULE_MAX])
{
	unsigned n = atomic_load_explicit(&answers->n_rules, memory_order_relaxed), i = 0;

	while (i < n && strcmp(answers->rules[i].name, rule) != 0)
		i++;
	if (i == ANSWER_RULES)
		i--;
	else if (i == n) {
		strcpy(answers->rules[i].name, i < ANSWER_RULES - 1 ? rule : "other");
		atomic_store_explicit(&answers->n_rules, n + 1, memory_order_release);
	}
	return &answers->rules[i];
}

/* A path is a few words of a published table, so that its first letters tell most of them apart. */
static struct answer_known *answers_known(struct answers *answers, const struct verdict *v)
{
	uint64_t words[2];

	memcpy(words, v->path, sizeof words);
	words[0] += words[1] * 31 + (uint64_t)v->policy * 7 + v->kind;
	return &answers->known[words[0] * UINT64_C(0x9E3779B97F4A7C15) >> (64 - ANSWER_KNOWN_BITS)];
}

void answers_add_verdict(struct answers *answers, const struct verdict *v)
{
	struct answer_known *known = answers_known(answers, v);
	char rule[ANSWER_RULE_MAX];

	if (!known->rule || known->kind != v->kind || known->policy != v->policy ||
	    memcmp(known->path, v->path, sizeof known->path) != 0) {
		verdict_rule(v, rule, sizeof rule);
		known->rule = answers_rule(answers, rule);
		known->kind = v->kind;
		known->policy = v->policy;
		memcpy(known->path, v->path, sizeof known->path);
	}
	stats_count(&known->rule->n, 1);
	if (v->charset != CS_NONE)
		stats_count(&answers->charsets[v->charset], 1);
}
