/* Owns the characters that XML forbids wherever they stand: C0 controls, U+FFFE and U+FFFF.
 * Must not know: markup, references, encodings. Private to repair.c.
 * Invariant: that of repair.h; text that needs no repair is written in runs from the caller's buffer, and only a
 * character that the end of a call cuts is kept. Source: XML 1.0 [2] Char. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_CHARACTERS_H
#define UTFEED_CORE_REPAIR_REPAIR_CHARACTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/repair/repair.h"

/* Set flags, sink and counts; all else starts as zero. */
struct repair_characters {
	unsigned flags;
	struct sink sink;
	uint64_t *counts;               /* REPAIR_COUNT of them */
	unsigned cut;                   /* bytes of EF BF that the last call ended with */
};

/* final: the text ends with this call. 0, or what the sink returned. */
int repair_characters(struct repair_characters *, const uint8_t *, size_t len, bool final)
    __attribute__((warn_unused_result));

#endif
