/* Owns what LMDB's store says while what was asked of it has not reached the file: the writes on their way alone, and a store whose writer's
 * lock another process has. Must not know: the file. Invariant: a store that may not be able to end runs in a process of its own. */
#include "tests/unit/entries.h"
#include "tests/unit/stores.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proxy/store/store_lmdb.h"
#include "proxy/store/store_lmdb_internal.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* ---- writes on their way ---- */

#define A "http://a/\nk"
/* p: A is put, its length the place in the script; P: A's variant; r: A removed; u, s: its URL purged, softly; h, o, t: a prefix of it, the
 * same softly, another's; a, w: all, softly. */
static const struct { const char *name, *script; enum pending_answer answer; size_t place; bool stale; } scripts[] = {
	{ "nothing", "", PENDING_UNKNOWN, 0, false },
	{ "another key of its URL", "P", PENDING_UNKNOWN, 0, false },
	{ "another prefix", "t", PENDING_UNKNOWN, 0, false },
	{ "put", "p", PENDING_FOUND, 0, false },
	{ "put twice", "pp", PENDING_FOUND, 1, false },
	{ "removed", "r", PENDING_GONE, 0, false },
	{ "put and removed", "pr", PENDING_GONE, 0, false },
	{ "removed and put", "rp", PENDING_FOUND, 1, false },
	{ "purged", "u", PENDING_GONE, 0, false },
	{ "put and purged", "pu", PENDING_GONE, 0, false },
	{ "purged and put", "up", PENDING_FOUND, 1, false },
	{ "purged softly", "s", PENDING_UNKNOWN, 0, true },
	{ "put and purged softly", "ps", PENDING_FOUND, 0, true },
	{ "purged softly and put", "sp", PENDING_FOUND, 1, false },
	{ "purged and put and purged softly", "upsP", PENDING_FOUND, 1, true },
	{ "purged, then softly", "us", PENDING_GONE, 0, false },
	{ "a prefix purged", "ph", PENDING_GONE, 0, false },
	{ "a prefix purged and put", "hp", PENDING_FOUND, 1, false },
	{ "a prefix purged softly", "o", PENDING_UNKNOWN, 0, true },
	{ "put, a prefix purged softly", "pot", PENDING_FOUND, 0, true },
	{ "put, another prefix purged", "pt", PENDING_FOUND, 0, false },
	{ "all purged", "pa", PENDING_GONE, 0, false },
	{ "all purged and put", "pap", PENDING_FOUND, 2, false },
	{ "all purged softly", "w", PENDING_UNKNOWN, 0, true },
	{ "put, all purged softly, removed", "pwr", PENDING_GONE, 0, false },
};

static const struct { char letter; enum store_op_type type; const char *key; enum store_purge what; bool soft; } steps[] = {
	{ 'p', OP_PUT, A, 0, false }, { 'P', OP_PUT, A "\nde", 0, false }, { 'r', OP_REMOVE, A, 0, false },
	{ 'u', OP_PURGE, "http://a/", PURGE_URL, false }, { 's', OP_PURGE, "http://a/", PURGE_URL, true },
	{ 'h', OP_PURGE, "http://", PURGE_PREFIX, false }, { 'o', OP_PURGE, "http://", PURGE_PREFIX, true },
	{ 't', OP_PURGE, "http://ab", PURGE_PREFIX, false }, { 'a', OP_PURGE, "", PURGE_ALL, false }, { 'w', OP_PURGE, "", PURGE_ALL, true },
};

static struct store_op *step(char letter, size_t place)
{
	struct store_op *op = calloc(1, sizeof *op);
	size_t i = 0;

	while (steps[i].letter != letter)
		i++;
	op->type = steps[i].type;
	op->key = strdup(steps[i].key);
	op->len = strlen(op->key);
	op->what = steps[i].what;
	op->soft = steps[i].soft;
	op->now = 2000;
	if (op->type == OP_PUT)
		op->entry = entries_new(steps[i].key, 1, place);
	return op;
}

static void run_script(size_t row)
{
	struct lmdb_pending *pending = calloc(1, sizeof *pending);
	struct store_op *ops[8];
	size_t n = strlen(scripts[row].script);
	struct entry *e = NULL;
	int64_t stale;
	enum pending_answer answer;

	for (size_t i = 0; i < n; i++)
		pending_add(pending, ops[i] = step(scripts[row].script[i], i));
	answer = pending_get(pending, A, strlen(A), &e, &stale);
	UNIT_ROW(answer == scripts[row].answer, "trust 16: %s: %d", scripts[row].name, (int)answer);
	UNIT_ROW(!e == (answer != PENDING_FOUND), "trust 16: %s: an entry", scripts[row].name);
	if (e) {
		UNIT_ROW(entries_body_is(e, 1, scripts[row].place), "trust 16: %s: the right one", scripts[row].name);
		UNIT_ROW((freshness_ttl(&e->freshness, 2000) <= 0) == scripts[row].stale, "trust 16: %s: stale", scripts[row].name);
	} else if (answer == PENDING_UNKNOWN) {
		UNIT_ROW((stale == 2000) == scripts[row].stale, "trust 16: %s: stale", scripts[row].name);
	}
	entry_unref(&e);
	for (size_t i = 0; i < n; i++) {
		pending_remove(ops[i]);
		store_op_free(ops[i]);
	}
	UNIT_ROW(pending_get(pending, A, strlen(A), &e, &stale) == PENDING_UNKNOWN, "trust 16: %s: all back", scripts[row].name);
	free(pending);
}

static void on_their_way(void)
{
	for (size_t row = 0; row < COUNT(scripts); row++)
		run_script(row);
}

/* ---- a lock that another process has ---- */

static void holder_main(int held)
{
	MDB_env *env;
	MDB_txn *txn;

	if (mdb_env_create(&env) || mdb_env_set_mapsize(env, STORES_MAP) || mdb_env_open(env, stores_folder(), MDB_NOTLS, 0600) ||
	    mdb_txn_begin(env, NULL, 0, &txn))
		_exit(2);
	if (write(held, "", 1) == 1)
		pause();
	_exit(1);
}

/* Reads one byte: what the other end has come to. */
static bool wait_for(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1;
}

static pid_t hold(void)
{
	int held[2];
	pid_t pid;

	if (pipe(held) || (pid = fork()) < 0)
		abort();
	if (!pid)
		holder_main(held[1]);
	close(held[1]);
	CU_ASSERT(wait_for(held[0]));
	close(held[0]);
	return pid;
}

static void let_go(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* What does not hold is its exit status. */
#define MUST(condition) do { if (!(condition)) _exit(__LINE__ % 200 + 10); } while (0)

/* Nobody else's lock is needed to read, but a slow disk may be waited for. */
static struct store *store_with(const char *key, unsigned seed, size_t len)
{
	struct store *s = store_lmdb_new(stores_folder(), STORES_MAP);
	int tries = 0;

	while (s && !stores_holds(s, key, seed, len) && ++tries < 1000)
		stores_nap();
	return s;
}

/* While the lock is held nothing is waited for, and everything is as if it were not; nor does the end wait for long. */
static void user_of_held(int told)
{
	struct store *s = store_with("http://a/\nk", 1, 1000);

	(void)told;
	MUST(s && stores_holds(s, "http://a/\nk", 1, 1000));
	stores_put(s, "http://b/\nk", 2, 2000);
	MUST(stores_holds(s, "http://b/\nk", 2, 2000) && stores_misses(s, "http://c/\nk"));
	s->ops->remove(s, "http://a/\nk", 11);
	MUST(stores_misses(s, "http://a/\nk"));
	stores_put(s, "http://a/\nk", 3, 10);
	MUST(stores_holds(s, "http://a/\nk", 3, 10));
	s->ops->purge(s, PURGE_PREFIX, "http://b", 8, true, 2000);
	MUST(stores_stale(s, "http://b/\nk") && !stores_stale(s, "http://a/\nk"));
	s->ops->purge(s, PURGE_ALL, "", 0, false, 2000);
	MUST(stores_misses(s, "http://a/\nk") && stores_misses(s, "http://b/\nk"));
	stores_put(s, "http://c/\nk", 4, 100);
	s->ops->free(s);
	_exit(0);
}

static bool everything_is_gone(struct store *s)
{
	struct store_stats stats;

	for (int tries = 0; tries < 1000; tries++) {
		s->ops->stats(s, &stats);
		if (!stats.entries)
			return true;
		stores_nap();
	}
	return false;
}

/* More removals than may wait: everything goes instead, in answers at once, in the file once the lock is free. */
static void user_of_many(int told)
{
	struct store *s = store_with("http://a/\nk", 1, 1000);
	char key[32];

	MUST(s && stores_holds(s, "http://a/\nk", 1, 1000));
	for (unsigned k = 0; k < 100000; k++) {
		snprintf(key, sizeof key, "http://h%u/\nk", k);
		s->ops->remove(s, key, strlen(key));
		if (k % 1000 == 0)
			MUST(stores_misses(s, key));
	}
	MUST(stores_misses(s, "http://a/\nk"));
	MUST(write(told, "", 1) == 1);
	MUST(everything_is_gone(s));
	while (!stores_settle(s))              /* entries come in again once fewer removals wait */
		stores_nap();
	stores_put(s, "http://b/\nk", 2, 100);
	MUST(stores_holds(s, "http://b/\nk", 2, 100) && stores_misses(s, "http://a/\nk"));
	s->ops->free(s);
	_exit(0);
}

static int user(void (*run)(int), pid_t holder)
{
	int told[2], status;
	pid_t pid;

	if (pipe(told) || (pid = fork()) < 0)
		abort();
	if (!pid) {
		close(told[0]);
		run(told[1]);
	}
	close(told[1]);
	if (wait_for(told[0]))
		let_go(holder);
	waitpid(pid, &status, 0);
	close(told[0]);
	return status;
}

static void fill(void)
{
	struct store *s = stores_lmdb(STORES_MAP);

	stores_put(s, "http://a/\nk", 1, 1000);
	s->ops->free(s);
}

static void held(void)
{
	pid_t holder;
	struct store *s;

	fill();
	holder = hold();
	CU_ASSERT_EQUAL(user(user_of_held, holder), 0);
	let_go(holder);
	s = stores_lmdb(STORES_MAP);
	CU_ASSERT(stores_holds(s, "http://a/\nk", 1, 1000) && stores_misses(s, "http://b/\nk") && stores_misses(s, "http://c/\nk"));
	s->ops->free(s);
	stores_folder_clear();
}

static void held_with_many_removals(void)
{
	struct store *s;

	fill();
	CU_ASSERT_EQUAL(user(user_of_many, hold()), 0);
	s = stores_lmdb(STORES_MAP);
	CU_ASSERT(stores_misses(s, "http://a/\nk") && stores_holds(s, "http://b/\nk", 2, 100));
	s->ops->free(s);
	stores_folder_clear();
}

UNIT_SUITE(store_lmdb_held, { "trust 16: writes on their way", on_their_way }, { "trust 16: a held lock", held },
	{ "trust 16: a held lock and many removals", held_with_many_removals })
