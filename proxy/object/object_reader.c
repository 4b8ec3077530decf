/* The readers' side of an object; see object.h. */
#include "proxy/object/object_internal.h"

#include <assert.h>
#include <string.h>

/* So often a body is read before its pages go out by reference. A copy costs 60 us a MB more; to move a MB into huge
 * pages first (heap_sent()) costs 200 us, and 2,500 where the host of a virtual machine has to find them. So a
 * body that is read a few times never costs that, and one that is read often has not cost much more by then. */
enum { PAGES_HITS = 48 };

bool object_join(struct object *o, struct object_reader *r)
{
	bool whole = true;

	r->offset = 0;
	r->at = NULL;
	r->listed = false;
	r->expelled = false;
	if (!object_is_settled(o)) {
		object_lock(o);
		whole = !o->first || !o->first->start;
		if (whole)
			LIST_INSERT_HEAD(&o->making->readers, r, link);
		r->listed = whole;
		object_unlock(o);
	}
	if (whole)
		r->object = o;
	return whole;
}

void object_attach(struct object *o, struct object_reader *r)
{
	bool whole = object_join(object_ref(o), r);

	assert(whole);
	(void)whole;
}

void object_settle(struct object *o)
{
	/* The writer of a kept object waits for no reader, and once the object is done its readers move on without the
	 * lock. */
	if (object_is_retained(o))
		return;
	uint64_t slowest = object_slowest(o);
	if (!LIST_EMPTY(&o->making->readers))
		object_free_before(o, object_needed(o));
	if (o->making->writer_waits && o->length - slowest <= o->making->allowance / 2) {
		o->making->writer_waits = false;
		o->making->writer->room(o->making->writer);
	}
}

void object_detach(struct object_reader *r)
{
	struct object *o = r->object;

	if (!o)
		return;
	if (r->listed) {
		object_lock(o);
		LIST_REMOVE(r, link);
		object_forget_interim(o);
		if (o->making->writer && LIST_EMPTY(&o->making->readers))
			o->making->writer->abandoned(o->making->writer);
		else if (o->making->writer)
			object_settle(o);
		object_unlock(o);
	}
	r->object = NULL;
	r->at = NULL;
	object_unref(&o);
}

void object_follow(struct object_reader *r, struct object_head **head)
{
	struct object *body = object_ref(r->object->making->substitute);

	*head = object_head_ref(r->object->head);
	object_detach(r);
	object_attach(body, r);
	object_unref(&body);
}

void object_seek(struct object_reader *r, uint64_t offset)
{
	struct object *o = r->object;
	bool settled = object_is_settled(o);

	assert(object_phase(o) == OBJECT_DONE && offset <= o->length);
	if (!settled)                  /* another reader that leaves looks at all offsets */
		object_lock(o);
	r->offset = offset;
	r->at = NULL;
	if (!settled)
		object_unlock(o);
}

size_t object_readers(struct object *o)
{
	const struct object_reader *r;
	size_t n = 0;

	if (!o->making)                /* nobody waits for it to become more */
		return 0;
	object_lock(o);
	LIST_FOREACH(r, &o->making->readers, link)
		n++;
	object_unlock(o);
	return n;
}

/* Notes that a reader begins; from PAGES_HITS on the pages go out by reference. */
static bool object_is_read_again(struct object *o, uint64_t offset)
{
	uint8_t hits = atomic_load_explicit(&o->hits, memory_order_relaxed);

	if (!offset && hits < PAGES_HITS)
		atomic_store_explicit(&o->hits, hits + 1, memory_order_relaxed);
	return hits >= PAGES_HITS;
}

static int object_gather(struct object_reader *r, struct iovec *iov, int n, size_t max, bool pages, size_t *bytes)
{
	struct object_segment *segment = r->at ? r->at : r->object->first;
	int count = 0;

	*bytes = 0;
	if (r->expelled)               /* bytes it has not read may be gone */
		return 0;
	while (segment && segment->start + segment->len <= r->offset && segment->next)
		segment = segment->next;
	r->at = segment;
	for (; segment && count < n && *bytes < max && (segment->pages || !pages); segment = segment->next) {
		size_t skip = r->offset > segment->start ? (size_t)(r->offset - segment->start) : 0,
		       len = segment->len - skip;

		if (!len)
			continue;
		if (len > max - *bytes)
			len = max - *bytes;
		if (pages)
			heap_sent(segment->bytes);
		iov[count].iov_base = segment->bytes + skip;
		iov[count++].iov_len = len;
		*bytes += len;
	}
	return count;
}

bool object_is_cut(const struct object_reader *r)
{
	return r->expelled || object_phase(r->object) == OBJECT_FAILED;
}

int object_peek(struct object_reader *r, struct iovec *iov, int n, size_t max, size_t *bytes)
{
	struct object *o = r->object;

	if (object_is_settled(o))
		return object_gather(r, iov, n, max, false, bytes);
	object_lock(o);
	int count = object_gather(r, iov, n, max, false, bytes);
	object_unlock(o);
	return count;
}

int object_peek_pages(struct object_reader *r, struct iovec *iov, int n, size_t max, size_t *bytes)
{
	*bytes = 0;
	if (!object_is_settled(r->object) || !object_is_read_again(r->object, r->offset))
		return 0;
	return object_gather(r, iov, n, max, true, bytes);
}

static void object_advance(struct object_reader *r, size_t bytes)
{
	r->offset += bytes;
	assert(r->offset <= r->object->length);
	while (r->at && r->at->start + r->at->len <= r->offset && r->at->next)
		r->at = r->at->next;
}

void object_consume(struct object_reader *r, size_t bytes)
{
	struct object *o = r->object;

	if (object_is_settled(o)) {
		object_advance(r, bytes);
		return;
	}
	object_lock(o);
	if (!r->expelled)
		object_advance(r, bytes);
	object_settle(o);
	object_unlock(o);
}

size_t object_take_interim(struct object_reader *r, size_t *at, char buf[OBJECT_INTERIM_MAX])
{
	struct object *o = r->object;

	if (!r->listed)                /* none were left when the reader came */
		return 0;
	object_lock(o);
	assert(*at <= o->making->interim_len);
	size_t n = o->making->interim_len - *at;
	if (n)
		memcpy(buf, o->making->interim + *at, n);
	*at += n;
	object_unlock(o);
	return n;
}
