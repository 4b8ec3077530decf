/* Owns the cases of LMDB's store alone: restarts, its file's size, damage.
 * Must not know: how entries stand in the file, but for the magic they begin with. */
#include "tests/unit/entries.h"
#include "tests/unit/stores.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { SETTLE_TRIES = 1000, SETTLE_US = 10000 };

static void restart(void)
{
	struct store *s = stores_lmdb(STORES_MAP);
	struct store_stats stats;

	stores_put(s, "http://a/\nk", 1, 100000);
	stores_put(s, "http://b/\nk", 2, 10);
	s->ops->purge(s, PURGE_URL, "http://b/", 9, true, 2000);
	s->ops->free(s);
	s = stores_lmdb(STORES_MAP);
	s->ops->stats(s, &stats);
	CU_ASSERT_EQUAL(stats.entries, 2);
	CU_ASSERT(stats.bytes > 100000);
	CU_ASSERT(stores_holds(s, "http://a/\nk", 1, 100000));
	CU_ASSERT(stores_stale(s, "http://b/\nk"));
	s->ops->free(s);
	stores_folder_clear();
}

/* Ten times the map comes in, less than may wait to be written; the newest is there, the file has not grown beyond the map. */
static void bounded(void)
{
	enum { MAP = 4 << 20 };
	struct store *s;
	struct store_stats stats;
	struct stat file;
	char key[32], name[128];
	unsigned k, lost = 0, tries = 0;
	size_t total = 0;

	s = stores_lmdb(MAP);
	for (k = 0; total < 10 * (size_t)MAP; k++) {
		size_t len = k * 7919 % 200000;

		snprintf(key, sizeof key, "http://h%u/\nk", k);
		stores_put(s, key, k, len);
		lost += !stores_holds(s, key, k, len);
		total += len;
	}
	CU_ASSERT_EQUAL(lost, 0);
	do
		s->ops->stats(s, &stats);      /* as of the writer's latest round: the last ones may wait yet */
	while ((!stats.evictions || stats.entries <= 10) && ++tries < SETTLE_TRIES && !usleep(SETTLE_US));
	UNIT_ROW(stats.evictions > 0 && stats.entries > 10 && stats.errors == 0, "%llu evicted, %llu there, %llu errors",
		(unsigned long long)stats.evictions, (unsigned long long)stats.entries, (unsigned long long)stats.errors);
	snprintf(name, sizeof name, "%s/data.mdb", stores_folder());
	CU_ASSERT(!stat(name, &file) && file.st_size <= MAP);
	s->ops->free(s);
	stores_folder_clear();
}

/* Writes over every place of the file where text stands. */
static int file_replace(const char *text, const char *by)
{
	char name[128];
	int fd, n = 0;
	struct stat st;
	char *bytes, *at;
	size_t left;

	snprintf(name, sizeof name, "%s/data.mdb", stores_folder());
	fd = open(name, O_RDWR);
	if (fd < 0 || fstat(fd, &st) || !(bytes = malloc((size_t)st.st_size)) || read(fd, bytes, (size_t)st.st_size) != st.st_size)
		abort();
	for (at = bytes, left = (size_t)st.st_size; (at = memmem(at, left, text, strlen(text))) != NULL; at++) {
		memcpy(at, by, strlen(by));
		left = (size_t)st.st_size - (size_t)(at - bytes) - 1;
		n++;
	}
	if (pwrite(fd, bytes, (size_t)st.st_size, 0) != st.st_size)
		abort();
	free(bytes);
	close(fd);
	return n;
}

static void damage(void)
{
	struct store *s = stores_lmdb(STORES_MAP);
	struct store_stats stats;
	int tries = 0;

	stores_put(s, "http://a/\nk", 1, 100000);
	stores_put(s, "http://b/\nk", 2, 100000);
	s->ops->free(s);
	CU_ASSERT(file_replace("application/xml", "application/xnl") >= 2);
	s = stores_lmdb(STORES_MAP);
	CU_ASSERT(stores_misses(s, "http://a/\nk") && stores_misses(s, "http://b/\nk"));
	stores_put(s, "http://a/\nk", 1, 100000);
	CU_ASSERT(stores_holds(s, "http://a/\nk", 1, 100000));
	/* The store's thread takes the damaged ones out when it comes to it. */
	do
		s->ops->stats(s, &stats);
	while (stats.entries != 1 && ++tries < SETTLE_TRIES && !usleep(SETTLE_US));
	CU_ASSERT_EQUAL(stats.errors, 2);
	CU_ASSERT_EQUAL(stats.entries, 1);
	s->ops->free(s);
	stores_folder_clear();
}

static void other_file(void)
{
	static const struct { const char *name; int size; } cases[] = { { "garbage", -1 }, { "empty", 0 }, { "cut in the meta pages", 5000 }, { "cut", 50000 } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct store *s = stores_lmdb(STORES_MAP);
		char name[128];

		stores_put(s, "http://a/\nk", 1, 100000);
		s->ops->free(s);
		snprintf(name, sizeof name, "%s/data.mdb", stores_folder());
		if (cases[i].size >= 0) {
			UNIT_ROW(!truncate(name, cases[i].size), "%s", cases[i].name);
		} else {
			FILE *f = fopen(name, "w");

			for (int k = 0; k < 20000; k++)
				fputc(k * 31 & 255, f);
			fclose(f);
		}
		s = stores_lmdb(STORES_MAP);
		if (UNIT_ROW(s != NULL, "%s: opens", cases[i].name)) {
			UNIT_ROW(stores_misses(s, "http://a/\nk"), "%s: empty", cases[i].name);
			stores_put(s, "http://a/\nk", 1, 100);
			UNIT_ROW(stores_holds(s, "http://a/\nk", 1, 100), "%s: works", cases[i].name);
			s->ops->free(s);
		}
		stores_folder_clear();
	}
}

static void format(void)
{
	struct store *s = stores_lmdb(STORES_MAP);
	static const char ours[] = { 'f', 1, ENTRY_FORMAT, 0 }, other[] = { 'f', 1, 99, 0 };

	stores_put(s, "http://a/\nk", 1, 100);
	s->ops->free(s);
	CU_ASSERT(file_replace(ours, other) > 0);
	s = stores_lmdb(STORES_MAP);
	CU_ASSERT(stores_misses(s, "http://a/\nk"));
	stores_put(s, "http://a/\nk", 1, 100);
	CU_ASSERT(stores_holds(s, "http://a/\nk", 1, 100));
	s->ops->free(s);
	stores_folder_clear();
}

static void nowhere(void)
{
	CU_ASSERT_PTR_NULL(store_lmdb_new("/nonexistent/folder", 1 << 20));
	CU_ASSERT_PTR_NULL(store_lmdb_new("/dev/null", 1 << 20));
}

UNIT_SUITE(store_lmdb, { "restart", restart }, { "bounded", bounded }, { "damage", damage }, { "other-file", other_file },
	{ "format", format }, { "nowhere", nowhere })
