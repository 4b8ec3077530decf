/* Owns a growing string for message heads. Must not know: what is written. Invariant: after a failed append nothing more is
 * appended and text_take() gives NULL, so only the end needs a check. */
#ifndef UTFEED_PROXY_TEXT_H
#define UTFEED_PROXY_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "slice.h"

struct text {
	char *bytes;
	size_t len, cap;
	bool failed;
};

void text_add(struct text *, const char *bytes, size_t len);
void text_puts(struct text *, const char *);
/* A field line: NAME ": " VALUE CRLF. */
void text_field(struct text *, struct slice name, struct slice value);
void text_printf(struct text *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The string, the caller's to free(); NULL: out of memory. The text is empty again. */
char *text_take(struct text *, size_t *len);

#endif
