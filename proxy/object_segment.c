/* The memory of a body's segments: from malloc, or pages of their own; see object_internal.h. */
#include "object_internal.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	SEGMENT_FIRST_BYTES = 4096 - 64, SEGMENT_BYTES = 32768 - 64,
	SEGMENT_PAGES_MIN_BYTES = 64 * 1024,   /* from there on pages are worth their system calls */
	SEGMENT_PAGES_BYTES = 256 * 1024,      /* at once where the body's length is not known, */
	SEGMENT_PAGES_MAX_BYTES = 4096 * 1024, /* and where it is */
	SEGMENT_MAPPINGS_MAX = 16384           /* of the 65,530 a process may have: vm.max_map_count */
};

static atomic_uint segment_mappings;

static size_t whole_pages(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (len + page - 1) / page * page;
}

static struct object_segment *segment_map(size_t cap)
{
	struct object_segment *s = malloc(sizeof *s);
	void *bytes = MAP_FAILED;

	if (s && atomic_fetch_add_explicit(&segment_mappings, 1, memory_order_relaxed) < SEGMENT_MAPPINGS_MAX)
		bytes = mmap(NULL, whole_pages(cap), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED) {
		if (s)
			atomic_fetch_sub_explicit(&segment_mappings, 1, memory_order_relaxed);
		free(s);
		return NULL;
	}
	*s = (struct object_segment){ .cap = cap, .bytes = bytes, .pages = true };
	return s;
}

static struct object_segment *segment_allocate(size_t cap)
{
	struct object_segment *s = malloc(sizeof *s + cap);

	if (s)
		*s = (struct object_segment){ .cap = cap, .bytes = (uint8_t *)(s + 1) };
	return s;
}

struct object_segment *segment_new(uint64_t before, uint64_t rest, bool kept)
{
	size_t cap = before ? SEGMENT_BYTES : SEGMENT_FIRST_BYTES, pages = SEGMENT_PAGES_BYTES;
	struct object_segment *s = NULL;

	if (rest) {
		cap = rest < SEGMENT_BYTES ? (size_t)rest : SEGMENT_BYTES;
		pages = rest < SEGMENT_PAGES_MAX_BYTES ? (size_t)rest : SEGMENT_PAGES_MAX_BYTES;
	}
	if (kept && (rest ? rest : before) >= SEGMENT_PAGES_MIN_BYTES)
		s = segment_map(pages);
	if (!s)
		s = segment_allocate(cap);
	if (s)
		s->start = before;
	return s;
}

void segment_free(struct object_segment *s)
{
	if (s && s->pages) {
		munmap(s->bytes, whole_pages(s->cap));
		atomic_fetch_sub_explicit(&segment_mappings, 1, memory_order_relaxed);
	}
	free(s);
}

void segment_trim(struct object_segment *s)
{
	size_t needed = whole_pages(s->len), have = whole_pages(s->cap);

	if (!s->pages || !s->len)
		return;
	if (needed < have)
		munmap(s->bytes + needed, have - needed);
	s->cap = s->len;
}

size_t segment_memory(struct object_segment *s)
{
	return malloc_usable_size(s) + sizeof(size_t) + (s->pages ? whole_pages(s->cap) : 0);
}

bool object_wants_pages(const struct object *o)
{
	const struct object_segment *s = o->first;

	while (s && s->pages)
		s = s->next;
	return s && o->length >= SEGMENT_PAGES_MIN_BYTES;
}
