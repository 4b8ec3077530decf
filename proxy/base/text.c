/* A growing string; see text.h. */
#include "proxy/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_FIRST_BYTES = 512 };

bool text_reserve(struct text *t, size_t more)
{
	size_t cap = t->cap ? t->cap : TEXT_FIRST_BYTES;
	char *bytes;

	if (t->failed)
		return false;
	if (t->cap - t->len >= more)
		return true;
	while (cap - t->len < more)
		cap *= 2;
	if (t->fixed || !(bytes = realloc(t->bytes, cap))) {
		t->failed = true;
		return false;
	}
	t->bytes = bytes;
	t->cap = cap;
	return true;
}

void text_number(struct text *t, uint64_t n)
{
	char buf[20];                  /* the digits of UINT64_MAX */
	size_t at = sizeof buf;

	do
		buf[--at] = (char)('0' + n % 10);
	while ((n /= 10));
	text_add(t, buf + at, sizeof buf - at);
}

void text_integer(struct text *t, int64_t n)
{
	if (n < 0)
		text_puts(t, "-");
	text_number(t, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

void text_hex(struct text *t, uint64_t n, size_t digits)
{
	char buf[16];                  /* the digits of UINT64_MAX */

	while (digits < sizeof buf && n >> 4 * digits)
		digits++;
	for (size_t i = digits; i--; n >>= 4)
		buf[i] = "0123456789abcdef"[n & 15];
	text_add(t, buf, digits);
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

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
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
