/* Owns how bench_decoder calls another library: a shared object that exports `rival`. */
#ifndef UTFEED_TESTS_RIVAL_H
#define UTFEED_TESTS_RIVAL_H

#include <stddef.h>

struct rival {
	const char *name;
	/* All of in, chunk bytes at a time, to UTF-8 in out, which has room for the whole. Not 0: it cannot. */
	int (*decode)(const char *charset, const char *in, size_t len, size_t chunk, char *out, size_t cap);
};

extern const struct rival rival;

#endif
