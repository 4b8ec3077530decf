/* Owns where a Redis store is, as an option value: HOST:PORT, the path of a socket, Sentinels, or nodes of a cluster;
 * and the check that only one store is configured.
 * Must not know: what is stored there.
 * Invariant: no message has a part of the value: a URL given by mistake may have a password in it. */
#include "conf/conf_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#define ADDRESSES "; write HOST:PORT, [ADDRESS]:PORT, or /PATH of a socket"
#define SENTINEL "sentinel://"
#define CLUSTER "cluster://"
#define LISTS "; write " SENTINEL "NAME@HOST:PORT,HOST:PORT or " CLUSTER "HOST:PORT,HOST:PORT"

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

static int read_server(struct conf_redis *redis, const char *text, size_t len, struct conf_error *error)
{
	struct conf_redis_server *server = &redis->servers[redis->n];
	struct url_host host;

	if (url_parse_host(text, len, &host) != URL_OK || !host.port_given) {
		if (redis->kind != CONF_REDIS_SERVER)
			return conf_fail(error, memchr(text, '@', len) ?
				"server %zu has a name or a password; write these as cache-redis-user and "
				"cache-redis-password" : "server %zu is not HOST:PORT" LISTS, redis->n + 1);
		return conf_fail(error, !strncmp(text, "rediss:", 7) ? "is a URL" ADDRESSES
			", with cache-redis-tls = on" : strstr(text, "://") ? "is a URL" ADDRESSES :
			strchr(text, '/') ? "has a database, and utfeed uses database 0" ADDRESSES :
			strchr(text, ',') ? "has more than one server" LISTS :
			"is neither a host with its port nor a path" ADDRESSES);
	}
	*server = (struct conf_redis_server){ .ipv6 = host.ipv6, .port = host.port,
		.host = strndup(text + host.host.at, host.host.len) };
	redis->n += server->host != NULL;
	return server->host ? 0 : conf_fail_memory(error);
}

static int read_servers(struct conf_redis *redis, const char *text, struct conf_error *error)
{
	for (;; text++) {
		size_t len = strcspn(text, ",");

		if (redis->n == CONF_REDIS_SERVERS_MAX)
			return conf_fail(error, "has more than %d servers" LISTS, CONF_REDIS_SERVERS_MAX);
		if (read_server(redis, text, len, error))
			return -1;
		text += len;
		if (!*text)
			return 0;
	}
}

static int read_sentinels(struct conf_redis *redis, const char *text, struct conf_error *error)
{
	size_t len = strcspn(text, "@");

	if (!len || !text[len])
		return conf_fail(error, "has no name of a master before an @" LISTS);
	for (size_t i = 0; i < len; i++)
		if (text[i] <= 0x20 || text[i] > 0x7e)
			return conf_fail(error, "the master's name has a character that is not printable ASCII" LISTS);
	if (!(redis->name = strndup(text, len)))
		return conf_fail_memory(error);
	return read_servers(redis, text + len + 1, error);
}

static int redis_read_where(struct conf_redis *redis, const char *text, struct conf_error *error)
{
	if (*text == '/')
		return read_path(redis, text, error);
	if (!strncmp(text, SENTINEL, sizeof SENTINEL - 1)) {
		redis->kind = CONF_REDIS_SENTINEL;
		return read_sentinels(redis, text + sizeof SENTINEL - 1, error);
	}
	if (!strncmp(text, CLUSTER, sizeof CLUSTER - 1)) {
		redis->kind = CONF_REDIS_CLUSTER;
		return read_servers(redis, text + sizeof CLUSTER - 1, error);
	}
	return read_server(redis, text, strlen(text), error);
}

int conf_redis_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	struct conf_redis redis = { .name = NULL };

	(void)row;
	if (*value->text && redis_read_where(&redis, value->text, error)) {
		conf_redis_clear(&redis);
		return -1;
	}
	conf_redis_clear(member);
	*(struct conf_redis *)member = redis;
	return 0;
}

void conf_redis_format(FILE *out, const struct conf_row *row, const void *member)
{
	static const char *const begins[] = { "", SENTINEL, CLUSTER };
	const struct conf_redis *redis = member;

	(void)row;
	fprintf(out, "%s%s%s%s", begins[redis->kind], redis->name ? redis->name : "", redis->name ? "@" : "",
	    redis->path ? redis->path : "");
	for (size_t i = 0; i < redis->n; i++) {
		const struct conf_redis_server *server = &redis->servers[i];

		fprintf(out, "%s%s%s%s:%u", i ? "," : "", server->ipv6 ? "[" : "", server->host,
		    server->ipv6 ? "]" : "", server->port);
	}
}

void conf_redis_clear(void *member)
{
	struct conf_redis *redis = member;

	for (size_t i = 0; i < redis->n; i++)
		free(redis->servers[i].host);
	free(redis->name);
	free(redis->path);
	*redis = (struct conf_redis){ .name = NULL };
}

int conf_redis_settle(const struct conf *conf, struct conf_error *error)
{
	if ((conf->cache_redis.n || conf->cache_redis.path) && *conf->cache_lmdb)
		return conf_fail(error, "%s: cache-lmdb is set too, at %s; write one of them",
			conf_place(conf, NULL, "cache-redis").text, conf_where(conf, NULL, "cache-lmdb"));
	if (conf->cache_redis.path && conf->cache_redis_tls)
		return conf_fail(error,
		    "%s: a socket has no TLS; write HOST:PORT as cache-redis, or cache-redis-tls = off",
		    conf_place(conf, NULL, "cache-redis-tls").text);
	return 0;
}
