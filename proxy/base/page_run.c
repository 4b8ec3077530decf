/* Runs of pages; see page_run.h. To send a run in a huge page the kernel takes one reference where it takes one for
 * each small page, on the processor that sends and on the one that receives. A huge page of which some runs are freed
 * keeps all its memory until the kernel splits it, which the kernel by itself does only when memory is short. MADV_FREE
 * on a part of the huge page (madvise(2)) splits it at once. For this one page of a region is never part of a run, so
 * that there is such a part when the region is closed. */
#include "proxy/base/page_run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	/* a huge page of x86 and of arm64 with pages of 4 KiB; elsewhere pages stay small */
	REGION_BYTES = 2 * 1024 * 1024,
	REGION_WASTE_MAX_BYTES = REGION_BYTES / 8,
	REGION_RUN_MAX_BYTES = REGION_BYTES / 2,
	REGIONS_OPEN = 2,
	RUNS_MAX = 16384                       /* of the 65,530 mappings a process may have: vm.max_map_count */
};

struct pages_region {
	uint8_t *bytes;
	size_t used;                           /* bytes from the start that are, or were, part of runs */
	size_t live;                           /* bytes of runs that are not freed */
	/* no run is added any more, and the part behind used is unmapped */
	bool closed;
};

static struct {
	pthread_mutex_t lock;                  /* guards the fields of all regions */
	struct pages_region *open[REGIONS_OPEN];
} regions = { .lock = PTHREAD_MUTEX_INITIALIZER };

static atomic_uint runs;

size_t page_run_whole(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (len + page - 1) / page * page;
}

static uint8_t *map(size_t len)
{
	void *bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return bytes == MAP_FAILED ? NULL : bytes;
}

static struct pages_region *region_new(void)
{
	struct pages_region *r = calloc(1, sizeof *r);
	uint8_t *bytes = r ? map(2 * REGION_BYTES) : NULL;
	size_t before = -(uintptr_t)bytes % REGION_BYTES;

	if (!bytes) {
		free(r);
		return NULL;
	}
	if (before)
		munmap(bytes, before);
	r->bytes = bytes + before;
	munmap(r->bytes + REGION_BYTES, REGION_BYTES - before);
	madvise(r->bytes, REGION_BYTES, MADV_HUGEPAGE);
	return r;
}

/* Unmaps a part of a region. live: the bytes that runs of a closed region still have, else 0. */
static void region_unmap(uint8_t *bytes, size_t len, size_t live)
{
	if (live && REGION_BYTES - live > REGION_WASTE_MAX_BYTES)
		madvise(bytes, len, MADV_FREE);
	munmap(bytes, len);
}

static size_t region_room(const struct pages_region *r)
{
	return REGION_BYTES - page_run_whole(1) - r->used;
}

/* The open region with the least room that is enough for len; NULL: none has enough. */
static struct pages_region **region_with(size_t len)
{
	struct pages_region **best = NULL;

	for (size_t i = 0; i < REGIONS_OPEN; i++) {
		struct pages_region **at = &regions.open[i];

		if (*at && region_room(*at) >= len && (!best || region_room(*at) < region_room(*best)))
			best = at;
	}
	return best;
}

/* The place for a new region: an empty one, else that of the region with the least room, which is closed. */
static struct pages_region **region_to_close(void)
{
	struct pages_region **least = &regions.open[0];

	for (size_t i = 1; i < REGIONS_OPEN; i++)
		if (*least && (!regions.open[i] || region_room(regions.open[i]) < region_room(*least)))
			least = &regions.open[i];
	return least;
}

static uint8_t *region_run(size_t len, struct pages_region **region)
{
	struct pages_region closed = { .closed = false }, **at, *r;
	uint8_t *bytes;

	pthread_mutex_lock(&regions.lock);
	if (!(at = region_with(len))) {
		if (!(r = region_new())) {
			pthread_mutex_unlock(&regions.lock);
			return NULL;
		}
		at = region_to_close();
		if (*at) {
			(*at)->closed = true;
			closed = **at;
			if (!closed.live)
				free(*at);
		}
		*at = r;
	}
	*region = *at;
	bytes = (*at)->bytes + (*at)->used;
	(*at)->used += len;
	(*at)->live += len;
	pthread_mutex_unlock(&regions.lock);
	if (closed.closed)
		region_unmap(closed.bytes + closed.used, REGION_BYTES - closed.used, closed.live);
	return bytes;
}

uint8_t *page_run_new(size_t len, bool lasting, struct pages_region **region)
{
	uint8_t *bytes = NULL;

	*region = NULL;
	len = page_run_whole(len);
	if (atomic_fetch_add_explicit(&runs, 1, memory_order_relaxed) < RUNS_MAX)
		bytes = lasting && len <= REGION_RUN_MAX_BYTES ? region_run(len, region) : map(len);
	if (!bytes)
		atomic_fetch_sub_explicit(&runs, 1, memory_order_relaxed);
	return bytes;
}

static void page_run_unmap(uint8_t *bytes, size_t len, struct pages_region *region)
{
	struct pages_region left;

	if (!region) {
		munmap(bytes, len);
		return;
	}
	pthread_mutex_lock(&regions.lock);
	region->live -= len;
	left = *region;
	pthread_mutex_unlock(&regions.lock);
	region_unmap(bytes, len, left.closed ? left.live : 0);
	if (left.closed && !left.live)
		free(region);
}

void page_run_free(uint8_t *bytes, size_t len, struct pages_region *region)
{
	page_run_unmap(bytes, page_run_whole(len), region);
	atomic_fetch_sub_explicit(&runs, 1, memory_order_relaxed);
}

void page_run_trim(uint8_t *bytes, size_t have, size_t len, struct pages_region *region)
{
	have = page_run_whole(have);
	len = page_run_whole(len);
	if (len < have)
		page_run_unmap(bytes + len, have - len, region);
}

size_t page_run_spare(void)
{
	size_t sum = 0;

	pthread_mutex_lock(&regions.lock);
	for (size_t i = 0; i < REGIONS_OPEN; i++)
		if (regions.open[i])
			sum += REGION_BYTES - regions.open[i]->used;
	pthread_mutex_unlock(&regions.lock);
	return sum;
}
