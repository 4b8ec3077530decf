/* Owns the record of a weighing: how every reading fared, for people who ask why the detector chose as it did.
 * Must not know: how a text is read. Nobody but `utfeed check --explain` makes one.
 * Invariant: the record changes nothing in what the detector finds. */
#ifndef UTFEED_CORE_EVIDENCE_DETECTOR_TRACE_H
#define UTFEED_CORE_EVIDENCE_DETECTOR_TRACE_H

#include "core/evidence/detector.h"
#include "core/evidence/sample.h"

enum { DETECTOR_TRACED = 192 };

/* Costs are in LANGUAGE_NAT-ths of a nat. */
struct traced {
	struct reading reading;     /* what it costs as far as it was read: text, prior, and the hint taken off */
	int prior;                  /* how rare the charset is; below zero: the weight of the label that names it */
	int hint;                   /* what the language is hinted at with */
	/* it was given up after so many bytes of the sample; those that were kept have read all of it */
	size_t bytes;
	int behind;                 /* how much less the best reading of the same bytes costs */
};

struct detector_trace {
	bool weighed;               /* false: nobody asked what the text says, and nothing else here counts */
	/* those that read most of the sample first, and of these the cheapest */
	struct traced readings[DETECTOR_TRACED];
	size_t n;
	size_t bytes, beyond, pieces;       /* of the sample */
	bool whole;
	struct proposal proposals[DETECTOR_PROPOSALS];
	size_t n_proposals;
	struct detection found;
};

void trace_sample(struct detector_trace *, const struct sample *);
/* A reading of the first bytes of the sample costs so much, the best one best. */
void trace_reading(struct detector_trace *, const struct reading *, int prior, int hint, size_t bytes, int best);
void trace_found(struct detector_trace *, const struct detection *, const struct proposal *, size_t n);

#endif
