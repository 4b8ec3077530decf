/* Gives memory back to the system that nobody has needed for a while; see heap.h. */
#include "proxy/base/heap_internal.h"

enum {
	REST_BYTES = 4 << 20,          /* that one call gives back: less than a millisecond */
	KEEP_BYTES = 256 << 10,        /* of spare memory that a heap keeps */
	/* pages that are to be gained from a region in huge pages, which is split for them */
	HUGE_GAIN_SHARE = 4
};

/* The last region stays for what comes next, without its memory. */
static bool may_leave(const struct heap_state *h, const struct region *r)
{
	return !r->used && h->regions > 1;
}

static bool has_gain(const struct region *r)
{
	return r->warm + r->gone >= (r->huge ? region_room() / HUGE_GAIN_SHARE : 1);
}

void region_unfile(struct region *r)
{
	if (r->cool)
		LIST_REMOVE(r, cool_link);
	r->cool = 0;
}

/* One without runs is filed whether it may leave or not, which depends on the others. */
void region_file(struct heap_state *h, struct region *r)
{
	unsigned cool = !r->used || has_gain(r) ? r->listed / HEAP_COOL_STEP + 1 : 0;

	if (cool == r->cool)
		return;
	region_unfile(r);
	if (!(r->cool = (uint8_t)cool))
		return;
	LIST_INSERT_HEAD(&h->by_gain[cool - 1], r, cool_link);
}

/* The region from which most is to be gained at least cost; NULL: none is worth it. At most one is passed over, the
 * only region that there is. */
static struct region *coolest(struct heap_state *h)
{
	struct region *r;

	for (size_t i = sizeof h->by_gain / sizeof *h->by_gain; i--;)
		LIST_FOREACH(r, &h->by_gain[i], cool_link)
			if (may_leave(h, r) || has_gain(r))
				return r;
	return NULL;
}

size_t heap_cool(struct heap_state *h, struct region *r)
{
	struct region_cooling cooling;
	size_t pages = r->warm;

	region_unlist(h, r);
	if (may_leave(h, r)) {
		region_leave(h, r);
		pthread_mutex_unlock(&h->lock);
		region_free(r);
		pthread_mutex_lock(&h->lock);
		return pages ? pages : 1;
	}
	region_cool_begin(&cooling, r);
	pthread_mutex_unlock(&h->lock);
	region_cool(&cooling);
	pthread_mutex_lock(&h->lock);
	h->gone -= r->gone;
	pages = region_cool_end(&cooling);
	h->warm -= pages;
	h->gone += r->gone;
	region_list(h, r);
	return pages;
}

void heap_limit(struct heap_state *h)
{
	size_t most = h->spare_max / region_page() + (h->spare_share ? h->used / h->spare_share : 0);
	struct region *r;

	while (h->warm > most && (r = coolest(h)))
		heap_cool(h, r);
}

/* Pages that were spare all the time since the last rest were not needed: half of them go. */
static bool rest(struct heap_state *h, uint64_t now_ms)
{
	size_t keep = KEEP_BYTES / region_page(), most = REST_BYTES / region_page(), gained = 0, wanted;
	bool more = false;

	if (pthread_mutex_trylock(&h->lock))
		return false;
	if (now_ms >= h->rested_ms + HEAP_REST_MS) {   /* by another thread's clock it may be ahead */
		blocks_settle(h);
		h->rested_ms = now_ms;
		h->low = h->low < h->warm ? h->low : h->warm;
		h->surplus = h->low > keep ? (h->low - keep + 1) / 2 : 0;
		h->low = h->warm;
	}
	wanted = h->surplus < most ? h->surplus : most;
	while (gained < wanted) {
		struct region *r = coolest(h);

		if (!r)
			break;
		gained += heap_cool(h, r);
	}
	h->surplus = gained >= wanted && h->surplus > gained ? h->surplus - gained : 0;
	h->low = h->warm < h->low ? h->warm : h->low;
	more = h->surplus;
	pthread_mutex_unlock(&h->lock);
	return more;
}

bool heap_rest(uint64_t now_ms)
{
	bool more = false;

	for (size_t i = 0; i < HEAP_COUNT; i++)
		more |= rest(&heaps[i], now_ms);
	return more;
}
