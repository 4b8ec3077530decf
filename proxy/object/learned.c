/* A worker's memory of bodies that were decided on; see learned.h. It is cut into sets of a few places: a name has one
 * of a set's, and the one that was asked for longest ago is given up for another. */
#include "proxy/object/learned.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/base/hash_wide.h"
#include "proxy/base/stats.h"

enum { WAYS = 4 };

/* What is kept follows it. */
struct place {
	struct normalise_name name;
	uint64_t used; /* when it was asked for last, counted in questions; 0: it is free */
};

/* What is kept lies behind its place, and the next place behind that. */
#define FITS(what) \
	_Static_assert(_Alignof(what) <= _Alignof(struct place) && sizeof(what) % _Alignof(struct place) == 0, #what)
FITS(struct normalise_learned);
FITS(struct repair_state);

struct table {
	size_t sets, what_bytes;
	void *places;
};

struct learned {
	struct normalise_memory memory;
	struct hash_wide_secret secret;
	struct stats *stats;
	uint64_t questions;
	struct table bodies;   /* struct normalise_learned */
	struct table passages; /* struct repair_state */
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

static struct place *place_at(const struct table *t, size_t i)
{
	return (struct place *)(void *)((char *)t->places + i * (sizeof(struct place) + t->what_bytes));
}

/* The place that has the name; else the one that it would get. */
static struct place *table_place(const struct table *t, const struct normalise_name *name)
{
	size_t set = name->words[0] % t->sets * WAYS;
	struct place *oldest = place_at(t, set);

	for (size_t i = set; i < set + WAYS; i++) {
		struct place *p = place_at(t, i);

		if (p->used && names_equal(&p->name, name))
			return p;
		if (p->used < oldest->used)
			oldest = p;
	}
	return oldest;
}

static const void *table_recall(struct learned *l, const struct table *t, const struct normalise_name *name,
    enum stats_counter counter)
{
	struct place *p = table_place(t, name);

	if (!p->used || !names_equal(&p->name, name))
		return NULL;
	p->used = ++l->questions;
	stats_add(l->stats, counter, 1);
	return p + 1;
}

static void table_keep(struct learned *l, const struct table *t, const struct normalise_name *name, const void *what)
{
	struct place *p = table_place(t, name);

	*p = (struct place){ .name = *name, .used = ++l->questions };
	memcpy(p + 1, what, t->what_bytes);
}

static const struct normalise_learned *recall_body(void *arg, const struct normalise_name *name)
{
	struct learned *l = arg;

	return table_recall(l, &l->bodies, name, STAT_VERDICTS_RECALLED);
}

static void keep_body(void *arg, const struct normalise_name *name, const struct normalise_learned *what)
{
	struct learned *l = arg;

	table_keep(l, &l->bodies, name, what);
}

static const struct repair_state *recall_passage(void *arg, const struct normalise_name *name)
{
	struct learned *l = arg;

	return table_recall(l, &l->passages, name, STAT_PASSAGES_RECALLED);
}

static void keep_passage(void *arg, const struct normalise_name *name, const struct repair_state *behind)
{
	struct learned *l = arg;

	table_keep(l, &l->passages, name, behind);
}

/* Pages of it that nothing is kept in take no memory. False: out of memory */
static bool table_begin(struct table *t, size_t max, size_t what_bytes)
{
	t->sets = (max + WAYS - 1) / WAYS;
	t->what_bytes = what_bytes;
	t->places = calloc(t->sets, WAYS * (sizeof(struct place) + what_bytes));
	return t->places != NULL;
}

struct learned *learned_new(size_t max, struct stats *stats)
{
	struct learned *l = calloc(1, sizeof *l);

	if (!l)
		return NULL;
	l->stats = stats;
	l->memory = (struct normalise_memory){ .name = learned_name, .recall = recall_body, .keep = keep_body,
		.passage_bytes = LEARNED_PASSAGE, .recall_passage = recall_passage, .keep_passage = keep_passage,
		.arg = l };
	if (hash_wide_draw(&l->secret) || !table_begin(&l->bodies, max, sizeof(struct normalise_learned)) ||
	    !table_begin(&l->passages, max * LEARNED_PASSAGES, sizeof(struct repair_state)))
		learned_free(&l);
	return l;
}

void learned_free(struct learned **lp)
{
	if (*lp) {
		free((*lp)->bodies.places);
		free((*lp)->passages.places);
	}
	free(*lp);
	*lp = NULL;
}

const struct normalise_memory *learned_memory(const struct learned *l)
{
	return l ? &l->memory : NULL;
}
