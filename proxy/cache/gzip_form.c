/* Making gzip forms; see gzip_form.h. */
#include "proxy/cache/gzip_form.h"

#include <stdlib.h>

#include "proxy/base/container_of.h"
#include "proxy/coding/gzip_writer.h"

/* STEP_BYTES of the body are compressed in one turn, which takes about a millisecond. A form that saves less than
 * 1/GAIN_SHARE of the body is useless. */
enum { STEP_BYTES = 32 * 1024, GAIN_SHARE = 16 };

struct gzip_making {
	TAILQ_ENTRY(gzip_making) link;
	struct object_reader body;     /* the body is DONE and kept: this reader is never woken */
	struct object *form;
	struct gzip_writer *writer;
	size_t len;
	char key[];
};

static void making_free(struct gzip_making *m)
{
	object_detach(&m->body);
	object_unref(&m->form);
	gzip_writer_free(&m->writer);
	free(m);
}

/* Makes the object of the form. It has the body's report, so that the access log says the same of both. */
static struct object *form_new(struct object *body)
{
	struct object_head *head = object_head_new();
	struct object *form = head ? object_new(0) : NULL;
	struct object_report room;

	if (!form) {
		object_head_unref(&head);
		return NULL;
	}
	head->content_length = -1;
	object_retain(form, UINT64_MAX);
	*object_report(form) = *object_snapshot(body, &room);
	object_head(form, head);
	return form;
}

/* NULL: out of memory, or another worker was first. */
static struct gzip_making *making_new(struct object *body, const char *key, size_t len)
{
	struct gzip_making *m = calloc(1, sizeof *m + len);

	if (!m)
		return NULL;
	object_attach(body, &m->body);
	m->len = len;
	memcpy(m->key, key, len);
	if ((m->form = form_new(body)) && (m->writer = gzip_writer_new(GZIP_SMALL)) && object_gzip_begin(body, m->form))
		return m;
	making_free(m);
	return NULL;
}

enum making_result { MAKING_MORE, MAKING_DONE, MAKING_NO_MEMORY };

/* Compresses the next part of the body. The form takes no more memory than the compressed bytes need. */
static enum making_result making_step(struct gzip_making *m, uint8_t *out)
{
	uint64_t length = object_length(m->body.object), until = m->body.offset + STEP_BYTES;
	size_t have = 0, n;
	bool ended = false;

	while (!ended && m->body.offset < until && have < LOOP_SCRATCH_BYTES) {
		struct iovec piece = { NULL, 0 };
		size_t bytes, left;
		const uint8_t *at;
		bool last;

		object_peek(&m->body, &piece, 1, STEP_BYTES, &bytes);
		at = piece.iov_base;
		left = bytes;
		last = m->body.offset + bytes == length;
		ended = gzip_write(m->writer, &at, &left, last ? GZIP_FINISH : GZIP_MORE, out + have,
		            LOOP_SCRATCH_BYTES - have, &n) &&
		    last;
		object_consume(&m->body, bytes - left);
		have += n;
	}
	object_expect(m->form, object_length(m->form) + have);
	if (object_append(m->form, out, have))
		return MAKING_NO_MEMORY;
	return ended ? MAKING_DONE : MAKING_MORE;
}

static void making_end(struct gzip_forms *f, struct gzip_making *m, bool whole)
{
	static const struct failure no_memory = { .error = FAILURE_PROXY_INTERNAL_ERROR };
	struct object *body = m->body.object;
	uint64_t length = object_length(body);

	if (!whole) {
		object_gzip_end(body, OBJECT_GZIP_UNKNOWN);
		object_fail(m->form, &no_memory);
	} else {
		object_done(m->form);
		if (object_length(m->form) > length - length / GAIN_SHARE)
			object_gzip_end(body, OBJECT_GZIP_USELESS);
		else if (!cache_keep_gzip(f->cache, m->key, m->len, body, m->form))
			object_gzip_end(body, OBJECT_GZIP_UNKEPT);
	}
	making_free(m);
}

/* Makes one step of the form that has waited longest. */
static void forms_step(struct gzip_forms *f)
{
	struct gzip_making *m = TAILQ_FIRST(&f->making);
	enum making_result r = making_step(m, loop_scratch(f->loop));

	TAILQ_REMOVE(&f->making, m, link);
	if (r == MAKING_MORE)
		TAILQ_INSERT_TAIL(&f->making, m, link);
	else
		making_end(f, m, r == MAKING_DONE);
}

static void forms_on_task(struct task *t)
{
	struct gzip_forms *f = container_of(t, struct gzip_forms, task);

	forms_step(f);
	if (!TAILQ_EMPTY(&f->making))
		loop_defer(f->loop, &f->task);
}

void gzip_forms_init(struct gzip_forms *f, struct cache *cache, struct loop *loop)
{
	*f = (struct gzip_forms){ .cache = cache, .loop = loop, .task = { .run = forms_on_task, .is_slice = true } };
	TAILQ_INIT(&f->making);
}

void gzip_forms_end(struct gzip_forms *f)
{
	f->ended = true;
	while (!TAILQ_EMPTY(&f->making))
		forms_step(f);
	loop_forget(f->loop, &f->task);
}

enum object_gzip gzip_form(struct gzip_forms *f, struct object *body, const char *key, size_t len, bool make,
    struct object **form)
{
	enum object_gzip state = object_gzip(body, form);
	struct gzip_making *m;

	if (state != OBJECT_GZIP_UNKNOWN || !make || f->ended || !(m = making_new(body, key, len)))
		return state;
	stats_add(loop_stats(f->loop), STAT_GZIP_FORMS, 1);
	TAILQ_INSERT_HEAD(&f->making, m, link);
	forms_step(f);
	if (!TAILQ_EMPTY(&f->making))
		loop_defer(f->loop, &f->task);
	return object_gzip(body, form);
}
