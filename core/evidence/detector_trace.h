/* Owns the trace of a weighing: how every reading fared, for people who ask why the detector chose as it did.
 * Must not know: how a text is read. Nobody but `utfeed check --explain` makes one.
 * Invariant: the trace changes nothing in what the detector finds. */
#ifndef UTFEED_CORE_EVIDENCE_DETECTOR_TRACE_H
#define UTFEED_CORE_EVIDENCE_DETECTOR_TRACE_H

#include "core/evidence/detector.h"
#include "core/evidence/sample.h"

enum { DETECTOR_TRACED = 384 };

/* Costs are in LANGUAGE_NAT-ths of a nat. */
struct traced {
	struct reading reading;     /* Its cost as far as it was read: text and rarity, less label and hint. */
	int rare;                   /* How rare charset and language are. */
	int label;                  /* The weight of the label that names the charset; it grows with the text. */
	int hint;                   /* The weight of the hints of the language. */
	size_t bytes;               /* Of the sample, that it has read. */
	int behind;                 /* How much less the best reading of the same bytes costs. */
	bool kept;                  /* False: it was given up after these bytes, being far behind. */
};

struct detector_trace {
	bool weighed;               /* false: nobody asked what the text says, and nothing else here counts */
	/* those that read most of the sample first, and of these the cheapest */
	struct traced readings[DETECTOR_TRACED];
	size_t n;
	/* of the sample; found.bytes says how many of them were read until all readings that were left were alike */
	size_t bytes, beyond, pieces;
	bool whole;
	struct proposal proposals[DETECTOR_PROPOSALS];
	size_t n_proposals;
	struct detection found;
};

void trace_sample(struct detector_trace *, const struct sample *);
/* Notes how a reading of the first bytes of the sample fares; it takes the place of what was noted of fewer. */
void trace_reading(struct detector_trace *, const struct traced *);
/* Whether the reading was kept to the end; else it is one that was weighed by the bytes in which it differs alone. */
bool trace_has_kept(const struct detector_trace *, const struct reading *);
void trace_found(struct detector_trace *, const struct detection *, const struct proposal *, size_t n);

#endif
