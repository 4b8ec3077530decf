/* Owns what the files of the heap share: heap.c has its runs and its lock, heap_block.c cuts runs into blocks,
 * heap_rest.c gives memory back to the system. Must not know: what pieces hold. Invariant: everything below is called
 * under the heap's lock, unless it says otherwise. */
#ifndef UTFEED_PROXY_BASE_HEAP_INTERNAL_H
#define UTFEED_PROXY_BASE_HEAP_INTERNAL_H

#include <pthread.h>

#include "proxy/base/heap.h"
#include "proxy/base/region.h"

enum {
	HEAP_LONG = HEAP_KEPT + 1,     /* runs of pages of what may be stored */
	HEAP_COUNT, HEAP_CLASSES = 120, HEAP_EMPTY = REGION_PAGES_MAX,
	HEAP_COOL_STEP = 64            /* pages of the largest hole between two lists of regions to be cooled */
};

LIST_HEAD(heap_regions, region);
LIST_HEAD(heap_slabs, slab);

/* A run that is cut into blocks. */
struct slab {
	LIST_ENTRY(slab) link;         /* listed while it has a free block */
	void *free;                    /* blocks given back; each holds the address of the next */
	char *start;
	uint32_t size;                 /* of a block */
	uint16_t capacity, fresh, used;        /* blocks: in all, never taken yet, in use */
	uint16_t pages;
	uint8_t class, owner;
};

struct heap_class {
	struct heap_slabs open;        /* slabs with a free block */
	struct slab *empty;            /* one of them that has no block in use is kept; NULL: none */
	size_t used;                   /* blocks in use */
};

struct heap_state {
	pthread_mutex_t lock;
	uint8_t self;
	/* Regions by the length of their largest hole; in HEAP_EMPTY's list are those that have no run. */
	struct heap_regions by_hole[REGION_PAGES_MAX + 1];
	uint64_t filled[REGION_PAGES_MAX / 64 + 1];    /* A bit for each list that has a region. */
	/* Regions that are worth giving memory back from, roughly by their largest hole, so that nobody walks over
	 * those that are not. */
	struct heap_regions by_gain[REGION_PAGES_MAX / HEAP_COOL_STEP + 1];
	size_t regions;
	size_t used, warm, gone;       /* Pages, as in struct region, of all regions. */
	size_t cut;                    /* Used pages that are cut into blocks. */
	size_t blocks;                 /* Bytes of blocks in use. */
	/* Bytes that may be warm, and the share of the pages in use; 0: none. */
	size_t spare_max, spare_share;
	size_t low;                    /* The fewest warm pages since the last rest. */
	size_t surplus;                /* Pages that the rest is to give back. */
	uint64_t rested_ms;
	struct heap_class classes[HEAP_CLASSES];
};

extern struct heap_state heaps[HEAP_COUNT];

/* heap.c */
void *run_take(struct heap_state *, unsigned pages);   /* may let go of the lock meanwhile */
void run_give(struct heap_state *, void *);
void region_list(struct heap_state *, struct region *);
void region_unlist(struct heap_state *, struct region *);
void region_relist(struct heap_state *, struct region *);      /* where it belongs now; not of one that is away */
/* Takes a region out of the heap; the caller frees it. */
void region_leave(struct heap_state *, struct region *);

/* heap_rest.c: files a region anew as one to be cooled, or not. */
void region_file(struct heap_state *, struct region *);
void region_unfile(struct region *);
/* Gives back the memory of a region's holes and gone pages, or the whole region when it is empty and not the last one.
 * Lets go of the lock meanwhile. Returns how many pages of holes lost their memory. */
size_t heap_cool(struct heap_state *, struct region *);
/* Gives memory back at once while more of it is warm than may be; lets go of the lock meanwhile. */
void heap_limit(struct heap_state *);

/* heap_block.c */
void *block_take(struct heap_state *, size_t len);     /* may let go of the lock meanwhile */
void block_give(struct heap_state *, struct slab *, void *);
size_t block_size_for(size_t len);             /* without the lock */
/* Gives back the runs of slabs that have no block in use. */
void blocks_settle(struct heap_state *);

#endif
