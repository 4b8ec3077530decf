/* Owns the cases of proxy/net/own_sockets.c. Must not know: who connects. Invariant: this machine only, ports of the
 * system's choice. */
#include "conf/cidr.h"
#include "proxy/net/own_sockets.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

/* An address of this machine beside loopback; "": there is none. No packet is sent. */
static char lan[INET_ADDRSTRLEN];

static void find_lan(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) }, from;
	socklen_t len = sizeof from;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	inet_pton(AF_INET, "203.0.113.77", &to.sin_addr);
	if (!connect(fd, (struct sockaddr *)&to, sizeof to) && !getsockname(fd, (struct sockaddr *)&from, &len))
		inet_ntop(AF_INET, &from.sin_addr, lan, sizeof lan);
	close(fd);
}

static socklen_t address(struct sockaddr_storage *a, const char *host, uint16_t port)
{
	struct sockaddr_in6 *in6 = (void *)a;
	struct sockaddr_in *in = (void *)a;

	memset(a, 0, sizeof *a);
	in->sin_port = htons(port);    /* in6 has it in the same place */
	a->ss_family = inet_pton(AF_INET, host, &in->sin_addr) == 1 ? AF_INET : AF_INET6;
	if (a->ss_family == AF_INET)
		return sizeof *in;
	CU_ASSERT_FATAL(inet_pton(AF_INET6, host, &in6->sin6_addr) == 1);
	return sizeof *in6;
}

/* Listens there, on the port or any; both: IPv4 too. Returns the port; 0: this machine does not have the address. */
static uint16_t listens(const char *host, bool both)
{
	struct sockaddr_storage a;
	socklen_t len = address(&a, host, 0);
	int fd = socket(a.ss_family, SOCK_STREAM, 0), only = !both;
	uint16_t port = 0;

	if (fd < 0)
		return 0;
	if (a.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
	if (!bind(fd, (struct sockaddr *)&a, len) && !listen(fd, 1) && !getsockname(fd, (struct sockaddr *)&a, &len)) {
		CU_ASSERT_EQUAL(own_sockets_add(fd), 0);
		port = ntohs(((struct sockaddr_in *)(void *)&a)->sin_port);
	}
	close(fd);
	return port;
}

/* "LAN" in the place of an address is one of this machine beside loopback. */
static void addresses(void)
{
	static const struct { const char *rule, *listens; bool both; const char *asked; bool own; } cases[] = {
		{ "the address", "127.0.0.1", false, "127.0.0.1", true },
		{ "another of loopback", "127.0.0.1", false, "127.0.0.2", false },
		{ "no address", "127.0.0.1", false, "0.0.0.0", true },
		{ "no address, listening elsewhere", "127.0.0.2", false, "0.0.0.0", false },
		{ "inside IPv6", "127.0.0.1", false, "::ffff:127.0.0.1", true },
		{ "inside IPv6, none", "127.0.0.1", false, "::ffff:0.0.0.0", true },
		{ "the other version", "127.0.0.1", false, "::1", false },
		{ "all addresses", "0.0.0.0", false, "127.0.0.1", true },
		{ "all addresses, any of loopback", "0.0.0.0", false, "127.9.9.9", true },
		{ "all addresses, none", "0.0.0.0", false, "0.0.0.0", true },
		{ "all addresses, one of this machine", "0.0.0.0", false, "LAN", true },
		{ "all addresses, another machine", "0.0.0.0", false, "203.0.113.77", false },
		{ "all addresses, of the other version", "0.0.0.0", false, "::1", false },
		{ "one of this machine", "LAN", false, "LAN", true },
		{ "one of this machine, by loopback", "LAN", false, "127.0.0.1", false },
		{ "IPv6", "::1", false, "::1", true },
		{ "IPv6, none", "::1", false, "::", true },
		{ "all of IPv6", "::", false, "::1", true },
		{ "all of IPv6, another machine", "::", false, "2001:db8::1", false },
		{ "all of IPv6 alone", "::", false, "127.0.0.1", false },
		{ "all of both", "::", true, "127.0.0.1", true },
		{ "all of both, one of this machine", "::", true, "LAN", true },
		{ "all of both, another machine", "::", true, "203.0.113.77", false },
	};

	find_lan();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *host = strcmp(cases[i].listens, "LAN") ? cases[i].listens : lan;
		const char *asked = strcmp(cases[i].asked, "LAN") ? cases[i].asked : lan;
		struct sockaddr_storage to;
		uint16_t port;

		if (!*host || !*asked || !(port = listens(host, cases[i].both)))
			continue;
		address(&to, asked, port);
		UNIT_ROW(own_sockets_have((struct sockaddr *)&to) == cases[i].own, "%s", cases[i].rule);
		UNIT_ROW(own_sockets_have_host(asked, port) == cases[i].own, "%s, as text", cases[i].rule);
		address(&to, asked, (uint16_t)(port ^ 1));
		UNIT_ROW(!own_sockets_have((struct sockaddr *)&to), "%s, another port", cases[i].rule);
		own_sockets_free();
	}
}

static void names(void)
{
	static const struct { const char *host; bool own; } cases[] = {
		{ "localhost", true }, { "LOCALHOST.", true }, { "a.localhost", true }, { "localhost.example", false },
		{ "alocalhost", false }, { "example", false }, { "", false }, { ".", false },
	};
	uint16_t port = listens("127.0.0.1", false);

	CU_ASSERT_FATAL(port != 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		UNIT_ROW(own_sockets_have_host(cases[i].host, port) == cases[i].own, "%s", cases[i].host);
	own_sockets_free();
}

/* A Unix socket is none of them, and has none. */
static void unix_sockets(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	CU_ASSERT_FATAL(fd >= 0 && !bind(fd, (struct sockaddr *)&un, sizeof un.sun_family) && !listen(fd, 1));
	CU_ASSERT_EQUAL(own_sockets_add(fd), 0);
	CU_ASSERT(listens("127.0.0.1", false) != 0);
	CU_ASSERT(!own_sockets_have((struct sockaddr *)&un));
	own_sockets_free();
	close(fd);
}

UNIT_SUITE(own_sockets, { "addresses", addresses }, { "names", names }, { "unix_sockets", unix_sockets })
