/* Owns a growing string for message heads. Must not know: what is written. Invariant: after a failed append nothing
 * more is appended and text_take() returns NULL, so that one check at the end is enough. */
#ifndef UTFEED_PROXY_BASE_TEXT_H
#define UTFEED_PROXY_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/slice.h"

struct text {
	char *bytes;
	size_t len, cap;
	bool failed;
	bool fixed;                    /* bytes are the caller's and cannot grow: what does not fit fails */
};

static inline struct text text_on(char *bytes, size_t cap)
{
	return (struct text){ .bytes = bytes, .cap = cap, .fixed = true };
}

bool text_reserve(struct text *, size_t more);

static inline void text_add(struct text *t, const char *bytes, size_t len)
{
	if (!len || t->failed || (t->cap - t->len < len && !text_reserve(t, len)))
		return;
	memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
}

static inline void text_puts(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

void text_number(struct text *, uint64_t);
void text_integer(struct text *, int64_t);
void text_hex(struct text *, uint64_t, size_t digits);       /* lower case, at least that many digits */
/* A field line: NAME ": " VALUE CRLF. */
void text_field(struct text *, struct slice name, struct slice value);
void text_printf(struct text *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Returns the string, which the caller free()s, and empties the text; NULL: out of memory. Not for a text_on(). */
char *text_take(struct text *, size_t *len);
/* Empties the text, which keeps its memory for what is written next. */
static inline void text_empty(struct text *t)
{
	t->len = 0;
	t->failed = false;
}

/* Frees the string and empties the text. Not for a text_on(). */
static inline void text_free(struct text *t)
{
	free(t->bytes);
	*t = (struct text){ 0 };
}

#endif
