/* Owns bytes that are held until what follows them is known: one block that grows.
 * Must not know: what they are, how many may be held.
 * Invariant: a block that grows becomes twice as large at least, so each byte is moved a few times at most. */
#ifndef UTFEED_CORE_MEMORY_HELD_H
#define UTFEED_CORE_MEMORY_HELD_H

#include <stddef.h>
#include <stdint.h>

/* All zero: nothing is held. len 0 keeps the block for the next bytes. */
struct held {
	uint8_t *bytes;
	size_t len, cap;
};

/* Makes room for len more bytes. A first block has room for `first` bytes at least. -1: out of memory, and nothing has
 * changed. */
int held_room(struct held *, size_t len, size_t first) __attribute__((warn_unused_result));
/* Adds bytes behind those held, with held_room(). */
int held_add(struct held *, const uint8_t *, size_t len, size_t first) __attribute__((warn_unused_result));
/* Lets go of the first len bytes. */
void held_drop(struct held *, size_t len);
void held_free(struct held *);

#endif
