/* Owns a memory for normalisers that holds one body, and every passage of it, and knows them by comparing all that their
 * names are made of, so that tests of what is recalled need no hash.
 * Must not know: what is remembered. */
#ifndef UTFEED_TESTS_UNIT_MEMORY_H
#define UTFEED_TESTS_UNIT_MEMORY_H

#include "core/normalise/memory.h"

#include <stdlib.h>
#include <string.h>

/* What was named: its pieces, each behind its length, and what a passage of that name has led to. */
struct one_named {
	uint8_t *bytes;
	size_t len;
	bool is_kept;
	struct repair_state behind;
};

struct one_body {
	struct normalise_memory memory;
	struct one_named *named;        /* a name is a place in it */
	size_t names, cap;
	bool holds;                     /* what is that of the body which is named `body` */
	uint64_t body;
	struct normalise_learned what;
	unsigned recalled, keeps;
	unsigned passages_recalled, passages_kept;
	bool forgets;                   /* nothing is ever recalled */
};

static inline void *one_body_need(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static inline void one_body_name(void *arg, const struct normalise_piece *pieces, size_t n, struct normalise_name *name)
{
	struct one_body *o = arg;
	struct one_named one = { NULL, 0, false, { 0 } };
	uint8_t *to;

	for (size_t i = 0; i < n; i++)
		one.len += sizeof(pieces[i].len) + pieces[i].len;
	to = one.bytes = one_body_need(malloc(one.len));
	for (; n > 0; n--, pieces++) {
		memcpy(to, &pieces->len, sizeof(pieces->len));
		to += sizeof(pieces->len);
		if (pieces->len > 0)
			memcpy(to, pieces->at, pieces->len);
		to += pieces->len;
	}
	for (size_t i = 0; i < o->names; i++)
		if (o->named[i].len == one.len && memcmp(o->named[i].bytes, one.bytes, one.len) == 0) {
			free(one.bytes);
			*name = (struct normalise_name){ { i, 0 } };
			return;
		}
	if (o->names == o->cap) {
		o->cap = 2 * o->cap + 8;
		o->named = one_body_need(realloc(o->named, o->cap * sizeof(*o->named)));
	}
	o->named[o->names] = one;
	*name = (struct normalise_name){ { o->names++, 0 } };
}

static inline const struct normalise_learned *one_body_recall(void *arg, const struct normalise_name *name)
{
	struct one_body *o = arg;

	if (o->forgets || !o->holds || o->body != name->words[0])
		return NULL;
	o->recalled++;
	return &o->what;
}

static inline void one_body_keep(void *arg, const struct normalise_name *name, const struct normalise_learned *what)
{
	struct one_body *o = arg;

	o->holds = true;
	o->body = name->words[0];
	o->what = *what;
	o->keeps++;
}

static inline const struct repair_state *one_body_recall_passage(void *arg, const struct normalise_name *name)
{
	struct one_body *o = arg;

	if (o->forgets || !o->named[name->words[0]].is_kept)
		return NULL;
	o->passages_recalled++;
	return &o->named[name->words[0]].behind;
}

static inline void one_body_keep_passage(void *arg, const struct normalise_name *name, const struct repair_state *behind)
{
	struct one_body *o = arg;

	o->named[name->words[0]].is_kept = true;
	o->named[name->words[0]].behind = *behind;
	o->passages_kept++;
}

/* passage: as passage_bytes of the memory. */
static inline void one_body_begin_passages(struct one_body *o, size_t passage)
{
	*o = (struct one_body){ .memory = { .name = one_body_name, .recall = one_body_recall, .keep = one_body_keep,
		.passage_bytes = passage, .recall_passage = one_body_recall_passage,
		.keep_passage = one_body_keep_passage, .arg = o } };
}

static inline void one_body_begin(struct one_body *o)
{
	one_body_begin_passages(o, 0);
}

static inline void one_body_end(struct one_body *o)
{
	for (size_t i = 0; i < o->names; i++)
		free(o->named[i].bytes);
	free(o->named);
}

#endif
