/* Owns the cases every store must pass (one suite, run against each) and those of LMDB or Redis alone.
 * Must not know: how a store works. Invariant: a store may have lost an entry only where a case says so. */
#include "tests/unit/entries.h"
#include "tests/unit/unit.h"

#include "proxy/store.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { BUDGET = 64 << 20, MAX_ENTRY = 6 << 20 };

/* Waiting for an answer on a loop of one's own. */
struct waiter { struct store_wait wait; struct entry *entry; };

static void on_got(struct store_wait *w, struct entry *e)
{
	((struct waiter *)(void *)w)->entry = e;
	loop_stop(w->loop);
}

static struct entry *fetch_on(struct loop *loop, struct store *s, const char *key, size_t len)
{
	struct waiter w = { .wait = { .loop = loop, .got = on_got } };

	switch (s->ops->get(s, key, len, &w.entry, &w.wait)) {
	case STORE_FOUND: return w.entry;
	case STORE_MISSING: return NULL;
	case STORE_WAIT: loop_run(loop); return w.entry;
	}
	return NULL;
}

static struct loop *main_loop;

static struct entry *fetch(struct store *s, const char *key)
{
	if (!main_loop)
		main_loop = loop_new();
	return fetch_on(main_loop, s, key, strlen(key));
}

static void put(struct store *s, const char *key, unsigned seed, size_t len)
{
	struct entry *e = entries_new(key, seed, len);

	s->ops->put(s, e);
	entry_unref(&e);
}

static bool holds(struct store *s, const char *key, unsigned seed, size_t len)
{
	struct entry *e = fetch(s, key);
	bool right = e && e->key_len == strlen(key) && !memcmp(e->key, key, e->key_len) && entries_body_is(e, seed, len);

	entry_unref(&e);
	return right;
}

static bool misses(struct store *s, const char *key)
{
	struct entry *e = fetch(s, key);
	bool missing = !e;

	entry_unref(&e);
	return missing;
}

static bool is_stale(struct store *s, const char *key)
{
	struct entry *e = fetch(s, key);
	bool stale = e && freshness_ttl(&e->freshness, 2000) <= 0;

	entry_unref(&e);
	return stale;
}

/* Folders and servers */

static char folder[64];

static void folder_clear(void)
{
	DIR *d = opendir(folder);
	struct dirent *f;
	char name[512];

	while (d && (f = readdir(d)) != NULL) {
		snprintf(name, sizeof name, "%s/%s", folder, f->d_name);
		unlink(name);
	}
	if (d)
		closedir(d);
	rmdir(folder);
}

/* The server that is meant: which program, and whether it speaks TLS only. */
static struct { const char *program; bool tls; pid_t pid; uint16_t port; int timeout_ms; } redis = { .timeout_ms = 60000 };

static char certificate_file[96], key_file[96];

/* Of 127.0.0.1 and signed by itself, so that it is its own authority. false: no openssl command. */
static bool certificate_make(void)
{
	char command[512];

	snprintf(folder, sizeof folder, "/tmp/utfeed-test-store-%d", getpid());
	snprintf(certificate_file, sizeof certificate_file, "%s/cert.pem", folder);
	snprintf(key_file, sizeof key_file, "%s/key.pem", folder);
	snprintf(command, sizeof command, "mkdir -p %s && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test "
	    "-addext subjectAltName=IP:127.0.0.1 -keyout %s -out %s >/dev/null 2>&1", folder, key_file, certificate_file);
	return !system(command);
}

static uint16_t free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&a, sizeof a) || getsockname(fd, (struct sockaddr *)&a, &len))
		abort();
	close(fd);
	return ntohs(a.sin_port);
}

static void redis_start(void)
{
	char port[8];
	const char *argv[] = { redis.program, redis.tls ? "--tls-port" : "--port", port, "--bind", "127.0.0.1", "--save", "",
		"--appendonly", "no", "--requirepass", "se cret", "--dir", "/", redis.tls ? "--port" : NULL, "0",
		"--tls-auth-clients", "no", "--tls-cert-file", certificate_file, "--tls-key-file", key_file, "--tls-ca-cert-file", certificate_file, NULL };
	int null;

	snprintf(port, sizeof port, "%u", redis.port);
	if ((redis.pid = fork()))
		return;
	null = open("/dev/null", O_RDWR);
	dup2(null, 1);
	dup2(null, 2);
	execvp(argv[0], (char **)(uintptr_t)argv);
	_exit(127);
}

static void redis_stop(void)
{
	if (!redis.pid)
		return;
	kill(redis.pid, SIGKILL);
	waitpid(redis.pid, NULL, 0);
	redis.pid = 0;
}

/* NULL: the server can be had here. */
static const char *redis_missing(void)
{
	static char why[64];
	char command[64];

	snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", redis.program);
	snprintf(why, sizeof why, "no %s", redis.program);
	if (system(command))
		return why;
#ifndef HAVE_HIREDIS_SSL
	if (redis.tls)
		return "hiredis has no TLS here";
#endif
	return redis.tls && !certificate_make() ? "no openssl command" : NULL;
}

static void nap(void)
{
	usleep(10000);
}

/* The server may need a while: until an entry stays. */
static bool store_wakes(struct store *s)
{
	for (int i = 0; i < 1000; i++, nap()) {
		put(s, "awake\n", 1, 10);
		if (holds(s, "awake\n", 1, 10))
			return true;
	}
	return false;
}

static struct store *make_memory(void) { return store_memory_new(BUDGET, MAX_ENTRY); }

static struct store *lmdb_of_size(size_t map_bytes)
{
	snprintf(folder, sizeof folder, "/tmp/utfeed-test-store-%d", getpid());
	return store_lmdb_new(folder, map_bytes);
}

static struct store *make_lmdb(void) { return lmdb_of_size(2 * BUDGET); }

static struct store *redis_open(const char *password, const char *prefix)
{
	struct redis_settings settings = { .host = "127.0.0.1", .port = redis.port, .password = password, .prefix = prefix,
		.timeout_ms = redis.timeout_ms, .tls = redis.tls, .ca_file = redis.tls ? certificate_file : NULL };

	return store_redis_new(&settings);
}

static struct store *make_redis(void)
{
	struct store *s;

	redis.port = free_port();
	redis_start();
	s = redis_open("se cret", "u*t:");
	CU_ASSERT_FATAL(store_wakes(s));
	s->ops->remove(s, "awake\n", 6);
	return s;
}

static void nothing(void) { }

static void clean_redis(void)
{
	redis_stop();
	if (redis.tls)
		folder_clear();
}

static const struct { const char *name, *kind; struct store *(*make)(void); void (*clean)(void); const char *program; bool tls; } stores[] = {
	{ "memory", "memory", make_memory, nothing, NULL, false },
	{ "lmdb", "lmdb", make_lmdb, folder_clear, NULL, false },
	{ "redis", "redis", make_redis, clean_redis, "redis-server", false },
	{ "redis over TLS", "redis", make_redis, clean_redis, "redis-server", true },
	{ "valkey", "redis", make_redis, clean_redis, "valkey-server", false },
};

static const char *current;

static void with_each(void (*run)(struct store *))
{
	static bool told[COUNT(stores)];

	for (size_t i = 0; i < COUNT(stores); i++) {
		const char *missing;
		struct store *s;

		if (stores[i].program) {
			redis.program = stores[i].program;
			redis.tls = stores[i].tls;
			if ((missing = redis_missing()) != NULL) {
				if (!told[i])
					printf("%s: not run: %s\n", stores[i].name, missing);
				told[i] = true;
				continue;
			}
		}
		current = stores[i].name;
		s = stores[i].make();
		if (UNIT_ROW(s && !strcmp(s->ops->name, stores[i].kind), "%s: made", current)) {
			run(s);
			s->ops->free(s);
		}
		stores[i].clean();
	}
}

#define HOLDS(condition) UNIT_ROW(condition, "%s", current)

/* The suite */

static void run_basic(struct store *s)
{
	struct store_stats stats;

	HOLDS(misses(s, "http://a/\nk"));
	put(s, "http://a/\nk", 1, 1000);
	HOLDS(holds(s, "http://a/\nk", 1, 1000));
	HOLDS(misses(s, "http://a/\nk2"));
	HOLDS(misses(s, "http://a/"));
	put(s, "http://a/\nk", 2, 0);
	HOLDS(holds(s, "http://a/\nk", 2, 0));
	put(s, "http://a/\nk", 3, 70000);
	HOLDS(holds(s, "http://a/\nk", 3, 70000));
	s->ops->remove(s, "http://a/\nk", 11);
	s->ops->remove(s, "http://a/\nk", 11);
	HOLDS(misses(s, "http://a/\nk"));
	s->ops->stats(s, &stats);
	HOLDS(stats.hits >= 3 && stats.misses >= 4 && stats.evictions == 0);
}
static void basic(void) { with_each(run_basic); }

static void run_variants(struct store *s)
{
	struct entry *names = entries_vary("http://a/\nk", "accept-language"), *e;

	s->ops->put(s, names);
	entry_unref(&names);
	put(s, "http://a/\nk\nde", 1, 100);
	put(s, "http://a/\nk\nen", 2, 200);
	HOLDS(holds(s, "http://a/\nk\nde", 1, 100) && holds(s, "http://a/\nk\nen", 2, 200));
	e = fetch(s, "http://a/\nk");
	HOLDS(e && e->vary && !strcmp(e->vary, "accept-language"));
	entry_unref(&e);
	put(s, "http://a/\nk", 3, 300);
	HOLDS(holds(s, "http://a/\nk", 3, 300));
}
static void variants(void) { with_each(run_variants); }

static void run_keys(struct store *s)
{
	enum { LONG = 4000 };
	static char keys[4][LONG + 8];
	static const size_t lens[] = { 479, 480, 481, LONG };

	for (size_t i = 0; i < COUNT(lens); i++) {
		memset(keys[i], 'a', lens[i]);
		strcpy(keys[i] + lens[i] - 2, "\nk");
		put(s, keys[i], (unsigned)i, 100 + i);
	}
	for (size_t i = 0; i < COUNT(lens); i++)
		HOLDS(holds(s, keys[i], (unsigned)i, 100 + i));
	for (size_t i = 0; i < COUNT(lens); i++) {
		s->ops->purge(s, PURGE_URL, keys[i], lens[i] - 2, false, 2000);
		for (size_t k = 0; k < COUNT(lens); k++)
			HOLDS(k <= i ? misses(s, keys[k]) : holds(s, keys[k], (unsigned)k, 100 + k));
	}
}
static void keys(void) { with_each(run_keys); }

static void run_big(struct store *s)
{
	put(s, "http://big/\nk", 1, 5 << 20);
	HOLDS(holds(s, "http://big/\nk", 1, 5 << 20));
	put(s, "http://big/\nk", 1, 13 << 20);          /* too large: and what it replaced is gone */
	HOLDS(misses(s, "http://big/\nk"));
}
static void big(void) { with_each(run_big); }

static const char *const purge_keys[] = {
	"http://a/\nk", "http://a/\nk\nde", "http://a/\nk2", "http://a/b\nk", "http://a/*\nk", "http://a.b/[x]?q=\\\nk", "http://c/\nk",
};
/* kept: bit i: purge_keys[i] stays as it is */
static const struct { const char *name; enum store_purge what; const char *url; unsigned kept; } purges[] = {
	{ "a URL with all its variants", PURGE_URL, "http://a/", 0x78 },
	{ "a URL nobody has", PURGE_URL, "http://a", 0x7f },
	{ "a URL with a star", PURGE_URL, "http://a/*", 0x6f },
	{ "a prefix", PURGE_PREFIX, "http://a/", 0x60 },
	{ "a prefix with a star", PURGE_PREFIX, "http://a/*", 0x6f },
	{ "a prefix with brackets", PURGE_PREFIX, "http://a.b/[x]?q=\\", 0x5f },
	{ "a prefix in the middle of a host", PURGE_PREFIX, "http://a", 0x40 },
	{ "a prefix nobody has", PURGE_PREFIX, "ttp", 0x7f },
	{ "all", PURGE_ALL, "", 0 },
};

static void run_purge(struct store *s)
{
	for (size_t i = 0; i < 2 * COUNT(purges); i++) {
		size_t row = i / 2;
		bool soft = i % 2;
		int64_t n, expected = 0;

		s->ops->purge(s, PURGE_ALL, "", 0, false, 2000);
		for (size_t k = 0; k < COUNT(purge_keys); k++)
			put(s, purge_keys[k], (unsigned)k, 100);
		n = s->ops->purge(s, purges[row].what, purges[row].url, strlen(purges[row].url), soft, 2000);
		for (size_t k = 0; k < COUNT(purge_keys); k++) {
			bool kept = purges[row].kept >> k & 1, right;

			expected += !kept;
			right = kept ? holds(s, purge_keys[k], (unsigned)k, 100) && !is_stale(s, purge_keys[k]) :
			    soft ? is_stale(s, purge_keys[k]) && holds(s, purge_keys[k], (unsigned)k, 100) : misses(s, purge_keys[k]);
			UNIT_ROW(right, "%s: %s%s: %s", current, purges[row].name, soft ? ", softly" : "", purge_keys[k]);
		}
		UNIT_ROW(n == expected || n == -1, "%s: %s: count", current, purges[row].name);
	}
}
static void purge(void) { with_each(run_purge); }

/* What comes after a soft purge is fresh. */
static void run_fresh_after_purge(struct store *s)
{
	struct entry *old = entries_new("http://a/\nk", 1, 100), *e;
	struct entry_parts parts = { .head = object_head_ref(old->head), .object = object_ref(old->object), .upstream = strdup("") };
	struct freshness later = old->freshness;

	s->ops->put(s, old);
	s->ops->purge(s, PURGE_URL, "http://a/", 9, true, 2000);
	HOLDS(is_stale(s, "http://a/\nk"));
	later.response_time = 2001;
	parts.freshness = &later;
	e = entry_new("http://a/\nk", 11, &parts);
	s->ops->put(s, e);
	HOLDS(!is_stale(s, "http://a/\nk") && holds(s, "http://a/\nk", 1, 100));
	entry_unref(&e);
	entry_unref(&old);
}
static void fresh_after_purge(void) { with_each(run_fresh_after_purge); }

static void never(struct store_wait *w, struct entry *e)
{
	(void)w, (void)e;
	CU_FAIL("answered after cancel");
}

static void run_cancel(struct store *s)
{
	struct waiter waiters[64];
	struct entry *e;

	put(s, "http://a/\nk", 1, 1000);
	HOLDS(holds(s, "http://a/\nk", 1, 1000));
	for (size_t i = 0; i < COUNT(waiters); i++) {
		waiters[i] = (struct waiter){ .wait = { .loop = main_loop, .got = never } };
		if (s->ops->get(s, "http://a/\nk", 11, &e, &waiters[i].wait) == STORE_FOUND)
			entry_unref(&e);
	}
	for (size_t i = 0; i < COUNT(waiters); i++) {
		if (i % 8 == 0)
			nap();
		s->ops->cancel(s, &waiters[i].wait);
		HOLDS(!waiters[i].wait.pending);
	}
	HOLDS(holds(s, "http://a/\nk", 1, 1000));
}
static void cancel(void) { with_each(run_cancel); }

/* Two workers on the same 40 keys: every answer is whole and of its key. */
struct worker { struct store *store; unsigned seed; bool right; };

static void *work(void *arg)
{
	struct worker *w = arg;
	struct loop *loop = loop_new();
	unsigned n = w->seed;

	w->right = true;
	for (int i = 0; i < 3000; i++) {
		unsigned k = (n = n * 1103515245 + 12345) >> 16 & 0x7fff;
		size_t len = k % 40 * 997;
		char key[64];
		struct entry *e;

		snprintf(key, sizeof key, "http://h%u/\nk", k % 40);
		switch (k / 40 % 8) {
		case 0: w->store->ops->remove(w->store, key, strlen(key)); break;
		case 1: w->store->ops->purge(w->store, PURGE_URL, key, strlen(key) - 2, k & 1, 2000); break;
		case 2: case 3: put(w->store, key, k % 40, len); break;
		default:
			e = fetch_on(loop, w->store, key, strlen(key));
			w->right &= !e || (e->key_len == strlen(key) && !memcmp(e->key, key, e->key_len) && entries_body_is(e, k % 40, len));
			entry_unref(&e);
		}
	}
	loop_free(&loop);
	return NULL;
}

static void run_workers(struct store *s)
{
	struct worker w[2] = { { .store = s, .seed = 1 }, { .store = s, .seed = 2 } };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, &w[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	HOLDS(w[0].right && w[1].right);
}
static void workers(void) { with_each(run_workers); }

/* LMDB alone */

static void lmdb_restart(void)
{
	struct store *s = make_lmdb();
	struct store_stats stats;

	put(s, "http://a/\nk", 1, 100000);
	put(s, "http://b/\nk", 2, 10);
	s->ops->purge(s, PURGE_URL, "http://b/", 9, true, 2000);
	s->ops->free(s);
	s = make_lmdb();
	s->ops->stats(s, &stats);
	CU_ASSERT_EQUAL(stats.entries, 2);
	CU_ASSERT(stats.bytes > 100000);
	CU_ASSERT(holds(s, "http://a/\nk", 1, 100000));
	CU_ASSERT(is_stale(s, "http://b/\nk"));
	s->ops->free(s);
	folder_clear();
}

/* Ten times the map comes in; the newest is there, the file has not grown beyond the map. */
static void lmdb_bounded(void)
{
	enum { MAP = 16 << 20 };
	struct store *s;
	struct store_stats stats;
	struct stat file;
	char key[32], name[128];
	unsigned k, lost = 0;
	size_t total = 0;

	s = lmdb_of_size(MAP);
	for (k = 0; total < 10 * (size_t)MAP; k++) {
		size_t len = k * 7919 % 400000;

		snprintf(key, sizeof key, "http://h%u/\nk", k);
		put(s, key, k, len);
		lost += !holds(s, key, k, len);
		total += len;
	}
	CU_ASSERT_EQUAL(lost, 0);
	s->ops->stats(s, &stats);
	CU_ASSERT(stats.evictions > 0 && stats.entries > 10 && stats.errors == 0);
	snprintf(name, sizeof name, "%s/data.mdb", folder);
	CU_ASSERT(!stat(name, &file) && file.st_size <= MAP);
	s->ops->free(s);
	folder_clear();
}

/* Writes over every place of the file where text stands. */
static int file_replace(const char *text, const char *by)
{
	char name[128];
	int fd, n = 0;
	struct stat st;
	char *bytes, *at;
	size_t left;

	snprintf(name, sizeof name, "%s/data.mdb", folder);
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

static void lmdb_damage(void)
{
	enum { SETTLE_TRIES = 1000, SETTLE_US = 10000 };
	struct store *s = make_lmdb();
	struct store_stats stats;
	int tries = 0;

	put(s, "http://a/\nk", 1, 100000);
	put(s, "http://b/\nk", 2, 100000);
	s->ops->free(s);
	CU_ASSERT(file_replace("application/xml", "application/xnl") >= 2);
	s = make_lmdb();
	CU_ASSERT(misses(s, "http://a/\nk") && misses(s, "http://b/\nk"));
	put(s, "http://a/\nk", 1, 100000);
	CU_ASSERT(holds(s, "http://a/\nk", 1, 100000));
	/* The store's thread takes the damaged ones out when it comes to it. */
	do
		s->ops->stats(s, &stats);
	while (stats.entries != 1 && ++tries < SETTLE_TRIES && !usleep(SETTLE_US));
	CU_ASSERT_EQUAL(stats.errors, 2);
	CU_ASSERT_EQUAL(stats.entries, 1);
	s->ops->free(s);
	folder_clear();
}

static void lmdb_other_file(void)
{
	static const struct { const char *name; int size; } cases[] = { { "garbage", -1 }, { "empty", 0 }, { "cut in the meta pages", 5000 }, { "cut", 50000 } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct store *s = make_lmdb();
		char name[128];

		put(s, "http://a/\nk", 1, 100000);
		s->ops->free(s);
		snprintf(name, sizeof name, "%s/data.mdb", folder);
		if (cases[i].size >= 0) {
			UNIT_ROW(!truncate(name, cases[i].size), "%s", cases[i].name);
		} else {
			FILE *f = fopen(name, "w");

			for (int k = 0; k < 20000; k++)
				fputc(k * 31 & 255, f);
			fclose(f);
		}
		s = make_lmdb();
		if (UNIT_ROW(s != NULL, "%s: opens", cases[i].name)) {
			UNIT_ROW(misses(s, "http://a/\nk"), "%s: empty", cases[i].name);
			put(s, "http://a/\nk", 1, 100);
			UNIT_ROW(holds(s, "http://a/\nk", 1, 100), "%s: works", cases[i].name);
			s->ops->free(s);
		}
		folder_clear();
	}
}

static void lmdb_format(void)
{
	struct store *s = make_lmdb();
	static const char ours[] = { 'f', 1, ENTRY_FORMAT, 0 }, other[] = { 'f', 1, 99, 0 };

	put(s, "http://a/\nk", 1, 100);
	s->ops->free(s);
	CU_ASSERT(file_replace(ours, other) > 0);
	s = make_lmdb();
	CU_ASSERT(misses(s, "http://a/\nk"));
	put(s, "http://a/\nk", 1, 100);
	CU_ASSERT(holds(s, "http://a/\nk", 1, 100));
	s->ops->free(s);
	folder_clear();
}

static void lmdb_nowhere(void)
{
	CU_ASSERT_PTR_NULL(store_lmdb_new("/nonexistent/folder", 1 << 20));
	CU_ASSERT_PTR_NULL(store_lmdb_new("/dev/null", 1 << 20));
}

/* Redis alone */

static bool redis_alone_missing(void)
{
	redis.program = "redis-server";
	redis.tls = false;
	return redis_missing();
}

static void redis_goes_and_comes(void)
{
	struct store *s;
	struct store_stats before, after;

	if (redis_alone_missing())
		UNIT_SKIP("no redis-server");
	s = make_redis();
	put(s, "http://a/\nk", 1, 1000);
	CU_ASSERT(holds(s, "http://a/\nk", 1, 1000));
	redis_stop();
	CU_ASSERT(misses(s, "http://a/\nk"));
	s->ops->stats(s, &before);
	for (int i = 0; i < 1000; i++) {
		put(s, "http://a/\nk", 1, 1000);
		CU_ASSERT(misses(s, "http://a/\nk"));
	}
	s->ops->stats(s, &after);
	CU_ASSERT(after.errors >= before.errors + 1000);
	redis_start();
	CU_ASSERT(store_wakes(s));
	put(s, "http://a/\nk", 2, 1000);
	CU_ASSERT(holds(s, "http://a/\nk", 2, 1000));
	s->ops->free(s);
	redis_stop();
}

/* Removed while the server hangs: gone once it answers again. */
static void redis_removals_wait(void)
{
	struct store *s;

	if (redis_alone_missing())
		UNIT_SKIP("no redis-server");
	redis.timeout_ms = 5000;
	s = make_redis();
	redis.timeout_ms = 60000;
	put(s, "http://a/\nk", 1, 1000);
	put(s, "http://b/\nk", 1, 1000);
	CU_ASSERT(holds(s, "http://b/\nk", 1, 1000));
	kill(redis.pid, SIGSTOP);
	s->ops->remove(s, "http://a/\nk", 11);
	s->ops->purge(s, PURGE_URL, "http://b/", 9, false, 2000);
	CU_ASSERT(misses(s, "http://a/\nk"));          /* after timeout_ms */
	kill(redis.pid, SIGCONT);
	CU_ASSERT(store_wakes(s));
	CU_ASSERT(misses(s, "http://a/\nk") && misses(s, "http://b/\nk"));
	s->ops->free(s);
	redis_stop();
}

static void redis_settings_matter(void)
{
	struct redis_settings tls = { .host = "127.0.0.1", .port = 1, .prefix = "", .tls = true, .timeout_ms = 100 };
	struct store *s, *other;

	if (redis_alone_missing())
		UNIT_SKIP("no redis-server");
	s = make_redis();
	put(s, "http://a/\nk", 1, 1000);
	other = redis_open("se cret", "other:");
	CU_ASSERT(store_wakes(other));
	CU_ASSERT(misses(other, "http://a/\nk"));
	other->ops->purge(other, PURGE_ALL, "", 0, false, 2000);
	CU_ASSERT(misses(other, "awake\n"));
	CU_ASSERT(holds(s, "http://a/\nk", 1, 1000));  /* another prefix's purge is not ours */
	other->ops->free(other);
	other = redis_open("wrong", "u*t:");
	for (int i = 0; i < 20; i++, nap())
		CU_ASSERT(misses(other, "http://a/\nk"));
	other->ops->free(other);
	s->ops->free(s);
	redis_stop();
#ifndef HAVE_HIREDIS_SSL
	CU_ASSERT_PTR_NULL(store_redis_new(&tls));
#else
	(void)tls;
#endif
}

UNIT_SUITE(store, { "basic", basic }, { "variants", variants }, { "keys", keys }, { "big", big }, { "purge", purge },
	{ "fresh-after-purge", fresh_after_purge }, { "cancel", cancel }, { "workers", workers },
	{ "lmdb-restart", lmdb_restart }, { "lmdb-bounded", lmdb_bounded }, { "lmdb-damage", lmdb_damage },
	{ "lmdb-other-file", lmdb_other_file }, { "lmdb-format", lmdb_format }, { "lmdb-nowhere", lmdb_nowhere },
	{ "redis-goes-and-comes", redis_goes_and_comes }, { "redis-removals-wait", redis_removals_wait },
	{ "redis-settings-matter", redis_settings_matter })
