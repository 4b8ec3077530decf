/* Before the start; see preflight.h. */
#include "proxy/server/preflight.h"

#include <errno.h>
#include <fcntl.h>
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
#include "proxy/sandbox/sandbox.h"
#include "proxy/server/fault_advice.h"
#include "proxy/server/preflight_listeners.h"
#include "proxy/server/privileges.h"
#include "proxy/settings/budget.h"
#include "proxy/store/store_redis.h"

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
	    "is not a list of addresses; write ADDR, ADDR:PORT or [ADDR]:PORT, with commas between");
}

static int preflight_resolv_conf(const struct conf *conf)
{
	if (!*conf->resolver && access(conf->resolv_conf, R_OK))
		log_warn("%s: %s: %s; names are asked for at 127.0.0.1; write the name of a file, "
		    "or resolver = ADDRESS", conf_place(conf, NULL, "resolv-conf").text,
		    conf->resolv_conf, strerror(errno));
	return 0;
}

static int preflight_redis(const struct conf *conf)
{
	const struct redis_settings redis = { .where = &conf->cache_redis, .tls = conf->cache_redis_tls,
		.ca_file = *conf->cache_redis_ca_file ? conf->cache_redis_ca_file : NULL };
	struct store_redis_why why;

	if (!redis.where->n || !store_redis_refuses(&redis, &why))
		return 0;
	return preflight_fail(conf, why.ca_file ? "cache-redis-ca-file" : "cache-redis-tls", why.text);
}

/* ---- files and folders ---- */

static int preflight_path(const struct conf *conf, const char *option, const char *path, int fault)
{
	if (fault)
		log_error("%s: %s: %s%s", conf_place(conf, NULL, option).text, path, strerror(fault),
		    fault_advice_path(fault));
	return fault ? -1 : 0;
}

/* By the rights of the user that the process is at the moment, not of the one who started it. 0, or an errno. */
static int fault_of_rights(const char *path, int rights)
{
	return faccessat(AT_FDCWD, path, rights, AT_EACCESS) ? errno : 0;
}

/* What keeps a file from being made there. */
static int fault_of_folder(const char *path)
{
	char *folder = path_folder(path);
	struct stat about;
	int fault = !folder ? ENOMEM : stat(folder, &about) ? errno : !S_ISDIR(about.st_mode) ? ENOTDIR : 0;

	if (!fault)
		fault = fault_of_rights(folder, W_OK | X_OK);
	free(folder);
	return fault;
}

/* The store makes the folder, but not the one that it is in. */
static int preflight_lmdb(const struct conf *conf)
{
	const char *path = conf->cache_lmdb;
	struct stat about;
	int fault;

	if (!*path)
		return 0;
	if (!stat(path, &about))
		fault = S_ISDIR(about.st_mode) ? fault_of_rights(path, W_OK | X_OK) : ENOTDIR;
	else
		fault = errno == ENOENT ? fault_of_folder(path) : errno;
	return preflight_path(conf, "cache-lmdb", path, fault);
}

static int preflight_access_log(const struct conf *conf)
{
	const char *path = conf->access_log_file;
	struct stat about;
	int fault;

	if (!*path)
		return 0;
	if (!stat(path, &about))
		fault = S_ISDIR(about.st_mode)  ? EISDIR
		    : S_ISSOCK(about.st_mode) ? ENXIO
		    : fault_of_rights(path, W_OK);
	else
		fault = errno == ENOENT ? fault_of_folder(path) : errno;
	return preflight_path(conf, "access-log-file", path, fault);
}

/* A socket that is there is another utfeed's, or will be replaced; any other file is somebody's. */
static int preflight_takeover(const struct conf *conf)
{
	const char *path = conf->takeover_socket;
	struct stat about;
	int fault;

	if (!*path)
		return 0;
	if (strlen(path) > CONF_UNIX_PATH_MAX)
		fault = ENAMETOOLONG;
	else if (!lstat(path, &about))
		fault = S_ISSOCK(about.st_mode) ? 0 : EEXIST;
	else
		fault = errno == ENOENT ? fault_of_folder(path) : errno;
	return preflight_path(conf, "takeover-socket", path, fault);
}

/* What is read again when it changes may also come later. */
static int preflight_hosts(const struct conf *conf)
{
	if (conf_where(conf, NULL, "hosts-file") && *conf->hosts_file && access(conf->hosts_file, R_OK))
		log_warn("%s: %s: %s; no name is known by it; write the name of a file, or leave "
		    "this out", conf_place(conf, NULL, "hosts-file").text,
		    conf->hosts_file, strerror(errno));
	return 0;
}

static int preflight_sizes(const struct conf *conf)
{
	const struct budget b = { .group = memory_limit_group(""), .machine = memory_limit_machine(),
		.cache_bytes = conf->cache_bytes };
	size_t bytes = budget_cache_bytes(&b);
	bool asked_for = conf_where(conf, NULL, "cache-object-max") || conf_where(conf, NULL, "cache-bytes");

	if (asked_for && conf->cache && conf->cache_object_max > bytes)
		log_warn("%s: %zu KiB is more than all of cache-bytes (%zu KiB), so larger responses are not stored; "
		         "write less, or a larger cache-bytes",
		    conf_place(conf, NULL, "cache-object-max").text, conf->cache_object_max >> 10, bytes >> 10);
	return 0;
}

/* as_user: what is opened only once utfeed has become the user of the configuration. */
static const struct {
	int (*look)(const struct conf *);
	bool as_user;
} looks[] = {
	{ preflight_listeners, false },
	{ preflight_takeover, false },
	{ preflight_resolver, false },
	{ preflight_resolv_conf, false },
	{ preflight_hosts, false },
	{ preflight_redis, false },
	{ preflight_lmdb, true },
	{ preflight_access_log, true },
	{ preflight_sizes, false },
	{ sandbox_check, false },
};

static int preflight_all(const struct conf *conf, bool as_user)
{
	int status = 0;

	for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
		if (looks[i].as_user == as_user && looks[i].look(conf))
			status = -1;
	return status;
}

int preflight(const struct conf *conf)
{
	struct privileges user;
	struct privileges_lent lent;
	int unknown = privileges_find(&user, conf), status = unknown | preflight_all(conf, false);
	bool changed = !unknown && privileges_lend(&user, &lent);

	status |= preflight_all(conf, true);
	return changed ? status | privileges_return(&lent) : status;
}
