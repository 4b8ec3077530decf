/* Owns chance and growing text. See identity.h. */
#include "identity.h"

#include <stdlib.h>
#include <string.h>

/* splitmix64: neighbouring seeds are unlike from the first number on. */
static uint64_t next(struct chance *c)
{
	uint64_t z = c->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

struct chance chance_of(uint64_t seed)
{
	struct chance c = { seed };

	c.state = next(&c);
	return c;
}

unsigned below(struct chance *c, unsigned limit)
{
	return (unsigned)((next(c) >> 32) * limit >> 32);
}

bool one_in(struct chance *c, unsigned n)
{
	return below(c, n) == 0;
}

void text_add(struct text *t, const void *bytes, size_t len)
{
	if (t->cap - t->len < len + 1) {
		t->cap = 2 * (t->len + len) + 64;
		t->bytes = realloc(t->bytes, t->cap);
		if (!t->bytes)
			abort();
	}
	if (len > 0)
		memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
	t->bytes[t->len] = '\0';
}

void text_put(struct text *t, const char *words)
{
	text_add(t, words, strlen(words));
}

void text_clear(struct text *t)
{
	t->len = 0;
}
