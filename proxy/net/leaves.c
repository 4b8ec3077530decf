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
static struct leaf_chain *leaves_chain(struct leaves *leaves, const char *name)
{
	return &leaves->chains[hash_keyed(name, strlen(name)) % leaves->cap];
}

static struct leaf_entry *leaves_find(struct leaves *leaves, const char *name, enum ca_kind kind)
{
	struct leaf_entry *leaf;

	LIST_FOREACH(leaf, leaves_chain(leaves, name), chain)
		if (leaf->kind == kind && !strcmp(leaf->name, name))
			return leaf;
	return NULL;
}

static void leaves_drop(struct leaves *leaves, struct leaf_entry *leaf)
{
	TAILQ_REMOVE(&leaves->ages, leaf, age);
	LIST_REMOVE(leaf, chain);
	if (leaf->queued)
		TAILQ_REMOVE(&leaves->queue, leaf, link);
	leaf_unref(&leaf->leaf);
	free(leaf);
	leaves->count--;
}

static void leaves_make_room(struct leaves *leaves)
{
	struct leaf_entry *leaf = TAILQ_LAST(&leaves->ages, leaf_list), *younger;

	for (; leaf && leaves->count >= leaves->cap; leaf = younger) {
		younger = TAILQ_PREV(leaf, leaf_list, age);
		if (leaf->leaf)
			leaves_drop(leaves, leaf);
	}
}

/* ---- the maker ---- */

static void leaf_entry_tell(struct leaf_entry *leaf)
{
	struct leaf_waiter *waiter;

	while ((waiter = LIST_FIRST(&leaf->waiters))) {
		LIST_REMOVE(waiter, link);
		waiter->entry = NULL;
		waiter->leaf = leaf->leaf ? leaf_ref(leaf->leaf) : NULL;
		loop_wake(waiter->loop, waiter->task);
	}
}

/* Makes what is queued, without the lock. It ends when nothing is left: the lock is the last that it touches. */
static void *leaves_run(void *arg)
{
	struct leaves *leaves = arg;
	struct leaf_entry *leaf;

	pthread_mutex_lock(&leaves->lock);
	while ((leaf = TAILQ_FIRST(&leaves->queue))) {
		struct leaf *made;
		struct ca_why why;

		TAILQ_REMOVE(&leaves->queue, leaf, link);
		leaf->queued = false;
		pthread_mutex_unlock(&leaves->lock);
		if (!(made = leaf_make(leaves->ca, leaves->keys, leaf->kind, leaf->name, leaf->now_s, &why)))
			log_error("intercept: %s: %s", leaf->name, why.text);
		pthread_mutex_lock(&leaves->lock);
		leaf->leaf = made;
		leaf_entry_tell(leaf);
		if (!made)
			leaves_drop(leaves, leaf);
	}
	leaves->making = false;
	pthread_mutex_unlock(&leaves->lock);
	return NULL;
}

/* Under the lock. A former maker is past its last use of it, so that joining it does not wait. */
static int leaves_start_maker(struct leaves *leaves)
{
	if (leaves->making)
		return 0;
	if (leaves->has_maker)
		pthread_join(leaves->maker, NULL);
	leaves->has_maker = leaves->making = !pthread_create(&leaves->maker, NULL, leaves_run, leaves);
	return leaves->making ? 0 : -1;
}

/* ---- for clients ---- */

static struct leaf_entry *leaves_add(struct leaves *leaves, const char *name, enum ca_kind kind)
{
	size_t len = strlen(name);
	struct leaf_entry *leaf = calloc(1, sizeof *leaf + len + 1);

	if (!leaf)
		return NULL;
	leaves_make_room(leaves);
	leaf->kind = kind;
	memcpy(leaf->name, name, len);
	LIST_INIT(&leaf->waiters);
	TAILQ_INSERT_HEAD(&leaves->ages, leaf, age);
	LIST_INSERT_HEAD(leaves_chain(leaves, name), leaf, chain);
	leaves->count++;
	return leaf;
}

/* Under the lock. */
static enum leaves_answer leaves_ask(struct leaves *leaves, const char *name, enum ca_kind kind, int64_t now_s,
    struct leaf_waiter *waiter)
{
	struct leaf_entry *leaf = leaves_find(leaves, name, kind);

	if (leaf && leaf->leaf && leaf_is_good(leaf->leaf, now_s)) {
		TAILQ_REMOVE(&leaves->ages, leaf, age);
		TAILQ_INSERT_HEAD(&leaves->ages, leaf, age);
		waiter->leaf = leaf_ref(leaf->leaf);
		return LEAVES_THERE;
	}
	if (leaf && leaf->leaf) {
		leaves_drop(leaves, leaf);
		leaf = NULL;
	}
	if (!leaf && (leaf = leaves_add(leaves, name, kind))) {
		leaf->now_s = now_s;
		leaf->queued = true;
		TAILQ_INSERT_TAIL(&leaves->queue, leaf, link);
		if (leaves_start_maker(leaves)) {
			leaves_drop(leaves, leaf);
			leaf = NULL;
		}
	}
	if (!leaf)
		return LEAVES_NO_MEMORY;
	waiter->entry = leaf;
	LIST_INSERT_HEAD(&leaf->waiters, waiter, link);
	return LEAVES_WAIT;
}

enum leaves_answer leaves_get(struct leaves *leaves, const char *name, enum ca_kind kind, int64_t now_s,
    struct leaf_waiter *waiter)
{
	waiter->leaf = NULL;
	waiter->entry = NULL;
	pthread_mutex_lock(&leaves->lock);
	enum leaves_answer answer = leaves_ask(leaves, name, kind, now_s, waiter);
	pthread_mutex_unlock(&leaves->lock);
	return answer;
}

void leaves_cancel(struct leaves *leaves, struct leaf_waiter *waiter)
{
	struct leaf_entry *leaf;

	pthread_mutex_lock(&leaves->lock);
	if ((leaf = waiter->entry)) {
		LIST_REMOVE(waiter, link);
		waiter->entry = NULL;
		if (LIST_EMPTY(&leaf->waiters) && leaf->queued)
			leaves_drop(leaves, leaf);
	}
	pthread_mutex_unlock(&leaves->lock);
}

bool leaves_told(struct leaves *leaves, const struct leaf_waiter *waiter)
{
	pthread_mutex_lock(&leaves->lock);
	bool told = !waiter->entry;
	pthread_mutex_unlock(&leaves->lock);
	return told;
}

struct leaves *leaves_new(struct ca *ca, size_t cap)
{
	struct leaves *leaves = calloc(1, sizeof *leaves + cap * sizeof(struct leaf_chain));

	if (!leaves || !(leaves->keys = leaf_keys_new())) {
		free(leaves);
		return NULL;
	}
	pthread_mutex_init(&leaves->lock, NULL);
	TAILQ_INIT(&leaves->ages);
	TAILQ_INIT(&leaves->queue);
	leaves->cap = cap;
	leaves->ca = ca_ref(ca);
	return leaves;
}

void leaves_free(struct leaves **lp)
{
	struct leaves *leaves = *lp;
	struct leaf_entry *leaf;

	*lp = NULL;
	if (!leaves)
		return;
	/* The last settings may go while the maker still works for a client that has left. */
	if (leaves->has_maker)
		pthread_join(leaves->maker, NULL);
	while ((leaf = TAILQ_FIRST(&leaves->ages)))
		leaves_drop(leaves, leaf);
	leaf_keys_free(&leaves->keys);
	ca_unref(&leaves->ca);
	pthread_mutex_destroy(&leaves->lock);
	free(leaves);
}
