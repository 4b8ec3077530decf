/* Owns the questions of policies about the bytes behind the mark. Where memory for an answer is missing, that is noted
 * and policy_decide() fails. Private to core/policy*.c. Must not know: any policy's rules. */
#ifndef UTFEED_CORE_POLICY_POLICY_BYTES_H
#define UTFEED_CORE_POLICY_POLICY_BYTES_H

#include "core/decode/decoder.h"
#include "core/evidence/detector.h"
#include "core/evidence/evidence.h"
#include "core/evidence/nodes.h"

const uint8_t *policy_text(const struct evidence *, size_t *len);
/* Whether the charset's decoder accepts all of the bytes. */
bool policy_accepts(const struct evidence *, enum charset, struct decoder_trial *);
/* Whether it accepts all of the bytes except a few stray ones (struct decoder_trial). */
bool policy_reads(const struct evidence *, enum charset, struct decoder_trial *);
/* The charset that the detector names; CS_NONE: none. */
enum charset policy_guess(const struct evidence *);
/* As detector_weigh(), with the evidence's hints; no readings where memory is missing. */
void policy_weigh(const struct evidence *, const struct proposal *, size_t n, struct detection *);
/* As nodes_read() and nodes_charset(), with the evidence's hints. If memory is missing, the result is empty. */
void policy_nodes(const struct evidence *, struct nodes *, enum charset whole, int says_utf_8);
enum charset policy_weigh_nodes(const struct evidence *, const struct nodes *, const struct proposal *, size_t n);
/* As detector_signs_only(). */
bool policy_has_signs_only(const struct evidence *, enum charset);

#endif
