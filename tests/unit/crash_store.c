/* Owns the two ends of tests/crash-store.sh: "write FOLDER SEED" puts entries into an LMDB store until it is killed; "read FOLDER"
 * opens it, looks every key up and fails where a body is not the one of its key, or nothing is there. */
#include "tests/unit/entries.h"

#include "proxy/store/store_lmdb.h"

#include <stdio.h>
#include <unistd.h>

enum { KEYS = 200, MAP = 32 << 20 };

struct waiter { struct store_wait wait; struct entry *entry; };

static void on_got(struct store_wait *w, struct entry *e)
{
	((struct waiter *)(void *)w)->entry = e;
	loop_stop(w->loop);
}

static size_t length_of(unsigned k)
{
	return k * 7919 % 300000;
}

static void write_on(struct store *s, unsigned n)
{
	for (;; n = n * 1103515245 + 12345) {
		unsigned k = (n >> 8) % KEYS;
		char key[32];
		struct entry *e;

		snprintf(key, sizeof key, "http://h%u/\nk", k);
		e = entries_new(key, k, length_of(k));
		s->ops->put(s, e);
		entry_unref(&e);
		if (n % 16 == 0)
			s->ops->remove(s, key, strlen(key));
		if (n % 64 == 0)
			usleep(1000);
	}
}

static int read_all(struct store *s)
{
	struct loop *loop = loop_new();
	unsigned found = 0, wrong = 0;
	struct store_stats stats;

	for (unsigned k = 0; k < KEYS; k++) {
		struct waiter w = { .wait = { .loop = loop, .got = on_got } };
		char key[32];

		snprintf(key, sizeof key, "http://h%u/\nk", k);
		if (s->ops->get(s, key, strlen(key), &w.entry, &w.wait) == STORE_WAIT && loop_run(loop))
			return 1;
		found += w.entry != NULL;
		wrong += w.entry && !entries_body_is(w.entry, k, length_of(k));
		entry_unref(&w.entry);
	}
	s->ops->stats(s, &stats);
	s->ops->free(s);
	loop_free(&loop);
	printf("%u of %d found, %u wrong, %u damaged\n", found, KEYS, wrong, (unsigned)stats.errors);
	return wrong || stats.errors || !found;
}

int main(int argc, char **argv)
{
	struct store *s = argc > 2 ? store_lmdb_new(argv[2], MAP) : NULL;

	if (!s)
		return 2;
	if (!strcmp(argv[1], "read"))
		return read_all(s);
	write_on(s, argc > 3 ? (unsigned)atol(argv[3]) : 1);
	return 0;
}
