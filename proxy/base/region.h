/* Owns the page map of a region: 2 MiB of memory, aligned to 2 MiB, so that the system may back it by one huge page.
 * Callers take runs of whole pages from it. Its first pages hold the map itself; its last page is never part of a run
 * (region_cool()). Must not know: whose runs they are, locks.
 * Invariant: the pages behind the map are runs and holes without gaps, and no two holes touch. */
#ifndef UTFEED_PROXY_BASE_REGION_H
#define UTFEED_PROXY_BASE_REGION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum { REGION_BYTES = 2 << 20, REGION_PAGES_MAX = REGION_BYTES / 4096 };

enum region_kind {
	REGION_HOLE,
	REGION_RUN,
	REGION_SENT,                   /* a run whose pages the kernel may still be sending (splice.h) */
	/* such a run that was given back: its pages are not used again before the kernel has others in their place */
	REGION_GONE
};

struct slab;
struct region {
	LIST_ENTRY(region) link, cool_link;    /* These and what follows are the owner's. */
	uint16_t listed;               /* The list that it is in by its largest hole. */
	uint8_t cool;                  /* One more than the list that it is in as one to be cooled; 0: in none. */
	uint8_t owner;
	unsigned largest;              /* Pages of the largest hole. */
	unsigned used;                 /* Pages of runs. */
	unsigned warm;                 /* Pages of holes that have memory behind them. */
	unsigned gone;                 /* Pages that are REGION_GONE. */
	bool huge;                     /* It is, or may be, in a huge page. */
	bool tried;                    /* It was to be moved into one. */
	bool away;                     /* Is being cooled: nothing is taken meanwhile. */
	/* Of a run or hole: length in pages, at its first and its last page; kind, at its first (region_is_sent() may
	 * look at any time). */
	uint16_t length[REGION_PAGES_MAX];
	_Atomic uint8_t kind[REGION_PAGES_MAX];
	uint8_t is_warm[REGION_PAGES_MAX];     /* Of each page of a hole. */
	struct slab *slab[REGION_PAGES_MAX];   /* For each page of a run that is cut into blocks. */
};

size_t region_page(void);              /* bytes of a page */
unsigned region_room(void);            /* pages that a region has for runs */

struct region *region_new(void);       /* NULL: out of memory */
void region_free(struct region *);

/* Takes a run from the smallest hole that is long enough, and returns its first page; 0: no hole is. Sets *warm to the
 * number of its pages that had memory. */
unsigned region_take(struct region *, unsigned pages, unsigned *warm);
/* Gives a run back. */
void region_give(struct region *, unsigned first);
/* Gives back the pages behind the first `pages` of a run. */
void region_trim(struct region *, unsigned first, unsigned pages);

/* Gives a run that was just taken memory where it has none, which costs less than to have each page fault. Needs no
 * lock. */
void region_fill(void *at, unsigned pages);

/* The pages of a run may be being sent from now on. True: its region should be moved into a huge page first, by
 * region_make_huge(), which needs no lock, and region_made_huge(). region_is_sent() needs no lock either. */
bool region_is_sent(const struct region *, unsigned first);
bool region_sent(struct region *, unsigned first);
bool region_make_huge(struct region *);
void region_made_huge(struct region *, bool moved);

/* Gives the memory of holes and of gone pages back to the system. region_cool_begin() lists them. region_cool() then
 * calls the system, and needs no lock: other threads may give runs back meanwhile. */
struct region_cooling {
	struct region *region;
	unsigned n;
	struct { uint16_t first, pages; } at[REGION_PAGES_MAX];
};
void region_cool_begin(struct region_cooling *, struct region *);
void region_cool(const struct region_cooling *);
/* Returns how many pages of holes lost their memory; those that were gone are holes from now on. */
unsigned region_cool_end(const struct region_cooling *);

/* Both for an address within a region. */
static inline struct region *region_of(const void *at)
{
	return (struct region *)(void *)((uintptr_t)at & ~(uintptr_t)(REGION_BYTES - 1));
}

static inline unsigned region_page_of(const void *at)
{
	return (unsigned)(((uintptr_t)at & (REGION_BYTES - 1)) / region_page());
}

static inline void *region_at(struct region *region, unsigned page)
{
	return (char *)region + page * region_page();
}

#endif
