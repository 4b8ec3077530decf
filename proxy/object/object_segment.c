/* The memory of a body's segments: from malloc, or pages of their own; see object_internal.h. */
#include "proxy/object/object_internal.h"

#include <malloc.h>
#include <stdlib.h>

#include "proxy/base/bodies.h"

enum {
	SEGMENT_FIRST_BYTES = 4096 - 64, SEGMENT_BYTES = 32768 - 64,
	SEGMENT_PAGES_MIN_BYTES = 64 * 1024,   /* from this size on pages are worth their system calls */
	SEGMENT_PAGES_BYTES = 256 * 1024,      /* bytes of such a segment while the body's length is not known */
	SEGMENT_PAGES_MAX_BYTES = 4096 * 1024  /* the most bytes of one where it is known */
};

static struct object_segment *segment_map(size_t cap, bool lasting)
{
	struct object_segment *s = malloc(sizeof *s);

	if (!s)
		return NULL;
	*s = (struct object_segment){ .cap = cap, .pages = true };
	if (!(s->bytes = page_run_new(cap, lasting, &s->region))) {
		free(s);
		return NULL;
	}
	return s;
}

static struct object_segment *segment_allocate(size_t cap)
{
	struct object_segment *s = malloc(sizeof *s + cap);

	if (s)
		*s = (struct object_segment){ .cap = cap, .bytes = (uint8_t *)(s + 1) };
	return s;
}

struct object_segment *segment_new(const struct object *o)
{
	uint64_t before = o->length, rest = o->expected > before ? o->expected - before : 0;
	size_t cap = before ? bodies_share(SEGMENT_BYTES) : SEGMENT_FIRST_BYTES, pages = SEGMENT_PAGES_BYTES;
	struct object_segment *s = NULL;

	if (rest) {
		cap = bodies_share(rest < SEGMENT_BYTES ? (size_t)rest : SEGMENT_BYTES);
		pages = rest < SEGMENT_PAGES_MAX_BYTES ? (size_t)rest : SEGMENT_PAGES_MAX_BYTES;
	}
	if (object_is_kept(o) && (rest ? rest : before) >= SEGMENT_PAGES_MIN_BYTES)
		s = segment_map(pages, o->lasting);
	if (!s)
		s = segment_allocate(cap);
	if (s)
		s->start = before;
	return s;
}

void segment_free(struct object_segment *s)
{
	if (s && s->pages)
		page_run_free(s->bytes, s->cap, s->region);
	free(s);
}

void segment_trim(struct object_segment *s)
{
	if (!s->pages || !s->len)
		return;
	page_run_trim(s->bytes, s->cap, s->len, s->region);
	s->cap = s->len;
}

size_t segment_memory(struct object_segment *s)
{
	return malloc_usable_size(s) + sizeof(size_t) + (s->pages ? page_run_whole(s->cap) : 0);
}

bool object_wants_pages(const struct object *o)
{
	const struct object_segment *s = o->first;

	while (s && s->pages)
		s = s->next;
	return s && o->length >= SEGMENT_PAGES_MIN_BYTES;
}
