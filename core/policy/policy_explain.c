/* Owns telling why a policy decided as it did; see policy_explain.h.
 * Source of the words: utfeed-rules(7), "Rules" and "Steps of auto". */
#include "core/policy/policy_explain.h"

#include <string.h>

#include "core/policy/policy_bytes.h"

/* What the words of auto's path mean; those of ROME are in it. */
static const struct {
	const char *no, *why;
} whys[] = {
	{ "1.0", "neither a mark nor a declared encoding to be read: utf-8" },
	{ "1.1", "16 bits without a mark, UTF-16 declared: the order of the first bytes" },
	{ "1.2", "no mark: the declared encoding" },
	{ "1.2+", "UCS-4 or EBCDIC by the first bytes: the declared encoding where it fits them" },
	{ "1.3", "a mark of UTF-8, but 16 bits by the first bytes: an error" },
	{ "1.4", "a mark of UTF-8, but another encoding is declared: an error" },
	{ "1.4+", "a mark of UTF-8" },
	{ "1.5", "a mark of UTF-16 that the first bytes contradict: an error" },
	{ "1.6", "a mark of UTF-16, but another encoding is declared: an error" },
	{ "1.6+", "a mark of UTF-16" },
	{ "1.7", "a mark that ROME does not know: an error" },
	{ "1.7+", "a mark of UCS-4" },
	{ "2.0", "a type of XML without charset: the document decides" },
	{ "2.1", "text/xml without charset: us-ascii" },
	{ "2.2", "utf-16be or utf-16le by the header, but a mark: an error" },
	{ "2.3", "utf-16 by the header: the order of the mark" },
	{ "2.4", "utf-16 by the header, but no mark: an error" },
	{ "2.5", "the charset of the header" },
	{ "2.6", "no type of XML: an error" },
	{ "lenient-html", "text/html taken for text/xml" },
	{ "lenient-decl", "after an error of the rules: the declared encoding" },
	{ "lenient-http", "after an error of the rules: the charset of the header" },
	{ "lenient-default", "after an error of the rules: utf-8" },
	{ "external", "the charset of the route" },
	{ "bom", "the mark beats every label" },
	{ "family", "the pattern of the bytes is that of 16 bits, UCS-4 or EBCDIC" },
	{ "utf8", "the bytes are UTF-8, whatever a label says" },
	{ "escapes", "escape sequences of ISO-2022 with text behind them" },
	{ "mixed", "some nodes are UTF-8, others are not" },
	{ "decl", "the declared encoding fits the text, the rule's does not" },
	{ "http", "the charset of the header fits the text, the rule's does not" },
	{ "guess", "the text itself: no label stands against what it weighs" },
	{ "guess+lang", "the text itself, and hints at its language tipped the scales" },
	{ "fallback", "no charset makes a text of the bytes" },
};

static const char *why(const char *no)
{
	size_t i;

	for (i = 0; i < sizeof whys / sizeof whys[0]; i++)
		if (strcmp(whys[i].no, no) == 0)
			return whys[i].why;
	return NULL;
}

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
		step->why = x->verdict.policy == POLICY_AUTO ? why(step->no) : NULL;
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

	for (i = 0; i < d->n && x->first == NULL; i++)
		if (policy_accepts(e, d->readings[i].charset, &t))
			x->first = &d->readings[i];
	if (x->first == NULL || i == d->n)
		return;
	x->next = &d->readings[i];
	x->margin = x->next->cost - x->first->cost;
}

static void try_readings(struct policy_explanation *x, const struct evidence *e)
{
	const struct traced *readings = x->trace.readings;
	struct decoder_trial t;
	size_t i, k;

	for (i = 0; i < x->trace.n; i++) {
		for (k = 0; readings[k].reading.charset != readings[i].reading.charset; k++)
			continue;
		x->decodes[i] = k < i ? x->decodes[k] : policy_accepts(e, readings[i].reading.charset, &t);
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
