/* Owns a memory for normalisers that holds one body and knows it by comparing all that its name is made of, so that tests
 * of what is recalled need no hash.
 * Must not know: what is remembered. */
#ifndef UTFEED_TESTS_UNIT_MEMORY_H
#define UTFEED_TESTS_UNIT_MEMORY_H

#include "core/normalise/memory.h"

#include <stdlib.h>
#include <string.h>

struct one_body {
	struct normalise_memory memory;
	uint8_t *asked, *kept;          /* the pieces of the body asked for last, and of the one that is kept; each after its length */
	size_t asked_len, kept_len;
	struct normalise_learned what;
	unsigned recalled, keeps;
	bool forgets;                   /* nothing is ever recalled */
};

static inline void one_body_name(void *arg, const struct normalise_piece *pieces, size_t n, struct normalise_name *name)
{
	struct one_body *o = arg;
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += sizeof(pieces[i].len) + pieces[i].len;
	free(o->asked);
	o->asked = malloc(len);
	if (!o->asked)
		abort();
	o->asked_len = 0;
	for (size_t i = 0; i < n; i++) {
		memcpy(o->asked + o->asked_len, &pieces[i].len, sizeof(pieces[i].len));
		o->asked_len += sizeof(pieces[i].len);
		if (pieces[i].len > 0)
			memcpy(o->asked + o->asked_len, pieces[i].at, pieces[i].len);
		o->asked_len += pieces[i].len;
	}
	*name = (struct normalise_name){ { 0, 0 } };
}

static inline bool one_body_knows(const struct one_body *o)
{
	return o->kept && o->kept_len == o->asked_len && memcmp(o->kept, o->asked, o->kept_len) == 0;
}

static inline const struct normalise_learned *one_body_recall(void *arg, const struct normalise_name *name)
{
	struct one_body *o = arg;

	(void)name;
	if (o->forgets || !one_body_knows(o))
		return NULL;
	o->recalled++;
	return &o->what;
}

static inline void one_body_keep(void *arg, const struct normalise_name *name, const struct normalise_learned *what)
{
	struct one_body *o = arg;

	(void)name;
	free(o->kept);
	o->kept = malloc(o->asked_len);
	if (!o->kept)
		abort();
	memcpy(o->kept, o->asked, o->asked_len);
	o->kept_len = o->asked_len;
	o->what = *what;
	o->keeps++;
}

static inline void one_body_begin(struct one_body *o)
{
	*o = (struct one_body){ .memory = { one_body_name, one_body_recall, one_body_keep, o } };
}

static inline void one_body_end(struct one_body *o)
{
	free(o->asked);
	free(o->kept);
}

#endif
