/* Filling stores and asking them; see stores.h. */
#include "proxy/store/store_lmdb.h"
#include "tests/unit/stores.h"

#include "tests/unit/entries.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

/* Waiting for an answer on a loop of one's own. */
struct waiter { struct store_wait wait; struct entry *entry; };

static void on_got(struct store_wait *w, struct entry *e)
{
	((struct waiter *)(void *)w)->entry = e;
	loop_stop(w->loop);
}

struct entry *stores_fetch_on(struct loop *loop, struct store *s, const char *key, size_t len)
{
	struct waiter w = { .wait = { .loop = loop, .got = on_got } };

	switch (s->ops->get(s, key, len, &w.entry, &w.wait)) {
	case STORE_FOUND: return w.entry;
	case STORE_MISSING: return NULL;
	case STORE_WAIT:
		if (loop_run(loop))
			return NULL;
		return w.wait.again ? stores_fetch_on(loop, s, key, len) : w.entry;
	}
	return NULL;
}

struct loop *stores_loop(void)
{
	static struct loop *loop;

	if (!loop)
		loop = loop_new();
	return loop;
}

struct entry *stores_fetch(struct store *s, const char *key)
{
	return stores_fetch_on(stores_loop(), s, key, strlen(key));
}

void stores_put(struct store *s, const char *key, unsigned seed, size_t len)
{
	struct entry *e = entries_new(key, seed, len);

	e->since = store_of(s, key, strlen(key))->known;
	e->asked = store_of(s, key, strlen(key))->asked;
	s->ops->put(s, e);
	entry_unref(&e);
}

bool stores_holds(struct store *s, const char *key, unsigned seed, size_t len)
{
	struct entry *e = stores_fetch(s, key);
	bool right = e && e->key_len == strlen(key) && !memcmp(e->key, key, e->key_len) && entries_body_is(e, seed, len);

	entry_unref(&e);
	return right;
}

bool stores_misses(struct store *s, const char *key)
{
	struct entry *e = stores_fetch(s, key);
	bool missing = !e;

	entry_unref(&e);
	return missing;
}

bool stores_settle(struct store *s)
{
	struct waiter w = { .wait = { .loop = stores_loop(), .got = on_got } };

	if (s->ops->settle(s, &w.wait) == SETTLING_DONE)
		return true;
	return !loop_run(stores_loop()) && !w.wait.owed;
}

bool stores_stale(struct store *s, const char *key)
{
	struct entry *e = stores_fetch(s, key);
	bool stale = e && freshness_ttl(&e->freshness, 2000) <= 0;

	entry_unref(&e);
	return stale;
}

const char *stores_folder(void)
{
	static char folder[64];

	if (!*folder)
		snprintf(folder, sizeof folder, "/tmp/utfeed-test-store-%d", getpid());
	return folder;
}

void stores_folder_clear(void)
{
	DIR *d = opendir(stores_folder());
	struct dirent *f;
	char name[512];

	while (d && (f = readdir(d)) != NULL) {
		snprintf(name, sizeof name, "%s/%s", stores_folder(), f->d_name);
		unlink(name);
	}
	if (d)
		closedir(d);
	rmdir(stores_folder());
}

struct store *stores_lmdb(size_t map_bytes)
{
	enum { TRIES = 1000 };
	struct store *s = store_lmdb_new(stores_folder(), map_bytes);

	for (int i = 0; s && i < TRIES && !stores_settle(s); i++)
		stores_nap();
	return s;
}

void stores_nap(void)
{
	usleep(10000);
}
