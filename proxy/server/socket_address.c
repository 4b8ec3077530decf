/* Addresses of listening sockets; see socket_address.h. */
#include "proxy/server/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/net/unix_socket.h"

socklen_t socket_address(struct sockaddr_storage *out, const struct conf_listen *place)
{
	struct sockaddr_in *in = (void *)out;
	struct sockaddr_in6 *in6 = (void *)out;

	if (place->path)
		return unix_socket_address(out, place->path);
	memset(out, 0, sizeof *out);
	if (place->ipv6) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(place->port);
		inet_pton(AF_INET6, place->host, &in6->sin6_addr);
		return sizeof *in6;
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(place->port);
	inet_pton(AF_INET, place->host, &in->sin_addr);
	return sizeof *in;
}

const char *socket_address_text(char buf[SOCKET_TEXT_MAX], const struct sockaddr_storage *address)
{
	char host[INET6_ADDRSTRLEN];
	const struct sockaddr_in6 *in6 = (const void *)address;
	const struct sockaddr_in *in = (const void *)address;
	const struct sockaddr_un *un = (const void *)address;

	if (address->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
		snprintf(buf, SOCKET_TEXT_MAX, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else if (address->ss_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
		snprintf(buf, SOCKET_TEXT_MAX, "%s:%u", host, ntohs(in->sin_port));
	} else if (un->sun_path[0]) {
		memcpy(buf, "unix:", 6);
		log_escape(buf + 5, SOCKET_TEXT_MAX - 5, un->sun_path, strnlen(un->sun_path, sizeof un->sun_path));
	} else
		snprintf(buf, SOCKET_TEXT_MAX, "a socket without a path");
	return buf;
}

bool socket_address_is_inet(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET || address->ss_family == AF_INET6;
}

/* The port's place in an address of either version. */
static in_port_t *address_port(struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? &((struct sockaddr_in6 *)(void *)address)->sin6_port
	    : &((struct sockaddr_in *)(void *)address)->sin_port;
}

bool socket_address_matches(const struct sockaddr_storage *wanted, const struct sockaddr_storage *there)
{
	struct sockaddr_storage a = *wanted, b = *there;

	if (a.ss_family != b.ss_family)
		return false;
	if (!socket_address_is_inet(&a))
		return !memcmp(&a, &b, sizeof a);
	if (!*address_port(&a))
		*address_port(&b) = 0;
	if (*address_port(&a) != *address_port(&b))
		return false;
	if (a.ss_family == AF_INET)
		return ((struct sockaddr_in *)(void *)&a)->sin_addr.s_addr ==
		    ((struct sockaddr_in *)(void *)&b)->sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&((struct sockaddr_in6 *)(void *)&a)->sin6_addr,
		&((struct sockaddr_in6 *)(void *)&b)->sin6_addr);
}
