/* Owns the cases of proxy/base/heap.c and what is below it: whose bytes are whose, whatever is given back, that memory is used again, and that
 * it goes back to the system. Must not know: objects. Invariant: each live piece holds its own number in every word. */
#include "proxy/base/heap.h"
#include "proxy/base/home.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { PAGE = 4096, REGION = 2 << 20 };

struct piece {
	uint64_t *words;
	size_t len;
	uint64_t number;
};

static bool piece_new(struct piece *p, enum heap heap, size_t len, uint64_t number)
{
	*p = (struct piece){ .len = len, .number = number, .words = heap_take(heap, len) };
	for (size_t i = 0; p->words && i < len / sizeof *p->words; i++)
		p->words[i] = number;
	return p->words != NULL;
}

static bool piece_holds(const struct piece *p)
{
	for (size_t i = 0; i < p->len / sizeof *p->words; i++)
		if (p->words[i] != p->number)
			return false;
	return true;
}

static void piece_free(struct piece *p)
{
	heap_give(p->words);
	p->words = NULL;
}

static void sizes(void)
{
	static const struct { const char *name; size_t len, bytes; } rows[] = {
		{ "nothing", 0, 16 }, { "a byte", 1, 16 }, { "a word more than a step", 17, 32 }, { "the last of the first band", 256, 256 },
		{ "the first of the second", 257, 288 }, { "a stored response of a kilobyte", 1700, 1728 }, { "between the wide steps", 4097, 4608 },
		{ "the longest block", HEAP_BLOCK_MAX, HEAP_BLOCK_MAX }, { "the shortest run of pages", HEAP_BLOCK_MAX + 1, HEAP_BLOCK_MAX + PAGE },
		{ "a feed", 100000, 25 * PAGE }, { "the longest", HEAP_MAX, HEAP_MAX },
	};

	if (sysconf(_SC_PAGESIZE) != PAGE)
		UNIT_SKIP("pages of another size");
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct piece p;

		UNIT_ROW(piece_new(&p, HEAP_KEPT, rows[i].len, i + 1) && piece_holds(&p), "%s", rows[i].name);
		UNIT_ROW(heap_bytes(p.words) == rows[i].bytes && heap_bytes_for(rows[i].len) == rows[i].bytes, "%s: %zu", rows[i].name, heap_bytes(p.words));
		UNIT_ROW((uintptr_t)p.words % (rows[i].len > HEAP_BLOCK_MAX ? PAGE : 16) == 0, "%s", rows[i].name);
		piece_free(&p);
	}
	CU_ASSERT_PTR_NULL(heap_take(HEAP_KEPT, HEAP_MAX + 1));
	CU_ASSERT_PTR_NULL(heap_take(HEAP_KEPT, SIZE_MAX));
	heap_give(NULL);
}

/* Whatever its size, a piece takes at most so much more. */
static void rounding(void)
{
	for (size_t len = 257; len <= HEAP_MAX; len += len / 50 + 1)
		UNIT_ROW(heap_bytes_for(len) >= len && heap_bytes_for(len) - len <= len / 8, "%zu: %zu", len, heap_bytes_for(len));
}

/* The time of the tests, which all threads let pass. */
static _Atomic uint64_t now = 1;

static void rests(unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		for (int more = 0; more < 100 && heap_rest(atomic_fetch_add(&now, more ? 0 : HEAP_REST_MS)); more++)
			continue;
}

/* Pieces of all sizes come, are trimmed, sent, go, in any order. */
static void churn(unsigned seed, size_t steps)
{
	enum { LIVE = 128 };
	struct piece *live = calloc(LIVE, sizeof *live);
	size_t faults = 0;

	for (size_t i = 0; i < steps; i++) {
		struct piece *p = &live[(size_t)rand_r(&seed) % LIVE];
		size_t len = 8 + (size_t)rand_r(&seed) % (rand_r(&seed) % 4 ? 6000 : rand_r(&seed) % 4 ? 160000 : HEAP_MAX - 8);

		if (p->words) {
			faults += !piece_holds(p);
			piece_free(p);
		} else if (!piece_new(p, rand_r(&seed) % 4 ? HEAP_KEPT : HEAP_TRANSIT, len, ((uint64_t)seed << 32) + i + 1)) {
			faults++;
		} else if (len > HEAP_BLOCK_MAX && rand_r(&seed) % 4 == 0) {
			p->len = 1 + len / 3;
			heap_trim(p->words, p->len);
			faults += heap_bytes(p->words) < p->len || heap_bytes(p->words) >= p->len + (size_t)sysconf(_SC_PAGESIZE);
		}
		if (p->words && p->len > HEAP_BLOCK_MAX && rand_r(&seed) % 4 == 0)
			heap_sent(p->words);
		if (i % 64 == 0)
			rests(1);
	}
	for (size_t i = 0; i < LIVE; i++) {
		if (live[i].words)
			faults += !piece_holds(&live[i]);
		piece_free(&live[i]);
	}
	free(live);
	CU_ASSERT_EQUAL(faults, 0);
}

static void any_order(void)
{
	size_t before = heap_sums().used;

	if (UNIT_RACES_ONLY)
		UNIT_SKIP("one thread has no races");
	churn(1, 8000);
	UNIT_ROW((rests(16), heap_sums().spare <= 2 * REGION), "%zu bytes are spare", heap_sums().spare);
	UNIT_ROW(heap_sums().used <= before, "%zu bytes are in use, before %zu", heap_sums().used, before);
}

static void *churner(void *seed)
{
	churn(*(unsigned *)seed, UNIT_RACES_ONLY ? 400 : 1500);
	return NULL;
}

static void threads(void)
{
	unsigned seeds[] = { 2, 3, 4, 5 };
	pthread_t ids[COUNT(seeds)];

	for (size_t i = 0; i < COUNT(seeds); i++)
		CU_ASSERT_FATAL(!pthread_create(&ids[i], NULL, churner, &seeds[i]));
	for (size_t i = 0; i < COUNT(seeds); i++)
		pthread_join(ids[i], NULL);
}

/* The kernel holds what lies in a pipe; nothing that comes after the run may be seen there, whatever the heap does with the pages. */
static void never_again(void)
{
	enum { LEN = 16 * PAGE };
	static uint64_t got[LEN / sizeof(uint64_t)];
	static const struct { const char *name; bool beside, rest; } rows[] = {
		{ "alone in its region", false, false }, { "beside another run", true, false }, { "beside another run, and the heap rests", true, true },
	};
	int ends[2];

	CU_ASSERT_FATAL(!pipe(ends) && fcntl(ends[0], F_SETPIPE_SZ, 2 * LEN) >= LEN);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct piece p, neighbour = { 0 }, next[64];
		bool same = true;

		CU_ASSERT_FATAL(piece_new(&p, HEAP_KEPT, LEN, 7) && piece_new(&neighbour, HEAP_KEPT, LEN, 9));
		if (!rows[i].beside)
			piece_free(&neighbour);
		heap_sent(p.words);
		CU_ASSERT_FATAL(vmsplice(ends[1], &(struct iovec){ p.words, LEN }, 1, 0) == LEN);
		piece_free(&p);
		if (rows[i].rest)
			rests(16);
		for (size_t k = 0; k < COUNT(next); k++)
			CU_ASSERT_FATAL(piece_new(&next[k], HEAP_KEPT, LEN, 8));
		for (size_t have = 0; have < LEN;) {
			ssize_t n = read(ends[0], (uint8_t *)got + have, LEN - have);

			CU_ASSERT_FATAL(n > 0);
			have += (size_t)n;
		}
		for (size_t k = 0; k < COUNT(got); k++)
			same = same && got[k] == 7;
		UNIT_ROW(same, "%s", rows[i].name);
		for (size_t k = 0; k < COUNT(next); k++)
			piece_free(&next[k]);
		if (rows[i].beside)
			UNIT_ROW(piece_holds(&neighbour), "%s", rows[i].name);
		piece_free(&neighbour);
	}
	close(ends[0]);
	close(ends[1]);
}

/* So many runs that were sent are given back, while one in each region stays: their memory goes back, though none of it can be used again. */
static void sent_and_gone(void)
{
	enum { LEN = 64 * PAGE, RUNS = 1000 };
	struct piece *p = calloc(RUNS, sizeof *p);
	size_t used;

	if (UNIT_RACES_ONLY)
		UNIT_SKIP("one thread has no races");
	for (size_t i = 0; i < RUNS; i++)
		CU_ASSERT_FATAL(piece_new(&p[i], HEAP_KEPT, LEN, i + 1));
	used = heap_sums().used;
	for (size_t i = 0; i < RUNS; i++) {
		heap_sent(p[i].words);
		if (i % 8)
			piece_free(&p[i]);
	}
	UNIT_ROW(heap_sums().used <= used - (RUNS - RUNS / 8) * LEN, "%zu of %zu bytes are in use", heap_sums().used, used);
	UNIT_ROW(heap_sums().spare <= used / 4, "%zu of %zu bytes are spare", heap_sums().spare, used);
	for (size_t i = 0; i < RUNS; i++) {
		UNIT_ROW(!p[i].words || piece_holds(&p[i]), "run %zu", i);
		piece_free(&p[i]);
	}
	free(p);
}

/* What is given back is used again before there is new memory. */
static void again(void)
{
	static const struct { const char *name; enum heap heap; size_t len; } rows[] = {
		{ "a segment in transit", HEAP_TRANSIT, HEAP_BLOCK_MAX }, { "a stored response", HEAP_KEPT, 1700 }, { "a long body", HEAP_KEPT, 200000 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t all = 0;
		bool grows = false;

		for (size_t n = 0; n < 500; n++) {
			struct piece p[8];
			struct heap_sums sums;

			for (size_t k = 0; k < COUNT(p); k++)
				CU_ASSERT_FATAL(piece_new(&p[k], rows[i].heap, rows[i].len, k + 1));
			for (size_t k = 0; k < COUNT(p); k++)
				piece_free(&p[(k * 5 + n) % COUNT(p)]);
			sums = heap_sums();
			grows |= n > 8 && sums.used + sums.spare > all;
			all = sums.used + sums.spare;
		}
		UNIT_ROW(!grows, "%s", rows[i].name);
	}
}

struct thing { struct home *home; };
struct house { struct home home; struct thing things[3]; };

/* A block lasts until the last thing in it has left. */
static void homes(void)
{
	struct house *h = heap_take_zeroed(HEAP_KEPT, sizeof *h);

	CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	atomic_init(&h->home.things, 3);
	home_leave(&h->home);
	home_leave(&h->home);
	CU_ASSERT_EQUAL(atomic_load(&h->home.things), 1);      /* a sanitizer would tell if it were gone */
	home_leave(&h->home);
}

UNIT_SUITE(heap, { "sizes", sizes }, { "rounding", rounding }, { "any order", any_order }, { "threads", threads }, { "never again", never_again },
	{ "sent and gone", sent_and_gone }, { "again", again }, { "homes", homes })
