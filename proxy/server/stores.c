/* Opening what responses are stored in; see stores.h. */
#include "proxy/server/stores.h"

#include <inttypes.h>
#include <sys/stat.h>

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/base/memory_limit.h"
#include "proxy/cache/cache.h"
#include "proxy/settings/budget.h"
#include "proxy/settings/settings.h"
#include "proxy/store/store_lmdb.h"
#include "proxy/store/store_memory.h"
#include "proxy/store/store_redis.h"

enum {
	STORES_ENTRY_MORE = 64 * 1024          /* for heads and bookkeeping beside the largest body */
};

static const char *stores_or_null(const char *text)
{
	return *text ? text : NULL;
}

/* Opens the store behind memory, if one is configured. -1: failed, logged. */
static int stores_open_second(const struct conf *conf, struct store **second, struct store **redis_store)
{
	const struct redis_settings redis = { .where = &conf->cache_redis,
		.user = stores_or_null(conf->cache_redis_user),
		.password = stores_or_null(conf->cache_redis_password),
		.tls = conf->cache_redis_tls, .ca_file = stores_or_null(conf->cache_redis_ca_file),
		.names = { conf->resolver, conf->resolv_conf, conf->hosts_file },
		.prefix = "utfeed:", .timeout_ms = conf->cache_redis_timeout_ms };

	*second = *redis_store = NULL;
	if (*conf->cache_lmdb)
		*second = store_lmdb_new(conf->cache_lmdb, conf->cache_lmdb_bytes);
	else if (redis.where->n || redis.where->path)
		*second = *redis_store = store_redis_new(&redis);
	else
		return 0;
	return *second ? 0 : -1;
}

static struct budget stores_budget(const struct settings *settings, size_t workers)
{
	const struct conf *conf = settings->conf;

	return (struct budget){ .group = memory_limit_group(""), .machine = memory_limit_machine(),
		.cache_bytes = conf->cache_bytes, .clients = settings->max_clients * workers, .workers = workers,
		.decoding_bytes = conf->decoding_bytes };
}

static const char *stores_home(const struct budget *budget)
{
	return budget->group < budget->machine ? "control group (container)" : "machine";
}

/* A process that runs out of memory later is ended without a word. */
void stores_weigh(const struct settings *settings)
{
	struct budget b = stores_budget(settings, (size_t)settings->conf->workers);

	if (budget_sum(&b) > budget_limit(&b))
		log_warn("memory: cache-bytes (%zu MiB), %zu clients (workers times max-connections) and "
		         "decoding-bytes (%zu MiB) may come to %" PRIu64 " MiB, but the %s has %" PRIu64 " MiB; lower "
		         "one of them (utfeed-operating(7), SIZING)",
		    budget_cache_bytes(&b) >> 20, b.clients, b.decoding_bytes >> 20, budget_sum(&b) >> 20,
		    stores_home(&b), budget_limit(&b) >> 20);
}

void stores_tell_memory(const struct settings *settings, FILE *out)
{
	struct budget b = stores_budget(settings, (size_t)settings->conf->workers);

	if (budget_sum(&b) <= budget_limit(&b))
		fprintf(out, "utfeed: memory: may need %" PRIu64 " MiB; the %s has %" PRIu64 " MiB\n",
		    budget_sum(&b) >> 20, stores_home(&b), budget_limit(&b) >> 20);
}

/* What is wrong with the folder the store tells when it opens it. */
size_t stores_prepare(const struct settings *settings, size_t workers)
{
	struct budget b = stores_budget(settings, workers);
	size_t bytes = budget_cache_bytes(&b);

	if (*settings->conf->cache_lmdb)
		(void)!mkdir(settings->conf->cache_lmdb, 0700);
	if (!settings->conf->cache_bytes)
		log_info("cache-bytes auto: %zu KiB", bytes >> 10);
	return bytes;
}

struct cache *stores_open(const struct settings *settings, size_t memory_bytes, struct store **redis)
{
	const struct conf *conf = settings->conf;
	struct store *second = NULL, *memory =
	    store_memory_new(memory_bytes, conf->cache_object_max + STORES_ENTRY_MORE);
	struct cache *cache;

	if (memory && !stores_open_second(conf, &second, redis) && (cache = cache_new(memory, second)))
		return cache;
	if (memory)
		memory->ops->free(memory);
	if (second)
		second->ops->free(second);
	return NULL;
}

void stores_renew(struct store *redis, const struct conf *conf)
{
	if (redis && store_redis_login(redis, stores_or_null(conf->cache_redis_user),
	        stores_or_null(conf->cache_redis_password)))
		log_error("cache-redis-password: out of memory, the former one counts");
}
