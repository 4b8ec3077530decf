/* The life of an object, and its writer's side; see object.h. */
#include "proxy/object/object_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/bodies.h"
#include "proxy/object/audience.h"

struct object_head *object_head_new(void)
{
	struct object_head *head = calloc(1, sizeof *head);

	if (head)
		atomic_init(&head->refs, 1);
	return head;
}

struct object_head *object_head_ref(struct object_head *head)
{
	atomic_fetch_add_explicit(&head->refs, 1, memory_order_relaxed);
	return head;
}

void object_head_unref(struct object_head **hp)
{
	struct object_head *head = *hp;

	*hp = NULL;
	if (!head || atomic_fetch_sub_explicit(&head->refs, 1, memory_order_acq_rel) > 1)
		return;
	if (head->home) {
		home_leave(head->home);
		return;
	}
	free(head->bytes);
	free(head);
}

struct object *object_new(size_t transit_bytes)
{
	return object_new_beside(transit_bytes, 0);
}

void *object_beside(const struct object *o)
{
	return o->making && o->making->beside ? o->making + 1 : NULL;
}

struct object *object_new_beside(size_t transit_bytes, size_t beside)
{
	struct object *o = heap_take_zeroed(HEAP_KEPT, sizeof *o + sizeof *o->making + beside);
	struct object_making *making = (struct object_making *)(void *)(o + 1);

	if (!o)
		return NULL;
	atomic_init(&o->refs, 1);
	o->making = making;
	o->report = &making->report;
	making->maker = object_actor();
	making->beside = beside;
	making->transit_bytes = making->allowance = transit_bytes;
	LIST_INIT(&making->readers);
	return o;
}

struct object *object_ref(struct object *o)
{
	atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
	return o;
}

void object_free_before(struct object *o, uint64_t offset)
{
	while (o->first && o->first->start + o->first->len < offset && o->first != o->making->last) {
		struct object_segment *segment = o->first;

		o->first = segment->next;
		bodies_gave(segment->len);
		segment_free(segment);
	}
}

static void object_end_making(struct object *o)
{
	struct object_making *making = o->making;

	assert(LIST_EMPTY(&making->readers) && !making->writer);
	object_free_before(o, UINT64_MAX);
	bodies_gave(o->first ? o->first->len : 0);
	segment_free(o->first);
	object_unref(&making->substitute);
	audience_free(&making->audience);
	free(making->interim);
	if (making->shared)
		pthread_mutex_destroy(&making->lock);
}

static __attribute__((cold)) void object_free(struct object *o)
{
	object_head_unref(&o->head);
	object_unref(&o->gzip);
	if (o->making) {
		object_end_making(o);
		heap_give(o);
		return;
	}
	bodies_gave((size_t)o->length);
	report_unshare(o->report);
	home_leave(o->home);
}

void object_unref(struct object **op)
{
	struct object *o = *op;

	*op = NULL;
	if (o && atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1)
		object_free(o);
}

_Thread_local const void *object_acts_for;

void object_act_for(const void *name)
{
	object_acts_for = name;
}

void object_share(struct object *o)
{
	if (o->making->shared)
		return;
	pthread_mutex_init(&o->making->lock, NULL);
	o->making->shared = true;
}

static void object_wake(struct object *o)
{
	struct object_reader *r;

	LIST_FOREACH(r, &o->making->readers, link)
		r->wake(r);
}

void object_set_writer(struct object *o, struct object_writer *writer)
{
	object_lock(o);
	o->making->writer = writer;
	o->making->writer_waits = false;
	object_unlock(o);
}

void object_retain(struct object *o, uint64_t max)
{
	assert(!o->first);
	o->making->retain_max = max;
	atomic_store_explicit(&o->kept, true, memory_order_relaxed);
}

void object_expect(struct object *o, uint64_t length)
{
	o->making->expected = length;
}

bool object_is_retained(const struct object *o)
{
	return atomic_load_explicit(&o->kept, memory_order_relaxed);
}

void object_forget_interim(struct object *o)
{
	if (o->phase < OBJECT_DONE || !LIST_EMPTY(&o->making->readers))
		return;
	free(o->making->interim);
	o->making->interim = NULL;
	o->making->interim_len = 0;
}

static void object_enter(struct object *o, enum object_phase phase)
{
	atomic_store_explicit(&o->phase, phase, memory_order_release);
	object_wake(o);
	object_forget_interim(o);
}

void object_head(struct object *o, struct object_head *head)
{
	assert(o->phase == OBJECT_WAITING);
	object_lock(o);
	o->head = head;
	object_enter(o, OBJECT_BODY);
	object_unlock(o);
}

static struct object_segment *object_grow(struct object *o, size_t at_hand)
{
	struct object_segment *segment = segment_new(o, at_hand);

	if (!segment)
		return NULL;
	if (o->making->last)
		o->making->last->next = segment;
	else
		o->first = segment;
	return o->making->last = segment;
}

/* Called under the lock: the object is in transit from now on. */
static void object_let_go(struct object *o)
{
	if (!object_is_retained(o))
		return;
	atomic_store_explicit(&o->kept, false, memory_order_relaxed);
	if (o->making->writer && LIST_EMPTY(&o->making->readers))
		o->making->writer->abandoned(o->making->writer);
}

void object_unretain(struct object *o)
{
	object_lock(o);
	object_let_go(o);
	object_unlock(o);
}

int object_append(struct object *o, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	int status = 0;

	assert(o->phase == OBJECT_BODY);
	object_lock(o);
	while (len) {
		struct object_segment *segment = o->making->last;
		size_t n;

		if ((!segment || segment->len == segment->cap) && !(segment = object_grow(o, len))) {
			status = -1;
			break;
		}
		n = segment->cap - segment->len < len ? segment->cap - segment->len : len;
		memcpy(segment->bytes + segment->len, at, n);
		segment->len += (uint32_t)n;
		bodies_took(n);
		o->length += n;
		at += n;
		len -= n;
	}
	if (o->length > o->making->retain_max)
		object_let_go(o);
	object_wake(o);
	object_unlock(o);
	return status;
}

static uint64_t object_furthest_behind(const struct object *o, bool expelled)
{
	const struct object_reader *r;
	uint64_t min = o->length;

	LIST_FOREACH(r, &o->making->readers, link)
		if (r->offset < min && (expelled || !r->expelled))
			min = r->offset;
	return min;
}

uint64_t object_slowest(const struct object *o)
{
	return object_furthest_behind(o, false);
}

uint64_t object_needed(const struct object *o)
{
	return object_furthest_behind(o, true);
}

static bool object_has_ready(const struct object *o)
{
	const struct object_reader *r;

	LIST_FOREACH(r, &o->making->readers, link)
		if (r->offset == o->length && !r->expelled)
			return true;
	return false;
}

void object_expel_slow(struct object *o)
{
	struct object_reader *r;

	object_lock(o);
	LIST_FOREACH(r, &o->making->readers, link)
		if (o->length - r->offset > o->making->allowance / 2 && !r->expelled && object_has_ready(o)) {
			r->expelled = true;
			r->wake(r);
		}
	object_settle(o);
	object_unlock(o);
}

bool object_full(struct object *o)
{
	size_t share = bodies_share(o->making->transit_bytes);

	if (object_is_retained(o))
		return false;
	object_lock(o);
	bool full = o->length - object_slowest(o) >= share;
	if (full)
		o->making->allowance = share;
	o->making->writer_waits |= full;
	object_unlock(o);
	return full;
}

void object_done(struct object *o)
{
	assert(o->phase == OBJECT_BODY);
	object_lock(o);
	if (o->making->last)
		segment_trim(o->making->last);
	object_enter(o, OBJECT_DONE);
	object_unlock(o);
}

int object_interim(struct object *o, const char *bytes, size_t len)
{
	char *all = NULL;

	object_lock(o);
	bool fits = len <= OBJECT_INTERIM_MAX - o->making->interim_len;
	if (fits && (all = realloc(o->making->interim, o->making->interim_len + len))) {
		memcpy(all + o->making->interim_len, bytes, len);
		o->making->interim = all;
		o->making->interim_len += len;
		object_wake(o);
	}
	object_unlock(o);
	return fits && !all ? -1 : 0;
}

void object_substitute(struct object *o, struct object_head *head, struct object *body)
{
	assert(o->phase == OBJECT_WAITING && object_phase(body) == OBJECT_DONE);
	object_lock(o);
	o->head = object_head_ref(head);
	o->making->substitute = object_ref(body);
	object_enter(o, OBJECT_SUBSTITUTED);
	object_unlock(o);
}

void object_fail(struct object *o, const struct failure *failure)
{
	assert(o->phase == OBJECT_WAITING || o->phase == OBJECT_BODY);
	object_lock(o);
	o->making->failure = *failure;
	object_enter(o, OBJECT_FAILED);
	object_unlock(o);
}

void object_set_audience(struct object *o, struct audience *audience)
{
	assert(o->phase == OBJECT_WAITING);
	audience_free(&o->making->audience);
	o->making->audience = audience;
}

const struct audience *object_audience(const struct object *o)
{
	return object_phase(o) == OBJECT_WAITING ? NULL : o->making->audience;
}

void object_set_verdict(struct object *o, const struct verdict *v, bool revised)
{
	object_lock(o);
	o->making->report.verdict = *v;
	o->making->report.decided = true;
	o->making->report.revised = revised;
	object_unlock(o);
}

bool object_verdict(struct object *o, struct verdict *v)
{
	bool settled = object_is_settled(o);

	if (!settled)
		object_lock(o);
	*v = o->report->verdict;
	bool decided = o->report->decided;
	if (!settled)
		object_unlock(o);
	return decided;
}

struct object_report *object_report(struct object *o)
{
	assert(o->making);
	return &o->making->report;
}

const struct object_report *object_reported(const struct object *o)
{
	return o->report;
}

void object_count(struct object *o, uint64_t repairs, uint64_t malformed)
{
	object_lock(o);
	o->making->report.repairs = repairs;
	o->making->report.malformed = malformed;
	object_unlock(o);
}

const struct object_report *object_snapshot(struct object *o, struct object_report *room)
{
	static const struct object_report nothing;

	if (object_is_settled(o))
		return o->report;
	if (object_phase(o) == OBJECT_WAITING)         /* the writer may be changing the report, without the lock */
		return &nothing;
	object_lock(o);
	*room = *o->report;
	object_unlock(o);
	return room;
}

enum object_phase object_phase(const struct object *o)
{
	return atomic_load_explicit(&o->phase, memory_order_acquire);
}

struct object_head *object_get_head(const struct object *o)
{
	return object_phase(o) == OBJECT_WAITING ? NULL : o->head;
}

int64_t object_content_length(const struct object *o)
{
	if (o->head && o->head->content_length >= 0)
		return o->head->content_length;
	return object_phase(o) == OBJECT_DONE ? (int64_t)o->length : -1;
}

const struct failure *object_failure(const struct object *o)
{
	assert(o->making);
	return &o->making->failure;
}

uint64_t object_length(const struct object *o)
{
	return o->length;
}

size_t object_memory(const struct object *o)
{
	size_t sum = heap_bytes(o->making ? (const void *)o : o->home);

	for (const struct object_segment *segment = o->making ? o->first : NULL; segment; segment = segment->next)
		sum += segment_memory(segment);
	return sum;
}

size_t object_unused(const struct object *o)
{
	size_t sum = 0;

	for (const struct object_segment *segment = o->first; segment; segment = segment->next)
		sum += segment->cap - segment->len;
	return sum;
}
