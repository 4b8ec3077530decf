/* The life of an object, and its writer's side; see object.h. */
#include "proxy/object/object_internal.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/bodies.h"
#include "proxy/object/audience.h"

struct object_head *object_head_new(void)
{
	struct object_head *h = calloc(1, sizeof *h);

	if (h)
		atomic_init(&h->refs, 1);
	return h;
}

struct object_head *object_head_ref(struct object_head *h)
{
	atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
	return h;
}

void object_head_unref(struct object_head **hp)
{
	struct object_head *h = *hp;

	*hp = NULL;
	if (!h || atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) > 1)
		return;
	free(h->bytes);
	free(h);
}

struct object *object_new(size_t transit_bytes)
{
	struct object *o = calloc(1, sizeof *o);

	if (!o)
		return NULL;
	atomic_init(&o->refs, 1);
	pthread_mutex_init(&o->lock, NULL);
	o->transit_bytes = o->allowance = transit_bytes;
	LIST_INIT(&o->readers);
	return o;
}

struct object *object_ref(struct object *o)
{
	atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
	return o;
}

void object_free_before(struct object *o, uint64_t offset)
{
	while (o->first && o->first->start + o->first->len < offset && o->first != o->last) {
		struct object_segment *s = o->first;

		o->first = s->next;
		bodies_gave(s->len);
		segment_free(s);
	}
}

static __attribute__((cold)) void object_free(struct object *o)
{
	assert(LIST_EMPTY(&o->readers) && !o->writer);
	object_free_before(o, UINT64_MAX);
	bodies_gave(o->first ? o->first->len : 0);
	segment_free(o->first);
	object_head_unref(&o->head);
	object_unref(&o->substitute);
	object_unref(&o->gzip);
	audience_free(&o->audience);
	free(o->interim);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

void object_unref(struct object **op)
{
	struct object *o = *op;

	*op = NULL;
	if (o && atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1)
		object_free(o);
}

static void object_wake(struct object *o)
{
	struct object_reader *r;

	LIST_FOREACH(r, &o->readers, link)
		r->wake(r);
}

void object_set_writer(struct object *o, struct object_writer *w)
{
	pthread_mutex_lock(&o->lock);
	o->writer = w;
	o->writer_waits = false;
	pthread_mutex_unlock(&o->lock);
}

void object_keep(struct object *o, uint64_t max)
{
	assert(!o->first);
	o->keep_max = max;
	atomic_store_explicit(&o->kept, true, memory_order_relaxed);
}

void object_expect(struct object *o, uint64_t length)
{
	o->expected = length;
}

bool object_is_kept(const struct object *o)
{
	return atomic_load_explicit(&o->kept, memory_order_relaxed);
}

void object_forget_interim(struct object *o)
{
	if (o->phase < OBJECT_DONE || !LIST_EMPTY(&o->readers))
		return;
	free(o->interim);
	o->interim = NULL;
	o->interim_len = 0;
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
	pthread_mutex_lock(&o->lock);
	o->head = head;
	object_enter(o, OBJECT_BODY);
	pthread_mutex_unlock(&o->lock);
}

static struct object_segment *object_grow(struct object *o)
{
	struct object_segment *s = segment_new(o);

	if (!s)
		return NULL;
	if (o->last)
		o->last->next = s;
	else
		o->first = s;
	return o->last = s;
}

/* Called under the lock: the object is in transit from now on. */
static void object_let_go(struct object *o)
{
	if (!object_is_kept(o))
		return;
	atomic_store_explicit(&o->kept, false, memory_order_relaxed);
	if (o->writer && LIST_EMPTY(&o->readers))
		o->writer->abandoned(o->writer);
}

void object_unkeep(struct object *o)
{
	pthread_mutex_lock(&o->lock);
	object_let_go(o);
	pthread_mutex_unlock(&o->lock);
}

int object_append(struct object *o, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	int status = 0;

	assert(o->phase == OBJECT_BODY);
	pthread_mutex_lock(&o->lock);
	while (len) {
		struct object_segment *s = o->last;
		size_t n;

		if ((!s || s->len == s->cap) && !(s = object_grow(o))) {
			status = -1;
			break;
		}
		n = s->cap - s->len < len ? s->cap - s->len : len;
		memcpy(s->bytes + s->len, at, n);
		s->len += n;
		bodies_took(n);
		o->length += n;
		at += n;
		len -= n;
	}
	if (o->length > o->keep_max)
		object_let_go(o);
	object_wake(o);
	pthread_mutex_unlock(&o->lock);
	return status;
}

static uint64_t object_furthest_behind(const struct object *o, bool expelled)
{
	const struct object_reader *r;
	uint64_t min = o->length;

	LIST_FOREACH(r, &o->readers, link)
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

	LIST_FOREACH(r, &o->readers, link)
		if (r->offset == o->length && !r->expelled)
			return true;
	return false;
}

void object_expel_slow(struct object *o)
{
	struct object_reader *r;

	pthread_mutex_lock(&o->lock);
	LIST_FOREACH(r, &o->readers, link)
		if (o->length - r->offset > o->allowance / 2 && !r->expelled && object_has_ready(o)) {
			r->expelled = true;
			r->wake(r);
		}
	object_settle(o);
	pthread_mutex_unlock(&o->lock);
}

bool object_full(struct object *o)
{
	size_t share = bodies_share(o->transit_bytes);
	bool full;

	if (object_is_kept(o))
		return false;
	pthread_mutex_lock(&o->lock);
	full = o->length - object_slowest(o) >= share;
	if (full)
		o->allowance = share;
	o->writer_waits |= full;
	pthread_mutex_unlock(&o->lock);
	return full;
}

void object_done(struct object *o)
{
	assert(o->phase == OBJECT_BODY);
	pthread_mutex_lock(&o->lock);
	if (o->last)
		segment_trim(o->last);
	object_enter(o, OBJECT_DONE);
	pthread_mutex_unlock(&o->lock);
}

int object_interim(struct object *o, const char *bytes, size_t len)
{
	char *all = NULL;
	bool fits;

	pthread_mutex_lock(&o->lock);
	fits = len <= OBJECT_INTERIM_MAX - o->interim_len;
	if (fits && (all = realloc(o->interim, o->interim_len + len))) {
		memcpy(all + o->interim_len, bytes, len);
		o->interim = all;
		o->interim_len += len;
		object_wake(o);
	}
	pthread_mutex_unlock(&o->lock);
	return fits && !all ? -1 : 0;
}

void object_substitute(struct object *o, struct object_head *head, struct object *body)
{
	assert(o->phase == OBJECT_WAITING && object_phase(body) == OBJECT_DONE);
	pthread_mutex_lock(&o->lock);
	o->head = object_head_ref(head);
	o->substitute = object_ref(body);
	object_enter(o, OBJECT_SUBSTITUTED);
	pthread_mutex_unlock(&o->lock);
}

void object_fail(struct object *o, const struct failure *f)
{
	assert(o->phase == OBJECT_WAITING || o->phase == OBJECT_BODY);
	pthread_mutex_lock(&o->lock);
	o->failure = *f;
	object_enter(o, OBJECT_FAILED);
	pthread_mutex_unlock(&o->lock);
}

void object_set_audience(struct object *o, struct audience *a)
{
	assert(o->phase == OBJECT_WAITING && !o->audience);
	o->audience = a;
}

const struct audience *object_audience(const struct object *o)
{
	return object_phase(o) == OBJECT_WAITING ? NULL : o->audience;
}

void object_set_verdict(struct object *o, const struct verdict *v, bool revised)
{
	pthread_mutex_lock(&o->lock);
	o->report.verdict = *v;
	o->report.decided = true;
	o->report.revised = revised;
	pthread_mutex_unlock(&o->lock);
}

bool object_verdict(struct object *o, struct verdict *v)
{
	bool decided;

	pthread_mutex_lock(&o->lock);
	*v = o->report.verdict;
	decided = o->report.decided;
	pthread_mutex_unlock(&o->lock);
	return decided;
}

struct object_report *object_report(struct object *o)
{
	return &o->report;
}

const struct object_report *object_reported(const struct object *o)
{
	return &o->report;
}

void object_count(struct object *o, uint64_t repairs, uint64_t malformed)
{
	pthread_mutex_lock(&o->lock);
	o->report.repairs = repairs;
	o->report.malformed = malformed;
	pthread_mutex_unlock(&o->lock);
}

const struct object_report *object_snapshot(struct object *o, struct object_report *room)
{
	static const struct object_report nothing;

	if (object_is_settled(o))
		return &o->report;
	if (object_phase(o) == OBJECT_WAITING)         /* the writer may be changing the report, without the lock */
		return &nothing;
	pthread_mutex_lock(&o->lock);
	*room = o->report;
	pthread_mutex_unlock(&o->lock);
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
	return &o->failure;
}

uint64_t object_length(const struct object *o)
{
	return o->length;
}

const void *object_start(const struct object *o)
{
	return o->first ? o->first->bytes : NULL;
}

size_t object_memory(const struct object *o)
{
	size_t sum = malloc_usable_size((void *)o) + sizeof(size_t);

	for (struct object_segment *s = o->first; s; s = s->next)
		sum += segment_memory(s);
	return sum;
}

size_t object_unused(const struct object *o)
{
	size_t sum = 0;

	for (const struct object_segment *s = o->first; s; s = s->next)
		sum += s->cap - s->len;
	return sum;
}

struct object *object_compact(const struct object *o)
{
	struct object *copy = object_new(0);
	int status = 0;

	assert(object_is_settled(o));
	if (!copy)
		return NULL;
	object_keep(copy, UINT64_MAX);
	object_expect(copy, o->length);
	copy->lasting = true;
	object_head(copy, object_head_ref(o->head));
	for (const struct object_segment *s = o->first; s && !status; s = s->next)
		status = object_append(copy, s->bytes, s->len);
	if (status) {
		object_unref(&copy);
		return NULL;
	}
	copy->report = o->report;
	object_done(copy);
	return copy;
}
