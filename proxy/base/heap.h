/* Owns the memory of bodies on their way and of stored responses, in pieces cut from regions (region.h). Up to
 * HEAP_BLOCK_MAX bytes a piece is a block among others of its size; a longer one is a run of whole pages, which
 * splice.h may send without a copy. A new piece takes memory that was given back before. Memory that nobody has needed
 * for a while goes back to the system. This happens in steps; no step walks over all memory.
 * Must not know: objects, stores, loops. May be called on any thread.
 * Invariant: pages that the kernel may still be sending (heap_sent()) are never used for another piece. */
#ifndef UTFEED_PROXY_BASE_HEAP_H
#define UTFEED_PROXY_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pieces of each lie apart, and so do long pieces, so that what is there for a moment does not keep memory from going
 * back. */
enum heap {
	HEAP_TRANSIT,                  /* bodies on their way */
	HEAP_KEPT                      /* what may be stored */
};

enum { HEAP_BLOCK_MAX = 32 * 1024, HEAP_MAX = 1 << 20 /* bytes of the longest piece */ };

/* At start: takes address space for the first pieces, which then is there however little there is later. */
void heap_settle(void);
/* A piece of at least len bytes, aligned to 16, or to pages if it is longer than HEAP_BLOCK_MAX. What it holds is
 * undefined. NULL: out of memory. */
void *heap_take(enum heap, size_t len) __attribute__((warn_unused_result));
void *heap_take_zeroed(enum heap, size_t len) __attribute__((warn_unused_result));
void heap_give(void *);                /* NULL: nothing */
/* The bytes that a piece takes; those that one of len bytes would take. */
size_t heap_bytes(const void *);
size_t heap_bytes_for(size_t len);
/* Gives back what whole pages lie behind the first len bytes of a run of pages. */
void heap_trim(void *, size_t len);
/* To be called before the kernel gets references to pages of this run, but not while it is trimmed or given back. The
 * first call asks the system to move the run's region into a huge page. To send a run, the kernel then takes one
 * reference instead of one for each small page. The move costs a few times as much as to fill small pages, so it pays
 * only for bodies that are read often. */
void heap_sent(void *);

/* Called every HEAP_REST_MS, by any number of threads, with the monotonic time: gives the system some of the memory
 * that has not been needed for as long. True: there is more of it, so that the next call should come soon. */
enum { HEAP_REST_MS = 1000, HEAP_REST_SOON_MS = 50 };
bool heap_rest(uint64_t now_ms);

struct heap_sums {
	size_t pieces;                 /* bytes of all pieces, as heap_bytes() tells */
	size_t used;                   /* these, and the free blocks between them */
	size_t spare;                  /* bytes of memory that no piece has */
	size_t mapped;                 /* bytes of all regions, with memory or not */
};
struct heap_sums heap_sums(void);
/* The bytes of free blocks between stored blocks, beyond the usual share. A free block serves only pieces of its size,
 * so a few blocks in use, each among free ones, would hold many times their bytes. */
size_t heap_scattered(void);

#endif
