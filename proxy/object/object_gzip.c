/* An object's gzip form and its state; see object.h. */
#include <assert.h>

#include "proxy/object/object_internal.h"

/* Locks for gzip and gzip_state of all objects: an inlay has no room for one of its own. */
enum { LOCKS = 16, LOCK_SHIFT = 6 };
static pthread_mutex_t locks[LOCKS] = { [0 ... LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER };

static pthread_mutex_t *lock_of(const struct object *o)
{
	return &locks[((uintptr_t)o >> LOCK_SHIFT) % LOCKS];
}

enum object_gzip object_gzip(struct object *o, struct object **form)
{
	pthread_mutex_lock(lock_of(o));
	enum object_gzip state = (enum object_gzip)o->gzip_state;
	*form = o->gzip ? object_ref(o->gzip) : NULL;
	pthread_mutex_unlock(lock_of(o));
	return state;
}

bool object_gzip_begin(struct object *o, struct object *form)
{
	bool first;

	object_share(form);
	pthread_mutex_lock(lock_of(o));
	if ((first = o->gzip_state == OBJECT_GZIP_UNKNOWN)) {
		o->gzip_state = OBJECT_GZIP_MAKING;
		o->gzip = object_ref(form);
	}
	pthread_mutex_unlock(lock_of(o));
	return first;
}

void object_gzip_end(struct object *o, enum object_gzip state)
{
	struct object *gone = NULL;

	pthread_mutex_lock(lock_of(o));
	assert(o->gzip_state == OBJECT_GZIP_MAKING);
	o->gzip_state = (uint8_t)state;
	if (state != OBJECT_GZIP_KEPT) {
		gone = o->gzip;
		o->gzip = NULL;
	}
	pthread_mutex_unlock(lock_of(o));
	object_unref(&gone);
}
