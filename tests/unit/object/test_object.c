/* Owns the cases of proxy/object/object.c: readers, segments, back-pressure, freeing. Must not know: who writes or reads.
 * Invariant: every reader gets every byte in order, however it reads (a sanitizer sees what is freed too early or never). */
#include "proxy/object/object.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

struct reader { struct object_reader reader; unsigned woken; };
struct writer { struct object_writer writer; unsigned room, abandoned; };

static void on_wake(struct object_reader *r)
{
	((struct reader *)(void *)r)->woken++;
}

static void on_room(struct object_writer *w)
{
	((struct writer *)(void *)w)->room++;
}

static void on_abandoned(struct object_writer *w)
{
	((struct writer *)(void *)w)->abandoned++;
}

#define READER { .reader = { .wake = on_wake } }
#define WRITER { .writer = { on_room, on_abandoned } }

static void start(struct object *o)
{
	struct object_head *head = object_head_new();

	head->status = 200;
	head->bytes = strdup("head");
	head->len = 4;
	head->content_length = -1;
	object_head(o, head);
}

static uint8_t byte_at(uint64_t offset)
{
	return (uint8_t)(offset % 251);
}

static void append(struct object *o, size_t len)
{
	uint8_t *bytes = malloc(len ? len : 1);

	for (size_t i = 0; i < len; i++)
		bytes[i] = byte_at(object_length(o) + i);
	CU_ASSERT_EQUAL(object_append(o, bytes, len), 0);
	free(bytes);
}

/* Reads up to want bytes, n pieces and max bytes at a time. Returns how many there were. */
static size_t drain(struct object_reader *r, size_t want, int n, size_t max)
{
	size_t total = 0;

	while (total < want) {
		struct iovec iov[8];
		size_t bytes, sum = 0, wrong = 0;
		int count = object_peek(r, iov, n, want - total < max ? want - total : max, &bytes);

		CU_ASSERT_FATAL(count <= n && bytes <= max && (count > 0) == (bytes > 0));
		if (!count)
			break;
		for (int i = 0; i < count; sum += iov[i++].iov_len) {
			CU_ASSERT_FATAL(iov[i].iov_len > 0);
			for (size_t k = 0; k < iov[i].iov_len; k++)
				wrong += ((const uint8_t *)iov[i].iov_base)[k] != byte_at(r->offset + sum + k);
		}
		CU_ASSERT(sum == bytes && !wrong);
		object_consume(r, bytes);
		total += bytes;
	}
	return total;
}

static void phases(void)
{
	struct object *o = object_new(100);
	struct reader r = READER;
	struct failure f;

	CU_ASSERT_PTR_NOT_NULL_FATAL(o);
	object_attach(o, &r.reader);
	CU_ASSERT(object_phase(o) == OBJECT_WAITING && object_get_head(o) == NULL && object_length(o) == 0);
	start(o);
	CU_ASSERT(object_phase(o) == OBJECT_BODY && r.woken == 1);
	CU_ASSERT(object_get_head(o)->status == 200 && object_get_head(o)->content_length == -1);
	append(o, 10);
	CU_ASSERT(object_length(o) == 10 && r.woken == 2);
	object_done(o);
	CU_ASSERT(object_phase(o) == OBJECT_DONE && r.woken == 3);
	CU_ASSERT_EQUAL(object_content_length(o), 10);
	CU_ASSERT_EQUAL(drain(&r.reader, 100, 1, 100), 10);
	object_detach(&r.reader);
	CU_ASSERT_PTR_NULL(r.reader.object);
	object_detach(&r.reader);
	object_unref(&o);
	CU_ASSERT_PTR_NULL(o);
	object_unref(&o);

	for (int with_head = 0; with_head < 2; with_head++) {
		o = object_new(100);
		if (with_head)
			start(o);
		failure_set(&f, FAILURE_DNS_ERROR, "no \"%s\"\n", "h\xe9");
		object_fail(o, &f);
		CU_ASSERT(object_phase(o) == OBJECT_FAILED && (object_get_head(o) != NULL) == with_head);
		CU_ASSERT_EQUAL(object_failure(o)->error, FAILURE_DNS_ERROR);
		CU_ASSERT_STRING_EQUAL(object_failure(o)->details, "no ?h???");
		object_unref(&o);
	}
}

/* Sizes around what a segment holds, each read in several ways. */
static void reading(void)
{
	static const size_t writes[] = { 1, 7, 4031, 4032, 4033, 32703, 32704, 32705, 100000 }, reads[] = { 1, 100, 4032, 32704, 1000000 };

	for (size_t i = 0; i < COUNT(writes) * COUNT(reads) * 2; i++) {
		size_t write = writes[i / 2 / COUNT(reads)], read = reads[i / 2 % COUNT(reads)], total = 0, got = 0;
		struct object *o = object_new(1 << 20);
		struct reader r = READER;
		bool after = i % 2;

		object_attach(o, &r.reader);
		start(o);
		while (total < 120000) {
			append(o, write);
			total += write;
			if (!after)
				got += drain(&r.reader, read, 3, 5000);
		}
		object_done(o);
		got += drain(&r.reader, SIZE_MAX, 8, read < 100 ? 100 : read);
		UNIT_ROW(got == total, "written by %zu, read by %zu: %zu of %zu", write, read, got, total);
		object_detach(&r.reader);
		object_unref(&o);
	}
}

/* Readers at different places; one leaves early; what is left is the others'. */
static void several(void)
{
	struct object *o = object_new(1 << 20);
	struct reader slow = READER, fast = READER, gone = READER;

	object_attach(o, &slow.reader);
	object_attach(o, &fast.reader);
	object_attach(o, &gone.reader);
	start(o);
	for (int turn = 0; turn < 50; turn++) {
		append(o, 5000);
		CU_ASSERT_EQUAL(drain(&fast.reader, SIZE_MAX, 4, 3000), 5000);
		CU_ASSERT_EQUAL(drain(&slow.reader, 1000, 2, 700), 1000);
		if (turn < 10)
			CU_ASSERT_EQUAL(drain(&gone.reader, 50, 1, 50), 50);
		if (turn == 10)
			object_detach(&gone.reader);
	}
	object_done(o);
	CU_ASSERT_EQUAL(drain(&fast.reader, SIZE_MAX, 4, 3000), 0);
	CU_ASSERT_EQUAL(drain(&slow.reader, SIZE_MAX, 4, 3000), 200000);
	object_detach(&slow.reader);
	object_detach(&fast.reader);
	object_unref(&o);
}

static void back_pressure(void)
{
	struct object *o = object_new(1000);
	struct writer w = WRITER;
	struct reader a = READER, b = READER;

	object_set_writer(o, &w.writer);
	object_attach(o, &a.reader);
	object_attach(o, &b.reader);
	start(o);
	append(o, 999);
	CU_ASSERT_FALSE(object_full(o));
	append(o, 1);
	CU_ASSERT_TRUE(object_full(o));
	drain(&a.reader, SIZE_MAX, 8, 10000);
	CU_ASSERT_EQUAL(w.room, 0);                  /* the slowest counts */
	CU_ASSERT_TRUE(object_full(o));
	drain(&b.reader, 499, 8, 10000);
	CU_ASSERT_EQUAL(w.room, 0);
	drain(&b.reader, 1, 8, 10000);
	CU_ASSERT_EQUAL(w.room, 1);                  /* half is back */
	drain(&b.reader, 100, 8, 10000);
	CU_ASSERT_EQUAL(w.room, 1);                  /* told once */
	append(o, 5000);
	CU_ASSERT_TRUE(object_full(o));
	drain(&a.reader, SIZE_MAX, 8, 10000);
	object_detach(&b.reader);                    /* the slowest leaves */
	CU_ASSERT_EQUAL(w.room, 2);
	CU_ASSERT_EQUAL(w.abandoned, 0);
	object_detach(&a.reader);
	CU_ASSERT_EQUAL(w.abandoned, 1);
	object_set_writer(o, NULL);
	object_unref(&o);
}

/* trust 23: who lets all others wait is given up, keeps what it has seen until it goes, and gets no end. */
static void expelled(void)
{
	struct object *o = object_new(1000);
	struct writer w = WRITER;
	struct reader fast = READER, near = READER, slow = READER;
	struct iovec seen[8];
	size_t bytes;

	object_set_writer(o, &w.writer);
	object_attach(o, &fast.reader);
	object_attach(o, &near.reader);
	object_attach(o, &slow.reader);
	start(o);
	append(o, 1200);
	CU_ASSERT_TRUE(object_full(o));
	CU_ASSERT_EQUAL(drain(&near.reader, 300, 8, 10000), 300);
	CU_ASSERT_EQUAL(object_peek(&slow.reader, seen, 8, SIZE_MAX, &bytes), 1);
	object_expel_slow(o);
	CU_ASSERT_FALSE(object_is_cut(&slow.reader));        /* nobody waits for more */
	CU_ASSERT_EQUAL(drain(&fast.reader, SIZE_MAX, 8, 10000), 1200);
	CU_ASSERT_EQUAL(drain(&near.reader, 500, 8, 10000), 500);
	CU_ASSERT_FALSE(object_is_cut(&slow.reader));
	object_expel_slow(o);
	CU_ASSERT_TRUE(object_is_cut(&slow.reader) && slow.woken);
	CU_ASSERT_FALSE(object_is_cut(&near.reader));
	CU_ASSERT_EQUAL(((const uint8_t *)seen[0].iov_base)[0], byte_at(0));         /* a sanitizer sees whether it is there yet */
	CU_ASSERT_EQUAL(object_peek(&slow.reader, seen, 8, SIZE_MAX, &bytes), 0);
	CU_ASSERT_EQUAL(w.room, 1);
	CU_ASSERT_EQUAL(drain(&near.reader, SIZE_MAX, 8, 10000), 400);
	object_detach(&slow.reader);
	append(o, 10);
	CU_ASSERT_FALSE(object_full(o));
	object_done(o);
	CU_ASSERT_EQUAL(drain(&near.reader, SIZE_MAX, 8, 10000), 10);
	CU_ASSERT_EQUAL(drain(&fast.reader, SIZE_MAX, 8, 10000), 10);
	object_set_writer(o, NULL);
	object_detach(&near.reader);
	object_detach(&fast.reader);
	object_unref(&o);
}

/* A reader keeps what it reads, whoever else lets go. */
static void references(void)
{
	struct object *o = object_new(1000), *other;
	struct writer w = WRITER;
	struct reader r = READER;

	object_set_writer(o, &w.writer);
	object_attach(o, &r.reader);
	start(o);
	append(o, 3000);
	object_done(o);
	object_set_writer(o, NULL);
	other = object_ref(o);
	object_unref(&o);
	object_unref(&other);
	CU_ASSERT_EQUAL(drain(&r.reader, SIZE_MAX, 8, 1000), 3000);
	object_detach(&r.reader);
	CU_ASSERT_EQUAL(w.abandoned, 0);
}

/* Only what is kept and long lies in pages, which go out once it has been read a few times; what does not can be moved there. */
static void pages(void)
{
	enum { HITS = 48 };
	static const struct { const char *name; bool kept, told; size_t len; bool wants; size_t first_pages; } rows[] = {
		{ "short", true, true, 30000, false, 0 },
		{ "length known", true, true, 65536, false, 40960 },
		{ "length known, several pieces", true, true, 9 << 20, false, 40960 },
		{ "length not known", true, false, 65536, true, 0 },
		{ "length not known, long", true, false, 1 << 20, true, 0 },
		{ "in transit", false, true, 1 << 20, true, 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct object *o = object_new(16 << 20), *compact;
		struct reader r = READER;
		struct iovec iov[8];
		size_t bytes;

		object_attach(o, &r.reader);
		if (rows[i].kept)
			object_retain(o, UINT64_MAX);
		if (rows[i].told)
			object_expect(o, rows[i].len);
		start(o);
		for (size_t at = 0; at < rows[i].len; at += 10000)
			append(o, rows[i].len - at < 10000 ? rows[i].len - at : 10000);
		object_done(o);
		UNIT_ROW(object_wants_pages(o) == rows[i].wants, "%s", rows[i].name);
		for (int hits = 0; hits < HITS; hits++)
			UNIT_ROW(!object_peek_pages(&r.reader, iov, 1, SIZE_MAX, &bytes) && !bytes, "%s: hit %d", rows[i].name, hits);
		object_peek_pages(&r.reader, iov, 1, SIZE_MAX, &bytes);
		UNIT_ROW(bytes == rows[i].first_pages, "%s: %zu in pages at first", rows[i].name, bytes);
		CU_ASSERT_EQUAL(drain(&r.reader, SIZE_MAX, 8, 1 << 20), rows[i].len);
		object_detach(&r.reader);
		if (rows[i].kept && rows[i].wants) {
			compact = object_compact(o);
			object_attach(compact, &r.reader);
			for (int hits = 0; hits < HITS; hits++)
				object_peek_pages(&r.reader, iov, 1, SIZE_MAX, &bytes);
			UNIT_ROW(!object_wants_pages(compact) && !object_unused(compact) && object_peek_pages(&r.reader, iov, 8, SIZE_MAX, &bytes) == 1 &&
			    bytes == rows[i].len, "%s, compact", rows[i].name);
			CU_ASSERT_EQUAL(drain(&r.reader, SIZE_MAX, 8, 1 << 20), rows[i].len);
			object_detach(&r.reader);
			object_unref(&compact);
		}
		object_unref(&o);
	}
}

/* Too long to be kept after all: what lies in pages goes like the rest. */
static void pages_in_transit(void)
{
	struct object *o = object_new(1 << 20);
	struct writer w = WRITER;
	struct reader r = READER;

	object_set_writer(o, &w.writer);
	object_attach(o, &r.reader);
	object_retain(o, 600000);
	start(o);
	for (int i = 0; i < 100; i++) {
		append(o, 10000);
		CU_ASSERT(i % 10 || drain(&r.reader, SIZE_MAX, 8, 1 << 20) > 0);
	}
	CU_ASSERT(!object_is_retained(o) && object_memory(o) < 400000);
	object_done(o);
	object_set_writer(o, NULL);
	CU_ASSERT_EQUAL(drain(&r.reader, SIZE_MAX, 8, 1 << 20), 90000);
	object_detach(&r.reader);
	object_unref(&o);
}

/* What a reader has of them after all of it: whole ones, up to the limit for all of them together. */
static void interim(void)
{
	static char bytes[OBJECT_INTERIM_MAX + 1], got[OBJECT_INTERIM_MAX];
	static const struct { const char *rule; size_t sizes[4]; size_t had; } rows[] = {
		{ "some", { 100, 200, 300 }, 600 },
		{ "all that fit", { OBJECT_INTERIM_MAX - 10, 10 }, OBJECT_INTERIM_MAX },
		{ "one too long is left out, whole", { 100, OBJECT_INTERIM_MAX, 50 }, 150 },
		{ "one that is too long by itself", { OBJECT_INTERIM_MAX + 1 }, 0 },
		{ "no room for the last", { OBJECT_INTERIM_MAX, 1 }, OBJECT_INTERIM_MAX },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct object *o = object_new(1000);
		struct reader first = READER, late = READER;
		size_t at = 0, n, had = 0, late_at = 0;

		object_attach(o, &first.reader);
		for (size_t k = 0; rows[i].sizes[k]; k++) {
			memset(bytes, 'a' + (int)k, rows[i].sizes[k]);
			CU_ASSERT_EQUAL(object_interim(o, bytes, rows[i].sizes[k]), 0);
			n = object_take_interim(&first.reader, &at, got);
			UNIT_ROW(n == 0 || n == rows[i].sizes[k], "trust 03: %s: %zu at a time", rows[i].rule, n);
			had += n;
		}
		UNIT_ROW(had == rows[i].had, "trust 03: %s: %zu", rows[i].rule, had);
		object_attach(o, &late.reader);
		start(o);
		append(o, 10);
		object_done(o);
		UNIT_ROW(object_take_interim(&late.reader, &late_at, got) == had, "trust 03: %s: who came before the end", rows[i].rule);
		object_detach(&first.reader);
		object_detach(&late.reader);
		late_at = 0;
		object_attach(o, &late.reader);
		UNIT_ROW(!object_take_interim(&late.reader, &late_at, got), "trust 03: %s: who came behind it", rows[i].rule);
		object_detach(&late.reader);
		object_unref(&o);
	}
}

static void *leaves(void *reader)
{
	object_detach(reader);
	return NULL;
}

/* The response is done, its writer is still there, and it is not kept: one reader goes to where its range begins while another one, on
 * another thread, leaves and looks for who is furthest behind. ThreadSanitizer sees whether the lock is held. */
static void seeking(void)
{
	enum { ROUNDS = 200 };

	for (int round = 0; round < ROUNDS; round++) {
		struct object *o = object_new(1000);
		struct reader stays = READER, goes = READER;
		struct writer w = WRITER;
		pthread_t thread;

		object_share(o);
		object_set_writer(o, &w.writer);
		object_attach(o, &stays.reader);
		object_attach(o, &goes.reader);
		start(o);
		append(o, 100);
		object_done(o);
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, leaves, &goes.reader), 0);
		object_seek(&stays.reader, 60);
		CU_ASSERT_EQUAL_FATAL(pthread_join(thread, NULL), 0);
		CU_ASSERT_EQUAL(drain(&stays.reader, 100, 1, 100), 40);
		object_set_writer(o, NULL);
		object_detach(&stays.reader);
		object_unref(&o);
	}
}

/* A finished and kept body of len bytes in pieces; the byte at odd is another one. */
static struct object *body_of(size_t len, size_t piece, size_t odd)
{
	struct object *o = object_new(1 << 20);
	int failed = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(o);
	object_retain(o, UINT64_MAX);
	start(o);
	for (size_t at = 0; at < len; at += piece) {
		char bytes[20000];
		size_t n = len - at < piece ? len - at : piece;

		for (size_t i = 0; i < n; i++)
			bytes[i] = (char)('a' + (at + i) % 23 + (at + i == odd));
		failed |= object_append(o, bytes, n);
	}
	CU_ASSERT_FALSE(failed);
	object_done(o);
	return o;
}

/* Bodies are compared by their bytes, however they lie in memory. */
static void same(void)
{
	static const struct { const char *rule; size_t len, piece, other_len, other_piece, odd; bool same; } cases[] = {
		{ "empty ones", 0, 1, 0, 1, SIZE_MAX, true },
		{ "one is empty", 1, 1, 0, 1, SIZE_MAX, false },
		{ "short ones", 100, 100, 100, 7, SIZE_MAX, true },
		{ "the last byte differs", 100, 100, 100, 7, 99, false },
		{ "the first byte differs", 100, 100, 100, 7, 0, false },
		{ "one goes on", 100, 100, 101, 101, SIZE_MAX, false },
		{ "long ones in other pieces", 300000, 20000, 300000, 3001, SIZE_MAX, true },
		{ "of these the last byte differs", 300000, 20000, 300000, 3001, 299999, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct object *a = body_of(cases[i].len, cases[i].piece, SIZE_MAX);
		struct object *b = body_of(cases[i].other_len, cases[i].other_piece, cases[i].odd), *compact = object_compact(b);

		UNIT_ROW(object_same(a, b) == cases[i].same && object_same(b, a) == cases[i].same, "%s", cases[i].rule);
		UNIT_ROW(compact && object_same(a, compact) == cases[i].same && object_same(b, compact), "%s, compact", cases[i].rule);
		UNIT_ROW(object_same(a, a), "%s, itself", cases[i].rule);
		object_unref(&a);
		object_unref(&b);
		object_unref(&compact);
	}
}

UNIT_SUITE(object, { "phases", phases }, { "trust 03: interim responses", interim },
	{ "reading", reading }, { "several", several }, { "back pressure", back_pressure }, { "trust 23: expelled", expelled },
	{ "references", references }, { "seeking", seeking }, { "pages", pages }, { "pages in transit", pages_in_transit }, { "same", same })
