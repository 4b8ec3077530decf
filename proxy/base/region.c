/* A region's page map; see region.h. */
#include "proxy/base/region.h"

#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proxy/base/poison.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23         /* Linux 5.14 */
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25               /* Linux 6.1 */
#endif

enum { HUGE_USED_SHARE = 2 /* of a region is in use before it is worth a huge page */ };

size_t region_page(void)
{
	static _Atomic size_t known;
	size_t page = atomic_load_explicit(&known, memory_order_relaxed);

	if (!page) {
		page = (size_t)sysconf(_SC_PAGESIZE);
		if (page < REGION_BYTES / REGION_PAGES_MAX)
			page = REGION_BYTES / REGION_PAGES_MAX;
		atomic_store_explicit(&known, page, memory_order_relaxed);
	}
	return page;
}

static unsigned own_pages(void)
{
	return (unsigned)((sizeof(struct region) + region_page() - 1) / region_page());
}

/* Behind the last run or hole. */
static unsigned end_page(void)
{
	return (unsigned)(REGION_BYTES / region_page()) - 1;
}

unsigned region_room(void)
{
	return end_page() - own_pages();
}

static char *map(void *where, size_t len)
{
	void *at = mmap(where, len, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | (where ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Regions mapped one after the other lie beside each other, so that most are aligned by themselves; before the first
 * one there is room, as a rule. */
static void *map_aligned(void)
{
	char *at = map(NULL, REGION_BYTES);

	if (!at || (uintptr_t)at % REGION_BYTES == 0)
		return at;
	char *below = at - (uintptr_t)at % REGION_BYTES;
	munmap(at, REGION_BYTES);
	if ((at = map(below, REGION_BYTES)) == below)
		return at;
	if (at)                        /* an older kernel takes it for a hint */
		munmap(at, REGION_BYTES);
	if (!(at = map(NULL, 2 * REGION_BYTES)))
		return NULL;
	size_t before = -(uintptr_t)at % REGION_BYTES;
	if (before)
		munmap(at, before);
	munmap(at + before + REGION_BYTES, REGION_BYTES - before);
	return at + before;
}

static enum region_kind kind_of(const struct region *region, unsigned page)
{
	return (enum region_kind)atomic_load_explicit(&region->kind[page], memory_order_relaxed);
}

static void set_kind(struct region *region, unsigned page, enum region_kind kind)
{
	atomic_store_explicit(&region->kind[page], (uint8_t)kind, memory_order_relaxed);
}

static void set_span(struct region *region, unsigned first, unsigned pages, enum region_kind kind)
{
	region->length[first] = region->length[first + pages - 1] = (uint16_t)pages;
	set_kind(region, first, kind);
}

struct region *region_new(void)
{
	struct region *region = map_aligned();

	if (!region)
		return NULL;
	region->largest = region_room();
	set_span(region, own_pages(), region_room(), REGION_HOLE);
	return region;
}

void region_free(struct region *region)
{
	ASAN_UNPOISON_MEMORY_REGION(region, REGION_BYTES);  /* somebody else's may be mapped there next */
	munmap(region, REGION_BYTES);
}

static void find_largest(struct region *region)
{
	region->largest = 0;
	for (unsigned at = own_pages(); at < end_page(); at += region->length[at])
		if (kind_of(region, at) == REGION_HOLE && region->length[at] > region->largest)
			region->largest = region->length[at];
}

unsigned region_take(struct region *region, unsigned pages, unsigned *warm)
{
	unsigned best = 0;

	for (unsigned at = own_pages(); at < end_page(); at += region->length[at])
		if (kind_of(region, at) == REGION_HOLE && region->length[at] >= pages &&
		    (!best || region->length[at] < region->length[best]))
			best = at;
	if (!best)
		return 0;
	unsigned length = region->length[best];
	set_span(region, best, pages, REGION_RUN);
	if (length > pages)
		set_span(region, best + pages, length - pages, REGION_HOLE);
	*warm = 0;
	for (unsigned i = best; i < best + pages; i++)
		*warm += region->is_warm[i];
	region->warm -= *warm;
	region->used += pages;
	if (length == region->largest)
		find_largest(region);
	return best;
}

/* Makes a hole of pages that were a run, together with the holes on both sides. */
static void make_hole(struct region *region, unsigned first, unsigned pages)
{
	unsigned after = first + pages;

	if (after < end_page() && kind_of(region, after) == REGION_HOLE)
		pages += region->length[after];
	if (first > own_pages()) {
		unsigned before = first - region->length[first - 1];

		if (kind_of(region, before) == REGION_HOLE) {
			pages += region->length[before];
			first = before;
		}
	}
	set_span(region, first, pages, REGION_HOLE);
	if (pages > region->largest)
		region->largest = pages;
}

static void set_warm(struct region *region, unsigned first, unsigned pages, bool warm)
{
	for (unsigned i = first; i < first + pages; i++)
		region->is_warm[i] = warm;
}

void region_give(struct region *region, unsigned first)
{
	unsigned pages = region->length[first];

	assert(kind_of(region, first) == REGION_RUN || kind_of(region, first) == REGION_SENT);
	region->used -= pages;
	if (kind_of(region, first) == REGION_SENT) {
		set_kind(region, first, REGION_GONE);
		region->gone += pages;
		return;
	}
	set_warm(region, first, pages, true);
	region->warm += pages;
	make_hole(region, first, pages);
}

void region_trim(struct region *region, unsigned first, unsigned pages)
{
	unsigned rest = region->length[first] - pages;
	enum region_kind kind = kind_of(region, first);

	if (!rest)
		return;
	set_span(region, first, pages, kind);
	set_span(region, first + pages, rest, kind);
	region_give(region, first + pages);
}

void region_fill(void *at, unsigned pages)
{
	struct region *region = region_of(at);
	unsigned first = region_page_of(at), from = first;

	while (from < first + pages && region->is_warm[from])
		from++;
	if (from < first + pages)
		madvise(region_at(region, from), (first + pages - from) * region_page(), MADV_POPULATE_WRITE);
}

bool region_is_sent(const struct region *region, unsigned first)
{
	return kind_of(region, first) == REGION_SENT;
}

bool region_sent(struct region *region, unsigned first)
{
	bool move = !region->tried && !region->huge && !region->away && region->used >= region_room() / HUGE_USED_SHARE;

	set_kind(region, first, REGION_SENT);
	region->tried |= move;
	return move;
}

bool region_make_huge(struct region *region)
{
	return !madvise(region, REGION_BYTES, MADV_COLLAPSE);
}

void region_made_huge(struct region *region, bool moved)
{
	if (!moved || region->away)
		return;
	region->huge = true;
	for (unsigned at = own_pages(); at < end_page(); at += region->length[at])
		if (kind_of(region, at) == REGION_HOLE) {
			for (unsigned i = at; i < at + region->length[at]; i++)
				region->warm += !region->is_warm[i];
			set_warm(region, at, region->length[at], true);
		}
}

void region_cool_begin(struct region_cooling *cooling, struct region *region)
{
	cooling->region = region;
	cooling->n = 0;
	for (unsigned at = own_pages(); at < end_page(); at += region->length[at])
		if (kind_of(region, at) == REGION_HOLE || kind_of(region, at) == REGION_GONE) {
			cooling->at[cooling->n].first = (uint16_t)at;
			cooling->at[cooling->n++].pages = region->length[at];
		}
	region->away = true;
}

/* The kernel keeps all the memory of a huge page, although a part was given back, until memory is short. It gives the
 * part back at once if it splits the page first, and MADV_FREE on any small page of it makes it do so (madvise(2)). The
 * last page of the region is there for that. With transparent_hugepage/enabled = always any region may be in one. */
void region_cool(const struct region_cooling *cooling)
{
	struct region *region = cooling->region;
	size_t page = region_page();

	if (region->huge)
		madvise(region, REGION_BYTES, MADV_NOHUGEPAGE);
	for (unsigned i = 0; i < cooling->n; i++)
		madvise(region_at(region, cooling->at[i].first), cooling->at[i].pages * page, MADV_DONTNEED);
	madvise(region_at(region, end_page()), page, MADV_FREE);
}

unsigned region_cool_end(const struct region_cooling *cooling)
{
	struct region *region = cooling->region;
	unsigned cooled = 0;

	for (unsigned i = 0; i < cooling->n; i++) {
		unsigned first = cooling->at[i].first, pages = cooling->at[i].pages;

		if (kind_of(region, first) == REGION_GONE && region->length[first] == pages) {
			region->gone -= pages;
			set_warm(region, first, pages, false);
			make_hole(region, first, pages);
			continue;
		}
		for (unsigned p = first; p < first + pages; p++) {
			cooled += region->is_warm[p];
			region->is_warm[p] = false;
		}
	}
	region->warm -= cooled;
	region->huge = region->tried = region->away = false;
	return cooled;
}
