/* Owns text copied into an allocation of just its length, so that a sanitizer tells of a byte read behind it.
 * The caller frees it: exactly_free(). */
#ifndef UTFEED_TESTS_EXACTLY_H
#define UTFEED_TESTS_EXACTLY_H

#include "proxy/base/slice.h"

#include <stdlib.h>
#include <string.h>

static inline struct slice exactly(const char *text)
{
	size_t len = strlen(text);
	char *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	memcpy(copy, text, len);
	return (struct slice){ copy, len };
}

static inline void exactly_free(struct slice s)
{
	free((char *)(uintptr_t)s.at);
}

#endif
