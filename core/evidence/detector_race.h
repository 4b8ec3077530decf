/* Owns the race of readings: which charsets and languages come into question, and reading one piece of the sample after
 * another until all but the likeliest are left behind.
 * Must not know: what is made of the result. Private to detector*.c.
 * Invariant: a reading's cost is always that of the same bytes as the others'. */
#ifndef UTFEED_CORE_EVIDENCE_DETECTOR_RACE_H
#define UTFEED_CORE_EVIDENCE_DETECTOR_RACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/decode/decoder.h"
#include "core/evidence/detector.h"
#include "core/evidence/detector_trace.h"
#include "core/evidence/sample.h"

enum {
	RACE_BEHIND = 18 * LANGUAGE_NAT, /* a reading that costs this much more than the best is dropped */
	/* The models do not know a text whose best reading costs more than this for each byte. */
	RACE_NO_TEXT = 27,
	RACE_READINGS = DETECTOR_TRACED
};

/* A row of candidates.def. */
struct race_candidate {
	enum charset charset;
	int cost;
	const int8_t *languages; /* LANGUAGE_NONE ends them */
};

struct race {
	struct sample sample;
	const struct hints *hints;
	struct reading readings[RACE_READINGS];
	int base[RACE_READINGS]; /* what each costs before the text is read; without hints and labels */
	int label[RACE_READINGS]; /* the weight of the label that names it; 0: there is none */
	size_t n;
	/* For each language, the text that was weighed in it last (as in struct piece) and its cost: charsets of one
	 * alphabet make the same text of most samples. */
	struct { uint64_t text; struct language_cost cost; } last[LANGUAGE_HAN];
	size_t proposed; /* the first so many are of charsets that somebody named */
	struct detector_trace *trace; /* NULL: nobody asks */
};

/* A piece of the sample as a charset reads it. */
struct piece {
	enum charset charset;
	size_t bytes;
	uint64_t text; /* a hash of the tokens; 0: there are none */
	unsigned case_cost;
	size_t n;
	union {
		uint16_t tokens[SAMPLE_BYTES];
		uint8_t text[SAMPLE_BYTES * 3 + DECODER_MIN_OUT]; /* a byte makes at most three, a pair four */
	} u;
};

/* Enters all readings, those of proposals first. -1: out of memory. */
int race_begin(struct race *, const struct proposal *, size_t n) __attribute__((warn_unused_result));
/* Reads piece after piece until the race is decided or the sample ends. Sets how many bytes were read. -1: out of
 * memory. */
int race_run(struct race *, struct piece *, size_t *bytes) __attribute__((warn_unused_result));
/* The row after `last` (NULL: the first) of a charset with single bytes; NULL: there is none. */
const struct race_candidate *race_next_single(const struct race_candidate *last);
bool race_is_used_for(const struct race_candidate *, enum language);
/* Reads the first len bytes of a sample. -1: errno says ENOMEM, or EINVAL for a charset without a converter. */
int piece_read(struct piece *, enum charset, const struct sample *, size_t len) __attribute__((warn_unused_result));
int piece_cost(const struct piece *, enum language);
int race_hint(const struct race *, enum language);
/* The weight that a label gains by bytes beyond ASCII. few: they are a small part of the text. */
int race_label_grows(enum charset, int label, size_t beyond, bool few);
bool race_is_single(enum charset);

#endif
