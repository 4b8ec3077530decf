/* Owns the cases of proxy/object/learned.c: what was kept is recalled, no more is held than was asked for, and the oldest leaves. */
#include "proxy/object/learned.h"
#include "proxy/base/stats.h"
#include "tests/unit/unit.h"

#include <stdatomic.h>

static struct stats stats;

static struct normalise_name name_of(const struct normalise_memory *m, unsigned number)
{
	const struct normalise_piece piece = { &number, sizeof number };
	struct normalise_name name;

	m->name(m->arg, &piece, 1, &name);
	return name;
}

static void keep(const struct normalise_memory *m, unsigned number)
{
	struct normalise_name name = name_of(m, number);
	struct normalise_learned what = { .verdict = { .margin = (int)number } };

	m->keep(m->arg, &name, &what);
}

static bool knows(const struct normalise_memory *m, unsigned number)
{
	struct normalise_name name = name_of(m, number);
	const struct normalise_learned *what = m->recall(m->arg, &name);

	CU_ASSERT(!what || what->verdict.margin == (int)number);
	return what != NULL;
}

static void recalls(void)
{
	struct learned *l = learned_new(1, &stats);
	const struct normalise_memory *m = learned_memory(l);
	uint64_t before = atomic_load(&stats.value[STAT_VERDICTS_RECALLED]);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	CU_ASSERT_FALSE(knows(m, 1));
	keep(m, 1);
	CU_ASSERT_TRUE(knows(m, 1));
	CU_ASSERT_FALSE(knows(m, 2));
	keep(m, 2);
	keep(m, 2);
	CU_ASSERT_TRUE(knows(m, 1));
	CU_ASSERT_TRUE(knows(m, 2));
	CU_ASSERT_EQUAL(atomic_load(&stats.value[STAT_VERDICTS_RECALLED]) - before, 3);
	learned_free(&l);
	CU_ASSERT_PTR_NULL(l);
	CU_ASSERT_PTR_NULL(learned_memory(NULL));
}

/* A set of four: a fifth takes the place of that which was asked for longest ago. */
static void oldest(void)
{
	struct learned *l = learned_new(4, &stats);
	const struct normalise_memory *m = learned_memory(l);

	for (unsigned i = 1; i <= 4; i++)
		keep(m, i);
	CU_ASSERT_TRUE(knows(m, 1));
	keep(m, 5);
	CU_ASSERT_FALSE(knows(m, 2));
	for (unsigned i = 1; i <= 5; i++)
		CU_ASSERT(i == 2 || knows(m, i));
	learned_free(&l);
}

static void bounded(void)
{
	enum { MAX = 100, MANY = 5000 };
	struct learned *l = learned_new(MAX, &stats);
	const struct normalise_memory *m = learned_memory(l);
	unsigned known = 0;

	for (unsigned i = 0; i < MANY; i++)
		keep(m, i);
	for (unsigned i = 0; i < MANY; i++)
		known += knows(m, i);
	CU_ASSERT(known <= MAX && known > MAX / 2);
	CU_ASSERT_TRUE(knows(m, MANY - 1));
	learned_free(&l);
}

/* Each worker's names are its own: none is of use for another table. */
static void secrets(void)
{
	struct learned *a = learned_new(4, &stats), *b = learned_new(4, &stats);
	struct normalise_name one = name_of(learned_memory(a), 1), other = name_of(learned_memory(b), 1);

	CU_ASSERT(one.words[0] != other.words[0] && one.words[1] != other.words[1]);
	learned_free(&a);
	learned_free(&b);
}

static bool knows_passage(const struct normalise_memory *m, unsigned number)
{
	struct normalise_name name = name_of(m, number);
	const struct repair_state *behind = m->recall_passage(m->arg, &name);

	CU_ASSERT(!behind || behind->tags == number);
	return behind != NULL;
}

/* Passages have places of their own, and no more of them than there are for that many bodies. */
static void passages(void)
{
	enum { MAX = 10, MANY = 1000 };
	struct learned *l = learned_new(MAX, &stats);
	const struct normalise_memory *m = learned_memory(l);
	uint64_t before = atomic_load(&stats.value[STAT_PASSAGES_RECALLED]);
	unsigned known = 0;

	CU_ASSERT_EQUAL(m->passage_bytes, LEARNED_PASSAGE);
	keep(m, 1);
	CU_ASSERT_FALSE(knows_passage(m, 1));
	for (unsigned i = 1; i < MANY; i++) {
		struct normalise_name name = name_of(m, i);
		struct repair_state behind = { .tags = i };

		m->keep_passage(m->arg, &name, &behind);
		CU_ASSERT_TRUE(knows_passage(m, i));
	}
	for (unsigned i = 1; i < MANY; i++)
		known += knows_passage(m, i);
	UNIT_ROW(known > MAX * LEARNED_PASSAGES / 2 && known <= MAX * LEARNED_PASSAGES + 8, "%u", known);
	CU_ASSERT_EQUAL(atomic_load(&stats.value[STAT_PASSAGES_RECALLED]) - before, known + MANY - 1);
	CU_ASSERT_TRUE(knows(m, 1));
	CU_ASSERT_FALSE(knows(m, 2));
	learned_free(&l);
}

UNIT_SUITE(learned, { "passages", passages }, { "recalls", recalls }, { "oldest", oldest }, { "bounded", bounded }, { "secrets", secrets })
