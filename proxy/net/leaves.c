/* The leaves of an authority; see leaves.h. */
#include "proxy/net/leaves.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/hash.h"
#include "proxy/base/log.h"
#include "proxy/net/loop.h"

/* A leaf, or one in the making, which is in the list of ages, too, but does not leave it. */
struct leaf_entry {
	TAILQ_ENTRY(leaf_entry) age;   /* asked for last first */
	TAILQ_ENTRY(leaf_entry) link;  /* in the queue */
	LIST_ENTRY(leaf_entry) chain;
	LIST_HEAD(, leaf_waiter) waiters;
	struct leaf *leaf;             /* NULL: in the making */
	bool queued;                   /* nobody makes it yet */
	enum ca_kind kind;
	int64_t now_s;                 /* when it was asked for */
	char name[];
};

LIST_HEAD(leaf_chain, leaf_entry);
TAILQ_HEAD(leaf_list, leaf_entry);

struct leaves {
	struct ca *ca;
	struct leaf_keys *keys;        /* the maker's alone */
	pthread_mutex_t lock;          /* guards what follows */
	bool making, has_maker;
	pthread_t maker;
	size_t cap, count;
	struct leaf_list ages, queue;
	struct leaf_chain chains[];    /* as many as cap */
};

/* The hash is keyed: clients choose the names. */
static struct leaf_chain *leaves_chain(struct leaves *l, const char *name)
{
	return &l->chains[hash_keyed(name, strlen(name)) % l->cap];
}

static struct leaf_entry *leaves_find(struct leaves *l, const char *name, enum ca_kind kind)
{
	struct leaf_entry *e;

	LIST_FOREACH(e, leaves_chain(l, name), chain)
		if (e->kind == kind && !strcmp(e->name, name))
			return e;
	return NULL;
}

static void leaves_drop(struct leaves *l, struct leaf_entry *e)
{
	TAILQ_REMOVE(&l->ages, e, age);
	LIST_REMOVE(e, chain);
	if (e->queued)
		TAILQ_REMOVE(&l->queue, e, link);
	leaf_unref(&e->leaf);
	free(e);
	l->count--;
}

static void leaves_make_room(struct leaves *l)
{
	struct leaf_entry *e = TAILQ_LAST(&l->ages, leaf_list), *younger;

	for (; e && l->count >= l->cap; e = younger) {
		younger = TAILQ_PREV(e, leaf_list, age);
		if (e->leaf)
			leaves_drop(l, e);
	}
}

/* ---- the maker ---- */

static void leaf_entry_tell(struct leaf_entry *e)
{
	struct leaf_waiter *w;

	while ((w = LIST_FIRST(&e->waiters))) {
		LIST_REMOVE(w, link);
		w->entry = NULL;
		w->leaf = e->leaf ? leaf_ref(e->leaf) : NULL;
		loop_wake(w->loop, w->task);
	}
}

/* Makes what is queued, without the lock. It ends when nothing is left: the lock is the last that it touches. */
static void *leaves_run(void *arg)
{
	struct leaves *l = arg;
	struct leaf_entry *e;

	pthread_mutex_lock(&l->lock);
	while ((e = TAILQ_FIRST(&l->queue))) {
		struct leaf *made;
		struct ca_why why;

		TAILQ_REMOVE(&l->queue, e, link);
		e->queued = false;
		pthread_mutex_unlock(&l->lock);
		if (!(made = leaf_make(l->ca, l->keys, e->kind, e->name, e->now_s, &why)))
			log_error("intercept: %s: %s", e->name, why.text);
		pthread_mutex_lock(&l->lock);
		e->leaf = made;
		leaf_entry_tell(e);
		if (!made)
			leaves_drop(l, e);
	}
	l->making = false;
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* Under the lock. A former maker is past its last use of it, so that joining it does not wait. */
static int leaves_start_maker(struct leaves *l)
{
	if (l->making)
		return 0;
	if (l->has_maker)
		pthread_join(l->maker, NULL);
	l->has_maker = l->making = !pthread_create(&l->maker, NULL, leaves_run, l);
	return l->making ? 0 : -1;
}

/* ---- for clients ---- */

static struct leaf_entry *leaves_add(struct leaves *l, const char *name, enum ca_kind kind)
{
	size_t len = strlen(name);
	struct leaf_entry *e = calloc(1, sizeof *e + len + 1);

	if (!e)
		return NULL;
	leaves_make_room(l);
	e->kind = kind;
	memcpy(e->name, name, len);
	LIST_INIT(&e->waiters);
	TAILQ_INSERT_HEAD(&l->ages, e, age);
	LIST_INSERT_HEAD(leaves_chain(l, name), e, chain);
	l->count++;
	return e;
}

/* Under the lock. */
static enum leaves_answer leaves_ask(struct leaves *l, const char *name, enum ca_kind kind, int64_t now_s,
    struct leaf_waiter *w)
{
	struct leaf_entry *e = leaves_find(l, name, kind);

	if (e && e->leaf && leaf_is_good(e->leaf, now_s)) {
		TAILQ_REMOVE(&l->ages, e, age);
		TAILQ_INSERT_HEAD(&l->ages, e, age);
		w->leaf = leaf_ref(e->leaf);
		return LEAVES_THERE;
	}
	if (e && e->leaf) {
		leaves_drop(l, e);
		e = NULL;
	}
	if (!e && (e = leaves_add(l, name, kind))) {
		e->now_s = now_s;
		e->queued = true;
		TAILQ_INSERT_TAIL(&l->queue, e, link);
		if (leaves_start_maker(l)) {
			leaves_drop(l, e);
			e = NULL;
		}
	}
	if (!e)
		return LEAVES_NO_MEMORY;
	w->entry = e;
	LIST_INSERT_HEAD(&e->waiters, w, link);
	return LEAVES_WAIT;
}

enum leaves_answer leaves_get(struct leaves *l, const char *name, enum ca_kind kind, int64_t now_s,
    struct leaf_waiter *w)
{
	enum leaves_answer answer;

	w->leaf = NULL;
	w->entry = NULL;
	pthread_mutex_lock(&l->lock);
	answer = leaves_ask(l, name, kind, now_s, w);
	pthread_mutex_unlock(&l->lock);
	return answer;
}

void leaves_leave(struct leaves *l, struct leaf_waiter *w)
{
	struct leaf_entry *e;

	pthread_mutex_lock(&l->lock);
	if ((e = w->entry)) {
		LIST_REMOVE(w, link);
		w->entry = NULL;
		if (LIST_EMPTY(&e->waiters) && e->queued)
			leaves_drop(l, e);
	}
	pthread_mutex_unlock(&l->lock);
}

bool leaves_told(struct leaves *l, const struct leaf_waiter *w)
{
	bool told;

	pthread_mutex_lock(&l->lock);
	told = !w->entry;
	pthread_mutex_unlock(&l->lock);
	return told;
}

size_t leaves_count(struct leaves *l)
{
	size_t n;

	pthread_mutex_lock(&l->lock);
	n = l->count;
	pthread_mutex_unlock(&l->lock);
	return n;
}

struct leaves *leaves_new(struct ca *ca, size_t cap)
{
	struct leaves *l = calloc(1, sizeof *l + cap * sizeof(struct leaf_chain));

	if (!l || !(l->keys = leaf_keys_new())) {
		free(l);
		return NULL;
	}
	pthread_mutex_init(&l->lock, NULL);
	TAILQ_INIT(&l->ages);
	TAILQ_INIT(&l->queue);
	l->cap = cap;
	l->ca = ca_ref(ca);
	return l;
}

void leaves_free(struct leaves **lp)
{
	struct leaves *l = *lp;
	struct leaf_entry *e;

	*lp = NULL;
	if (!l)
		return;
	/* The last settings may go while the maker still works for a client that has left. */
	if (l->has_maker)
		pthread_join(l->maker, NULL);
	while ((e = TAILQ_FIRST(&l->ages)))
		leaves_drop(l, e);
	leaf_keys_free(&l->keys);
	ca_unref(&l->ca);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
