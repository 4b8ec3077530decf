/* Owns finding the next byte of UTF-8 text that repair must look at.
 * Must not know: what is done about it, or anything of streams. Pure function.
 * Invariant: never passes over a byte that needs a look; it may stop at one that does not. */
#ifndef UTFEED_CORE_REPAIR_SCAN_H
#define UTFEED_CORE_REPAIR_SCAN_H

#include <stddef.h>
#include <stdint.h>

/* Besides C0 controls XML forbids and EF BF (U+FFC0 to U+FFFF), which always stop it: two byte pairs, of which the first
 * has two possible second bytes. */
struct repair_stops {
	uint8_t first, second, second_too;
	uint8_t other, other_second;
};

/* Offset of the first stop at or after `at`, len without one. A byte that may start a pair or EF BF stops it also as the
 * last of the buffer, where its partner is not known yet. */
size_t repair_scan(const struct repair_stops *, const uint8_t *, size_t at, size_t len);
/* The same without what only some processors have; for the test. */
size_t repair_scan_portable(const struct repair_stops *, const uint8_t *, size_t at, size_t len);

#endif
