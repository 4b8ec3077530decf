/* Owns the names of the elements that are open; see repair_stack.h. */
#include "core/repair/repair_stack.h"

#include <stdlib.h>
#include <string.h>

enum { STACK_GROWTH = 4 };

void stack_begin(struct repair_stack *s)
{
	s->names = s->first;
	s->cap = sizeof(s->first);
	s->len = 0;
}

void stack_free(struct repair_stack *s)
{
	if (s->names != s->first)
		free(s->names);
	stack_begin(s);
}

void stack_lose(struct repair_stack *s)
{
	stack_free(s);
	s->depth = 0;
	s->lost = true;
}

int stack_push(struct repair_stack *s, const uint8_t *name, size_t len)
{
	size_t need = s->len + len + 1 + STACK_WORD;

	if (s->lost)
		return 0;
	if (len > STACK_NAME_MAX || need > STACK_BYTES_MAX) {
		stack_lose(s);
		return 0;
	}
	if (s->cap < need) {
		size_t cap = s->cap * STACK_GROWTH > need ? s->cap * STACK_GROWTH : need;
		uint8_t *names;

		cap = cap < STACK_BYTES_MAX ? cap : STACK_BYTES_MAX;
		names = malloc(cap);
		if (!names)
			return -1;
		memcpy(names, s->names, s->len);
		if (s->names != s->first)
			free(s->names);
		s->names = names;
		s->cap = cap;
	}
	stack_put(s, name, len, len);
	return 0;
}

uint32_t stack_find(struct repair_stack *s, const uint8_t *name, size_t len)
{
	uint32_t closes = 0;

	s->tags++;
	for (size_t at = s->len; at > 0;) {
		size_t n = s->names[at - 1];

		closes++;
		if (n == len && memcmp(s->names + at - 1 - n, name, n) == 0)
			return closes;
		at -= n + 1;
		if (++s->passed > s->tags * STACK_SEARCH_EACH + STACK_SEARCH_FREE) {
			stack_lose(s);
			return 0;
		}
	}
	return 0;
}
