/* Owns the cases of LMDB's store alone: restarts, its file's size, damage.
 * Must not know: how entries stand in the file, but for the magic they begin with. */
#include "proxy/store/store_lmdb.h"
#include "tests/unit/entries.h"
#include "tests/unit/stores.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { SETTLE_TRIES = 1000, SETTLE_US = 10000, MANY_PURGES = 100 };

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

/* More purges than the file keeps: those that it forgets hold nothing up. */
static void many_purges(void)
{
	struct store *s = stores_lmdb(1 << 20);

	for (unsigned i = 0; i < MANY_PURGES; i++)
		s->ops->purge(s, PURGE_URL, "http://b/", 9, false, 2000);
	stores_put(s, "http://a/\nk", 1, 100);
	CU_ASSERT(stores_holds(s, "http://a/\nk", 1, 100));
	s->ops->purge(s, PURGE_URL, "http://a/", 9, false, 2000);
	CU_ASSERT(stores_misses(s, "http://a/\nk"));
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

/* ---- the mark "in use" ---- */

static void file_name(char name[128], const char *file)
{
	snprintf(name, 128, "%s/%s", stores_folder(), file);
}

static void mark_read(char text[64])
{
	char name[128];
	FILE *f;

	file_name(name, "in-use");
	*text = '\0';
	if ((f = fopen(name, "r")) && fscanf(f, "%63s", text) == 1)
		fclose(f);
}

static void mark_write(const char *text)
{
	char name[128];
	FILE *f;

	file_name(name, "in-use");
	if (!text) {
		unlink(name);
		return;
	}
	f = fopen(name, "w");
	fputs(text, f);
	fclose(f);
}

static bool is_set_aside(void)
{
	char name[128];

	file_name(name, "data.mdb.damaged");
	return !access(name, F_OK);
}

static void boot_read(char boot[64])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");

	if (!f || fscanf(f, "%63s", boot) != 1)
		abort();
	fclose(f);
}

/* What a store opens with that was closed with an entry in it, and whose mark says something else then. */
static void mark(void)
{
	static const struct { const char *name, *text; bool kept; } cases[] = {
		{ "closed", "closed", true },
		{ "none, as of an earlier version", NULL, true },
		{ "new", "", true },
		{ "this boot: a killed process", "=", true },
		{ "another boot: the machine went down", "00000000-0000-4000-8000-000000000000\n", false },
		{ "a boot without an id", "unknown boot                        \n", false },
		{ "found damaged", "damaged                             \n", false },
		{ "a crash wrote over a boot's id", "damaged7-62e5-46f0-a95a-d3f7727aeeed\n", false },
		{ "half of a boot's id", "f95aad62-7e55", false },
	};
	char boot[64], text[64];

	boot_read(boot);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct store *s = stores_lmdb(STORES_MAP);
		struct store_stats stats;

		mark_read(text);
		UNIT_ROW(!strcmp(text, boot), "mark: %s: while it is open: %s", cases[i].name, text);
		stores_put(s, "http://a/\nk", 1, 100);
		s->ops->free(s);
		mark_read(text);
		UNIT_ROW(!strcmp(text, "closed"), "mark: %s: at the end: %s", cases[i].name, text);
		mark_write(cases[i].text && *cases[i].text == '=' ? boot : cases[i].text);
		s = stores_lmdb(STORES_MAP);
		UNIT_ROW(stores_holds(s, "http://a/\nk", 1, 100) == cases[i].kept, "mark: %s: kept", cases[i].name);
		UNIT_ROW(is_set_aside() != cases[i].kept, "mark: %s: set aside", cases[i].name);
		s->ops->stats(s, &stats);
		UNIT_ROW(stats.errors == !cases[i].kept, "mark: %s: counted: %d", cases[i].name, (int)stats.errors);
		stores_put(s, "http://b/\nk", 2, 100);
		s->ops->free(s);
		s = stores_lmdb(STORES_MAP);
		UNIT_ROW(stores_holds(s, "http://b/\nk", 2, 100), "mark: %s: works", cases[i].name);
		s->ops->free(s);
		stores_folder_clear();
	}
}

/* Lookups until the store's thread crashes; the exit status is 0 if it does not. */
static void crash_main(void)
{
	static const struct rlimit none;
	struct store *s = stores_lmdb(STORES_MAP);
	char name[128];

	setrlimit(RLIMIT_CORE, &none);
	file_name(name, "data.mdb");
	if (!truncate(name, 8192))
		stores_fetch(s, "http://a/\nk");
	s->ops->free(s);
	_exit(0);
}

/* A file that loses its end while it is open crashes utfeed once. The next start sets the file aside. */
static void crash(void)
{
	struct store *s = stores_lmdb(STORES_MAP);
	char text[64];
	int status;
	pid_t pid;

	stores_put(s, "http://a/\nk", 1, 100000);
	s->ops->free(s);
	if (!(pid = fork()))
		crash_main();
	CU_ASSERT(waitpid(pid, &status, 0) == pid && status != 0);
	mark_read(text);
	UNIT_ROW(!strncmp(text, "damaged", 7), "crash: the mark: %s", text);
	s = stores_lmdb(STORES_MAP);
	CU_ASSERT(stores_misses(s, "http://a/\nk") && is_set_aside());
	stores_put(s, "http://a/\nk", 1, 100);
	CU_ASSERT(stores_holds(s, "http://a/\nk", 1, 100));
	s->ops->free(s);
	stores_folder_clear();
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
	CU_ASSERT_PTR_NULL(store_lmdb_new("/proc/nonexistent/folder", 1 << 20));
	CU_ASSERT_PTR_NULL(store_lmdb_new("/dev/null", 1 << 20));
}

UNIT_SUITE(store_lmdb, { "restart", restart }, { "many purges", many_purges }, { "bounded", bounded }, { "damage", damage }, { "other-file", other_file },
	{ "mark", mark }, { "crash", crash }, { "format", format }, { "nowhere", nowhere })
