/* Owns feeding arbitrary bytes to what tells of other Redis servers: the errors of a cluster's nodes, and what Sentinel says.
 * Invariants: a place has a host of its own, without a zero byte, and a port; without one the former place stays. */
#include "proxy/store/store_redis_link.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool set, const struct redis_place *place)
{
	static const struct redis_place before = { .host = "before", .port = 1 };
	size_t len = strnlen(place->host, sizeof place->host);

	if (!len || len == sizeof place->host || !place->port || (!set && memcmp(place, &before, sizeof before)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = malloc(size + 1);
	size_t half = size ? data[0] % size : 0;
	struct redis_place moved = { .host = "before", .port = 1 }, master = moved;

	if (!bytes)
		return 0;
	if (size)
		memcpy(bytes, data, size);
	bytes[size] = '\0';
	redisReply parts[2] = { { .type = REDIS_REPLY_STRING, .str = bytes }, { .type = REDIS_REPLY_STRING, .str = bytes + half } };
	redisReply *element[2] = { &parts[0], &parts[1] };
	redisReply reply = { .type = REDIS_REPLY_ARRAY, .elements = 2, .element = element };

	reply.element[0]->len = half;
	reply.element[1]->len = size - half;
	check(redis_turning((struct slice){ bytes, size }, moved.host, &moved) == REDIS_MOVED, &moved);
	check(redis_master_read(&reply, &master), &master);
	free(bytes);
	return 0;
}
