/* A worker's memory of bodies that were decided on; see learned.h. It is cut into sets of a few places: a name has one
 * of a set's, and the one that was asked for longest ago is given up for another. */
#include "proxy/object/learned.h"

#include <stdlib.h>

#include "proxy/base/hash_wide.h"
#include "proxy/base/stats.h"

enum { WAYS = 4 };

struct place {
	struct normalise_name name;
	uint64_t used; /* when it was asked for last, counted in questions; 0: it is free */
	struct normalise_learned what;
};

struct learned {
	struct normalise_memory memory;
	struct hash_wide_secret secret;
	struct stats *stats;
	uint64_t questions;
	size_t sets;
	struct place *places;
};

static void learned_name(void *arg, const struct normalise_piece *pieces, size_t n, struct normalise_name *name)
{
	const struct learned *l = arg;
	struct hash_wide hash;

	hash_wide_begin(&hash, &l->secret);
	for (size_t i = 0; i < n; i++)
		hash_wide_add(&hash, pieces[i].at, pieces[i].len);
	hash_wide_end(&hash, name->words);
}

static bool names_equal(const struct normalise_name *a, const struct normalise_name *b)
{
	return a->words[0] == b->words[0] && a->words[1] == b->words[1];
}

/* The place that has the name; else the one that it would get. */
static struct place *learned_place(const struct learned *l, const struct normalise_name *name)
{
	struct place *set = &l->places[name->words[0] % l->sets * WAYS], *oldest = set;

	for (struct place *p = set; p < set + WAYS; p++) {
		if (p->used && names_equal(&p->name, name))
			return p;
		if (p->used < oldest->used)
			oldest = p;
	}
	return oldest;
}

static const struct normalise_learned *learned_recall(void *arg, const struct normalise_name *name)
{
	struct learned *l = arg;
	struct place *p = learned_place(l, name);

	if (!p->used || !names_equal(&p->name, name))
		return NULL;
	p->used = ++l->questions;
	stats_add(l->stats, STAT_VERDICTS_RECALLED, 1);
	return &p->what;
}

static void learned_keep(void *arg, const struct normalise_name *name, const struct normalise_learned *what)
{
	struct learned *l = arg;

	*learned_place(l, name) = (struct place){ .name = *name, .used = ++l->questions, .what = *what };
}

struct learned *learned_new(size_t max, struct stats *stats)
{
	struct learned *l = calloc(1, sizeof *l);

	if (!l)
		return NULL;
	l->stats = stats;
	l->sets = (max + WAYS - 1) / WAYS;
	l->memory = (struct normalise_memory){ learned_name, learned_recall, learned_keep, l };
	if (hash_wide_draw(&l->secret) || !(l->places = calloc(l->sets, WAYS * sizeof *l->places)))
		learned_free(&l);
	return l;
}

void learned_free(struct learned **lp)
{
	if (*lp)
		free((*lp)->places);
	free(*lp);
	*lp = NULL;
}

const struct normalise_memory *learned_memory(const struct learned *l)
{
	return l ? &l->memory : NULL;
}
