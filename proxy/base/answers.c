/* Counts of answers by labels; see answers.h. */
#include "proxy/base/answers.h"

#include <string.h>

#define LABEL_NAME(id, name) name,
const char *const answer_way_names[WAY_COUNT] = { ANSWER_WAYS(LABEL_NAME) };
const char *const answer_outcome_names[ANSWER_COUNT] = { ANSWER_OUTCOMES(LABEL_NAME) };
const char *const answer_class_names[ANSWER_CLASSES] = { "none", "1xx", "2xx", "3xx", "4xx", "5xx" };
#undef LABEL_NAME

void answers_add_rule(struct answers *a, const char *rule)
{
	unsigned n = atomic_load_explicit(&a->n_rules, memory_order_relaxed), i = 0;

	while (i < n && strcmp(a->rules[i].name, rule) != 0)
		i++;
	if (i == ANSWER_RULES)
		i--;
	else if (i == n) {
		strncpy(a->rules[i].name, i < ANSWER_RULES - 1 ? rule : "other", ANSWER_RULE_MAX - 1);
		atomic_store_explicit(&a->n_rules, n + 1, memory_order_release);
	}
	stats_count(&a->rules[i].n, 1);
}
