/* Owns running a transform on a body that comes in pieces, and what of it can be seen: head, bytes, failure. For the tests of transform.c and
 * transform_pass.c. Must not know: what is right. */
#ifndef UTFEED_TESTS_UNIT_TRANSFORMS_H
#define UTFEED_TESTS_UNIT_TRANSFORMS_H

#include "proxy/http/http_parse.h"
#include "proxy/net/loop.h"
#include "proxy/object/transform.h"
#include "tests/unit/packed.h"

#include <stdio.h>

enum { TRANSFORMS_HEAD_MAX = 1024 };

struct outcome {
	enum transform_result result;
	struct failure failure;
	bool coded;
	int64_t length;                 /* as the head tells it */
	char head[TRANSFORMS_HEAD_MAX];
	struct object_report report;
	struct bytes body;
};

static struct loop *transforms_loop;

static inline void transforms_on_wake(struct object_reader *r) { (void)r; }
static inline void transforms_on_writer(struct object_writer *w) { (void)w; }

static inline void transforms_read_all(struct object_reader *r, struct bytes *body)
{
	struct iovec iov[4];
	size_t n;

	for (int count; (count = object_peek(r, iov, 4, 10000, &n)) > 0; object_consume(r, n))
		for (int i = 0; i < count; i++)
			bytes_add(body, iov[i].iov_base, iov[i].iov_len);
}

static inline void transforms_parse(struct http_msg *m, const char *head)
{
	struct http_parser *parser = http_parser_new(false, NULL, NULL);
	size_t used;

	if (http_msg_init(m, 8))
		abort();
	http_parser_start(parser, m, false);
	m->base = head;
	if (http_parse(parser, head, strlen(head), &used) != PARSE_HEAD)
		CU_FAIL_FATAL("fixture");
	http_parser_free(&parser);
}

static inline void transforms_see(struct outcome *o, struct object *object)
{
	const struct object_head *head = object_get_head(object);
	char rule[VERDICT_FORMAT_MAX] = "";
	struct verdict v;

	if (!head)
		return;
	o->coded = head->coded;
	o->length = object_content_length(object);
	o->report = *object_report(object);
	if (object_verdict(object, &v))
		verdict_format(&v, rule, sizeof(rule));
	snprintf(o->head, sizeof(o->head), "%.*sX-Encoding-Rule: %s\r\n", (int)head->len, head->bytes, rule);
}

/* Feeds a body as if it came so cut to the transform of a response with this head; the reader reads only when the object is full, or at the
 * end. kept: the object keeps its body. A step of 0: all of the body comes in one piece that is known to be the last. */
static inline struct outcome transforms_run(const char *head, const struct transform_options *options, bool kept, const struct bytes *body, size_t cut,
	size_t step, size_t transit)
{
	struct outcome o = { .body = bytes_of("", 0) };
	struct object *object = object_new(transit);
	struct object_reader reader = { .wake = transforms_on_wake };
	struct object_writer writer = { transforms_on_writer, transforms_on_writer };
	struct http_msg m;
	struct transform *s;
	bool whole = false;

	transforms_parse(&m, head);
	object_attach(object, &reader);
	object_set_writer(object, &writer);
	if (kept)
		object_retain(object, UINT64_MAX);
	s = transform_new(object, &m, options);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	o.result = transform_start(s);
	if (step == 0 && o.result == TRANSFORM_OK) {
		enum transform_result r = transform_feed_whole(s, body->at, body->len);

		if ((whole = r != TRANSFORM_UNFED))
			o.result = r;
	}
	step = step ? step : body->len + 1;
	for (size_t at = 0, n, used; at < body->len && o.result == TRANSFORM_OK && !whole; at += n) {
		n = at < cut ? cut - at : body->len - at;
		n = n < step ? n : step;
		struct bytes piece = bytes_of(body->at + at, n);
		for (size_t done = 0; (o.result = transform_feed(s, piece.at + done, n - done, &used)) == TRANSFORM_FULL ||
		    o.result == TRANSFORM_PAUSED; done += used) {
			CU_ASSERT_FATAL(used <= n - done);
			if (o.result == TRANSFORM_FULL)
				transforms_read_all(&reader, &o.body);
		}
		free(piece.at);
	}
	if (o.result == TRANSFORM_OK && !whole)
		o.result = transform_finish(s);
	o.failure = *transform_failure(s);
	CU_ASSERT_EQUAL(object_phase(object) == OBJECT_DONE, o.result == TRANSFORM_OK);
	transforms_read_all(&reader, &o.body);
	transforms_see(&o, object);
	CU_ASSERT(o.result == TRANSFORM_FAILED || o.body.len == object_length(object));
	transform_free(&s);
	CU_ASSERT_PTR_NULL(s);
	http_msg_free(&m);
	object_set_writer(object, NULL);
	object_detach(&reader);
	object_unref(&object);
	return o;
}

/* Runs a test with a loop for its transforms. */
static inline void transforms_with_loop(void (*test)(void))
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(transforms_loop = loop_new());
	test();
	loop_free(&transforms_loop);
}

#endif
