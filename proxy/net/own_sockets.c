/* The addresses that this process listens on; see own_sockets.h. */
#include "proxy/net/own_sockets.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conf/cidr.h"

struct own_socket {
	struct ip ip;
	uint16_t port;
	bool any;                      /* it listens on all addresses of its version */
	bool both;                     /* and on those of IPv4 too */
};

static const struct ip own_loopback[] = { [false] = { false, { 127, 0, 0, 1 } }, [true] = { true, { [15] = 1 } } };

static struct own_socket *own;
static size_t n_own;

static uint16_t own_port(const struct sockaddr *sockaddr)
{
	const struct sockaddr_in6 *in6 = (const void *)sockaddr;
	const struct sockaddr_in *in = (const void *)sockaddr;

	return ntohs(sockaddr->sa_family == AF_INET6 ? in6->sin6_port : in->sin_port);
}

static bool own_takes_ipv4(int fd)
{
	int alone = 1;
	socklen_t len = sizeof alone;

	return !getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &alone, &len) && !alone;
}

int own_sockets_add(int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof address;
	struct own_socket *grown;
	struct ip ip;

	if (getsockname(fd, (struct sockaddr *)&address, &len) || !ip_from_sockaddr((struct sockaddr *)&address, &ip))
		return 0;
	if (!(grown = reallocarray(own, n_own + 1, sizeof *grown)))
		return -1;
	own = grown;
	own[n_own++] = (struct own_socket){ ip, own_port((struct sockaddr *)&address), ip_is_unspecified(&ip),
		ip.ipv6 && own_takes_ipv4(fd) };
	return 0;
}

void own_sockets_free(void)
{
	free(own);
	own = NULL;
	n_own = 0;
}

/* Only an address of this machine can be that of a multicast's interface. */
static bool own_is_local_ipv4(int fd, const struct ip *ip)
{
	struct ip_mreqn at = { .imr_ifindex = 0 };

	memcpy(&at.imr_address, ip->bytes, sizeof at.imr_address);
	return !setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &at, sizeof at);
}

/* A packet to an address of this machine has that address as its source (RFC 6724 section 5, rule 1). None is sent. */
static bool own_is_local_ipv6(int fd, const struct ip *ip, uint16_t port)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons(port) }, from;
	socklen_t len = sizeof from;

	memcpy(&to.sin6_addr, ip->bytes, sizeof to.sin6_addr);
	return !connect(fd, (struct sockaddr *)&to, sizeof to) && !getsockname(fd, (struct sockaddr *)&from, &len) &&
	    !memcmp(&from.sin6_addr, &to.sin6_addr, sizeof to.sin6_addr);
}

/* Whether the address is one of this machine; it may have been added a moment ago. Where nobody can tell, it is. */
static bool own_is_local(const struct ip *ip, uint16_t port)
{
	int fd = ip_is_loopback(ip) ? -1 : socket(ip->ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool local = fd < 0 || (ip->ipv6 ? own_is_local_ipv6(fd, ip, port) : own_is_local_ipv4(fd, ip));

	if (fd >= 0)
		close(fd);
	return local;
}

static bool own_sockets_have_ip(struct ip ip, uint16_t port)
{
	if (ip_is_unspecified(&ip))   /* connect() takes it for loopback */
		ip = own_loopback[ip.ipv6];
	for (size_t i = 0; i < n_own; i++) {
		const struct own_socket *socket = &own[i];

		if (socket->port != port)
			continue;
		if (socket->any ? (socket->ip.ipv6 == ip.ipv6 || socket->both) && own_is_local(&ip, port)
		    : ip_is_same(&socket->ip, &ip))
			return true;
	}
	return false;
}

bool own_sockets_have(const struct sockaddr *address)
{
	struct ip ip;

	return n_own && ip_from_sockaddr(address, &ip) && own_sockets_have_ip(ip, own_port(address));
}

static bool own_is_loopback_name(const char *host, size_t len)
{
	static const char name[] = "localhost";
	size_t n = sizeof name - 1;

	len -= len && host[len - 1] == '.';
	return len >= n && !strncasecmp(host + len - n, name, n) && (len == n || host[len - n - 1] == '.');
}

bool own_sockets_have_host(const char *host, uint16_t port)
{
	size_t len = strlen(host);
	struct ip ip;

	if (ip_parse(host, len, &ip))
		return own_sockets_have_ip(ip, port);
	return own_is_loopback_name(host, len) &&
	    (own_sockets_have_ip(own_loopback[false], port) || own_sockets_have_ip(own_loopback[true], port));
}
