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

static void making_free(struct gzip_making *making)
{
	object_detach(&making->body);
	object_unref(&making->form);
	gzip_writer_free(&making->writer);
	free(making);
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
	struct gzip_making *making = calloc(1, sizeof *making + len);

	if (!making)
		return NULL;
	object_attach(body, &making->body);
	making->len = len;
	memcpy(making->key, key, len);
	if ((making->form = form_new(body)) && (making->writer = gzip_writer_new(GZIP_SMALL)) &&
	    object_gzip_begin(body, making->form))
		return making;
	making_free(making);
	return NULL;
}

enum making_result { MAKING_MORE, MAKING_DONE, MAKING_NO_MEMORY };

/* Compresses the next part of the body. The form takes no more memory than the compressed bytes need. */
static enum making_result making_step(struct gzip_making *making, uint8_t *out)
{
	uint64_t length = object_length(making->body.object), until = making->body.offset + STEP_BYTES;
	size_t have = 0, n;
	bool ended = false;

	while (!ended && making->body.offset < until && have < LOOP_SCRATCH_BYTES) {
		struct iovec piece = { NULL, 0 };
		size_t bytes, left;
		const uint8_t *at;
		bool last;

		object_peek(&making->body, &piece, 1, STEP_BYTES, &bytes);
		at = piece.iov_base;
		left = bytes;
		last = making->body.offset + bytes == length;
		ended = gzip_write(making->writer, &at, &left, last ? GZIP_FINISH : GZIP_MORE, out + have,
		            LOOP_SCRATCH_BYTES - have, &n) &&
		    last;
		object_consume(&making->body, bytes - left);
		have += n;
	}
	object_expect(making->form, object_length(making->form) + have);
	if (object_append(making->form, out, have))
		return MAKING_NO_MEMORY;
	return ended ? MAKING_DONE : MAKING_MORE;
}

static void making_end(struct gzip_forms *forms, struct gzip_making *making, bool whole)
{
	static const struct failure no_memory = { .error = FAILURE_PROXY_INTERNAL_ERROR };
	struct object *body = making->body.object;
	uint64_t length = object_length(body);

	if (!whole) {
		object_gzip_end(body, OBJECT_GZIP_UNKNOWN);
		object_fail(making->form, &no_memory);
	} else {
		object_done(making->form);
		if (object_length(making->form) > length - length / GAIN_SHARE)
			object_gzip_end(body, OBJECT_GZIP_USELESS);
		else if (!cache_keep_gzip(forms->cache, making->key, making->len, body, making->form))
			object_gzip_end(body, OBJECT_GZIP_UNKEPT);
	}
	making_free(making);
}

/* Makes one step of the form that has waited longest. */
static void forms_step(struct gzip_forms *forms)
{
	struct gzip_making *making = TAILQ_FIRST(&forms->making);
	enum making_result r = making_step(making, loop_scratch(forms->loop));

	TAILQ_REMOVE(&forms->making, making, link);
	if (r == MAKING_MORE)
		TAILQ_INSERT_TAIL(&forms->making, making, link);
	else
		making_end(forms, making, r == MAKING_DONE);
}

static void forms_on_task(struct task *task)
{
	struct gzip_forms *forms = container_of(task, struct gzip_forms, task);

	forms_step(forms);
	if (!TAILQ_EMPTY(&forms->making))
		loop_defer(forms->loop, &forms->task);
}

void gzip_forms_init(struct gzip_forms *forms, struct cache *cache, struct loop *loop)
{
	*forms =
	    (struct gzip_forms){ .cache = cache, .loop = loop, .task = { .run = forms_on_task, .is_slice = true } };
	TAILQ_INIT(&forms->making);
}

void gzip_forms_end(struct gzip_forms *forms)
{
	forms->ended = true;
	while (!TAILQ_EMPTY(&forms->making))
		forms_step(forms);
	loop_forget(forms->loop, &forms->task);
}

enum object_gzip gzip_form(struct gzip_forms *forms, struct object *body, const char *key, size_t len, bool make,
    struct object **form)
{
	enum object_gzip state = object_gzip(body, form);
	struct gzip_making *making;

	if (state != OBJECT_GZIP_UNKNOWN || !make || forms->ended || !(making = making_new(body, key, len)))
		return state;
	stats_add(loop_stats(forms->loop), STAT_GZIP_FORMS, 1);
	TAILQ_INSERT_HEAD(&forms->making, making, link);
	forms_step(forms);
	if (!TAILQ_EMPTY(&forms->making))
		loop_defer(forms->loop, &forms->task);
	return object_gzip(body, form);
}
