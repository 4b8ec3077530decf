/* Owns the cases of proxy/store/store_shards.c and of the hash tags of its shards. Must not know: servers; those of a cluster answer in
 * e2e/test_fleet_cluster.py. */
#include "proxy/store/store_redis.h"
#include "proxy/store/store_shards.h"
#include "proxy/store/store_thread.h"
#include "tests/unit/stores.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

/* Redis Cluster specification, appendix A: CRC16 XMODEM. */
static unsigned slot(const char *text)
{
	unsigned crc = 0;

	for (const char *at = text; *at; at++) {
		crc ^= (unsigned)(unsigned char)*at << 8;
		for (int i = 0; i < 8; i++)
			crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
	}
	return crc % 16384;
}

static void tags(void)
{
	CU_ASSERT_EQUAL(slot("123456789"), 0x31c3);
	for (size_t i = 0; i < STORE_SHARDS; i++)
		UNIT_ROW(slot(store_redis_tag(i)) == 16384 / STORE_SHARDS * i + 512, "%s: %u", store_redis_tag(i), slot(store_redis_tag(i)));
}

/* Nobody listens there: each shard is away, and the store all the same answers whoever asks, and ends. */
static struct store *away(void)
{
	static char host[] = "127.0.0.1";
	static const struct conf_redis where = { .kind = CONF_REDIS_CLUSTER, .servers = { { .host = host, .port = 1 } }, .n = 1 };
	const struct redis_settings settings = { .where = &where, .prefix = "u:", .timeout_ms = 1000,
		.names = { "", "/dev/null", "/dev/null" } };

	return store_redis_new(&settings);
}

static void spread(void)
{
	struct store *s = away();
	unsigned counts[STORE_SHARDS] = { 0 };
	struct store *shards[STORE_SHARDS];
	size_t n = 0;
	char key[64];

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	for (int i = 0; i < 16000; i++) {
		size_t k = 0, len = (size_t)snprintf(key, sizeof key, "http://a/%d", i);
		struct store *shard = store_of(s, key, len);

		for (k = 0; k < n && shards[k] != shard; k++)
			;
		if (k == n)
			shards[n++] = shard;
		counts[k]++;
		len += (size_t)snprintf(key + len, sizeof key - len, "\nsettings");
		CU_ASSERT(store_of(s, key, len) == shard);
	}
	CU_ASSERT_EQUAL(n, STORE_SHARDS);
	for (size_t i = 0; i < n; i++)
		UNIT_ROW(counts[i] > 800 && counts[i] < 1200, "shard %zu: %u", i, counts[i]);
	s->ops->free(s);
}

static void all_away(void)
{
	struct store *s = away();
	struct store_stats stats;

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT(stores_misses(s, "http://a/\nk"));
	stores_put(s, "http://a/\nk", 1, 10);
	s->ops->purge(s, PURGE_URL, "http://b/", 9, false, 1000);
	s->ops->purge(s, PURGE_PREFIX, "http://c/", 9, false, 1000);
	UNIT_ROW(!stores_settle(s), "a settlement of shards that are away is owed");
	s->ops->stats(s, &stats);
	UNIT_ROW(stats.away && stats.shared && stats.owed == 2 + STORE_SHARDS, "owed: %llu", (unsigned long long)stats.owed);
	CU_ASSERT(store_of(s, "http://b/", 9)->asked == 2 && store_of(s, "http://a/", 9)->asked >= 1);
	s->ops->free(s);
}

static void never(struct store_wait *wait, struct entry *e)
{
	(void)wait, (void)e;
	CU_FAIL("it was cancelled");
}

static void cancelled(void)
{
	struct store *s = away();
	struct store_wait wait = { .loop = stores_loop(), .got = never };

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	s->ops->cancel(s, &wait);
	CU_ASSERT_EQUAL(s->ops->settle(s, &wait), SETTLING_WAIT);
	s->ops->cancel(s, &wait);
	s->ops->cancel(s, &wait);
	CU_ASSERT(!stores_settle(s));
	s->ops->free(s);
}

UNIT_SUITE(store_shards, { "tags", tags }, { "spread", spread }, { "all-away", all_away }, { "cancelled", cancelled })
