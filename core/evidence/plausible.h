/* Owns one question: whether bytes decoded as this charset read like text at all. Private to core.
 * Must not know: labels, policies, languages' letter frequencies (detector.h does). */
#ifndef UTFEED_CORE_EVIDENCE_PLAUSIBLE_H
#define UTFEED_CORE_EVIDENCE_PLAUSIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/decode/charset.h"

/* Flaws per thousand characters: text of any language stays well below PLAUSIBLE_LIMIT, and text decoded as a wrong
 * charset is mostly far above it. */
enum { PLAUSIBLE_LIMIT = 250, PLAUSIBLE_WORST = 1000 };

/* Flaws per thousand characters beyond ASCII, at most PLAUSIBLE_WORST; 0 where there are no such characters. Looks at
 * 16 KiB at most, from the first byte that is not ASCII, and stops after about a thousand bytes beyond ASCII. -1: there
 * is no decoder; errno says why (decoder_new()). */
int plausible_flaws(enum charset, const uint8_t *, size_t len);
/* 1: the text has none of the flaws that only a wrong charset makes: controls, letters of two alphabets in one word,
 * capitals inside a word. Flaws that some writers make do not count (symbols beside letters, accented letters in a
 * row), since a text with few characters beyond ASCII may have no others. -1: as above. */
int plausible_is_faultless(enum charset, const uint8_t *, size_t len);

#endif
