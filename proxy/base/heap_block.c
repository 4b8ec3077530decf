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
	const struct band *b = bands;

	while (len > b->until)
		b++;
	return b;
}

static size_t size_in(const struct band *b, size_t len)
{
	return len ? (len + b->step - 1) / b->step * b->step : b->step;
}

size_t block_size_for(size_t len)
{
	return size_in(band_of(len), len);
}

static unsigned class_of(const struct band *b, size_t size)
{
	size_t from = b == bands ? 0 : b[-1].until;

	return b->first + (unsigned)((size - from) / b->step) - 1;
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

static size_t slab_blocks(const struct heap_class *c, size_t size)
{
	size_t most = SLAB_BYTES_MAX / size, blocks = c->used / SLAB_SHARE;

	most = most < SLAB_BLOCKS_MAX ? most : SLAB_BLOCKS_MAX;
	blocks = blocks > SLAB_BLOCKS_MIN ? blocks : SLAB_BLOCKS_MIN;
	return blocks < most ? blocks : most;
}

/* Lets go of the lock while the system finds memory for all pages at once, which costs less than a fault for each page.
 * The slab of a class that is seldom used gets its memory block by block. */
static struct slab *slab_new(struct heap_state *h, unsigned class, size_t size)
{
	struct slab *s = malloc(sizeof *s);
	size_t blocks = slab_blocks(&h->classes[class], size);
	unsigned pages = slab_pages(size, blocks);
	struct region *r;

	if (!s)
		return NULL;
	*s = (struct slab){ .start = run_take(h, pages), .size = (uint32_t)size, .pages = (uint16_t)pages,
		.class = (uint8_t)class };
	if (!s->start) {
		free(s);
		return NULL;
	}
	if (blocks > SLAB_BLOCKS_MIN) {
		pthread_mutex_unlock(&h->lock);
		region_fill(s->start, pages);
		pthread_mutex_lock(&h->lock);
	}
	s->capacity = (uint16_t)(pages * region_page() / size);
	r = region_of(s->start);
	for (unsigned i = 0; i < pages; i++)
		r->slab[region_page_of(s->start) + i] = s;
	h->cut += pages;
	LIST_INSERT_HEAD(&h->classes[class].open, s, link);
	return s;
}

static void slab_free(struct heap_state *h, struct slab *s)
{
	struct region *r = region_of(s->start);

	LIST_REMOVE(s, link);
	for (unsigned i = 0; i < s->pages; i++)
		r->slab[region_page_of(s->start) + i] = NULL;
	h->cut -= s->pages;
	run_give(h, s->start);
	free(s);
}

void *block_take(struct heap_state *h, size_t len)
{
	const struct band *b = band_of(len);
	size_t size = size_in(b, len);
	unsigned class = class_of(b, size);
	struct heap_class *c = &h->classes[class];
	struct slab *s = LIST_FIRST(&c->open);
	void *at;

	if (!s && !(s = slab_new(h, class, size)))
		return NULL;
	if ((at = s->free))
		s->free = *(void **)at;
	else
		at = s->start + (size_t)s->fresh++ * s->size;
	if (c->empty == s)
		c->empty = NULL;
	c->used++;
	h->blocks += s->size;
	if (++s->used == s->capacity)
		LIST_REMOVE(s, link);
	return at;
}

void block_give(struct heap_state *h, struct slab *s, void *at)
{
	struct heap_class *c = &h->classes[s->class];

	*(void **)at = s->free;
	s->free = at;
	c->used--;
	h->blocks -= s->size;
	if (s->used-- == s->capacity)
		LIST_INSERT_HEAD(&c->open, s, link);
	if (s->used)
		return;
	if (c->empty)
		slab_free(h, s);
	else
		c->empty = s;
}

void blocks_settle(struct heap_state *h)
{
	for (size_t i = 0; i < HEAP_CLASSES; i++) {
		struct slab *s = h->classes[i].empty;

		h->classes[i].empty = NULL;
		if (s)
			slab_free(h, s);
	}
}
