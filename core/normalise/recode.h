/* Owns the chain that a body runs through once its charset is decided: decoder, repairs, output charset.
 * Must not know: how the charset was decided.
 * Invariant: the output does not depend on how the input was cut. */
#ifndef UTFEED_CORE_NORMALISE_RECODE_H
#define UTFEED_CORE_NORMALISE_RECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/decode/charset.h"
#include "core/evidence/hints.h"
#include "core/repair/repair.h"

struct recode;
/* repairs: REPAIR_* bits. to_ascii: the output is US-ASCII with numeric references. spares: borrowed; NULL: none. NULL:
 * out of memory, or with errno EINVAL: this machine has no converter for the charset. */
struct recode *recode_new(enum charset, unsigned decoder_flags, unsigned repairs, bool to_ascii, struct sink,
    struct spares *spares);
void recode_free(struct recode **);
/* Changes the charset of the bytes to come; before it only recode_text() may have been called. -1: as for
 * recode_new(). */
int recode_change(struct recode *, enum charset, unsigned decoder_flags) __attribute__((warn_unused_result));
/* As mixed_set_other(), where the bytes are read node by node (UTF-8 with DECODER_STRAYS). */
int recode_set_other(struct recode *, enum charset, const struct hints *, int says_utf_8)
    __attribute__((warn_unused_result));
/* 0, what the sink returned, or -1 (out of memory) */
int recode_feed(struct recode *, const uint8_t *, size_t len) __attribute__((warn_unused_result));
/* Takes text that is UTF-8 already: bytes under 0x80 that mean ASCII characters in any charset, or, where the charset
 * is UTF-8, all of a body that is well-formed. */
int recode_text(struct recode *, const uint8_t *, size_t len) __attribute__((warn_unused_result));
int recode_finish(struct recode *) __attribute__((warn_unused_result));

/* The repairs of the chain, so that a caller can set them and read their counts. */
struct repair *recode_repair(const struct recode *);
uint64_t recode_malformed(const struct recode *);
uint64_t recode_others(const struct recode *);                      /* as mixed_others() */
uint64_t recode_lost(const struct recode *);                        /* characters written as "_" in US-ASCII */

#endif
