/* Owns where else a Redis server says that its keys are: a cluster's errors, Sentinel's answer. Pure. See
 * store_redis_link.h. */
#include "proxy/store/store_redis_link.h"

#include <stdlib.h>
#include <string.h>

/* False: the port is wrong, or the host is too long. */
static bool place_set(struct redis_place *place, struct slice host, struct slice port)
{
	uint32_t n = 0;

	for (size_t i = 0; i < port.len; i++) {
		if (port.at[i] < '0' || port.at[i] > '9' || (n = n * 10 + (uint32_t)(port.at[i] - '0')) > UINT16_MAX)
			return false;
	}
	if (!n || !host.len || host.len >= sizeof place->host || memchr(host.at, '\0', host.len))
		return false;
	memmove(place->host, host.at, host.len);
	place->host[host.len] = '\0';
	place->port = (uint16_t)n;
	return true;
}

/* "SLOT HOST:PORT"; an address of IPv6 has no brackets. */
static bool moved_read(struct slice text, const char *host, struct redis_place *to)
{
	const char *end = text.at + text.len, *blank = memchr(text.at, ' ', text.len);
	const char *colon = blank ? memrchr(blank, ':', (size_t)(end - blank)) : NULL;

	if (!colon)
		return false;
	struct slice named = { blank + 1, (size_t)(colon - blank - 1) };
	struct slice port = { colon + 1, (size_t)(end - colon - 1) };
	return place_set(to, named.len ? named : (struct slice){ host, strlen(host) }, port);
}

enum redis_turning redis_turning(struct slice error, const char *host, struct redis_place *to)
{
	static const char *const later[] = { "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "READONLY", "MASTERDOWN" };
	const char *blank = memchr(error.at, ' ', error.len);
	struct slice word = { error.at, blank ? (size_t)(blank - error.at) : error.len };

	if (blank && slice_is(word, "moved") &&
	    moved_read((struct slice){ blank + 1, error.len - word.len - 1 }, host, to))
		return REDIS_MOVED;
	for (size_t i = 0; i < sizeof later / sizeof *later; i++)
		if (word.len == strlen(later[i]) && !memcmp(word.at, later[i], word.len))
			return REDIS_LATER;
	return REDIS_STAYS;
}

/* Names and their values in turn. */
bool redis_is_alone(const redisReply *r)
{
	for (size_t i = 0; r->type == REDIS_REPLY_ARRAY && i + 1 < r->elements; i += 2) {
		const redisReply *name = r->element[i], *value = r->element[i + 1];

		if (name->type == REDIS_REPLY_STRING && !strcmp(name->str, "mode"))
			return value->type == REDIS_REPLY_STRING && strcmp(value->str, "cluster") != 0;
	}
	return false;
}

bool redis_master_read(const redisReply *r, struct redis_place *to)
{
	if (r->type != REDIS_REPLY_ARRAY || r->elements != 2 || r->element[0]->type != REDIS_REPLY_STRING ||
	    r->element[1]->type != REDIS_REPLY_STRING)
		return false;
	return place_set(to, (struct slice){ r->element[0]->str, (size_t)r->element[0]->len },
	    (struct slice){ r->element[1]->str, (size_t)r->element[1]->len });
}
