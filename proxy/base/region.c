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
	char *at = map(NULL, REGION_BYTES), *below;
	size_t before;

	if (!at || (uintptr_t)at % REGION_BYTES == 0)
		return at;
	below = at - (uintptr_t)at % REGION_BYTES;
	munmap(at, REGION_BYTES);
	if ((at = map(below, REGION_BYTES)) == below)
		return at;
	if (at)                        /* an older kernel takes it for a hint */
		munmap(at, REGION_BYTES);
	if (!(at = map(NULL, 2 * REGION_BYTES)))
		return NULL;
	before = -(uintptr_t)at % REGION_BYTES;
	if (before)
		munmap(at, before);
	munmap(at + before + REGION_BYTES, REGION_BYTES - before);
	return at + before;
}

static enum region_kind kind_of(const struct region *r, unsigned page)
{
	return (enum region_kind)atomic_load_explicit(&r->kind[page], memory_order_relaxed);
}

static void set_kind(struct region *r, unsigned page, enum region_kind kind)
{
	atomic_store_explicit(&r->kind[page], (uint8_t)kind, memory_order_relaxed);
}

static void set_span(struct region *r, unsigned first, unsigned pages, enum region_kind kind)
{
	r->length[first] = r->length[first + pages - 1] = (uint16_t)pages;
	set_kind(r, first, kind);
}

struct region *region_new(void)
{
	struct region *r = map_aligned();

	if (!r)
		return NULL;
	r->largest = region_room();
	set_span(r, own_pages(), region_room(), REGION_HOLE);
	return r;
}

void region_free(struct region *r)
{
	ASAN_UNPOISON_MEMORY_REGION(r, REGION_BYTES);  /* somebody else's may be mapped there next */
	munmap(r, REGION_BYTES);
}

static void find_largest(struct region *r)
{
	r->largest = 0;
	for (unsigned at = own_pages(); at < end_page(); at += r->length[at])
		if (kind_of(r, at) == REGION_HOLE && r->length[at] > r->largest)
			r->largest = r->length[at];
}

unsigned region_take(struct region *r, unsigned pages, unsigned *warm)
{
	unsigned best = 0, length;

	for (unsigned at = own_pages(); at < end_page(); at += r->length[at])
		if (kind_of(r, at) == REGION_HOLE && r->length[at] >= pages &&
		    (!best || r->length[at] < r->length[best]))
			best = at;
	if (!best)
		return 0;
	length = r->length[best];
	set_span(r, best, pages, REGION_RUN);
	if (length > pages)
		set_span(r, best + pages, length - pages, REGION_HOLE);
	*warm = 0;
	for (unsigned i = best; i < best + pages; i++)
		*warm += r->is_warm[i];
	r->warm -= *warm;
	r->used += pages;
	if (length == r->largest)
		find_largest(r);
	return best;
}

/* Makes a hole of pages that were a run, together with the holes on both sides. */
static void make_hole(struct region *r, unsigned first, unsigned pages)
{
	unsigned after = first + pages;

	if (after < end_page() && kind_of(r, after) == REGION_HOLE)
		pages += r->length[after];
	if (first > own_pages()) {
		unsigned before = first - r->length[first - 1];

		if (kind_of(r, before) == REGION_HOLE) {
			pages += r->length[before];
			first = before;
		}
	}
	set_span(r, first, pages, REGION_HOLE);
	if (pages > r->largest)
		r->largest = pages;
}

static void set_warm(struct region *r, unsigned first, unsigned pages, bool warm)
{
	for (unsigned i = first; i < first + pages; i++)
		r->is_warm[i] = warm;
}

void region_give(struct region *r, unsigned first)
{
	unsigned pages = r->length[first];

	assert(kind_of(r, first) == REGION_RUN || kind_of(r, first) == REGION_SENT);
	r->used -= pages;
	if (kind_of(r, first) == REGION_SENT) {
		set_kind(r, first, REGION_GONE);
		r->gone += pages;
		return;
	}
	set_warm(r, first, pages, true);
	r->warm += pages;
	make_hole(r, first, pages);
}

void region_trim(struct region *r, unsigned first, unsigned pages)
{
	unsigned rest = r->length[first] - pages;
	enum region_kind kind = kind_of(r, first);

	if (!rest)
		return;
	set_span(r, first, pages, kind);
	set_span(r, first + pages, rest, kind);
	region_give(r, first + pages);
}

void region_fill(void *at, unsigned pages)
{
	struct region *r = region_of(at);
	unsigned first = region_page_of(at), from = first;

	while (from < first + pages && r->is_warm[from])
		from++;
	if (from < first + pages)
		madvise(region_at(r, from), (first + pages - from) * region_page(), MADV_POPULATE_WRITE);
}

bool region_is_sent(const struct region *r, unsigned first)
{
	return kind_of(r, first) == REGION_SENT;
}

bool region_sent(struct region *r, unsigned first)
{
	bool move = !r->tried && !r->huge && !r->away && r->used >= region_room() / HUGE_USED_SHARE;

	set_kind(r, first, REGION_SENT);
	r->tried |= move;
	return move;
}

bool region_make_huge(struct region *r)
{
	return !madvise(r, REGION_BYTES, MADV_COLLAPSE);
}

void region_made_huge(struct region *r, bool moved)
{
	if (!moved || r->away)
		return;
	r->huge = true;
	for (unsigned at = own_pages(); at < end_page(); at += r->length[at])
		if (kind_of(r, at) == REGION_HOLE) {
			for (unsigned i = at; i < at + r->length[at]; i++)
				r->warm += !r->is_warm[i];
			set_warm(r, at, r->length[at], true);
		}
}

void region_cool_begin(struct region_cooling *c, struct region *r)
{
	c->region = r;
	c->n = 0;
	for (unsigned at = own_pages(); at < end_page(); at += r->length[at])
		if (kind_of(r, at) == REGION_HOLE || kind_of(r, at) == REGION_GONE) {
			c->at[c->n].first = (uint16_t)at;
			c->at[c->n++].pages = r->length[at];
		}
	r->away = true;
}

/* The kernel keeps all the memory of a huge page, although a part was given back, until memory is short. It gives the
 * part back at once if it splits the page first, and MADV_FREE on any small page of it makes it do so (madvise(2)). The
 * last page of the region is there for that. With transparent_hugepage/enabled = always any region may be in one. */
void region_cool(const struct region_cooling *c)
{
	struct region *r = c->region;
	size_t page = region_page();

	if (r->huge)
		madvise(r, REGION_BYTES, MADV_NOHUGEPAGE);
	for (unsigned i = 0; i < c->n; i++)
		madvise(region_at(r, c->at[i].first), c->at[i].pages * page, MADV_DONTNEED);
	madvise(region_at(r, end_page()), page, MADV_FREE);
}

unsigned region_cool_end(const struct region_cooling *c)
{
	struct region *r = c->region;
	unsigned cooled = 0;

	for (unsigned i = 0; i < c->n; i++) {
		unsigned first = c->at[i].first, pages = c->at[i].pages;

		if (kind_of(r, first) == REGION_GONE && r->length[first] == pages) {
			r->gone -= pages;
			set_warm(r, first, pages, false);
			make_hole(r, first, pages);
			continue;
		}
		for (unsigned p = first; p < first + pages; p++) {
			cooled += r->is_warm[p];
			r->is_warm[p] = false;
		}
	}
	r->warm -= cooled;
	r->huge = r->tried = r->away = false;
	return cooled;
}
