/* Owns texts of test rows, which may have zero bytes, and a sink that gathers what is written.
 * Must not know: who writes. Invariant: what finds no room is refused with 7, which the writer has to return. */
#ifndef UTFEED_TESTS_UNIT_GATHER_H
#define UTFEED_TESTS_UNIT_GATHER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A text that may hold NUL. */
struct text {
	const char *bytes;
	size_t len;
};
#define T(literal) { (literal), sizeof(literal) - 1 }

struct gathered {
	char *bytes;
	size_t len, cap;
};

static int gather(void *arg, const uint8_t *bytes, size_t len)
{
	struct gathered *g = arg;

	if (g->cap - g->len < len)
		return 7;
	memcpy(g->bytes + g->len, bytes, len);
	g->len += len;
	return 0;
}

#endif
