/* What every way of showing a report asks of it; see check_report.h. */
#include "proxy/report/check_report.h"

#include <stdio.h>
#include <string.h>

#include "core/policy/policy_words.h"

const char *check_published(const struct verdict *v)
{
	return v->extended ? v->was : v->named;
}

bool check_agrees(const struct verdict *a, const struct verdict *b)
{
	return a->kind == b->kind && a->charset == b->charset && (a->kind == VERDICT_CHARSET || a->error == b->error);
}

enum policy check_leader(const struct check_report *r, enum policy policy)
{
	enum policy i = (enum policy)0;

	while (i != policy && !check_agrees(&r->verdicts[i], &r->verdicts[policy]))
		i = (enum policy)(i + 1);
	return i;
}

bool check_next_step(const struct verdict *v, const char **at, struct check_step *step)
{
	size_t len = strcspn(*at, "/");

	if (len == 0)
		return false;
	snprintf(step->no, sizeof step->no, "%.*s", (int)len, *at);
	step->words = rule_words(v->policy, *at, len);
	*at += len + ((*at)[len] == '/');
	return true;
}
