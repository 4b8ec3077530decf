/* Whether two bodies are the same bytes; see object.h. Must not know: what they are. */
#include "proxy/object/object.h"

#include <string.h>

/* Compares what both readers have in one piece, and moves both behind it. False: it differs. */
static bool same_piece(struct object_reader *a, struct object_reader *b, size_t *len)
{
	struct iovec one, other;
	size_t bytes, rest;

	*len = 0;
	if (object_peek(a, &one, 1, SIZE_MAX, &bytes) == 0 || object_peek(b, &other, 1, bytes, &rest) == 0)
		return true;
	*len = rest < bytes ? rest : bytes;
	bool same = memcmp(one.iov_base, other.iov_base, *len) == 0;
	object_consume(a, *len);
	object_consume(b, *len);
	return same;
}

bool object_same(struct object *a, struct object *b)
{
	struct object_reader one = { 0 }, other = { 0 };
	bool same = object_length(a) == object_length(b);
	size_t len = 1;

	if (a == b || !same)
		return same;
	object_attach(a, &one);
	object_attach(b, &other);
	while (same && len)
		same = same_piece(&one, &other, &len);
	object_detach(&one);
	object_detach(&other);
	return same;
}
