/* The memory of a body's segments; see object_internal.h. */
#include "proxy/object/object_internal.h"

#include "proxy/base/bodies.h"

enum {
	SEGMENT_FIRST_BYTES = 4096 - sizeof(struct object_segment),
	SEGMENT_BYTES = HEAP_BLOCK_MAX - sizeof(struct object_segment),
	SEGMENT_AHEAD = 4,             /* times the bytes that have come, memory is taken for bytes to come */
	PAGES_MIN_BYTES = 64 * 1024    /* bodies from this size on should lie in pages */
};

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t greater(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Of a body in transit little waits for its readers, and it is gone soon. */
static size_t transit_room(const struct object *o, size_t at_hand, uint64_t rest)
{
	size_t room = o->length || at_hand > SEGMENT_FIRST_BYTES ? SEGMENT_BYTES : SEGMENT_FIRST_BYTES;

	if (rest && rest < SEGMENT_BYTES)
		room = greater((size_t)rest, lesser(at_hand, SEGMENT_BYTES));
	return bodies_share(room);
}

/* An origin that announces much and sends little holds no more than a few times what it has sent. */
static size_t kept_room(const struct object *o, size_t at_hand, uint64_t rest)
{
	size_t come = greater(at_hand, SEGMENT_FIRST_BYTES);

	come = greater(come, o->length < HEAP_MAX ? (size_t)o->length : HEAP_MAX);
	if (o->making->compact)
		come = HEAP_MAX;
	if (rest)
		come = rest < come * SEGMENT_AHEAD ? (size_t)rest : come * SEGMENT_AHEAD;
	return lesser(come, HEAP_MAX);
}

/* The rest of the last page belongs to it. */
static struct object_segment *segment_of_pages(size_t room)
{
	struct object_segment *segment = heap_take(HEAP_KEPT, sizeof *segment);

	if (!segment)
		return NULL;
	*segment = (struct object_segment){ .bytes = heap_take(HEAP_KEPT, greater(room, HEAP_BLOCK_MAX + 1)),
		.pages = true };
	if (!segment->bytes) {
		heap_give(segment);
		return NULL;
	}
	segment->cap = (uint32_t)heap_bytes(segment->bytes);
	return segment;
}

static struct object_segment *segment_of_block(enum heap heap, size_t room)
{
	size_t bytes = heap_bytes_for(sizeof(struct object_segment) + room);
	struct object_segment *segment = heap_take(heap, bytes);

	if (segment)
		*segment = (struct object_segment){ .bytes = (uint8_t *)(segment + 1),
			.cap = (uint32_t)(bytes - sizeof *segment) };
	return segment;
}

struct object_segment *segment_new(const struct object *o, size_t at_hand)
{
	uint64_t rest = o->making->expected > o->length ? o->making->expected - o->length : 0;
	bool kept = object_is_retained(o);
	size_t room = kept ? kept_room(o, at_hand, rest) : transit_room(o, at_hand, rest);
	struct object_segment *segment = NULL;

	if (room > SEGMENT_BYTES || (kept && o->length >= SEGMENT_BYTES))
		segment = segment_of_pages(room);
	else
		segment = segment_of_block(kept ? HEAP_KEPT : HEAP_TRANSIT, room);
	if (segment)
		segment->start = o->length;
	return segment;
}

void segment_free(struct object_segment *segment)
{
	if (segment && segment->pages)
		heap_give(segment->bytes);
	heap_give(segment);
}

void segment_trim(struct object_segment *segment)
{
	if (!segment->pages)
		return;
	heap_trim(segment->bytes, segment->len);
	segment->cap = (uint32_t)heap_bytes(segment->bytes);
}

size_t segment_memory(const struct object_segment *segment)
{
	return heap_bytes(segment) + (segment->pages ? heap_bytes(segment->bytes) : 0);
}

bool object_wants_pages(const struct object *o)
{
	const struct object_segment *segment = o->first;

	while (segment && segment->pages)
		segment = segment->next;
	return segment && o->length >= PAGES_MIN_BYTES;
}
