/* Owns the cases of proxy/settings/client_rate.c. Must not know: requests. Invariant: time is what a row says. */
#include "proxy/settings/client_rate.h"
#include "tests/unit/unit.h"

#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define SECOND UINT64_C(1000000)
#define HOUR 3600u

static struct ip address(const char *text)
{
	struct ip ip;

	CU_ASSERT_FATAL(ip_parse(text, strlen(text), &ip));
	return ip;
}

/* One client after the other, at a time in ms; wait_s 0: it may ask. */
static void requests(void)
{
	static const struct client_rate_limit two_a_second = { 2 * HOUR, 3 }, slow = { 1, 1 };
	static const struct { const char *rule; const struct client_rate_limit *limit; const char *client; unsigned ms, wait_s; } rows[] = {
		{ "the first of the burst", &two_a_second, "192.0.2.1", 0, 0 },
		{ "the second", &two_a_second, "192.0.2.1", 0, 0 },
		{ "the last of it", &two_a_second, "192.0.2.1", 0, 0 },
		{ "one more waits for one to drain", &two_a_second, "192.0.2.1", 0, 1 },
		{ "... and is told again", &two_a_second, "192.0.2.1", 499, 1 },
		{ "another client has its own", &two_a_second, "192.0.2.2", 499, 0 },
		{ "one has drained; who was refused does not count", &two_a_second, "192.0.2.1", 500, 0 },
		{ "not two", &two_a_second, "192.0.2.1", 500, 1 },
		{ "IPv4 in IPv6 is IPv4", &two_a_second, "::ffff:192.0.2.1", 500, 1 },
		{ "after long the whole burst, and no more: 1", &two_a_second, "192.0.2.1", 100000, 0 },
		{ "2", &two_a_second, "192.0.2.1", 100000, 0 },
		{ "3", &two_a_second, "192.0.2.1", 100000, 0 },
		{ "4", &two_a_second, "192.0.2.1", 100000, 1 },
		{ "IPv6: 1", &two_a_second, "2001:db8::1", 100000, 0 },
		{ "IPv6: 2, of the same network (RFC 6177)", &two_a_second, "2001:db8::ffff:0:0:2", 100000, 0 },
		{ "IPv6: 3", &two_a_second, "2001:db8::3", 100000, 0 },
		{ "IPv6: 4", &two_a_second, "2001:db8::4", 100000, 1 },
		{ "IPv6: the next network", &two_a_second, "2001:db8:0:1::1", 100000, 0 },
		{ "slow: an hour for each", &slow, "192.0.2.3", 100000, 0 },
		{ "slow: whole seconds, rounded up", &slow, "192.0.2.3", 100001, 3600 },
		{ "a rate that was made higher: as full as it can be", &two_a_second, "192.0.2.3", 101000, 1 },
		{ "... and draining", &two_a_second, "192.0.2.3", 101500, 0 },
	};
	struct client_rate *r = client_rate_new();

	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ip ip = address(rows[i].client);
		unsigned wait_s = 77;
		bool may = client_rate_ask(r, rows[i].limit, &ip, SECOND + rows[i].ms * UINT64_C(1000), &wait_s);

		UNIT_ROW(may == !rows[i].wait_s && wait_s == rows[i].wait_s, "%s: %u", rows[i].rule, wait_s);
	}
	client_rate_unref(&r);
	CU_ASSERT_PTR_NULL(r);
}

/* Four times as many as there is room for, while one goes on asking: it has asked most, so it is not forgotten. */
static void crowd(void)
{
	static const struct client_rate_limit limit = { 1, 100 };
	struct client_rate *r = client_rate_new();
	struct ip greedy = address("192.0.2.1"), other = { 0 };
	unsigned wait_s, allowed = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	for (unsigned i = 0; i < 50; i++)
		CU_ASSERT(client_rate_ask(r, &limit, &greedy, SECOND, &wait_s));
	for (uint32_t i = 0; i < 4 * CLIENT_RATE_CLIENTS_MAX; i++) {
		memcpy(other.bytes, &i, sizeof i);
		allowed += client_rate_ask(r, &limit, &other, SECOND, &wait_s);
	}
	CU_ASSERT_EQUAL(allowed, 4 * CLIENT_RATE_CLIENTS_MAX);
	for (unsigned i = 0; i < 50; i++)
		CU_ASSERT(client_rate_ask(r, &limit, &greedy, SECOND, &wait_s));
	CU_ASSERT(!client_rate_ask(r, &limit, &greedy, SECOND, &wait_s));
	client_rate_unref(&r);
}

UNIT_SUITE(client_rate, { "requests", requests }, { "crowd", crowd })
