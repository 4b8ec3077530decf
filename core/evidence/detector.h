/* Owns weighing charsets against each other by the text that they make of the bytes: the one scale by which utfeed asks
 * what bytes say.
 * Must not know: policies; labels are proposals with a weight here.
 * Invariant: a charset that it returns is one of candidates.def or was proposed, and the result depends on nothing but
 * the arguments. Whether all of the bytes are valid in it is the caller's question: a piece of them is judged. */
#ifndef UTFEED_CORE_EVIDENCE_DETECTOR_H
#define UTFEED_CORE_EVIDENCE_DETECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/decode/charset.h"
#include "core/evidence/hints.h"
#include "core/evidence/language.h"

/* A charset that somebody names, of the ASCII family, and what that weighs, in LANGUAGE_NAT-ths of a nat. */
struct proposal {
	enum charset charset;
	int weight;
};

/* A reading: what it costs (language.h) with the hints and the weight of its proposal taken off. No weight is taken off
 * where quotes pasted from Windows were left out of the text, because the proposal leads without its weight then. */
struct reading {
	enum charset charset;
	enum language language;
	int cost;
};

enum { DETECTOR_PROPOSALS = 2, DETECTOR_READINGS = 32 };

struct detection {
	/* the best reading of each charset, cheapest first; those that are far behind may be missing */
	struct reading readings[DETECTOR_READINGS];
	size_t n;
	size_t bytes;               /* how many were judged; 0: all are ASCII, without a reading */
	bool is_text;               /* the first reading is that of a text, however unlikely */
	bool hinted;                /* the first would be another charset without hints */
};

/* hints NULL: there are none. -1: out of memory. */
int detector_weigh(struct detection *, const uint8_t *bytes, size_t len, const struct hints *, const struct proposal *,
    size_t n_proposals) __attribute__((warn_unused_result));

/* The same, and trace (detector_trace.h) tells how every reading fared. trace NULL: nobody asks. */
struct detector_trace;
int detector_explain(struct detection *, struct detector_trace *, const uint8_t *bytes, size_t len,
    const struct hints *, const struct proposal *, size_t n_proposals) __attribute__((warn_unused_result));

/* *only: all characters beyond ASCII that a single-byte charset reads are signs and quotes, each in a place where such
 * a sign may stand. -1: out of memory. */
int detector_signs_only(bool *only, enum charset, const uint8_t *bytes, size_t len) __attribute__((warn_unused_result));

#endif
