/* Bytes that are held; see held.h. */
#include "core/memory/held.h"

#include <stdlib.h>
#include <string.h>

int held_room(struct held *held, size_t len, size_t first)
{
	size_t cap = 2 * held->cap > first ? 2 * held->cap : first;
	uint8_t *bytes;

	if (len <= held->cap - held->len)
		return 0;
	if (len > SIZE_MAX - held->len)
		return -1;
	if (cap < held->len + len)
		cap = held->len + len;
	if (!(bytes = realloc(held->bytes, cap)))
		return -1;
	held->bytes = bytes;
	held->cap = cap;
	return 0;
}

int held_add(struct held *held, const uint8_t *in, size_t len, size_t first)
{
	if (len == 0)
		return 0;
	if (held_room(held, len, first) != 0)
		return -1;
	memcpy(held->bytes + held->len, in, len);
	held->len += len;
	return 0;
}

void held_drop(struct held *held, size_t len)
{
	held->len -= len;
	memmove(held->bytes, held->bytes + len, held->len);
}

void held_free(struct held *held)
{
	free(held->bytes);
	*held = (struct held){ 0 };
}
