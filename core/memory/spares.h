/* Owns blocks of memory that streams hand on to each other: what one has given back the next one of its thread takes,
 * warm in the processor's cache, instead of asking the system.
 * Must not know: what they hold. A set of spares belongs to one thread.
 * Invariant: at most SPARES_MAX blocks of at most SPARES_BYTES_MAX bytes are kept. */
#ifndef UTFEED_CORE_MEMORY_SPARES_H
#define UTFEED_CORE_MEMORY_SPARES_H

#include <stddef.h>

enum { SPARES_MAX = 8, SPARES_BYTES_MAX = 4096 };

/* All zero: none is kept. */
struct spares {
	struct { void *at; size_t size; } of[SPARES_MAX];
};

/* A block of that size, all zero. NULL: out of memory. In both s may be NULL: nothing is kept. */
void *spares_take(struct spares *s, size_t size);
/* Takes back a block that spares_take() gave for that size, or NULL. */
void spares_give(struct spares *s, void *block, size_t size);
/* Frees what is kept. */
void spares_free(struct spares *);

#endif
