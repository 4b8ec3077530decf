/* Owns telling why a policy decided as it did; see policy_explain.h.
 * Source of the words: utfeed-rules(7), "Rules" and "Steps of auto". */
#include "core/policy/policy_explain.h"

#include <string.h>

#include "core/policy/policy_bytes.h"
#include "core/policy/policy_words.h"

/* The meanings of the words of auto's path, with those of ROME. */
static void split_path(struct policy_explanation *x)
{
	const char *at = x->verdict.path;
	struct explained_step *step;
	size_t len;

	for (x->n_steps = 0; *at != '\0' && x->n_steps < EXPLAINED_STEPS; at += len + (at[len] == '/')) {
		step = &x->steps[x->n_steps++];
		len = strcspn(at, "/");
		memset(step->no, 0, sizeof step->no);
		memcpy(step->no, at, len < sizeof step->no ? len : sizeof step->no - 1);
		step->why = rule_words(x->verdict.policy, step->no, strlen(step->no));
	}
}

/* What decided instead of the text. */
static const char *find_unweighed(const struct policy_explanation *x, const struct evidence *e)
{
	const struct verdict *v = &x->verdict;

	if (v->policy != POLICY_AUTO)
		return "this policy goes by labels only";
	if (strcmp(v->path, "external") == 0)
		return "the route's charset decides";
	if (v->charset == CS_UTF_8 && !e->utf8.ascii)
		return "the bytes are UTF-8";
	switch (v->charset == CS_NONE ? FAMILY_NONE : charset_info(v->charset)->family) {
	case FAMILY_16BIT:
	case FAMILY_32BIT:
	case FAMILY_EBCDIC:
		return "the mark or the pattern of the bytes decides";
	default:
		return e->utf8.ascii ? "all held bytes are ASCII" :
		                       "nothing but signs and quotes under a label: it stands";
	}
}

/* The same order in which policy auto looks for the first reading that decodes all. */
static void find_first(struct policy_explanation *x, const struct evidence *e)
{
	const struct detection *d = &x->trace.found;
	struct decoder_trial t;
	size_t i;

	for (i = 0; i < d->n && !x->first; i++)
		if (policy_reads(e, d->readings[i].charset, &t))
			x->first = &d->readings[i];
	if (!x->first || i == d->n)
		return;
	x->next = &d->readings[i];
	x->margin = x->next->cost - x->first->cost;
}

static void try_readings(struct policy_explanation *x, const struct evidence *e)
{
	const struct traced *readings = x->trace.readings;
	struct decoder_trial t;
	size_t k;

	for (size_t i = 0; i < x->trace.n; i++) {
		for (k = 0; readings[k].reading.charset != readings[i].reading.charset; k++)
			continue;
		x->decodes[i] = k < i ? x->decodes[k] : policy_reads(e, readings[i].reading.charset, &t);
	}
}

int policy_explain(enum policy policy, const struct evidence *e, struct policy_explanation *x)
{
	struct evidence asked = *e;
	bool starved = false;

	memset(x, 0, sizeof *x);
	asked.starved = &starved;
	asked.trace = &x->trace;
	if (policy_decide(policy, &asked, &x->verdict) != 0)
		return -1;
	split_path(x);
	x->hints = e->hints;
	if (!x->trace.weighed) {
		x->unweighed = find_unweighed(x, e);
		return 0;
	}
	find_first(x, &asked);
	try_readings(x, &asked);
	x->settled = x->trace.n > 0 && x->trace.found.n > 0 &&
	    x->trace.readings[0].reading.charset != x->trace.found.readings[0].charset;
	return starved ? -1 : 0;
}
