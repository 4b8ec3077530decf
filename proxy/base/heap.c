/* Runs of pages of a heap, and the pieces that callers take; see heap.h. */
#include "proxy/base/heap_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/poison.h"

/* Defined by a library that tests preload (tests/e2e/refuse.c): whether this piece is to be refused. */
extern int utfeed_heap_refuses(void) __attribute__((weak));

enum {
	/* bytes that may be spare: a crowd of transfers comes and goes many times a second; what is stored goes as more
	 * comes in, and a share of it may be spare, too */
	TRANSIT_SPARE = 64 << 20, KEPT_SPARE = 2 << 20, KEPT_SPARE_SHARE = 16,
	/* bytes that are gone and may wait until their whole region is; and the share of those in use that may */
	GONE_SPARE = 8 << 20, GONE_SHARE = 8,
	/* bytes between blocks that are usual, and the share of the bytes of blocks */
	SCATTERED = 4 << 20, SCATTERED_SHARE = 8
};

struct heap_state heaps[HEAP_COUNT] = {
	[HEAP_TRANSIT] = { .lock = PTHREAD_MUTEX_INITIALIZER,
	    .self = HEAP_TRANSIT,
	    .spare_max = TRANSIT_SPARE },
	[HEAP_KEPT] = { .lock = PTHREAD_MUTEX_INITIALIZER, .self = HEAP_KEPT, .spare_max = KEPT_SPARE,
	    .spare_share = KEPT_SPARE_SHARE },
	[HEAP_LONG] = { .lock = PTHREAD_MUTEX_INITIALIZER, .self = HEAP_LONG, .spare_max = KEPT_SPARE,
	    .spare_share = KEPT_SPARE_SHARE },
};

static unsigned hole_of(const struct region *region)
{
	return region->used || region->gone ? region->largest : HEAP_EMPTY;
}

void region_list(struct heap_state *h, struct region *region)
{
	unsigned hole = hole_of(region);

	region->listed = (uint16_t)hole;
	LIST_INSERT_HEAD(&h->by_hole[hole], region, link);
	h->filled[hole / 64] |= (uint64_t)1 << hole % 64;
	region_file(h, region);
}

void region_unlist(struct heap_state *h, struct region *region)
{
	unsigned hole = region->listed;

	LIST_REMOVE(region, link);
	if (LIST_EMPTY(&h->by_hole[hole]))
		h->filled[hole / 64] &= ~((uint64_t)1 << hole % 64);
	region_unfile(region);
}

void region_relist(struct heap_state *h, struct region *region)
{
	if (hole_of(region) == region->listed) {
		region_file(h, region);
		return;
	}
	region_unlist(h, region);
	region_list(h, region);
}

void region_leave(struct heap_state *h, struct region *region)
{
	h->regions--;
	h->warm -= region->warm;
	h->gone -= region->gone;
	if (h->warm < h->low)
		h->low = h->warm;
}

/* A region with the smallest largest hole that is large enough; NULL: none is. */
static struct region *region_with(struct heap_state *h, unsigned pages)
{
	uint64_t bits = h->filled[pages / 64] & ~(uint64_t)0 << pages % 64;
	unsigned word = pages / 64;

	while (!bits) {
		if (++word == sizeof h->filled / sizeof *h->filled)
			return NULL;
		bits = h->filled[word];
	}
	return LIST_FIRST(&h->by_hole[word * 64 + (unsigned)__builtin_ctzll(bits)]);
}

/* Lets go of the lock meanwhile, since the system is asked for address space. */
static struct region *region_add(struct heap_state *h)
{
	struct region *region;

	h->regions++;
	pthread_mutex_unlock(&h->lock);
	if ((region = region_new()))
		region->owner = h->self;
	pthread_mutex_lock(&h->lock);
	if (!region) {
		h->regions--;
		return NULL;
	}
	h->warm += region->warm;
	region_list(h, region);
	return region;
}

void *run_take(struct heap_state *h, unsigned pages)
{
	struct region *region = region_with(h, pages);
	unsigned first, warm = 0;

	if (!region && !(region = region_add(h)))
		return NULL;
	first = region_take(region, pages, &warm);
	region_relist(h, region);
	h->used += pages;
	h->warm -= warm;
	if (h->warm < h->low)
		h->low = h->warm;
	return region_at(region, first);
}

struct region_state { unsigned used, warm, gone; };

static struct region_state region_state(const struct region *region)
{
	return (struct region_state){ .used = region->used, .warm = region->warm, .gone = region->gone };
}

/* Files a region after something in it was given back; `before` is its state before that. Gone pages wait until the
 * whole region can be given back, unless there are too many of them. */
static void region_changed(struct heap_state *h, struct region *region, const struct region_state *before)
{
	h->used -= before->used - region->used;
	h->warm += region->warm - before->warm;
	h->gone += region->gone - before->gone;
	if (region->away)
		return;
	if (region->gone &&
	    (!region->used || (h->gone > GONE_SPARE / region_page() && h->gone > h->used / GONE_SHARE))) {
		heap_cool(h, region);
		return;
	}
	region_relist(h, region);
	heap_limit(h);
}

void run_give(struct heap_state *h, void *at)
{
	struct region *region = region_of(at);
	struct region_state before = region_state(region);

	region_give(region, region_page_of(at));
	region_changed(h, region, &before);
}

/* Whether the piece is a run of pages by itself. */
static bool is_run(size_t len)
{
	return len > HEAP_BLOCK_MAX;
}

static unsigned pages_for(size_t len)
{
	return (unsigned)((len + region_page() - 1) / region_page());
}

void heap_settle(void)
{
	for (size_t i = HEAP_TRANSIT; i <= HEAP_KEPT; i++) {
		pthread_mutex_lock(&heaps[i].lock);
		if (!heaps[i].regions)
			region_add(&heaps[i]);
		pthread_mutex_unlock(&heaps[i].lock);
	}
}

void *heap_take(enum heap which, size_t len)
{
	struct heap_state *h = &heaps[which == HEAP_KEPT && is_run(len) ? HEAP_LONG : which];
	void *at;

	if (len > HEAP_MAX || (utfeed_heap_refuses && utfeed_heap_refuses()))
		return NULL;
#ifdef HEAP_CHECKED
	if (!is_run(len))
		return malloc(len);
#endif
	pthread_mutex_lock(&h->lock);
	at = is_run(len) ? run_take(h, pages_for(len)) : block_take(h, len);
	pthread_mutex_unlock(&h->lock);
	if (at && is_run(len)) {
		ASAN_UNPOISON_MEMORY_REGION(at, pages_for(len) * region_page());
		region_fill(at, pages_for(len));
	}
	return at;
}

void *heap_take_zeroed(enum heap which, size_t len)
{
	void *at = heap_take(which, len);

	return at ? memset(at, 0, len) : NULL;
}

#ifdef HEAP_CHECKED
/* AddressSanitizer sees more where each block is one of malloc()'s. */
static bool is_block(const void *at)
{
	return __sanitizer_get_ownership(at);
}
#endif

void heap_give(void *at)
{
	struct region *region;
	struct heap_state *h;
	struct slab *slab;

	if (!at)
		return;
#ifdef HEAP_CHECKED
	if (is_block(at)) {
		free(at);
		return;
	}
#endif
	region = region_of(at);
	h = &heaps[region->owner];
	pthread_mutex_lock(&h->lock);
	if ((slab = region->slab[region_page_of(at)])) {
		block_give(h, slab, at);
	} else {
		ASAN_POISON_MEMORY_REGION(at, region->length[region_page_of(at)] * region_page());
		run_give(h, at);
	}
	pthread_mutex_unlock(&h->lock);
}

/* Without the lock: what is looked at does not change while the piece is in use. */
size_t heap_bytes(const void *at)
{
	struct region *region = region_of(at);
	struct slab *slab;

#ifdef HEAP_CHECKED
	if (is_block(at))
		return block_size_for(__sanitizer_get_allocated_size(at));
#endif
	slab = region->slab[region_page_of(at)];
	return slab ? slab->size : region->length[region_page_of(at)] * region_page();
}

size_t heap_bytes_for(size_t len)
{
	return is_run(len) ? pages_for(len) * region_page() : block_size_for(len);
}

void heap_trim(void *at, size_t len)
{
	struct region *region = region_of(at);
	struct heap_state *h = &heaps[region->owner];
	unsigned first = region_page_of(at), pages = pages_for(len ? len : 1);
	struct region_state before;

	assert(!region->slab[first]);
	if (pages >= region->length[first])
		return;
	pthread_mutex_lock(&h->lock);
	ASAN_POISON_MEMORY_REGION((char *)at + pages * region_page(), (region->length[first] - pages) * region_page());
	before = region_state(region);
	region_trim(region, first, pages);
	region_changed(h, region, &before);
	pthread_mutex_unlock(&h->lock);
}

void heap_sent(void *at)
{
	struct region *region = region_of(at);
	struct heap_state *h = &heaps[region->owner];
	bool first, moved;

	if (region_is_sent(region, region_page_of(at)))
		return;
	pthread_mutex_lock(&h->lock);
	first = region_sent(region, region_page_of(at));
	pthread_mutex_unlock(&h->lock);
	if (!first)
		return;
	moved = region_make_huge(region);
	pthread_mutex_lock(&h->lock);
	h->warm -= region->warm;
	region_made_huge(region, moved);
	h->warm += region->warm;
	if (!region->away)
		region_relist(h, region);
	pthread_mutex_unlock(&h->lock);
}

struct heap_sums heap_sums(void)
{
	struct heap_sums sums = { 0 };

	for (size_t i = 0; i < HEAP_COUNT; i++) {
		struct heap_state *h = &heaps[i];

		pthread_mutex_lock(&h->lock);
		sums.pieces += (h->used - h->cut) * region_page() + h->blocks;
		sums.used += h->used * region_page();
		sums.spare += (h->warm + h->gone) * region_page();
		sums.mapped += h->regions * REGION_BYTES;
		pthread_mutex_unlock(&h->lock);
	}
	return sums;
}

static size_t scattered(const struct heap_state *h)
{
	size_t between = h->cut * region_page() - h->blocks, usual = SCATTERED + h->blocks / SCATTERED_SHARE;

	return between > usual ? between - usual : 0;
}

/* Slabs that are kept though no block of theirs is in use keep nothing from others: they go first. */
size_t heap_scattered(void)
{
	struct heap_state *h = &heaps[HEAP_KEPT];
	size_t bytes;

	pthread_mutex_lock(&h->lock);
	if ((bytes = scattered(h))) {
		blocks_settle(h);
		bytes = scattered(h);
	}
	pthread_mutex_unlock(&h->lock);
	return bytes;
}
