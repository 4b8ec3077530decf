/* Gives memory back to the system that nobody has needed for a while; see heap.h. */
#include "proxy/base/heap_internal.h"

enum {
	REST_BYTES = 4 << 20,          /* that one call gives back: less than a millisecond */
	KEEP_BYTES = 256 << 10,        /* of spare memory that a heap keeps */
	/* pages that are to be gained from a region in huge pages, which is split for them */
	HUGE_GAIN_SHARE = 4
};

/* The last region stays for what comes next, without its memory. */
static bool may_leave(const struct heap_state *heap, const struct region *region)
{
	return !region->used && heap->regions > 1;
}

static bool has_gain(const struct region *region)
{
	return region->warm + region->gone >= (region->huge ? region_room() / HUGE_GAIN_SHARE : 1);
}

void region_unfile(struct region *region)
{
	if (region->cool)
		LIST_REMOVE(region, cool_link);
	region->cool = 0;
}

/* One without runs is filed whether it may leave or not, which depends on the others. */
void region_file(struct heap_state *heap, struct region *region)
{
	unsigned cool = !region->used || has_gain(region) ? region->listed / HEAP_COOL_STEP + 1 : 0;

	if (cool == region->cool)
		return;
	region_unfile(region);
	if (!(region->cool = (uint8_t)cool))
		return;
	LIST_INSERT_HEAD(&heap->by_gain[cool - 1], region, cool_link);
}

/* The region from which most is to be gained at least cost; NULL: none is worth it. At most one is passed over, the
 * only region that there is. */
static struct region *coolest(struct heap_state *heap)
{
	struct region *region;

	for (size_t i = sizeof heap->by_gain / sizeof *heap->by_gain; i--;)
		LIST_FOREACH(region, &heap->by_gain[i], cool_link)
			if (may_leave(heap, region) || has_gain(region))
				return region;
	return NULL;
}

size_t heap_cool(struct heap_state *heap, struct region *region)
{
	struct region_cooling cooling;
	size_t pages = region->warm;

	region_unlist(heap, region);
	if (may_leave(heap, region)) {
		region_leave(heap, region);
		pthread_mutex_unlock(&heap->lock);
		region_free(region);
		pthread_mutex_lock(&heap->lock);
		return pages ? pages : 1;
	}
	region_cool_begin(&cooling, region);
	pthread_mutex_unlock(&heap->lock);
	region_cool(&cooling);
	pthread_mutex_lock(&heap->lock);
	heap->gone -= region->gone;
	pages = region_cool_end(&cooling);
	heap->warm -= pages;
	heap->gone += region->gone;
	region_list(heap, region);
	return pages;
}

void heap_limit(struct heap_state *heap)
{
	size_t most = heap->spare_max / region_page() + (heap->spare_share ? heap->used / heap->spare_share : 0);
	struct region *region;

	while (heap->warm > most && (region = coolest(heap)))
		heap_cool(heap, region);
}

/* Pages that were spare all the time since the last rest were not needed: half of them go. */
static bool rest(struct heap_state *heap, uint64_t now_ms)
{
	size_t keep = KEEP_BYTES / region_page(), most = REST_BYTES / region_page(), gained = 0;
	bool more = false;

	if (pthread_mutex_trylock(&heap->lock))
		return false;
	if (now_ms >= heap->rested_ms + HEAP_REST_MS) {   /* by another thread's clock it may be ahead */
		blocks_settle(heap);
		heap->rested_ms = now_ms;
		heap->low = heap->low < heap->warm ? heap->low : heap->warm;
		heap->surplus = heap->low > keep ? (heap->low - keep + 1) / 2 : 0;
		heap->low = heap->warm;
	}
	size_t wanted = heap->surplus < most ? heap->surplus : most;
	while (gained < wanted) {
		struct region *region = coolest(heap);

		if (!region)
			break;
		gained += heap_cool(heap, region);
	}
	heap->surplus = gained >= wanted && heap->surplus > gained ? heap->surplus - gained : 0;
	heap->low = heap->warm < heap->low ? heap->warm : heap->low;
	more = heap->surplus;
	pthread_mutex_unlock(&heap->lock);
	return more;
}

bool heap_rest(uint64_t now_ms)
{
	bool more = false;

	for (size_t i = 0; i < HEAP_COUNT; i++)
		more |= rest(&heaps[i], now_ms);
	return more;
}
