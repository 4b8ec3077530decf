/* Owns the cases of proxy/store/store_redis_place.c: what a cluster's nodes and Sentinels say of other servers. */
#include "proxy/store/store_redis_link.h"
#include "tests/unit/unit.h"

#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define LONG "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HERE "here.example"

/* Redis Cluster specification, "MOVED Redirection" and "ASK redirection". */
static void turnings(void)
{
	static const struct { const char *error; enum redis_turning turns; const char *host; unsigned port; } cases[] = {
		{ "MOVED 3999 127.0.0.1:6381", REDIS_MOVED, "127.0.0.1", 6381 },
		{ "MOVED 3999 node-1.example:65535", REDIS_MOVED, "node-1.example", 65535 },
		{ "MOVED 3999 ::1:7001", REDIS_MOVED, "::1", 7001 },
		{ "MOVED 3999 :7001", REDIS_MOVED, HERE, 7001 },
		{ "MOVED 3999 h:65536", REDIS_LATER, NULL, 0 }, { "MOVED 3999 h:0", REDIS_LATER, NULL, 0 },
		{ "MOVED 3999 h:", REDIS_LATER, NULL, 0 }, { "MOVED 3999 h:7x", REDIS_LATER, NULL, 0 },
		{ "MOVED 3999 h:99999999999999999999", REDIS_LATER, NULL, 0 },
		{ "MOVED 3999", REDIS_LATER, NULL, 0 }, { "MOVED ", REDIS_LATER, NULL, 0 }, { "MOVED", REDIS_LATER, NULL, 0 },
		{ "MOVED 3999 " LONG LONG LONG LONG ":1", REDIS_LATER, NULL, 0 },
		{ "ASK 3999 127.0.0.1:6381", REDIS_LATER, NULL, 0 }, { "TRYAGAIN Multiple keys request", REDIS_LATER, NULL, 0 },
		{ "CLUSTERDOWN Hash slot not served", REDIS_LATER, NULL, 0 },
		{ "READONLY You can't write against a read only replica.", REDIS_LATER, NULL, 0 },
		{ "MASTERDOWN Link with MASTER is down", REDIS_LATER, NULL, 0 },
		{ "ERR MOVED 1 h:1", REDIS_STAYS, NULL, 0 }, { "MOVEDX 1 h:1", REDIS_STAYS, NULL, 0 }, { "ASKING", REDIS_STAYS, NULL, 0 },
		{ "", REDIS_STAYS, NULL, 0 }, { "OOM command not allowed", REDIS_STAYS, NULL, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct redis_place place = { .host = HERE, .port = 1 };
		struct slice error = { cases[i].error, strlen(cases[i].error) };

		UNIT_ROW(redis_turning(error, place.host, &place) == cases[i].turns, "%s", cases[i].error);
		UNIT_ROW(!strcmp(place.host, cases[i].host ? cases[i].host : HERE) && place.port == (cases[i].host ? cases[i].port : 1),
			"%s: %s %u", cases[i].error, place.host, place.port);
	}
}

/* HELLO: names and values in turn, among them mode: "standalone", "sentinel" or "cluster". */
static void modes(void)
{
	static const struct { const char *rule; int type; size_t n; const char *name, *mode; int is; bool alone; } cases[] = {
		{ "no cluster", REDIS_REPLY_ARRAY, 4, "mode", "standalone", REDIS_REPLY_STRING, true },
		{ "a cluster", REDIS_REPLY_ARRAY, 4, "mode", "cluster", REDIS_REPLY_STRING, false },
		{ "unsaid", REDIS_REPLY_ARRAY, 4, "modes", "standalone", REDIS_REPLY_STRING, false },
		{ "no value", REDIS_REPLY_ARRAY, 3, "mode", "standalone", REDIS_REPLY_STRING, false },
		{ "a number", REDIS_REPLY_ARRAY, 4, "mode", "1", REDIS_REPLY_INTEGER, false },
		{ "an older server", REDIS_REPLY_ERROR, 0, "", "", REDIS_REPLY_STRING, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char texts[3][16];
		redisReply parts[4] = { { .type = REDIS_REPLY_STRING, .str = texts[0] }, { .type = REDIS_REPLY_INTEGER },
			{ .type = REDIS_REPLY_STRING, .str = texts[1] }, { .type = cases[i].is, .str = texts[2] } };
		redisReply *element[4] = { &parts[0], &parts[1], &parts[2], &parts[3] };
		redisReply reply = { .type = cases[i].type, .elements = cases[i].n, .element = element };

		snprintf(texts[0], sizeof texts[0], "proto");
		snprintf(texts[1], sizeof texts[1], "%s", cases[i].name);
		snprintf(texts[2], sizeof texts[2], "%s", cases[i].mode);
		UNIT_ROW(redis_is_alone(&reply) == cases[i].alone, "%s", cases[i].rule);
	}
}

/* SENTINEL get-master-addr-by-name: host and port; nil where it does not know the name. */
static void masters(void)
{
	static const struct { const char *name; int type; size_t n; const char *host, *port; int is; bool right; } cases[] = {
		{ "a master", REDIS_REPLY_ARRAY, 2, "10.0.0.7", "6379", REDIS_REPLY_STRING, true },
		{ "unknown", REDIS_REPLY_NIL, 0, "", "", REDIS_REPLY_STRING, false },
		{ "an error", REDIS_REPLY_ERROR, 0, "", "", REDIS_REPLY_STRING, false },
		{ "one element", REDIS_REPLY_ARRAY, 1, "10.0.0.7", "6379", REDIS_REPLY_STRING, false },
		{ "numbers", REDIS_REPLY_ARRAY, 2, "10.0.0.7", "6379", REDIS_REPLY_INTEGER, false },
		{ "no host", REDIS_REPLY_ARRAY, 2, "", "6379", REDIS_REPLY_STRING, false },
		{ "no port", REDIS_REPLY_ARRAY, 2, "10.0.0.7", "", REDIS_REPLY_STRING, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char host[16], port[16];
		redisReply parts[2] = { { .type = cases[i].is, .str = host }, { .type = cases[i].is, .str = port } };
		redisReply *element[2] = { &parts[0], &parts[1] };
		redisReply reply = { .type = cases[i].type, .elements = cases[i].n, .element = element };
		struct redis_place place = { .port = 1 };

		snprintf(host, sizeof host, "%s", cases[i].host);
		snprintf(port, sizeof port, "%s", cases[i].port);
		parts[0].len = strlen(host);
		parts[1].len = strlen(port);
		UNIT_ROW(redis_master_read(&reply, &place) == cases[i].right, "%s", cases[i].name);
		UNIT_ROW(place.port == (cases[i].right ? 6379 : 1) && !strcmp(place.host, cases[i].right ? host : ""), "%s", cases[i].name);
	}
}

UNIT_SUITE(store_redis_place, { "turnings", turnings }, { "modes", modes }, { "masters", masters })
