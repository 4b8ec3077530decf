/* An object's gzip form and its state; see object.h. */
#include <assert.h>

#include "proxy/object/object_internal.h"

enum object_gzip object_gzip(struct object *o, struct object **form)
{
	enum object_gzip state;

	pthread_mutex_lock(&o->lock);
	state = o->gzip_state;
	*form = o->gzip ? object_ref(o->gzip) : NULL;
	pthread_mutex_unlock(&o->lock);
	return state;
}

bool object_gzip_begin(struct object *o, struct object *form)
{
	bool first;

	pthread_mutex_lock(&o->lock);
	if ((first = o->gzip_state == OBJECT_GZIP_UNKNOWN)) {
		o->gzip_state = OBJECT_GZIP_MAKING;
		o->gzip = object_ref(form);
	}
	pthread_mutex_unlock(&o->lock);
	return first;
}

void object_gzip_end(struct object *o, enum object_gzip state)
{
	struct object *gone = NULL;

	pthread_mutex_lock(&o->lock);
	assert(o->gzip_state == OBJECT_GZIP_MAKING);
	o->gzip_state = state;
	if (state != OBJECT_GZIP_KEPT) {
		gone = o->gzip;
		o->gzip = NULL;
	}
	pthread_mutex_unlock(&o->lock);
	object_unref(&gone);
}
