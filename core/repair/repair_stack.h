/* Owns the names of the elements that are open.
 * Must not know: markup, streams, what is repaired. Private to repair_*.c.
 * Invariant: it never takes more than STACK_BYTES_MAX bytes, nor more time in all than a constant for each byte of the
 * document; past either bound it is lost and knows nothing any more. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_STACK_H
#define UTFEED_CORE_REPAIR_REPAIR_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	STACK_BYTES_FIRST = 240,        /* enough for most feeds, and part of the structure */
	STACK_BYTES_MAX = 32768,        /* each name and a byte */
	STACK_NAME_MAX = 255,
	STACK_WORD = 16,                /* most names are not longer; this much room stays behind the last one */
	STACK_SEARCH_FREE = 4096,       /* elements that searches may pass in all, */
	STACK_SEARCH_EACH = 32          /* and this many more for each tag */
};

struct repair_stack {
	uint8_t *names;                 /* first, or allocated: names, each followed by its length */
	size_t len, cap;
	uint32_t depth;
	bool lost;
	uint64_t tags, passed;          /* elements opened and searched for; elements passed by in searches */
	uint8_t first[STACK_BYTES_FIRST];
};

/* It may not be moved. */
void stack_begin(struct repair_stack *);
void stack_free(struct repair_stack *);
/* How many elements an end tag of this name closes; 0: none is open that has it, or the stack got lost. */
uint32_t stack_find(struct repair_stack *, const uint8_t *name, size_t len);

/* Gives up: the tags are not what the names say. */
void stack_lose(struct repair_stack *);

/* The name of the innermost element; depth must not be 0. */
static inline const uint8_t *stack_top(const struct repair_stack *s, size_t *len)
{
	*len = s->names[s->len - 1];
	return s->names + s->len - 1 - *len;
}

static inline void stack_pop(struct repair_stack *s)
{
	s->len -= s->names[s->len - 1] + 1u;
	s->depth--;
}

/* Whether a name may be pushed by stack_put(). */
static inline bool stack_has_room(const struct repair_stack *s, size_t len)
{
	return len <= STACK_NAME_MAX && s->cap - s->len > len + STACK_WORD && !s->lost;
}

/* Pushes a name; `left` bytes may be read from it on. Short names are copied as a whole block, without a look at their
 * length. */
static inline void stack_put(struct repair_stack *s, const uint8_t *name, size_t len, size_t left)
{
	if (len <= STACK_WORD && left >= STACK_WORD)
		memcpy(s->names + s->len, name, STACK_WORD);
	else
		memcpy(s->names + s->len, name, len);
	s->len += len;
	s->names[s->len++] = (uint8_t)len;
	s->depth++;
	s->tags++;
}

/* Whether the first n bytes of a word are 0; n is less than its size. */
static inline bool stack_same(uint64_t difference, size_t n)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	difference = __builtin_bswap64(difference);
#endif
	return (difference & (((uint64_t)1 << n * 8) - 1)) == 0;
}

/* The text behind "</" ends the innermost element, whose name and ">" it is: their length. 0: it does not. */
static inline size_t stack_ends_top(const struct repair_stack *s, const uint8_t *in, size_t left)
{
	size_t n, half = STACK_WORD / 2;
	const uint8_t *top = stack_top(s, &n);
	uint64_t a, b, c, d;

	if (left <= n || in[n] != '>')
		return 0;
	if (n >= half && n <= STACK_WORD) {
		memcpy(&a, top, half);
		memcpy(&b, in, half);
		memcpy(&c, top + n - half, half);
		memcpy(&d, in + n - half, half);
		return ((a ^ b) | (c ^ d)) == 0 ? n + 1 : 0;
	}
	if (n < half && left >= half) {
		memcpy(&a, top, half);
		memcpy(&b, in, half);
		return stack_same(a ^ b, n) ? n + 1 : 0;
	}
	return memcmp(top, in, n) == 0 ? n + 1 : 0;
}

/* As stack_put(), and makes room for it if necessary. 0, or -1: out of memory */
int stack_push(struct repair_stack *, const uint8_t *name, size_t len) __attribute__((warn_unused_result));

#endif
