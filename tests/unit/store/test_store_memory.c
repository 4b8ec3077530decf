/* Owns the cases of the memory store alone: what it counts, what the process takes, who stays.
 * Must not know: how entries are chosen (eviction.h says what a full store keeps to). */
#include "proxy/store/store_memory.h"
#include "tests/unit/entries.h"
#include "tests/unit/stores.h"
#include "tests/unit/unit.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static uint64_t bytes_of(struct store *s)
{
	struct store_stats stats;

	s->ops->stats(s, &stats);
	return stats.bytes;
}

static void small_budgets(void)
{
	static const struct { size_t budget, max_entry; } cases[] = { { 1 << 20, 1 << 20 }, { 8 << 20, 1 << 20 }, { 100000, 1 << 30 }, { 0, 1 << 20 } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct store *s = store_memory_new(cases[i].budget, cases[i].max_entry);
		uint64_t most = 0;

		for (unsigned k = 0; k < 3000; k++) {
			char key[32];

			snprintf(key, sizeof key, "http://h%u/\nk", k % 1500);
			stores_put(s, key, k, k * 7919 % 50000);
			most = bytes_of(s) > most ? bytes_of(s) : most;
		}
		UNIT_ROW(!cases[i].budget || most <= cases[i].budget / 20 * 21, "budget %zu: %zu", cases[i].budget, (size_t)most);
		UNIT_ROW(cases[i].budget < 1 << 20 || most > cases[i].budget / 100 * 95, "budget %zu: used %zu", cases[i].budget, (size_t)most);
		s->ops->free(s);
	}
}

/* trust 08: bodies in the making count, together up to half of what there is, and what is stored makes room for them. */
static void reservations(void)
{
	struct store *s = store_memory_new(1 << 20, 1 << 20);
	uint64_t empty = bytes_of(s);

	for (unsigned k = 0; k < 100; k++) {
		char key[32];

		snprintf(key, sizeof key, "http://h%u/\nk", k);
		stores_put(s, key, k, 20000);
	}
	CU_ASSERT(store_memory_reserve(s, 0, 300000));
	CU_ASSERT(bytes_of(s) <= (1 << 20) / 20 * 21);
	CU_ASSERT(store_memory_reserve(s, 300000, 400000));
	CU_ASSERT_FALSE(store_memory_reserve(s, 0, 200000));         /* another one: over half */
	CU_ASSERT(store_memory_reserve(s, 0, 100000));
	CU_ASSERT_FALSE(store_memory_reserve(s, 100000, 200000));
	store_memory_release(s, 400000);
	CU_ASSERT(store_memory_reserve(s, 100000, 900000));          /* alone it may have it all */
	CU_ASSERT_FALSE(store_memory_reserve(s, 900000, 2 << 20));
	store_memory_release(s, 900000);
	s->ops->purge(s, PURGE_ALL, "", 0, false, 0);
	CU_ASSERT_EQUAL(bytes_of(s), empty);
	s->ops->free(s);
}

/* Asked for twice, an entry survives a scan of ten times the budget. */
static void scan(void)
{
	struct store *s = store_memory_new(1 << 20, 1 << 18);

	for (int i = 0; i < 3; i++) {
		stores_put(s, "http://hot/\nk", 1, 5000);
		CU_ASSERT(stores_holds(s, "http://hot/\nk", 1, 5000));
	}
	for (unsigned k = 0; k < 2000; k++) {
		char key[32];

		snprintf(key, sizeof key, "http://h%u/\nk", k);
		stores_put(s, key, k, 5000);
	}
	CU_ASSERT(stores_holds(s, "http://hot/\nk", 1, 5000));
	s->ops->free(s);
}

/* Every byte that comes with an entry counts: key, heads, body, nodes, and what malloc adds. */
static void every_byte_counts(void)
{
	static const struct { size_t len; unsigned entries; } rows[] = { { 0, 2000 }, { 100, 2000 }, { 5000, 500 }, { 70000, 100 }, { 3 << 20, 10 } };
	struct store *s = store_memory_new(1 << 30, 16 << 20);

	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t heap = entries_memory();
		uint64_t counted = bytes_of(s);
		double ratio;

		for (unsigned k = 0; k < rows[i].entries; k++) {
			char key[64];

			snprintf(key, sizeof key, "http://host%u/of/%zu\nauto", k, rows[i].len);
			stores_put(s, key, k, rows[i].len);
		}
		ratio = (double)(bytes_of(s) - counted) / (double)(entries_memory() - heap);
		UNIT_ROW(!heap || (ratio > 0.99 && ratio < 1.01), "bodies of %zu bytes: counted %.3f of what they take", rows[i].len, ratio);
	}
	s->ops->free(s);
}

/* Responses of one size after the other come, of which a few stay, each alone among free blocks: what they keep from others counts. */
static void scattered(void)
{
	enum { BUDGET = 32 << 20, SMALLEST_BODY = 900, STEP = 128, SIZES = 16, STAYS = 64 };
	struct store *s = store_memory_new(BUDGET, 1 << 20);
	size_t before = heap_sums().used, most = 0;

	if (UNIT_RACES_ONLY)
		UNIT_SKIP("one thread has no races");
	/* A sanitizer's malloc does not say what it takes: there the sizes only come and go, and fewer will do */
	for (unsigned size = 0; size < SIZES; size += most ? 1 : SIZES / 4)
		for (unsigned k = 0, len = SMALLEST_BODY + size * STEP; k < BUDGET / len; k++) {
			char key[64];

			snprintf(key, sizeof key, "http://host%u/of/%u\nauto", k, len);
			stores_put(s, key, k, len);
			for (int hits = 0; k % STAYS == 0 && hits < 4; hits++)
				stores_holds(s, key, k, len);
			if (heap_sums().used - before > most)
				most = heap_sums().used - before;
		}
	printf("scattered: %.1f %% of the budget at most\n", 100.0 * (double)most / BUDGET);
	UNIT_ROW(most <= BUDGET + BUDGET / 2, "%zu bytes of a budget of %d", most, BUDGET);
	s->ops->free(s);
}

/* As gzip_form.c does once it is made: len bytes of gzip for the body of e. */
static bool keep_gzip(struct store *s, struct entry *e, size_t len, enum object_gzip *state)
{
	struct object *form = entries_object(7, len, object_head_new(), NULL), *kept;
	bool did;

	CU_ASSERT(object_gzip_begin(e->object, form));
	CU_ASSERT(!object_gzip_begin(e->object, form));
	if (!(did = store_memory_keep_gzip(s, e->key, e->key_len, e->object, form)))
		object_gzip_end(e->object, OBJECT_GZIP_UNKEPT);
	*state = object_gzip(e->object, &kept);
	CU_ASSERT(kept == (did ? form : NULL));
	object_unref(&kept);
	object_unref(&form);
	return did;
}

/* malloc gives the same request 16 bytes more where the rest of a free block would be too small for another. */
static bool about(uint64_t bytes, uint64_t expected)
{
	enum { ROUNDING = 64 };        /* of the few allocations that an entry is */

	return bytes <= expected + ROUNDING && expected <= bytes + ROUNDING;
}

/* A gzip form counts from when it is kept until its body goes, and an entry that takes over the body takes over the form. */
static void gzip_counts(void)
{
	enum { PUT_BY = 32 };
	static const struct { size_t len, gzip; } rows[] = { { 100, 60 }, { 5000, 1000 }, { 70000, 20000 }, { 3 << 20, 1 << 20 } };
	struct store *s = store_memory_new(1 << 30, 16 << 20);
	uint64_t empty = bytes_of(s);

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct entry *e = entries_new("http://h/\nk", 1, rows[i].len), *stale;
		enum object_gzip state;
		size_t heap;
		uint64_t alone, both;
		double taken;

		s->ops->put(s, e);
		heap = entries_memory();
		alone = bytes_of(s);
		UNIT_ROW(keep_gzip(s, e, rows[i].gzip, &state) && state == OBJECT_GZIP_KEPT, "%zu: kept", rows[i].len);
		both = bytes_of(s);
		taken = (double)(entries_memory() - heap);
		/* The first block of a size brings its slab, which counts for nobody; what malloc had put by for a thread counted before */
		UNIT_ROW(both > alone && (!heap || ((double)(both - alone) > taken * 0.96 && (double)(both - alone) < taken * 1.01 + PUT_BY)),
		    "%zu: counted %zu where it takes %.0f", rows[i].gzip, (size_t)(both - alone), taken);
		stale = entry_expired(e, 2000);
		s->ops->put(s, stale);
		both = both - e->bytes + stale->bytes;
		UNIT_ROW(about(bytes_of(s), both), "%zu: anew %zu, not %zu", rows[i].len, (size_t)bytes_of(s), (size_t)both);
		entry_unref(&stale);
		CU_ASSERT(s->ops->purge(s, PURGE_ALL, "", 0, true, 3000) == 1 && about(bytes_of(s), both));
		s->ops->remove(s, e->key, e->key_len);
		CU_ASSERT(bytes_of(s) == empty);
		entry_unref(&e);
	}
	s->ops->free(s);
}

/* Only for the body that is in, and only as far as the budget goes; what has to leave for it leaves. */
static void gzip_has_room(void)
{
	enum { BUDGET = 1 << 20 };
	static const struct { size_t len, gzip; bool stays; } rows[] = {
		{ 400000, 100000, true }, { 400000, 700000, false }, { 900000, 200000, false }, { 2000, 400000, true },
	};
	struct store *s = store_memory_new(BUDGET, BUDGET);
	struct entry *gone = entries_new("http://gone/\nk", 1, 1000), *again;
	enum object_gzip state;

	CU_ASSERT(!keep_gzip(s, gone, 500, &state) && state == OBJECT_GZIP_UNKEPT);
	entry_unref(&gone);
	gone = entries_new("http://gone/\nk", 1, 1000);
	again = entries_new("http://gone/\nk", 2, 1000);
	s->ops->put(s, gone);
	s->ops->put(s, again);
	CU_ASSERT(!keep_gzip(s, gone, 500, &state));
	entry_unref(&gone);
	entry_unref(&again);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct entry *e;

		for (unsigned k = 0; k < 300; k++) {
			char key[32];

			snprintf(key, sizeof key, "http://h%u/\nk", k);
			stores_put(s, key, k, 5000);
		}
		e = entries_new("http://e/\nk", 3, rows[i].len);
		s->ops->put(s, e);
		UNIT_ROW(keep_gzip(s, e, rows[i].gzip, &state) == rows[i].stays, "%zu and %zu", rows[i].len, rows[i].gzip);
		UNIT_ROW(bytes_of(s) <= BUDGET / 20 * 21 && bytes_of(s) > BUDGET / 100 * 95, "%zu and %zu: %zu", rows[i].len, rows[i].gzip,
		    (size_t)bytes_of(s));
		CU_ASSERT(stores_holds(s, "http://e/\nk", 3, rows[i].len));
		s->ops->remove(s, e->key, e->key_len);
		entry_unref(&e);
	}
	s->ops->free(s);
}

/* The bar: filled ten times over with 1 KB to 10 MB, counted bytes within 5 % of the budget at every step once it is full,
 * resident memory within 25 %. */
enum { TIMES = 10, THREADS_MAX = 4, SMALLEST = 1024, LARGEST = 10 << 20, DOUBLINGS = 14, PIECE = 8192, SAMPLES = 10 };

struct filling {
	struct store *store;
	size_t budget, threads;
	pthread_barrier_t barrier;
	unsigned id;                           /* of the next thread */
	pthread_mutex_t lock;                  /* what follows */
	uint64_t written, least, most;         /* least: since it was full */
	bool full;
	size_t resident;                       /* the most, with no entry on its way in */
};

/* A process of its own for each filling: what one left would be there for the next. */
struct figures { double least, most, resident; };

static size_t resident_bytes(void)
{
	unsigned long size, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%lu %lu", &size, &pages) != 2)
		abort();
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* The body arrives in pieces, as from an origin. */
static struct entry *entry_of(const char *key, size_t len)
{
	static const uint8_t piece[PIECE];
	struct entry_parts parts = { .head = entries_head(len), .freshness = &(struct freshness){ .response_time = 1000 }, .upstream = strdup("") };

	parts.object = object_new(0);
	object_retain(parts.object, UINT64_MAX);
	object_head(parts.object, object_head_ref(parts.head));
	for (size_t at = 0; at < len; at += PIECE)
		if (object_append(parts.object, piece, len - at < PIECE ? len - at : PIECE))
			abort();
	object_done(parts.object);
	return entry_new(key, strlen(key), &parts);
}

/* As many of each power of two. */
static size_t length_of(unsigned n)
{
	size_t power = (size_t)SMALLEST << n % DOUBLINGS, len = power + power / 1024 * (n / DOUBLINGS % 1024);

	return len < LARGEST ? len : LARGEST;
}

static void note(struct filling *f, size_t len)
{
	uint64_t bytes;

	pthread_mutex_lock(&f->lock);
	bytes = bytes_of(f->store);
	f->written += len;
	f->full |= bytes >= f->budget / 100 * 95;
	if (bytes > f->most)
		f->most = bytes;
	if (f->full && bytes < f->least)
		f->least = bytes;
	pthread_mutex_unlock(&f->lock);
}

static bool has_written(struct filling *f, uint64_t bytes)
{
	bool so;

	pthread_mutex_lock(&f->lock);
	so = f->written >= bytes;
	pthread_mutex_unlock(&f->lock);
	return so;
}

static void *fill(void *arg)
{
	struct filling *f = arg;
	uint64_t times = UNIT_RACES_ONLY ? 2 : TIMES;
	unsigned id, n;

	pthread_mutex_lock(&f->lock);
	id = f->id++;
	pthread_mutex_unlock(&f->lock);
	n = id * 7919 + 1;
	for (unsigned sample = 1, k = 0; sample <= SAMPLES; sample++) {
		for (; !has_written(f, times * f->budget / SAMPLES * sample); k++) {
			struct entry *e;
			char key[64];
			size_t len;

			n = n * 1103515245 + 12345;
			len = length_of(n >> 8);
			snprintf(key, sizeof key, "http://host%u.example/feed%u.xml\nauto", id, k);
			e = entry_of(key, len);
			f->store->ops->put(f->store, e);
			entry_unref(&e);
			note(f, len);
		}
		pthread_barrier_wait(&f->barrier);
		if (id == 0 && resident_bytes() > f->resident)
			f->resident = resident_bytes();
		pthread_barrier_wait(&f->barrier);
	}
	return NULL;
}

static void fill_in_child(size_t budget, size_t threads, struct figures *figures)
{
	struct filling f = { .budget = budget, .threads = threads, .least = UINT64_MAX };
	size_t before = resident_bytes();
	pthread_t ids[THREADS_MAX];

	f.store = store_memory_new(budget, 2 * LARGEST);
	pthread_barrier_init(&f.barrier, NULL, (unsigned)threads);
	pthread_mutex_init(&f.lock, NULL);
	for (size_t i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, fill, &f);
	for (size_t i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	figures->least = 100.0 * (double)f.least / (double)budget;
	figures->most = 100.0 * (double)f.most / (double)budget;
	figures->resident = 100.0 * (double)(f.resident - before) / (double)budget;
	_exit(0);
}

static void filled_ten_times(void)
{
	/* least: of 64 MB a body of 10 is more than twice the slack. Where the order of arrival leaves only such in, one of them goes and
	 * 105 - 100 * 10 / 64 percent stay, less what entries count beside their bodies. */
	static const struct { size_t megabytes, threads; double least; bool slow; } rows[] = {
		{ 64, 1, 88, false }, { 64, 4, 88, false }, { 128, 1, 95, false }, { 128, 4, 95, false }, { 1024, 1, 95, true }, { 1024, 4, 95, true },
	};
	struct figures *f = mmap(NULL, sizeof *f, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const char *slow = getenv("UTFEED_SLOW");

	CU_ASSERT_FATAL(f != MAP_FAILED);
	for (size_t i = 0; i < COUNT(rows); i++) {
		int status = -1;
		pid_t child;

		if ((rows[i].slow && !(slow && *slow == '1')) || (UNIT_RACES_ONLY && (rows[i].threads == 1 || rows[i].megabytes > 64)))
			continue;
		if (!(child = fork()))
			fill_in_child(rows[i].megabytes << 20, rows[i].threads, f);
		waitpid(child, &status, 0);
		printf("%zu MB, %zu threads: counted %.1f to %.1f %%, resident %.1f %%\n", rows[i].megabytes, rows[i].threads, f->least, f->most, f->resident);
		UNIT_ROW(status == 0, "%zu MB, %zu threads: status %d", rows[i].megabytes, rows[i].threads, status);
		UNIT_ROW(f->least >= rows[i].least, "%zu MB, %zu threads: counted %.2f %%", rows[i].megabytes, rows[i].threads, f->least);
		UNIT_ROW(f->most <= 105, "%zu MB, %zu threads: counted %.2f %%", rows[i].megabytes, rows[i].threads, f->most);
		UNIT_ROW(f->resident <= 125 || !entries_memory(), "%zu MB, %zu threads: resident %.1f %%", rows[i].megabytes, rows[i].threads, f->resident);
	}
	munmap(f, sizeof *f);
}

UNIT_SUITE(store_memory, { "small-budgets", small_budgets }, { "reservations", reservations }, { "scan", scan }, { "every-byte-counts", every_byte_counts }, { "scattered", scattered },
	{ "gzip-counts", gzip_counts }, { "gzip-has-room", gzip_has_room },
	{ "filled-ten-times", filled_ten_times })
