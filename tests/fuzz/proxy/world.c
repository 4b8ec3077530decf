/* The surroundings of a fuzzed worker; see world.h. Functions of the C library are replaced here by their own names, which libevent sees
 * too, or by the linker's --wrap (tests/include.am), which only this program sees; c-ares by the functions of resolve_ares.h. */
#include "world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "proxy/dns/resolve_ares.h"

enum {
	WORLD_START_S = 1790000000,            /* 2026-09-21 */
	WORLD_TURNS_MAX = 20000,               /* of the loop until it waits */
	WORLD_DESCRIPTORS_MAX = 256,
	WORLD_SMALL_BYTES = 4608               /* the least that Linux makes of SO_SNDBUF */
};

static const struct world_hooks *hooks;
static uint64_t now_ms;
static unsigned turns, refused;

void world_enter(const struct world_hooks *h)
{
	hooks = h;
	now_ms = 0;
	turns = refused = 0;
}

void world_pass(uint64_t ms)
{
	now_ms += ms;
}

int64_t world_wall_s(void)
{
	return WORLD_START_S + (int64_t)(now_ms / 1000);
}

void world_refuse(unsigned connections)
{
	refused = connections;
}

unsigned world_descriptors(void)
{
	struct pollfd all[WORLD_DESCRIPTORS_MAX];
	unsigned n = 0;

	for (int fd = 0; fd < WORLD_DESCRIPTORS_MAX; fd++)
		all[fd] = (struct pollfd){ .fd = fd };
	if (poll(all, WORLD_DESCRIPTORS_MAX, 0) < 0)
		abort();
	for (int fd = 0; fd < WORLD_DESCRIPTORS_MAX; fd++)
		n += !(all[fd].revents & POLLNVAL);
	return n;
}

void world_pair(int ends[2], bool small)
{
	const int bytes = WORLD_SMALL_BYTES;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends))
		abort();
	if (small)
		setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

/* ---- the clock: CLOCK_REALTIME stays, for whoever measures the fuzzing ---- */

int clock_gettime(clockid_t id, struct timespec *t)
{
	if (!hooks || (id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_COARSE && id != CLOCK_REALTIME_COARSE))
		return (int)syscall(SYS_clock_gettime, id, t);
	t->tv_sec = (time_t)(now_ms / 1000 + (id == CLOCK_REALTIME_COARSE ? WORLD_START_S : 1000));
	t->tv_nsec = (long)(now_ms % 1000) * 1000000;
	return 0;
}

/* AddressSanitizer gives memory back every few seconds; to it hours pass in each run. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_release_to_os_interval_ms=-1";
}

/* ---- waiting ---- */

int epoll_wait(int epoll, struct epoll_event *events, int max, int timeout)
{
	int n = (int)syscall(SYS_epoll_pwait, epoll, events, max, hooks ? 0 : timeout, NULL, 8);

	if (!hooks)
		return n;
	REQUIRE(++turns < WORLD_TURNS_MAX, "it-waits", "the loop has turned %u times without waiting", turns);
	if (n || !timeout)
		return n;
	turns = 0;
	hooks->quiet(hooks->arg, timeout);
	return (int)syscall(SYS_epoll_pwait, epoll, events, max, 0, NULL, 8);
}

/* ---- connections ---- */

/* What guard.c has a table for, in a few words of its own: no names here lead there but inner.test and addresses as such. */
static bool is_inner(uint32_t ipv4)
{
	return ipv4 >> 24 == 0 || ipv4 >> 24 == 10 || ipv4 >> 24 == 127 || ipv4 >> 16 == 0xa9fe || ipv4 >> 20 == 0xac1 || ipv4 >> 16 == 0xc0a8 ||
	    ipv4 >> 28 >= 0xe;
}

static void require_public(const struct sockaddr *address)
{
	const uint8_t *ipv6 = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr;
	uint32_t ipv4 = ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr);

	if (address->sa_family == AF_INET6)
		REQUIRE(ipv6[0] >> 5 == 1, "guard", "a connection to an IPv6 address %02x%02x:...", ipv6[0], ipv6[1]);
	else
		REQUIRE(!is_inner(ipv4), "guard", "a connection to %08x", ipv4);
}

static uint16_t port_of(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? ntohs(((const struct sockaddr_in6 *)(const void *)address)->sin6_port) :
	    ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len)
{
	int ends[2];

	(void)len;
	require_public(address);
	if (refused) {
		refused--;
		errno = ECONNREFUSED;
		return -1;
	}
	world_pair(ends, false);
	if (dup3(ends[1], fd, O_CLOEXEC) < 0)
		abort();
	close(ends[1]);
	hooks->connected(hooks->arg, ends[0], fd, port_of(address));
	return 0;
}

int __real_setsockopt(int, int, int, const void *, socklen_t);
int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
	if (hooks && level == SOL_SOCKET && option == SO_LINGER)
		hooks->reset(hooks->arg, fd);
	return __real_setsockopt(fd, level, option, value, len);
}

/* ---- names ---- */

struct resolve_ares { int unused; };

struct resolve_ares *resolve_ares_new(struct loop *l, const char *servers, const char *resolv_conf)
{
	(void)l, (void)servers, (void)resolv_conf;
	return calloc(1, sizeof(struct resolve_ares));
}

void resolve_ares_free(struct resolve_ares **rp)
{
	free(*rp);
	*rp = NULL;
}

bool resolve_ares_busy(const struct resolve_ares *r)
{
	(void)r;
	return false;
}

/* One letter and .test: an origin. Of b there are two addresses, d has one of each family, inner is nobody's to ask. */
void resolve_ares_ask(struct resolve_ares *r, const char *name, enum dns_family family, resolve_ares_f *done, void *arg)
{
	struct dns_answer a = { .status = DNS_NOT_FOUND, .reason = "no such name", .ttl_s = 60 };
	bool origin = strlen(name) >= 6 && !strncmp(name + 1, ".test", 5), inner = !strncmp(name, "inner.test", 10);

	(void)r;
	if (family == DNS_IPV4 && (origin || inner)) {
		a = (struct dns_answer){ .status = DNS_OK, .n = 1 + (*name == 'b'), .ttl_s = 60 };
		memcpy(a.address[0], (uint8_t[]){ inner ? 10 : 93, 184, 216, (uint8_t)*name }, 4);
		memcpy(a.address[1], (uint8_t[]){ 93, 184, 217, (uint8_t)*name }, 4);
	} else if (family == DNS_IPV6 && *name == 'd' && origin) {
		a = (struct dns_answer){ .status = DNS_OK, .n = 1, .ttl_s = 60 };
		memcpy(a.address[0], (uint8_t[]){ 0x26, 0x06, 0x28, 0, [15] = 1 }, 16);
	}
	done(arg, family, &a);
}
