/* Owns header lists of HTTP/2 written as text, for tests: "name=value|name=value". The name ends at its first '=', so that values have
 * any other byte but '|'. Must not know: which fields are valid. */
#ifndef UTFEED_TESTS_H2_LISTS_H
#define UTFEED_TESTS_H2_LISTS_H

#include "proxy/net/h2.h"

#include <string.h>

enum { H2_LISTS_FIELDS = 32 };

/* Reads the first H2_LISTS_FIELDS fields. */
static inline size_t h2_list_read(const char *text, size_t len, struct h2_field *fields)
{
	const char *end = text + len;
	size_t n = 0;

	for (const char *at = text, *bar; at < end && n < H2_LISTS_FIELDS; at = bar + 1, n++) {
		const char *equals;

		bar = memchr(at, '|', (size_t)(end - at));
		bar = bar ? bar : end;
		equals = memchr(at, '=', (size_t)(bar - at));
		equals = equals ? equals : bar;
		fields[n].name = (struct slice){ at, (size_t)(equals - at) };
		fields[n].value = (struct slice){ equals + (equals < bar), (size_t)(bar - equals) - (equals < bar) };
	}
	return n;
}

#endif
