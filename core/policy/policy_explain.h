/* Owns telling why a policy decided as it did: the steps of its path in words, and how the text was weighed.
 * Must not know: how that is shown. It decides anew what policy_decide() decides, and costs that nothing.
 * Invariant: the verdict is that of policy_decide() for the same evidence. */
#ifndef UTFEED_CORE_POLICY_POLICY_EXPLAIN_H
#define UTFEED_CORE_POLICY_POLICY_EXPLAIN_H

#include "core/evidence/detector_trace.h"
#include "core/policy/policy.h"

enum { EXPLAINED_STEPS = 8 };

/* A word of the verdict's path, and what it means (policy_words.h). */
struct explained_step {
	char no[16];
	const char *why;
};

struct policy_explanation {
	struct verdict verdict;
	struct explained_step steps[EXPLAINED_STEPS];
	size_t n_steps;
	struct hints hints;
	const char *unweighed;              /* Why the text was not weighed; NULL: it was. */
	struct detector_trace trace;        /* Of what was weighed. */
	/* Whether the charset of each of its readings decodes all held bytes but a few stray ones. */
	bool decodes[DETECTOR_TRACED];
	/* The first reading of trace.found that decodes them, and the one behind it; NULL: there is none. The first is
	 * the verdict's, unless it is too unlikely to be a text at all. */
	const struct reading *first, *next;
	int margin;                         /* What next costs more, in LANGUAGE_NAT-ths of a nat; 0 without next. */
	/* The bytes in which two readings differ were weighed by themselves, and another charset than that of the
	 * sample's cheapest reading came first. */
	bool settled;
};

/* -1: out of memory, as policy_decide(). The explanation points into itself. */
int policy_explain(enum policy, const struct evidence *, struct policy_explanation *)
    __attribute__((warn_unused_result));

#endif
