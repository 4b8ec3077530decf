/* A response in the making; see object.h. */
#include "object.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SEGMENT_FIRST_BYTES = 4096 - 64, SEGMENT_BYTES = 32768 - 64 };

struct object_segment {
	struct object_segment *next;
	uint64_t start;                /* offset of its first byte in the body */
	size_t len, cap;
	uint8_t bytes[];
};

LIST_HEAD(object_readers, object_reader);

struct object {
	unsigned refs;
	enum object_phase phase;
	bool writer_waits;             /* object_full() said so and room() is owed */
	size_t transit_bytes;
	uint64_t length;
	struct object_segment *first, *last;
	struct object_head head;
	struct object_report report;
	struct proxy_failure failure;
	struct object_writer *writer;
	struct object_readers readers;
};

struct object *object_new(size_t transit_bytes)
{
	struct object *o = calloc(1, sizeof *o);

	if (!o)
		return NULL;
	o->refs = 1;
	o->transit_bytes = transit_bytes;
	o->head.content_length = -1;
	LIST_INIT(&o->readers);
	return o;
}

struct object *object_ref(struct object *o)
{
	o->refs++;
	return o;
}

/* Strictly before: a reader's `at` may still be the segment that ends at its offset. */
static void object_free_before(struct object *o, uint64_t offset)
{
	while (o->first && o->first->start + o->first->len < offset && o->first != o->last) {
		struct object_segment *s = o->first;

		o->first = s->next;
		free(s);
	}
}

void object_unref(struct object **op)
{
	struct object *o = *op;

	*op = NULL;
	if (!o || --o->refs)
		return;
	assert(LIST_EMPTY(&o->readers) && !o->writer);
	object_free_before(o, UINT64_MAX);
	free(o->first);
	free(o->head.bytes);
	free(o);
}

static void object_wake(struct object *o)
{
	struct object_reader *r;

	LIST_FOREACH(r, &o->readers, link)
		r->wake(r);
}

void object_set_writer(struct object *o, struct object_writer *w)
{
	o->writer = w;
	o->writer_waits = false;
}

void object_head(struct object *o, const struct object_head *head)
{
	assert(o->phase == OBJECT_WAITING);
	o->head = *head;
	o->phase = OBJECT_BODY;
	object_wake(o);
}

static struct object_segment *object_grow(struct object *o)
{
	size_t cap = o->length ? SEGMENT_BYTES : SEGMENT_FIRST_BYTES;
	struct object_segment *s = malloc(sizeof *s + cap);

	if (!s)
		return NULL;
	s->next = NULL;
	s->start = o->length;
	s->len = 0;
	s->cap = cap;
	if (o->last)
		o->last->next = s;
	else
		o->first = s;
	return o->last = s;
}

int object_append(struct object *o, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	assert(o->phase == OBJECT_BODY);
	while (len) {
		struct object_segment *s = o->last;
		size_t n;

		if ((!s || s->len == s->cap) && !(s = object_grow(o)))
			return -1;
		n = s->cap - s->len < len ? s->cap - s->len : len;
		memcpy(s->bytes + s->len, at, n);
		s->len += n;
		o->length += n;
		at += n;
		len -= n;
	}
	object_wake(o);
	return 0;
}

static uint64_t object_slowest(const struct object *o)
{
	const struct object_reader *r;
	uint64_t min = o->length;

	LIST_FOREACH(r, &o->readers, link)
		if (r->offset < min)
			min = r->offset;
	return min;
}

bool object_full(struct object *o)
{
	bool full = o->length - object_slowest(o) >= o->transit_bytes;

	o->writer_waits |= full;
	return full;
}

void object_done(struct object *o)
{
	assert(o->phase == OBJECT_BODY);
	o->phase = OBJECT_DONE;
	o->head.content_length = (int64_t)o->length;
	object_wake(o);
}

void object_fail(struct object *o, const struct proxy_failure *f)
{
	assert(o->phase == OBJECT_WAITING || o->phase == OBJECT_BODY);
	o->failure = *f;
	o->phase = OBJECT_FAILED;
	object_wake(o);
}

struct object_report *object_report(struct object *o)
{
	return &o->report;
}

void object_attach(struct object *o, struct object_reader *r)
{
	assert(!o->first || !o->first->start);
	r->object = object_ref(o);
	r->offset = 0;
	r->at = NULL;
	LIST_INSERT_HEAD(&o->readers, r, link);
}

/* After a reader moved on or left: frees what nobody needs and lets the writer go on once half of the room is back. */
static void object_settle(struct object *o)
{
	uint64_t slowest = object_slowest(o);

	if (!LIST_EMPTY(&o->readers))
		object_free_before(o, slowest);
	if (o->writer_waits && o->length - slowest <= o->transit_bytes / 2) {
		o->writer_waits = false;
		o->writer->room(o->writer);
	}
}

void object_detach(struct object_reader *r)
{
	struct object *o = r->object;

	if (!o)
		return;
	LIST_REMOVE(r, link);
	r->object = NULL;
	r->at = NULL;
	if (o->writer && LIST_EMPTY(&o->readers))
		o->writer->abandoned(o->writer);
	else if (o->writer)
		object_settle(o);
	object_unref(&o);
}

enum object_phase object_phase(const struct object *o)
{
	return o->phase;
}

const struct object_head *object_get_head(const struct object *o)
{
	return o->head.bytes ? &o->head : NULL;
}

const struct proxy_failure *object_failure(const struct object *o)
{
	return &o->failure;
}

uint64_t object_length(const struct object *o)
{
	return o->length;
}

int object_peek(struct object_reader *r, struct iovec *iov, int n, size_t max, size_t *bytes)
{
	struct object_segment *s = r->at ? r->at : r->object->first;
	int count = 0;

	*bytes = 0;
	while (s && s->start + s->len <= r->offset && s->next)
		s = s->next;
	r->at = s;
	for (; s && count < n && *bytes < max; s = s->next) {
		size_t skip = r->offset > s->start ? (size_t)(r->offset - s->start) : 0, len = s->len - skip;

		if (!len)
			continue;
		if (len > max - *bytes)
			len = max - *bytes;
		iov[count].iov_base = s->bytes + skip;
		iov[count++].iov_len = len;
		*bytes += len;
	}
	return count;
}

void object_consume(struct object_reader *r, size_t bytes)
{
	struct object *o = r->object;

	r->offset += bytes;
	assert(r->offset <= o->length);
	while (r->at && r->at->start + r->at->len <= r->offset && r->at->next)
		r->at = r->at->next;
	object_settle(o);
}
