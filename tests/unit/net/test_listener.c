/* Owns the cases of proxy/net/listener.c: what a connection is handed over with. Must not know: clients.
 * Invariant: loopback only, a port of the system's choice. */
#include "proxy/net/listener.h"
#include "proxy/net/loop.h"
#include "tests/unit/unit.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

static struct loop *loop;
static int accepted;
static struct sockaddr_storage told;
static socklen_t told_len;

static void on_accept(void *arg, int fd, const struct sockaddr *peer, socklen_t len)
{
	(void)arg;
	accepted = fd;
	memcpy(&told, peer, len);
	told_len = len;
	loop_stop(loop);
}

static void one(const struct sockaddr *any, socklen_t len)
{
	struct sockaddr_storage to, own;
	socklen_t to_len = sizeof to, own_len = sizeof own, option = sizeof(int);
	int fd = listener_bind(any, len, false), client = socket(any->sa_family, SOCK_STREAM, 0), no_delay = 0, at_once = 1;
	struct listener *l;

	loop = loop_new();
	accepted = -1;
	CU_ASSERT_FATAL(fd >= 0 && client >= 0 && loop && getsockname(fd, (struct sockaddr *)&to, &to_len) == 0);
	l = listener_new(loop, fd, on_accept, NULL);
	CU_ASSERT_FATAL(l && connect(client, (struct sockaddr *)&to, to_len) == 0 && getsockname(client, (struct sockaddr *)&own, &own_len) == 0);
	CU_ASSERT_EQUAL(loop_run(loop), 0);
	CU_ASSERT_FATAL(accepted >= 0);
	CU_ASSERT(told_len == own_len && !memcmp(&told, &own, own_len));
	/* Nagle's algorithm (RFC 9293 section 3.7.4) is off without a call for each connection. */
	CU_ASSERT(getsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &no_delay, &option) == 0 && no_delay);
	/* Nor does a request cost an acknowledgement of its own (RFC 9293 section 3.8.6.3 allows to wait). */
	CU_ASSERT(getsockopt(accepted, IPPROTO_TCP, TCP_QUICKACK, &at_once, &option) == 0 && !at_once);
	close(accepted);
	close(client);
	listener_free(&l);
	loop_free(&loop);
}

static void ipv4(void)
{
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };

	one((const struct sockaddr *)&any, sizeof any);
}

static void ipv6(void)
{
	const struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int probe = listener_bind((const struct sockaddr *)&any, sizeof any, false);

	if (probe < 0)
		UNIT_SKIP("no IPv6 on loopback");
	close(probe);
	one((const struct sockaddr *)&any, sizeof any);
}

UNIT_SUITE(listener, { "IPv4", ipv4 }, { "IPv6", ipv6 })
