/* Owns the cases of proxy/base/bodies.c, and of what objects and the store in memory tell it. */
#include "proxy/base/bodies.h"
#include "proxy/object/object.h"
#include "proxy/store/store_memory.h"
#include "tests/unit/entries.h"
#include "tests/unit/stores.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

enum { TRANSIT = 256 * 1024, STEP = 16 * 1024, SLOW = 500, SMALL_BUDGET = 1 << 20 };

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void share(void)
{
	static const struct { const char *rule; size_t loose, most, share; } rows[] = {
		{ "trust 08: nothing is held", 0, TRANSIT, TRANSIT },
		{ "trust 08: half of it", BODIES_LOOSE_MAX / 2, TRANSIT, TRANSIT },
		{ "trust 08: three quarters", BODIES_LOOSE_MAX / 4 * 3, TRANSIT, TRANSIT / 2 },
		{ "trust 08: nearly all", BODIES_LOOSE_MAX - 1, TRANSIT, BODIES_LEAST },
		{ "trust 08: all", BODIES_LOOSE_MAX, TRANSIT, BODIES_LEAST },
		{ "trust 08: more than that", 4 * (size_t)BODIES_LOOSE_MAX, TRANSIT, BODIES_LEAST },
		{ "trust 08: what is small stays so", BODIES_LOOSE_MAX, 100, 100 },
		{ "trust 08: what is large counts in 64 bits", BODIES_LOOSE_MAX / 4 * 3, (size_t)1 << 30, (size_t)1 << 29 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		bodies_took(rows[i].loose);
		UNIT_ROW(bodies_share(rows[i].most) == rows[i].share, "%s: %zu", rows[i].rule, bodies_share(rows[i].most));
		bodies_gave(rows[i].loose);
	}
}

/* Every transfer asks again and again, as others come and go. */
static void promises(void)
{
	static size_t had[SLOW];
	size_t sum = 0;

	CU_ASSERT(bodies_promise(0, TRANSIT) == TRANSIT && bodies_promise(TRANSIT, 100) == 100 && bodies_promise(100, 0) == 0);
	for (size_t n = 0; n < 4 * SLOW; n++)
		had[n % SLOW] = bodies_promise(had[n % SLOW], TRANSIT);
	for (size_t i = 0; i < SLOW; i++) {
		CU_ASSERT(had[i] >= BODIES_LEAST && had[i] <= TRANSIT);
		sum += had[i];
	}
	CU_ASSERT(sum > BODIES_PROMISED_MAX / 2 && sum <= BODIES_PROMISED_MAX + SLOW * BODIES_LEAST);
	for (size_t i = 0; i < SLOW; i++)
		CU_ASSERT(bodies_promise(had[i], 0) == 0);
	CU_ASSERT_EQUAL(bodies_promise(0, TRANSIT), TRANSIT);
	bodies_promise(TRANSIT, 0);
}

struct transfer { struct object *object; struct object_reader reader; };

static void ignore_reader(struct object_reader *r)
{
	(void)r;
}

static void ignore_writer(struct object_writer *w)
{
	(void)w;
}

static struct object_writer writer = { ignore_writer, ignore_writer };

static void transfer_begin(struct transfer *t)
{
	struct object_head *head = object_head_new();

	t->object = object_new(TRANSIT);
	t->reader = (struct object_reader){ .wake = ignore_reader };
	object_attach(t->object, &t->reader);
	object_set_writer(t->object, &writer);
	head->bytes = strdup("head");
	head->content_length = -1;
	object_head(t->object, head);
}

static void transfer_fill(struct transfer *t)
{
	static const char bytes[STEP];

	while (!object_full(t->object))
		CU_ASSERT_FATAL(!object_append(t->object, bytes, bodies_share(STEP)));
}

static void transfer_end(struct transfer *t)
{
	object_set_writer(t->object, NULL);
	object_detach(&t->reader);
	object_unref(&t->object);
}

/* trust 08: nobody reads; the first few have their transit-bytes, all together hold what they may, and it is given back. */
static void slow_readers(void)
{
	static struct transfer transfers[SLOW];

	for (size_t i = 0; i < SLOW; i++) {
		transfer_begin(&transfers[i]);
		transfer_fill(&transfers[i]);
		UNIT_ROW(i >= 16 || object_length(transfers[i].object) == TRANSIT, "transfer %zu: %zu", i, (size_t)object_length(transfers[i].object));
		UNIT_ROW(object_length(transfers[i].object) >= BODIES_LEAST, "transfer %zu: %zu", i, (size_t)object_length(transfers[i].object));
	}
	UNIT_ROW(bodies_loose() <= BODIES_LOOSE_MAX + SLOW * BODIES_LEAST, "%zu", bodies_loose());
	for (size_t i = 0; i < SLOW; i++)
		transfer_end(&transfers[i]);
	CU_ASSERT_EQUAL(bodies_loose(), 0);
}

/* trust 08: who had to wait with less than transit_bytes goes on once half of that has been read. */
static void less_room(void)
{
	struct transfer t;
	size_t had;

	bodies_took(BODIES_LOOSE_MAX);
	transfer_begin(&t);
	transfer_fill(&t);
	had = (size_t)object_length(t.object);
	CU_ASSERT(had < TRANSIT / 4);
	bodies_gave(BODIES_LOOSE_MAX);
	object_consume(&t.reader, had - BODIES_LEAST / 2);
	CU_ASSERT_FALSE(object_full(t.object));
	transfer_end(&t);
}

/* trust 08: what is stored is the store's; what left it and is read still is not; a budget of bodies in the making shrinks by it. */
static void given_up(void)
{
	struct store *s = store_memory_new(SMALL_BUDGET, SMALL_BUDGET);
	struct entry *e;

	stores_put(s, "http://h/\nk", 1, 50000);
	CU_ASSERT_EQUAL(bodies_loose(), 0);
	e = store_memory_peek(s, "http://h/\nk", strlen("http://h/\nk"));
	CU_ASSERT_FATAL(e != NULL);
	s->ops->purge(s, PURGE_ALL, "", 0, false, 0);
	CU_ASSERT_EQUAL(bodies_loose(), 50000);
	entry_unref(&e);
	CU_ASSERT_EQUAL(bodies_loose(), 0);
	s->ops->free(s);
}

static void making(void)
{
	struct store *s = store_memory_new(SMALL_BUDGET, SMALL_BUDGET);

	CU_ASSERT(store_memory_reserve(s, 0, 100000));
	bodies_took(BODIES_LOOSE_MAX);
	CU_ASSERT_FALSE(store_memory_reserve(s, 0, 100000));
	bodies_gave(BODIES_LOOSE_MAX);
	CU_ASSERT(store_memory_reserve(s, 0, 100000));
	store_memory_release(s, 200000);
	s->ops->free(s);
}

UNIT_SUITE(bodies, { "share", share }, { "promises", promises }, { "slow readers", slow_readers }, { "less room", less_room }, { "given up", given_up },
	{ "making", making })
