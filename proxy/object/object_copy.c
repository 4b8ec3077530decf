/* Copies of finished responses, as stores keep them; see object.h. */
#include "proxy/object/object_internal.h"

#include <string.h>

#include "proxy/base/bodies.h"

struct object *object_compact(const struct object *o)
{
	struct object *copy = object_new(0);
	int status = 0;

	assert(object_is_settled(o));
	if (!copy)
		return NULL;
	object_retain(copy, UINT64_MAX);
	object_expect(copy, o->length);
	copy->making->compact = true;
	object_head(copy, object_head_ref(o->head));
	for (const struct object_segment *segment = o->first; segment && !status; segment = segment->next)
		status = object_append(copy, segment->bytes, segment->len);
	if (status) {
		object_unref(&copy);
		return NULL;
	}
	copy->making->report = *o->report;
	object_done(copy);
	return copy;
}

/* An inlay: the object, its one segment, the body's bytes. */
struct inlay { struct object object; struct object_segment segment; };

size_t object_inlay_bytes(const struct object *o)
{
	return o->making && o->length <= OBJECT_INLAY_MAX ? sizeof(struct inlay) + (size_t)o->length : 0;
}

struct object *object_inlay(void *at, const struct object *from, struct object_head *head, struct home *home,
    size_t *more)
{
	struct inlay *inlay = at;
	uint8_t *bytes = (uint8_t *)(inlay + 1), *to = bytes;
	const struct object_report *report = report_share(from->report, more);

	assert(object_is_settled(from) && object_inlay_bytes(from));
	if (!report)
		return NULL;
	memset(inlay, 0, sizeof *inlay);
	for (const struct object_segment *segment = from->first; segment; segment = segment->next) {
		memcpy(to, segment->bytes, segment->len);
		to += segment->len;
	}
	inlay->segment = (struct object_segment){ .bytes = bytes, .len = (uint32_t)from->length,
		.cap = (uint32_t)from->length };
	inlay->object.report = report;
	inlay->object.head = object_head_ref(head);
	inlay->object.home = home;
	inlay->object.first = from->length ? &inlay->segment : NULL;
	atomic_init(&inlay->object.refs, 1);
	atomic_init(&inlay->object.length, from->length);
	atomic_init(&inlay->object.kept, true);
	atomic_init(&inlay->object.phase, OBJECT_DONE);
	bodies_took((size_t)from->length);
	return &inlay->object;
}

const struct home *object_home(const struct object *o)
{
	return o->home;
}
