/* Owns the cases of core/memory/spares.c. Invariant: what is taken is all zero, whoever had it before. */
#include "core/memory/spares.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

static bool is_zero(const unsigned char *block, size_t size)
{
	size_t i = 0;

	while (i < size && block[i] == 0)
		i++;
	return i == size;
}

static void *used(struct spares *s, size_t size)
{
	void *block = spares_take(s, size);

	CU_ASSERT_FATAL(block != NULL);
	CU_ASSERT(is_zero(block, size));
	return memset(block, 0xA5, size);
}

static void handed_on(void)
{
	struct spares s = { 0 };
	void *small = used(&s, 100), *large = used(&s, 2000), *again;

	spares_give(&s, small, 100);
	spares_give(&s, large, 2000);
	CU_ASSERT((again = used(&s, 2000)) == large);
	CU_ASSERT((again = used(&s, 100)) == small);
	spares_give(&s, small, 100);
	again = used(&s, 101);                  /* a block is for its size alone */
	CU_ASSERT(again != small);
	spares_give(&s, again, 101);
	spares_give(&s, large, 2000);
	spares_give(&s, NULL, 7);
	spares_free(&s);
	CU_ASSERT(is_zero((unsigned char *)&s, sizeof s));
}

/* Memory is bounded by blocks and by bytes: a checker of leaks sees the rest freed. */
static void bounded(void)
{
	struct spares s = { 0 };
	void *blocks[SPARES_MAX + 3], *large = used(&s, SPARES_BYTES_MAX + 1);
	size_t kept = 0;

	spares_give(&s, large, SPARES_BYTES_MAX + 1);
	CU_ASSERT(is_zero((unsigned char *)&s, sizeof s));
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		blocks[i] = used(&s, 64);
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		spares_give(&s, blocks[i], 64);
	for (size_t i = 0; i < SPARES_MAX; i++)
		kept += s.of[i].size == 64;
	CU_ASSERT_EQUAL(kept, SPARES_MAX);
	spares_free(&s);
}

static void without(void)
{
	void *block = used(NULL, 10);

	spares_give(NULL, block, 10);
}

UNIT_SUITE(spares, { "handed on", handed_on }, { "bounded", bounded }, { "nothing is kept", without })
