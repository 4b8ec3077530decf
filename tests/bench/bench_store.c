/* Owns the measure of the memory store's promise: filled ten times over with bodies of 1 KB to 10 MB, what it counts and what the
 * process takes. Usage: bench_store [budget in MB] [threads]. Prints the highest figures after the first filling. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "proxy/store.h"
#include "tests/unit/entries.h"

enum { TIMES = 10, THREADS_MAX = 16, SMALLEST = 1024, LARGEST = 10 << 20 };

static struct store *store;
static size_t budget;
static atomic_size_t written, most_counted, most_resident, least_counted = SIZE_MAX;

static size_t resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long size, pages = 0;

	if (f && fscanf(f, "%lu %lu", &size, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * 4096;
}

static void raise_to(atomic_size_t *to, size_t value)
{
	size_t seen = *to;

	while (value > seen && !atomic_compare_exchange_weak(to, &seen, value))
		;
}

/* Bodies arrive in pieces, as from an origin. */
static void *fill(void *arg)
{
	unsigned n = (unsigned)(uintptr_t)arg * 7919 + 1;

	while (written < TIMES * budget) {
		struct store_stats stats;
		struct entry *e;
		char key[64];
		size_t len;

		n = n * 1103515245 + 12345;
		len = (size_t)(SMALLEST * pow((double)LARGEST / SMALLEST, (n >> 8 & 0xffff) / 65536.0));
		snprintf(key, sizeof key, "http://host%u.example/feed.xml\nauto", n);
		e = entries_new(key, n, len);
		store->ops->put(store, e);
		entry_unref(&e);
		written += len;
		store->ops->stats(store, &stats);
		raise_to(&most_counted, stats.bytes);
		if (written > 2 * budget) {
			raise_to(&most_resident, resident());
			if (stats.bytes < least_counted)
				least_counted = stats.bytes;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	size_t threads = argc > 2 ? (size_t)atol(argv[2]) : 1, before = resident();
	pthread_t ids[THREADS_MAX];
	struct store_stats stats;

	budget = (size_t)(argc > 1 ? atol(argv[1]) : 256) << 20;
	store = store_memory_new(budget, LARGEST * 2);
	for (size_t i = 0; i < threads && i < THREADS_MAX; i++)
		pthread_create(&ids[i], NULL, fill, (void *)(uintptr_t)i);
	for (size_t i = 0; i < threads && i < THREADS_MAX; i++)
		pthread_join(ids[i], NULL);
	store->ops->stats(store, &stats);
	printf("budget %zu MB, %zu threads: counted %.1f to %.1f %%, resident at most %.1f %%, %zu entries, %zu evictions\n", budget >> 20, threads,
	    100.0 * (double)least_counted / (double)budget, 100.0 * (double)most_counted / (double)budget,
	    100.0 * (double)(most_resident - before) / (double)budget, (size_t)stats.entries, (size_t)stats.evictions);
	store->ops->free(store);
	return 0;
}
