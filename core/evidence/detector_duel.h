/* Owns deciding between two readings by the bytes in which they differ: sets of one alphabet differ in few.
 * Must not know: which readings there are otherwise. Private to detector*.c.
 * Invariant: the readings of a detection are in the order of their costs, one for each charset. */
#ifndef UTFEED_CORE_EVIDENCE_DETECTOR_DUEL_H
#define UTFEED_CORE_EVIDENCE_DETECTOR_DUEL_H

#include <stddef.h>
#include <stdint.h>

#include "core/evidence/detector.h"
#include "core/evidence/detector_race.h"

/* Keeps a reading if there is none of its charset that costs less; detection_sort() must follow. */
void detection_keep(struct detection *, const struct reading *);
void detection_sort(struct detection *);

/* Both come after the race, whose sample they use for their own. -1: out of memory. duel_settle() weighs the readings
 * close behind the first once more, if there are any. */
int duel_settle(struct race *, struct piece *, struct detection *, const uint8_t *bytes, size_t len)
    __attribute__((warn_unused_result));
/* Weighs a first reading whose charset was proposed against sisters of it. */
int duel_challenge(struct race *, struct piece *, struct detection *, const struct proposal *, size_t n,
    const uint8_t *bytes, size_t len) __attribute__((warn_unused_result));

#endif
