/* Owns the statistical detector (uchardet); the only file that includes its header.
 * Must not know: labels or policies. */
#ifndef UTFEED_CORE_EVIDENCE_DETECTOR_H
#define UTFEED_CORE_EVIDENCE_DETECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "core/decode/charset.h"

/* *guess is CS_NONE where the detector is undecided, there is only ASCII, or it names a charset that utfeed does not
 * decode. It reads at most 8 KiB, from just before the first byte that is not ASCII. -1: out of memory. */
int detector_guess(const uint8_t *, size_t len, enum charset *guess) __attribute__((warn_unused_result));

#endif
