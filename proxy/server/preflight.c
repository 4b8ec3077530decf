/* Before the start; see preflight.h. */
#include "proxy/server/preflight.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/base/memory_limit.h"
#include "proxy/base/path.h"
#include "proxy/dns/resolve.h"
#include "proxy/settings/budget.h"
#include "proxy/store/store.h"

static int preflight_fail(const struct conf *conf, const char *option, const char *why)
{
	log_error("%s: %s", conf_place(conf, NULL, option).text, why);
	return -1;
}

static int preflight_resolver(const struct conf *conf)
{
	if (resolver_takes(conf->resolver))
		return 0;
	return preflight_fail(conf, "resolver",
	    "is no list of addresses; allowed: ADDR, ADDR:PORT or [ADDR]:PORT, with commas between");
}

static int preflight_resolv_conf(const struct conf *conf)
{
	if (!*conf->resolver && access(conf->resolv_conf, R_OK))
		log_warn("%s: %s: %s; names are asked for at 127.0.0.1", conf_place(conf, NULL, "resolv-conf").text,
		    conf->resolv_conf, strerror(errno));
	return 0;
}

static int preflight_redis(const struct conf *conf)
{
	const struct redis_settings redis = { .host = conf->cache_redis.host, .tls = conf->cache_redis_tls,
		.ca_file = *conf->cache_redis_ca_file ? conf->cache_redis_ca_file : NULL };
	struct store_redis_why why;

	if (!redis.host || !store_redis_refuses(&redis, &why))
		return 0;
	return preflight_fail(conf, why.ca_file ? "cache-redis-ca-file" : "cache-redis-tls", why.text);
}

/* The store makes the folder, but not the one that it is in. */
static int preflight_lmdb(const struct conf *conf)
{
	const char *path = conf->cache_lmdb;
	struct stat about;
	char *above;
	int fault = 0;

	if (!*path)
		return 0;
	if (!stat(path, &about))
		fault = !S_ISDIR(about.st_mode) ? ENOTDIR : access(path, W_OK | X_OK) ? errno : 0;
	else if (errno != ENOENT)
		fault = errno;
	else if (!(above = path_folder(path)))
		fault = ENOMEM;
	else {
		fault = access(above, W_OK | X_OK) ? errno : 0;
		free(above);
	}
	if (fault)
		log_error("%s: %s: %s", conf_place(conf, NULL, "cache-lmdb").text, path, strerror(fault));
	return fault ? -1 : 0;
}

static int preflight_sizes(const struct conf *conf)
{
	const struct budget b = { .group = memory_limit_group(""), .machine = memory_limit_machine(),
		.cache_bytes = conf->cache_bytes };
	size_t bytes = budget_cache_bytes(&b);
	bool asked_for = conf_where(conf, NULL, "cache-object-max") || conf_where(conf, NULL, "cache-bytes");

	if (asked_for && conf->cache && conf->cache_object_max > bytes)
		log_warn("%s: %zu KiB is more than all of cache-bytes (%zu KiB), so that what is larger is not stored",
		    conf_place(conf, NULL, "cache-object-max").text, conf->cache_object_max >> 10, bytes >> 10);
	return 0;
}

int preflight(const struct conf *conf)
{
	static int (*const looks[])(const struct conf *) = { preflight_resolver, preflight_resolv_conf, preflight_redis,
		preflight_lmdb, preflight_sizes };
	int status = 0;

	for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
		if (looks[i](conf))
			status = -1;
	return status;
}
