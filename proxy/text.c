/* A growing string; see text.h. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_FIRST_BYTES = 512 };

static bool text_reserve(struct text *t, size_t more)
{
	size_t cap = t->cap ? t->cap : TEXT_FIRST_BYTES;
	char *bytes;

	if (t->failed)
		return false;
	if (t->cap - t->len >= more)
		return true;
	while (cap - t->len < more)
		cap *= 2;
	if (!(bytes = realloc(t->bytes, cap))) {
		t->failed = true;
		return false;
	}
	t->bytes = bytes;
	t->cap = cap;
	return true;
}

void text_add(struct text *t, const char *bytes, size_t len)
{
	if (!len || !text_reserve(t, len))
		return;
	memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
}

void text_puts(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

void text_field(struct text *t, struct slice name, struct slice value)
{
	text_add(t, name.at, name.len);
	text_puts(t, ": ");
	text_add(t, value.at, value.len);
	text_puts(t, "\r\n");
}

void text_printf(struct text *t, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n >= 0 && text_reserve(t, (size_t)n + 1)) {
		vsnprintf(t->bytes + t->len, (size_t)n + 1, fmt, again);
		t->len += (size_t)n;
	}
	va_end(again);
	va_end(ap);
}

char *text_take(struct text *t, size_t *len)
{
	char *bytes = t->bytes;

	if (t->failed) {
		free(bytes);
		bytes = NULL;
	}
	*len = t->len;
	*t = (struct text){ 0 };
	return bytes;
}
