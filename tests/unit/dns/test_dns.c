/* Names without a network: how long answers hold, the cache's bounds, hosts(5), resolv.conf(5), the order of addresses. */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "proxy/dns/dns_cache.h"
#include "proxy/dns/dns_files.h"
#include "proxy/origin/happy_eyeballs.h"

#define FOUND(ttl) { .status = DNS_OK, .n = 1, .ttl_s = (ttl) }
#define ABSENT { .status = DNS_NOT_FOUND }
#define LATE { .status = DNS_TIMEOUT }
#define BROKEN { .status = DNS_FAILED }

static void test_lifetimes(void)
{
	static const struct { const char *row; struct dns_answers answers; uint64_t ms; } cases[] = {
		{ "both", { { FOUND(300), FOUND(200) } }, 200000 },
		{ "IPv4 only", { { ABSENT, FOUND(300) } }, 300000 },
		{ "IPv6 only", { { FOUND(300), ABSENT } }, 300000 },
		{ "TTL 0", { { FOUND(300), FOUND(0) } }, 1000 },
		{ "TTL of weeks", { { FOUND(2000000), ABSENT } }, 3600000 },
		{ "TTL unknown", { { FOUND(UINT32_MAX), ABSENT } }, 3600000 },
		{ "one family late", { { LATE, FOUND(300) } }, 10000 },
		{ "one family late, short TTL", { { LATE, FOUND(3) } }, 3000 },
		{ "one family broken", { { FOUND(300), BROKEN } }, 10000 },
		{ "none there", { { ABSENT, ABSENT } }, 5000 },
		{ "no answer", { { LATE, LATE } }, 0 },
		{ "half an answer", { { ABSENT, BROKEN } }, 0 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t ms = dns_answers_lifetime_ms(&cases[i].answers);

		UNIT_ROW(ms == cases[i].ms, "%s: %llu ms", cases[i].row, (unsigned long long)ms);
	}
}

static void test_cache(void)
{
	const struct dns_answers hour = { { FOUND(3600), ABSENT } }, second = { { ABSENT, FOUND(1) } }, none = { { LATE, LATE } }, absent = { { ABSENT, ABSENT } };
	struct dns_cache *c = dns_cache_new(2);

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	dns_cache_put(c, "a", &hour, 1000);
	dns_cache_put(c, "b", &second, 1000);
	CU_ASSERT_PTR_NOT_NULL(dns_cache_get(c, "a", 1000));
	CU_ASSERT_PTR_NULL(dns_cache_get(c, "A", 1000));
	CU_ASSERT_PTR_NOT_NULL(dns_cache_get(c, "b", 1999));
	CU_ASSERT_PTR_NULL(dns_cache_get(c, "b", 2000));
	dns_cache_put(c, "c", &hour, 2000);
	CU_ASSERT_PTR_NOT_NULL(dns_cache_get(c, "a", 2000));
	dns_cache_put(c, "d", &hour, 2000);     /* full: the oldest goes */
	CU_ASSERT_PTR_NULL(dns_cache_get(c, "a", 2000));
	CU_ASSERT_PTR_NOT_NULL(dns_cache_get(c, "c", 2000));
	dns_cache_put(c, "c", &none, 2000);     /* what does not hold also ends what did */
	CU_ASSERT_PTR_NULL(dns_cache_get(c, "c", 2000));
	dns_cache_put(c, "e", &absent, 2000);
	CU_ASSERT_PTR_NOT_NULL(dns_cache_get(c, "e", 6999));
	CU_ASSERT_PTR_NULL(dns_cache_get(c, "e", 7000));
	dns_cache_clear(c);
	CU_ASSERT_PTR_NULL(dns_cache_get(c, "d", 2000));
	dns_cache_free(&c);
}

static void test_hosts(void)
{
	static const char text[] = "127.0.0.1 localhost\n# 10.0.0.1 comment.test\n10.0.0.2 a.test b.test # c.test\n\n  10.0.0.3\tA.TEST\r\n"
		"2001:db8::1 a.test\nnonsense d.test\n10.0.0.4\n10.0.0.5 a.test.more xa.test\n::1 six.test\n10.0.0.6 last.test";
	static const struct { const char *name; unsigned n6, n4; const char *first; } cases[] = {
		{ "a.test", 1, 2, "10.0.0.2" }, { "A.Test", 1, 2, "10.0.0.2" }, { "a.test.", 1, 2, "10.0.0.2" }, { "b.test", 0, 1, "10.0.0.2" },
		{ "c.test", 0, 0, NULL }, { "comment.test", 0, 0, NULL }, { "d.test", 0, 0, NULL }, { "test", 0, 0, NULL },
		{ "six.test", 1, 0, NULL }, { "last.test", 0, 1, "10.0.0.6" }, { "10.0.0.4", 0, 0, NULL }, { "", 0, 0, NULL },
		{ "localhost", 0, 1, "127.0.0.1" }, { "x.localhost", 1, 1, "127.0.0.1" }, { "xlocalhost", 0, 0, NULL },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct dns_answers a = { { LATE, LATE } };
		bool found = dns_hosts_find(text, cases[i].name, &a);
		char first[INET_ADDRSTRLEN] = "";

		UNIT_ROW(found == (cases[i].n6 || cases[i].n4), "%s: found", cases[i].name);
		if (!found) {
			UNIT_ROW(a.of[DNS_IPV4].status == DNS_TIMEOUT, "%s: touched", cases[i].name);
			continue;
		}
		UNIT_ROW(a.of[DNS_IPV6].n == cases[i].n6 && a.of[DNS_IPV4].n == cases[i].n4, "%s: %u, %u", cases[i].name, a.of[DNS_IPV6].n,
		    a.of[DNS_IPV4].n);
		if (cases[i].first) {
			inet_ntop(AF_INET, a.of[DNS_IPV4].address[0], first, sizeof first);
			UNIT_ROW(!strcmp(first, cases[i].first), "%s: %s", cases[i].name, first);
		}
	}
	CU_ASSERT_FALSE(dns_hosts_find(NULL, "a.test", &(struct dns_answers){ { LATE, LATE } }));
	CU_ASSERT_TRUE(dns_hosts_find(NULL, "localhost", &(struct dns_answers){ { LATE, LATE } }));
}

static void test_search(void)
{
	static const struct { const char *row, *conf, *localdomain, *options, *name, *order; } cases[] = {
		{ "no file", NULL, NULL, NULL, "a", "a." },
		{ "search", "search x.test y.test\n", NULL, NULL, "a", "a.x.test. a.y.test. a." },
		{ "a dot: as it is first", "search x.test\n", NULL, NULL, "a.b", "a.b. a.b.x.test." },
		{ "ndots", "options timeout:1 ndots:2\nsearch x.test\n", NULL, NULL, "a.b", "a.b.x.test. a.b." },
		{ "ndots reached", "options ndots:2\nsearch x.test\n", NULL, NULL, "a.b.c", "a.b.c. a.b.c.x.test." },
		{ "ndots 0", "options ndots:0\nsearch x.test\n", NULL, NULL, "a", "a. a.x.test." },
		{ "absolute", "search x.test\n", NULL, NULL, "a.", "a." },
		{ "domain", "domain x.test\n", NULL, NULL, "a", "a.x.test. a." },
		{ "the last line counts", "domain x.test\nsearch y.test\n", NULL, NULL, "a", "a.y.test. a." },
		{ "root label in the list", "search x.test.\n", NULL, NULL, "a", "a.x.test. a." },
		{ "comments", "; search x.test\n# search x.test\nsearch y.test # z\n", NULL, NULL, "a", "a.y.test. a." },
		{ "LOCALDOMAIN", "search x.test\n", "y.test z.test", NULL, "a", "a.y.test. a.z.test. a." },
		{ "RES_OPTIONS", "search x.test\n", NULL, "ndots:3", "a.b.c", "a.b.c.x.test. a.b.c." },
		{ "ndots of nonsense", "options ndots:99999999999 \nsearch x.test\n", NULL, NULL, "a.b", "a.b.x.test. a.b." },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct dns_search s;
		char order[1024] = "", name[DNS_NAME_MAX];

		dns_search_read(&s, cases[i].conf, cases[i].localdomain, cases[i].options);
		for (size_t j = 0; dns_search_name(&s, cases[i].name, j, name); j++)
			snprintf(order + strlen(order), sizeof order - strlen(order), "%s%s", j ? " " : "", name);
		UNIT_ROW(!strcmp(order, cases[i].order), "%s: %s", cases[i].row, order);
	}
}

/* 6, 4: that family's answer comes (with as many addresses as follow in the digit); t: try; s: a short wait is over.
 * want: what each step leads to: 6/4 the family tried, w wait, s wait shortly, - nothing left. */
static void test_order(void)
{
	static const struct { const char *row; enum dns_family first; const char *steps, *want; } cases[] = {
		{ "IPv6 first, then in turns", DNS_IPV6, "62 42 t t t t t", "6 4 6 4 -" },
		{ "more of one family", DNS_IPV6, "63 41 t t t t t", "6 4 6 6 -" },
		{ "IPv4 first where IPv6 is slow", DNS_IPV4, "61 41 t t t", "4 6 -" },
		{ "nothing yet", DNS_IPV6, "t", "w" },
		{ "IPv6 needs not wait", DNS_IPV6, "61 t t 41 t t", "6 w 4 -" },
		{ "IPv4 waits shortly", DNS_IPV6, "41 t s t", "s 4 w" },
		{ "IPv6 comes within the wait", DNS_IPV6, "42 t 61 t t t", "s 6 4 4" },
		{ "IPv6 comes after the wait", DNS_IPV6, "42 t s 61 t t t", "s 4 6 4 -" },
		{ "no IPv6: no wait", DNS_IPV6, "60 41 t t", "4 -" },
		{ "no IPv6, said later", DNS_IPV6, "41 t 60 t t", "s 4 -" },
		{ "none at all", DNS_IPV6, "60 40 t", "-" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct happy_eyeballs e;
		char got[64] = "";
		size_t n = 0;

		happy_eyeballs_start(&e, cases[i].first);
		for (const char *at = cases[i].steps; *at; at++) {
			enum happy_eyeballs_advice advice;
			enum dns_family f;
			unsigned number;

			if (*at == ' ')
				continue;
			if (*at == '6' || *at == '4') {
				happy_eyeballs_add(&e, *at == '6' ? DNS_IPV6 : DNS_IPV4, (unsigned)(at[1] - '0'));
				at++;
				continue;
			}
			advice = happy_eyeballs_advise(&e);
			if (n)
				got[n++] = ' ';
			if (advice == HAPPY_EYEBALLS_TRY || *at == 's')
				got[n++] = !happy_eyeballs_next(&e, &f, &number) ? '!' : f == DNS_IPV6 ? '6' : '4';
			else
				got[n++] = advice == HAPPY_EYEBALLS_WAIT ? 'w' : advice == HAPPY_EYEBALLS_WAIT_SHORT ? 's' : '-';
		}
		UNIT_ROW(!strcmp(got, cases[i].want), "%s: %s", cases[i].row, got);
	}
}

UNIT_SUITE(dns, { "lifetimes", test_lifetimes }, { "cache", test_cache }, { "hosts", test_hosts }, { "search", test_search },
	{ "order", test_order })
