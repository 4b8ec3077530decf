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

void region_list(struct heap_state *heap, struct region *region)
{
	unsigned hole = hole_of(region);

	region->listed = (uint16_t)hole;
	LIST_INSERT_HEAD(&heap->by_hole[hole], region, link);
	heap->filled[hole / 64] |= (uint64_t)1 << hole % 64;
	region_file(heap, region);
}

void region_unlist(struct heap_state *heap, struct region *region)
{
	unsigned hole = region->listed;

	LIST_REMOVE(region, link);
	if (LIST_EMPTY(&heap->by_hole[hole]))
		heap->filled[hole / 64] &= ~((uint64_t)1 << hole % 64);
	region_unfile(region);
}

void region_relist(struct heap_state *heap, struct region *region)
{
	if (hole_of(region) == region->listed) {
		region_file(heap, region);
		return;
	}
	region_unlist(heap, region);
	region_list(heap, region);
}

void region_leave(struct heap_state *heap, struct region *region)
{
	heap->regions--;
	heap->warm -= region->warm;
	heap->gone -= region->gone;
	if (heap->warm < heap->low)
		heap->low = heap->warm;
}

/* A region with the smallest largest hole that is large enough; NULL: none is. */
static struct region *region_with(struct heap_state *heap, unsigned pages)
{
	uint64_t bits = heap->filled[pages / 64] & ~(uint64_t)0 << pages % 64;
	unsigned word = pages / 64;

	while (!bits) {
		if (++word == sizeof heap->filled / sizeof *heap->filled)
			return NULL;
		bits = heap->filled[word];
	}
	return LIST_FIRST(&heap->by_hole[word * 64 + (unsigned)__builtin_ctzll(bits)]);
}

/* Lets go of the lock meanwhile, since the system is asked for address space. */
static struct region *region_add(struct heap_state *heap)
{
	struct region *region;

	heap->regions++;
	pthread_mutex_unlock(&heap->lock);
	if ((region = region_new()))
		region->owner = heap->self;
	pthread_mutex_lock(&heap->lock);
	if (!region) {
		heap->regions--;
		return NULL;
	}
	heap->warm += region->warm;
	region_list(heap, region);
	return region;
}

void *run_take(struct heap_state *heap, unsigned pages)
{
	struct region *region = region_with(heap, pages);
	unsigned warm = 0;

	if (!region && !(region = region_add(heap)))
		return NULL;
	unsigned first = region_take(region, pages, &warm);
	region_relist(heap, region);
	heap->used += pages;
	heap->warm -= warm;
	if (heap->warm < heap->low)
		heap->low = heap->warm;
	return region_at(region, first);
}

struct region_state { unsigned used, warm, gone; };

static struct region_state region_state(const struct region *region)
{
	return (struct region_state){ .used = region->used, .warm = region->warm, .gone = region->gone };
}

/* Files a region after something in it was given back; `before` is its state before that. Gone pages wait until the
 * whole region can be given back, unless there are too many of them. */
static void region_changed(struct heap_state *heap, struct region *region, const struct region_state *before)
{
	heap->used -= before->used - region->used;
	heap->warm += region->warm - before->warm;
	heap->gone += region->gone - before->gone;
	if (region->away)
		return;
	if (region->gone &&
	    (!region->used || (heap->gone > GONE_SPARE / region_page() && heap->gone > heap->used / GONE_SHARE))) {
		heap_cool(heap, region);
		return;
	}
	region_relist(heap, region);
	heap_limit(heap);
}

void run_give(struct heap_state *heap, void *at)
{
	struct region *region = region_of(at);
	struct region_state before = region_state(region);

	region_give(region, region_page_of(at));
	region_changed(heap, region, &before);
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
	struct heap_state *state = &heaps[which == HEAP_KEPT && is_run(len) ? HEAP_LONG : which];

	if (len > HEAP_MAX || (utfeed_heap_refuses && utfeed_heap_refuses()))
		return NULL;
#ifdef HEAP_CHECKED
	if (!is_run(len))
		return malloc(len);
#endif
	pthread_mutex_lock(&state->lock);
	void *at = is_run(len) ? run_take(state, pages_for(len)) : block_take(state, len);
	pthread_mutex_unlock(&state->lock);
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
	struct heap_state *heap = &heaps[region->owner];
	pthread_mutex_lock(&heap->lock);
	if ((slab = region->slab[region_page_of(at)])) {
		block_give(heap, slab, at);
	} else {
		ASAN_POISON_MEMORY_REGION(at, region->length[region_page_of(at)] * region_page());
		run_give(heap, at);
	}
	pthread_mutex_unlock(&heap->lock);
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
	struct heap_state *heap = &heaps[region->owner];
	unsigned first = region_page_of(at), pages = pages_for(len ? len : 1);

	assert(!region->slab[first]);
	if (pages >= region->length[first])
		return;
	pthread_mutex_lock(&heap->lock);
	ASAN_POISON_MEMORY_REGION((char *)at + pages * region_page(), (region->length[first] - pages) * region_page());
	struct region_state before = region_state(region);
	region_trim(region, first, pages);
	region_changed(heap, region, &before);
	pthread_mutex_unlock(&heap->lock);
}

void heap_sent(void *at)
{
	struct region *region = region_of(at);
	struct heap_state *heap = &heaps[region->owner];

	if (region_is_sent(region, region_page_of(at)))
		return;
	pthread_mutex_lock(&heap->lock);
	bool first = region_sent(region, region_page_of(at));
	pthread_mutex_unlock(&heap->lock);
	if (!first)
		return;
	bool moved = region_make_huge(region);
	pthread_mutex_lock(&heap->lock);
	heap->warm -= region->warm;
	region_made_huge(region, moved);
	heap->warm += region->warm;
	if (!region->away)
		region_relist(heap, region);
	pthread_mutex_unlock(&heap->lock);
}

struct heap_sums heap_sums(void)
{
	struct heap_sums sums = { 0 };

	for (size_t i = 0; i < HEAP_COUNT; i++) {
		struct heap_state *heap = &heaps[i];

		pthread_mutex_lock(&heap->lock);
		sums.pieces += (heap->used - heap->cut) * region_page() + heap->blocks;
		sums.used += heap->used * region_page();
		sums.spare += (heap->warm + heap->gone) * region_page();
		sums.mapped += heap->regions * REGION_BYTES;
		pthread_mutex_unlock(&heap->lock);
	}
	return sums;
}

static size_t scattered(const struct heap_state *heap)
{
	size_t between = heap->cut * region_page() - heap->blocks, usual = SCATTERED + heap->blocks / SCATTERED_SHARE;

	return between > usual ? between - usual : 0;
}

/* Slabs that are kept though no block of theirs is in use keep nothing from others: they go first. */
size_t heap_scattered(void)
{
	struct heap_state *heap = &heaps[HEAP_KEPT];
	size_t bytes;

	pthread_mutex_lock(&heap->lock);
	if ((bytes = scattered(heap))) {
		blocks_settle(heap);
		bytes = scattered(heap);
	}
	pthread_mutex_unlock(&heap->lock);
	return bytes;
}
