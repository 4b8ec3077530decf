/* Owns a memory for normalisers that holds one body and knows it by comparing all that its name is made of, so that tests
 * of what is recalled need no hash.
 * Must not know: what is remembered. */
#ifndef UTFEED_TESTS_UNIT_MEMORY_H
#define UTFEED_TESTS_UNIT_MEMORY_H

#include "core/normalise/memory.h"

#include <stdlib.h>
#include <string.h>

enum { ONE_BODY_NAMES = 4 };

struct one_body {
	struct normalise_memory memory;
	/* the pieces of the bodies that were named last, each piece behind its length; a name is their place and count */
	struct { uint8_t *bytes; size_t len; uint64_t count; } named[ONE_BODY_NAMES];
	uint64_t names;
	uint8_t *kept;
	size_t kept_len;
	struct normalise_learned what;
	unsigned recalled, keeps;
	bool forgets;                   /* nothing is ever recalled */
};

static inline void one_body_name(void *arg, const struct normalise_piece *pieces, size_t n, struct normalise_name *name)
{
	struct one_body *o = arg;
	size_t at = o->names % ONE_BODY_NAMES, len = 0;

	for (size_t i = 0; i < n; i++)
		len += sizeof(pieces[i].len) + pieces[i].len;
	free(o->named[at].bytes);
	o->named[at].bytes = malloc(len);
	if (!o->named[at].bytes)
		abort();
	o->named[at].len = len;
	o->named[at].count = o->names;
	*name = (struct normalise_name){ { at, o->names++ } };
	for (uint8_t *to = o->named[at].bytes; n > 0; n--, pieces++) {
		memcpy(to, &pieces->len, sizeof(pieces->len));
		to += sizeof(pieces->len);
		if (pieces->len > 0)
			memcpy(to, pieces->at, pieces->len);
		to += pieces->len;
	}
}

static inline bool one_body_knows(const struct one_body *o, const struct normalise_name *name)
{
	size_t at = name->words[0];

	if (o->named[at].count != name->words[1])
		abort();
	return o->kept && o->kept_len == o->named[at].len && memcmp(o->kept, o->named[at].bytes, o->kept_len) == 0;
}

static inline const struct normalise_learned *one_body_recall(void *arg, const struct normalise_name *name)
{
	struct one_body *o = arg;

	if (o->forgets || !one_body_knows(o, name))
		return NULL;
	o->recalled++;
	return &o->what;
}

static inline void one_body_keep(void *arg, const struct normalise_name *name, const struct normalise_learned *what)
{
	struct one_body *o = arg;

	one_body_knows(o, name);
	free(o->kept);
	o->kept_len = o->named[name->words[0]].len;
	o->kept = malloc(o->kept_len);
	if (!o->kept)
		abort();
	memcpy(o->kept, o->named[name->words[0]].bytes, o->kept_len);
	o->what = *what;
	o->keeps++;
}

static inline void one_body_begin(struct one_body *o)
{
	*o = (struct one_body){ .memory = { one_body_name, one_body_recall, one_body_keep, o } };
}

static inline void one_body_end(struct one_body *o)
{
	for (size_t i = 0; i < ONE_BODY_NAMES; i++)
		free(o->named[i].bytes);
	free(o->kept);
}

#endif
