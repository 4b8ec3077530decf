/* Owns the address of a Redis server as an option value, HOST:PORT or the path of a socket, and the check
 * that only one store is configured.
 * Must not know: what is stored there.
 * Invariant: no message has a part of the value: a URL given by mistake may have a password in it. */
#include "conf/conf_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#define ADDRESSES "; write HOST:PORT, [ADDRESS]:PORT, or /PATH of a socket"

static int read_path(struct conf_redis *redis, const char *text, struct conf_error *error)
{
	if (strlen(text) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return conf_fail(error, "a socket's path has at most %zu bytes" ADDRESSES,
		    sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
	for (const char *at = text; *at; at++)
		if (*at < 0x20 || *at > 0x7e)
			return conf_fail(error, "the path has a character that is not printable ASCII" ADDRESSES);
	redis->path = strdup(text);
	return redis->path ? 0 : conf_fail_memory(error);
}

static int redis_read_address(struct conf_redis *redis, const char *text, struct conf_error *error)
{
	struct url_host host;

	if (url_parse_host(text, strlen(text), &host) != URL_OK || !host.port_given)
		return conf_fail(error, strstr(text, "://") ? "is a URL" ADDRESSES :
			"is neither a host with its port nor a path" ADDRESSES);
	redis->ipv6 = host.ipv6;
	redis->port = host.port;
	redis->host = strndup(text + host.host.at, host.host.len);
	return redis->host ? 0 : conf_fail_memory(error);
}

int conf_redis_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	const char *text = value->text;
	struct conf_redis redis = { .host = NULL };

	(void)row;
	if (*text && (*text == '/' ? read_path(&redis, text, error) : redis_read_address(&redis, text, error)) != 0)
		return -1;
	conf_redis_clear(member);
	*(struct conf_redis *)member = redis;
	return 0;
}

void conf_redis_format(FILE *out, const struct conf_row *row, const void *member)
{
	const struct conf_redis *redis = member;

	(void)row;
	if (redis->host)
		fprintf(out, "%s%s%s:%u", redis->ipv6 ? "[" : "", redis->host, redis->ipv6 ? "]" : "", redis->port);
	else
		fputs(redis->path ? redis->path : "", out);
}

void conf_redis_clear(void *member)
{
	struct conf_redis *redis = member;

	free(redis->host);
	free(redis->path);
	*redis = (struct conf_redis){ .host = NULL };
}

int conf_redis_settle(const struct conf *conf, struct conf_error *error)
{
	if ((conf->cache_redis.host || conf->cache_redis.path) && *conf->cache_lmdb)
		return conf_fail(error, "%s: cache-lmdb is set too, at %s; write one of them",
			conf_place(conf, NULL, "cache-redis").text, conf_where(conf, NULL, "cache-lmdb"));
	if (conf->cache_redis.path && conf->cache_redis_tls)
		return conf_fail(error,
		    "%s: a socket has no TLS; write HOST:PORT as cache-redis, or cache-redis-tls = off",
		    conf_place(conf, NULL, "cache-redis-tls").text);
	return 0;
}
