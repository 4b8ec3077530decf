/* Owns what policies ask of the bytes behind the mark, and that want of memory for an answer is no answer: it is noted,
 * and policy_decide() hears of it. Private to core/policy*.c. Must not know: any policy's rules. */
#ifndef UTFEED_CORE_POLICY_POLICY_BYTES_H
#define UTFEED_CORE_POLICY_POLICY_BYTES_H

#include "core/decode/decoder.h"
#include "core/evidence/evidence.h"

const uint8_t *policy_text(const struct evidence *, size_t *len);
/* Whether the charset's decoder takes them all. */
bool policy_accepts(const struct evidence *, enum charset, struct decoder_trial *);
/* The detector's; CS_NONE: none. */
enum charset policy_guess(const struct evidence *);
/* As plausible_flaws(). */
unsigned policy_flaws(const struct evidence *, enum charset);
/* As plausible_is_faultless(). */
bool policy_is_faultless(const struct evidence *, enum charset);

#endif
