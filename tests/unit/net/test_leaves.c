/* Owns the cases of proxy/net/leaves.c, of the authorities under it (ca.c, ca_make.c) and of their names. Must not know: connections.
 * Invariant: whatever is asked for is told or left; threads that ask at once get one leaf. */
#include "proxy/net/leaves.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "proxy/net/loop.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { DAY = 86400 };

/* When the test began: an authority is judged by the clock. */
static int64_t began_s;
#define NOW began_s

struct authority { char folder[32], cert[64], key[64]; };

static void make(struct authority *a, const char *const *names, size_t n, unsigned days, enum ca_kind kind)
{
	struct ca_wish wish = { .kind = kind, .names = names, .n_names = n, .days = days, .now_s = NOW };
	struct ca_why why = { CA_FILE_NONE, "" };
	FILE *cert, *key;

	if (!began_s)
		began_s = wish.now_s = time(NULL);
	snprintf(a->folder, sizeof a->folder, "/tmp/utfeed-test-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(a->folder));
	snprintf(a->cert, sizeof a->cert, "%s/cert", a->folder);
	snprintf(a->key, sizeof a->key, "%s/key", a->folder);
	CU_ASSERT_PTR_NOT_NULL_FATAL(cert = fopen(a->cert, "w"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(key = fopen(a->key, "w"));
	UNIT_ROW(!ca_make(&wish, fileno(cert), fileno(key), &why), "%s", why.text);
	fclose(cert);
	fclose(key);
	chmod(a->key, 0600);
}

static void drop(struct authority *a)
{
	unlink(a->cert);
	unlink(a->key);
	rmdir(a->folder);
}

/* The certificate alone, which is judged by no clock. */
static struct ca *authority(struct authority *a, const char *const *names, size_t n)
{
	struct ca_why why = { CA_FILE_NONE, "" };
	struct ca *ca;

	make(a, names, n, 36500, CA_ECDSA);
	ca = ca_read(a->cert, a->key, &why);
	UNIT_ROW(ca != NULL, "%s", why.text);
	if (!ca)
		CU_FAIL_FATAL("authority");
	return ca;
}

static void names(void)
{
	static const struct { const char *name; bool block, is; } rows[] = {
		{ "example.org", false, true }, { "a_b.example", false, true }, { "localhost", false, true }, { "1.2.3.4", false, true },
		{ "2001:db8::1", false, true }, { "*.example.org", false, false }, { "a b", false, false }, { "a,DNS:b", false, false }, { "", false, false },
		{ ".a", false, false }, { "a..b", false, false }, { "a.", false, false }, { "a/b", false, false }, { "10.0.0.0/8", false, false },
		{ "10.0.0.0/8", true, true }, { "10.0.0.0/33", true, false }, { "10.0.0.0/", true, false }, { "10.0.0.0/x", true, false }, { "fd00::/8", true, true },
		{ "fd00::/129", true, false }, { "a/8", true, false },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b", false, true },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b", false, false },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		UNIT_ROW(ca_is_name(rows[i].name, rows[i].block) == rows[i].is, "%s", rows[i].name);
}

static void constraints(void)
{
	static const char *const wished[] = { "example.org", "10.0.0.0/8" };
	static const struct { const char *name; bool fine; } rows[] = {
		{ "example.org", true }, { "a.b.example.org", true }, { "xexample.org", false }, { "example.com", false }, { "10.1.2.3", true }, { "11.1.2.3", false },
		{ "fd00::1", false },
	};
	struct authority a;
	struct ca *ca = authority(&a, wished, COUNT(wished));

	for (size_t i = 0; i < COUNT(rows); i++)
		UNIT_ROW(!ca_refuses(ca, rows[i].name) == rows[i].fine, "RFC 5280 4.2.1.10: %s", rows[i].name);
	ca_unref(&ca);
	drop(&a);
	ca = authority(&a, NULL, 0);
	for (size_t i = 0; i < COUNT(rows); i++)
		UNIT_ROW(!ca_refuses(ca, rows[i].name), "no constraints: %s", rows[i].name);
	ca_unref(&ca);
	drop(&a);
}

static void times(void)
{
	static const struct { const char *rule; int64_t after_s; bool good; } rows[] = {
		{ "at once", 0, true }, { "clock set back a little", -3600, true }, { "clock set back more", -3601, false },
		{ "before its last day", 6 * DAY - 3601, true }, { "in its last day", 6 * DAY - 3600, false }, { "over", 8 * DAY, false },
	};
	struct leaf_keys *keys = leaf_keys_new();
	struct ca_why why = { CA_FILE_NONE, "" };
	struct authority a;
	struct ca *ca = authority(&a, NULL, 0);
	struct leaf *l = leaf_make(ca, keys, CA_ECDSA, "example.org", NOW, &why), *none;

	CU_ASSERT_PTR_NOT_NULL_FATAL(l);
	for (size_t i = 0; i < COUNT(rows); i++)
		UNIT_ROW(leaf_is_good(l, NOW + rows[i].after_s) == rows[i].good, "%s", rows[i].rule);
	leaf_unref(&l);
	/* no leaf outlives its authority, nor is any made after it */
	CU_ASSERT_PTR_NOT_NULL_FATAL(l = leaf_make(ca, keys, CA_ECDSA, "example.org", NOW + 36500LL * DAY - DAY, &why));
	UNIT_ROW(leaf_is_good(l, NOW + 36500LL * DAY - 1) && !leaf_is_good(l, NOW + 36500LL * DAY), "the authority's last day");
	leaf_unref(&l);
	UNIT_ROW(!(none = leaf_make(ca, keys, CA_ECDSA, "example.org", NOW + 36500LL * DAY, &why)) && strstr(why.text, "expired"), "after it: %s", why.text);
	UNIT_ROW(!(none = leaf_make(ca, keys, CA_ECDSA, "*.example.org", NOW, &why)), "a wildcard");
	leaf_keys_free(&keys);
	ca_unref(&ca);
	drop(&a);
}

/* ---- the list ---- */

struct asker { struct task task; struct leaf_waiter w; bool told; struct loop *loop; size_t *left; };

static void on_told(struct task *t)
{
	struct asker *a = (struct asker *)t;

	a->told = true;
	if (!--*a->left)
		loop_stop(a->loop);
}

static void ask(struct asker *a, struct leaves *l, const char *name, int64_t now_s)
{
	a->task.run = on_told;
	a->w.loop = a->loop;
	a->w.task = &a->task;
	if (leaves_get(l, name, CA_ECDSA, now_s, &a->w) == LEAVES_WAIT)
		++*a->left;
	else
		a->told = true;
}

/* How many of the leaves for the first names are there at once, asked for from the last name on. */
static size_t there(struct leaves *l, struct loop *loop, char letter, size_t names, int64_t now_s)
{
	size_t n = 0;

	for (size_t i = names; i--;) {
		size_t left = 0;
		struct asker a = { .loop = loop, .left = &left };
		char name[32];

		snprintf(name, sizeof name, "%c%zu.example", letter, i);
		ask(&a, l, name, now_s);
		n += a.told;
		leaves_cancel(l, &a.w);
		loop_forget(loop, &a.task);
		leaf_unref(&a.w.leaf);
	}
	return n;
}

static void bounded(void)
{
	struct loop *loop = loop_new();
	struct authority at;
	struct ca *ca = authority(&at, NULL, 0);
	struct leaves *l = leaves_new(ca, 4);
	struct asker asked[40] = { 0 };
	struct leaf *kept;
	size_t left = 0;

	for (size_t round = 0; round < 2; round++) {
		for (size_t i = 0; i < 40; i++) {
			char name[32];

			snprintf(name, sizeof name, "h%zu.example", i / 2);     /* two ask for each */
			asked[i].loop = loop;
			asked[i].left = &left;
			ask(&asked[i], l, name, NOW);
		}
		if (left)
			CU_ASSERT_EQUAL(loop_run(loop), 0);
		for (size_t i = 0; i < 40; i++) {
			UNIT_ROW(asked[i].told && asked[i].w.leaf && leaves_told(l, &asked[i].w), "round %zu, asker %zu", round, i);
			UNIT_ROW(i % 2 == 0 || asked[i].w.leaf == asked[i - 1].w.leaf, "round %zu, asker %zu: one leaf for both", round, i);
		}
		for (size_t i = 0; i < 40; i++)
			leaf_unref(&asked[i].w.leaf);
		memset(asked, 0, sizeof asked);
	}
	asked[0].loop = loop;
	asked[0].left = &left;
	for (size_t i = 0; i < 8; i++) {               /* whatever was in the making at once, the next ones make room again */
		char name[32];

		snprintf(name, sizeof name, "n%zu.example", i);
		ask(&asked[0], l, name, NOW);
		if (left)
			CU_ASSERT_EQUAL(loop_run(loop), 0);
		leaf_unref(&asked[0].w.leaf);
	}
	ask(&asked[0], l, "n7.example", NOW);
	UNIT_ROW(!left && asked[0].w.leaf, "the latest is there at once");
	kept = asked[0].w.leaf;
	ask(&asked[0], l, "n7.example", NOW + 10 * DAY);
	UNIT_ROW(left == 1, "an old one is made anew");
	CU_ASSERT_EQUAL(loop_run(loop), 0);
	UNIT_ROW(asked[0].w.leaf && asked[0].w.leaf != kept, "another");
	leaf_unref(&kept);
	leaf_unref(&asked[0].w.leaf);
	UNIT_ROW(there(l, loop, 'n', 8, NOW) <= 4, "no more are kept than that");
	leaves_free(&l);
	ca_unref(&ca);
	loop_free(&loop);
	drop(&at);
}

/* Who leaves is not told, and what nobody waits for is not made. */
static void left_alone(void)
{
	struct loop *loop = loop_new();
	struct authority at;
	struct ca *ca = authority(&at, NULL, 0);
	struct leaves *l = leaves_new(ca, 64);
	size_t left = 0;

	for (size_t i = 0; i < 300; i++) {
		struct asker a = { .loop = loop, .left = &left };
		char name[32];

		snprintf(name, sizeof name, "h%zu.example", i);
		ask(&a, l, name, NOW);
		leaves_cancel(l, &a.w);
		loop_forget(loop, &a.task);
		leaf_unref(&a.w.leaf);
	}
	UNIT_ROW(there(l, loop, 'h', 300, NOW) <= 65, "no more are kept than that, and the one in the making");
	leaves_free(&l);
	ca_unref(&ca);
	loop_free(&loop);
	drop(&at);
}

/* Two threads with loops of their own ask for the same names at the same time. */
static void *ask_all(void *arg)
{
	struct leaves *l = arg;
	struct loop *loop = loop_new();
	size_t left = 0;

	for (size_t i = 0; loop && i < 200; i++) {
		struct asker a = { .loop = loop, .left = &left };
		char name[32];

		snprintf(name, sizeof name, "h%zu.example", i % 20);
		ask(&a, l, name, NOW + (int64_t)(i / 20) * 4 * DAY);
		if (left && i % 7 == 0) {
			leaves_cancel(l, &a.w);
			left = 0;
			loop_forget(loop, &a.task);
		} else if (left && loop_run(loop))
			abort();
		leaf_unref(&a.w.leaf);
	}
	loop_free(&loop);
	return NULL;
}

static void two_threads(void)
{
	struct loop *loop = loop_new();
	struct authority at;
	struct ca *ca = authority(&at, NULL, 0);
	struct leaves *l = leaves_new(ca, 8);
	pthread_t threads[2];

	for (size_t i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, ask_all, l), 0);
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	UNIT_ROW(there(l, loop, 'h', 20, NOW + 36 * DAY) <= 9, "no more are kept than that, and the one in the making");
	leaves_free(&l);
	loop_free(&loop);
	ca_unref(&ca);
	drop(&at);
}

UNIT_SUITE(leaves, { "names", names }, { "RFC 5280: constraints", constraints }, { "times", times }, { "bounded", bounded }, { "left alone", left_alone },
	{ "two threads", two_threads })
