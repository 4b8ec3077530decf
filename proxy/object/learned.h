/* Owns a worker's memory of bodies that were decided on, and of the passages of long ones: the memory that its
 * normalisers are given (memory.h, passages.h).
 * Must not know: URLs, requests. Only the worker's thread may touch it.
 * Invariant: it never holds more than it was made for; where it is full, something leaves that was asked for long ago.
 * A name in it stands for bytes, so none may be known to who chose them (hash_wide.h). */
#ifndef UTFEED_PROXY_OBJECT_LEARNED_H
#define UTFEED_PROXY_OBJECT_LEARNED_H

#include <stddef.h>

#include "core/normalise/memory.h"

struct stats;
struct learned;

enum {
	LEARNED_PASSAGE = 8192, /* bytes that a passage has at least */
	LEARNED_PASSAGES = 4    /* There is room for so many passages, of any bodies, for each body that it may hold. */
};

/* max: how many bodies it holds, at least 1. NULL: out of memory. */
struct learned *learned_new(size_t max, struct stats *);
void learned_free(struct learned **);
/* What normalisers are given; it lasts as long as the memory. NULL for NULL. */
const struct normalise_memory *learned_memory(const struct learned *);

#endif
