/* Owns one question: decoded under this charset, does it read like text at all? Private to core.
 * Must not know: labels, policies, languages' letter frequencies (detector.h does). */
#ifndef UTFEED_CORE_EVIDENCE_PLAUSIBLE_H
#define UTFEED_CORE_EVIDENCE_PLAUSIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/decode/charset.h"

/* PLAUSIBLE_LIMIT flaws in a thousand: text of any language stays well below, a wrong charset's mostly far above. */
enum { PLAUSIBLE_LIMIT = 250, PLAUSIBLE_WORST = 1000 };

/* Flaws per thousand characters beyond ASCII, at most PLAUSIBLE_WORST; 0 where there are none. Looks at 16 KiB at most,
 * from the first byte that is not ASCII, and no further than it needs to see some hundred of them. -1: there is no
 * decoder; errno says why (decoder_new()). */
int plausible_flaws(enum charset, const uint8_t *, size_t len);
/* None of those flaws that only a wrong charset makes: controls, letters of two alphabets in one word, capitals in it.
 * What some writers do is left aside (symbols beside letters, accented letters in a row): of a few characters it may be
 * all there is. -1: as above. */
int plausible_is_faultless(enum charset, const uint8_t *, size_t len);

#endif
