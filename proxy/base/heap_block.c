/* Blocks: runs of pages that are cut into pieces of one size; see heap.h. A block given back is the next one to be
 * taken, since its bytes are still in the processor's cache. */
#include "proxy/base/heap_internal.h"

#include <stdlib.h>

/* The sizes of blocks: each band goes in steps from the bound of the band before. Rounding loses a few per cent of the
 * memory. */
static const struct band { uint32_t until, step; uint8_t first; } bands[] = {
	{ 256, 16, 0 }, { 1024, 32, 16 }, { 4096, 64, 40 }, { 16384, 512, 88 }, { HEAP_BLOCK_MAX, 2048, 112 },
};

/* A slab has as many blocks as an eighth of those in use, so that a class that is seldom used takes little memory. */
enum {
	SLAB_SHARE = 8, SLAB_BLOCKS_MIN = 4, SLAB_BLOCKS_MAX = 64, SLAB_BYTES_MAX = 256 * 1024,
	SLAB_LOSS_SHARE = 64           /* of a slab may be lost at its end */
};

static const struct band *band_of(size_t len)
{
	const struct band *band = bands;

	while (len > band->until)
		band++;
	return band;
}

static size_t size_in(const struct band *band, size_t len)
{
	return len ? (len + band->step - 1) / band->step * band->step : band->step;
}

size_t block_size_for(size_t len)
{
	return size_in(band_of(len), len);
}

static unsigned class_of(const struct band *band, size_t size)
{
	size_t from = band == bands ? 0 : band[-1].until;

	return band->first + (unsigned)((size - from) / band->step) - 1;
}

/* How many pages a slab of that many blocks takes: a few more where less is lost at its end. */
static unsigned slab_pages(size_t size, size_t blocks)
{
	size_t page = region_page(), least = (size * blocks + page - 1) / page, best = least;

	for (size_t n = least; n < least + least / 2 + 2; n++) {
		if (n * page % size * best < best * page % size * n)
			best = n;
		if (best * page % size * SLAB_LOSS_SHARE < best * page)
			break;
	}
	return (unsigned)best;
}

static size_t slab_blocks(const struct heap_class *class, size_t size)
{
	size_t most = SLAB_BYTES_MAX / size, blocks = class->used / SLAB_SHARE;

	most = most < SLAB_BLOCKS_MAX ? most : SLAB_BLOCKS_MAX;
	blocks = blocks > SLAB_BLOCKS_MIN ? blocks : SLAB_BLOCKS_MIN;
	return blocks < most ? blocks : most;
}

/* Lets go of the lock while the system finds memory for all pages at once, which costs less than a fault for each page.
 * The slab of a class that is seldom used gets its memory block by block. */
static struct slab *slab_new(struct heap_state *heap, unsigned class, size_t size)
{
	struct slab *slab = malloc(sizeof *slab);
	size_t blocks = slab_blocks(&heap->classes[class], size);
	unsigned pages = slab_pages(size, blocks);

	if (!slab)
		return NULL;
	*slab = (struct slab){ .start = run_take(heap, pages), .size = (uint32_t)size, .pages = (uint16_t)pages,
		.class = (uint8_t)class };
	if (!slab->start) {
		free(slab);
		return NULL;
	}
	if (blocks > SLAB_BLOCKS_MIN) {
		pthread_mutex_unlock(&heap->lock);
		region_fill(slab->start, pages);
		pthread_mutex_lock(&heap->lock);
	}
	slab->capacity = (uint16_t)(pages * region_page() / size);
	struct region *region = region_of(slab->start);
	for (unsigned i = 0; i < pages; i++)
		region->slab[region_page_of(slab->start) + i] = slab;
	heap->cut += pages;
	LIST_INSERT_HEAD(&heap->classes[class].open, slab, link);
	return slab;
}

static void slab_free(struct heap_state *heap, struct slab *slab)
{
	struct region *region = region_of(slab->start);

	LIST_REMOVE(slab, link);
	for (unsigned i = 0; i < slab->pages; i++)
		region->slab[region_page_of(slab->start) + i] = NULL;
	heap->cut -= slab->pages;
	run_give(heap, slab->start);
	free(slab);
}

void *block_take(struct heap_state *heap, size_t len)
{
	const struct band *band = band_of(len);
	size_t size = size_in(band, len);
	unsigned number = class_of(band, size);
	struct heap_class *class = &heap->classes[number];
	struct slab *slab = LIST_FIRST(&class->open);
	void *at;

	if (!slab && !(slab = slab_new(heap, number, size)))
		return NULL;
	if ((at = slab->free))
		slab->free = *(void **)at;
	else
		at = slab->start + (size_t)slab->fresh++ * slab->size;
	if (class->empty == slab)
		class->empty = NULL;
	class->used++;
	heap->blocks += slab->size;
	if (++slab->used == slab->capacity)
		LIST_REMOVE(slab, link);
	return at;
}

void block_give(struct heap_state *heap, struct slab *slab, void *at)
{
	struct heap_class *class = &heap->classes[slab->class];

	*(void **)at = slab->free;
	slab->free = at;
	class->used--;
	heap->blocks -= slab->size;
	if (slab->used-- == slab->capacity)
		LIST_INSERT_HEAD(&class->open, slab, link);
	if (slab->used)
		return;
	if (class->empty)
		slab_free(heap, slab);
	else
		class->empty = slab;
}

void blocks_settle(struct heap_state *heap)
{
	for (size_t i = 0; i < HEAP_CLASSES; i++) {
		struct slab *slab = heap->classes[i].empty;

		heap->classes[i].empty = NULL;
		if (slab)
			slab_free(heap, slab);
	}
}
