/* Who asks; see requester.h. */
#include "proxy/answer/requester.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* hops nearest to utfeed that are read; a client behind more of them is not known */
enum { REQUESTER_HOPS_MAX = 32 };

void requester_of_peer(struct requester *requester, const struct sockaddr *peer)
{
	static const uint8_t loopback[] = { IN_LOOPBACKNET, 0, 0, 1 };

	*requester = (struct requester){ .known = ip_from_sockaddr(peer, &requester->ip), .rights = true };
	if (peer->sa_family == AF_UNIX) {
		requester->known = requester->local = true;
		ip_from_bytes(loopback, false, &requester->ip);
		return;
	}
	if (!ip_from_sockaddr(peer, &requester->ip))
		return;
	requester->port =
	    ntohs(peer->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)(const void *)peer)->sin6_port
	    : ((const struct sockaddr_in *)(const void *)peer)->sin_port);
}

bool requester_is_trusted(const struct requester *requester, const struct conf *conf)
{
	return conf->trusted_proxies.count && requester->known &&
	    cidr_list_contains(&conf->trusted_proxies, &requester->ip);
}

bool requester_in(const struct requester *requester, const struct cidr_list *list)
{
	if (requester->known)
		return cidr_list_contains(list, &requester->ip);
	for (size_t i = 0; i < list->count; i++)
		if (!list->items[i].bits)
			return true;
	return false;
}

bool requester_is_loopback(const struct requester *requester)
{
	static const struct ip ipv6 = { true, { [15] = 1 } };

	return requester->known &&
	    (requester->ip.ipv6 ? !memcmp(requester->ip.bytes, ipv6.bytes, sizeof ipv6.bytes)
	    : requester->ip.bytes[0] == IN_LOOPBACKNET);
}

static bool requester_read_port(struct slice s, uint16_t *port)
{
	unsigned n = 0;

	if (!s.len || s.len > 5)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return false;
		n = n * 10 + (unsigned)(s.at[i] - '0');
	}
	*port = (uint16_t)n;
	return n <= 65535;
}

/* ADDR, ADDR:PORT, [ADDR] or [ADDR]:PORT; an IPv6 address without brackets has no port. */
static bool read_node(struct slice s, struct ip *ip, uint16_t *port)
{
	const char *end;

	*port = 0;
	if (!s.len)
		return false;
	if (s.at[0] == '[') {
		if (!(end = memchr(s.at, ']', s.len)) || !ip_parse(s.at + 1, (size_t)(end - s.at) - 1, ip) || !ip->ipv6)
			return false;
		s.len -= (size_t)(end + 1 - s.at);
		return !s.len || (end[1] == ':' && requester_read_port((struct slice){ end + 2, s.len - 1 }, port));
	}
	if (ip_parse(s.at, s.len, ip))
		return true;
	end = memchr(s.at, ':', s.len);
	return end && ip_parse(s.at, (size_t)(end - s.at), ip) && !ip->ipv6 &&
	    requester_read_port((struct slice){ end + 1, s.len - (size_t)(end + 1 - s.at) }, port);
}

/* The value of an element's for= (RFC 7239 section 4); at NULL if there is none, or more than one. */
static struct slice forwarded_for(struct slice element)
{
	struct slice found = { NULL, 0 };

	while (element.at) {
		struct slice value, name = slice_until(slice_until(element, ';', &element), '=', &value);

		if (!slice_is(slice_trim(name), "for"))
			continue;
		if (found.at || !value.at)
			return (struct slice){ NULL, 0 };
		found = slice_trim(value);
		if (found.len >= 2 && found.at[0] == '"' && found.at[found.len - 1] == '"')
			found = (struct slice){ found.at + 1, found.len - 2 };
	}
	return found;
}

/* The last addresses that the fields name, in their order. */
struct hops { struct slice last[REQUESTER_HOPS_MAX]; size_t n; };

static void hops_add(struct hops *hops, struct slice s)
{
	hops->last[hops->n++ % REQUESTER_HOPS_MAX] = s;
}

static void hops_of_forwarded(struct hops *hops, const struct http_msg *m)
{
	struct http_list it = { 0, 0 };
	struct slice element;

	while (http_msg_next_member(m, H_FORWARDED, &it, &element))
		hops_add(hops, forwarded_for(element));
}

/* Quotes are not parsed: a client could send one that hides what a proxy put behind it. */
static void hops_of_x_forwarded_for(struct hops *hops, const struct http_msg *m)
{
	for (uint32_t i = 0; i < m->n_fields; i++) {
		struct slice rest = m->fields[i].id == H_X_FORWARDED_FOR ? http_field_value(m,
		    &m->fields[i]) : (struct slice){ NULL, 0 };

		while (rest.at) {
			struct slice s = slice_trim(slice_until(rest, ',', &rest));

			if (s.len)
				hops_add(hops, s);
		}
	}
}

/* Whether the request came through a proxy that nobody vouches for: what the proxy says of the client may be anything,
 * and the connection's address is not the client's. */
static bool came_through_a_proxy(const struct http_msg *m)
{
	return http_msg_has(m, H_X_FORWARDED_FOR) || http_msg_has(m, H_FORWARDED) || http_msg_has(m, H_X_REAL_IP) ||
	    http_msg_has(m, H_VIA) || http_msg_has(m, H_CDN_LOOP);
}

static void requester_follow(struct requester *requester, const struct conf *conf, const struct hops *hops)
{
	size_t kept = hops->n < REQUESTER_HOPS_MAX ? hops->n : REQUESTER_HOPS_MAX;

	size_t read = 0;

	while (read < kept && requester_is_trusted(requester, conf)) {
		requester->told = true;
		requester->local = false;
		requester->known =
		    read_node(hops->last[(hops->n - ++read) % REQUESTER_HOPS_MAX], &requester->ip, &requester->port);
	}
	if (requester_is_trusted(requester, conf) && hops->n > kept)
		requester->known = false;
	/* A client that names others before itself is a proxy too, and nobody vouches for it. */
	requester->rights = requester->known && read == hops->n && !requester_is_trusted(requester, conf);
}

static void requester_read_fields(struct requester *requester, const struct conf *conf, const struct http_msg *m)
{
	struct hops hops;

	hops.n = 0;
	if (conf->client_field == CLIENT_FIELD_FORWARDED)
		hops_of_forwarded(&hops, m);
	else
		hops_of_x_forwarded_for(&hops, m);
	requester_follow(requester, conf, &hops);
}

const char *requester_address(const struct requester *requester, char text[REQUESTER_TEXT_MAX])
{
	*text = '\0';
	if (requester->known)
		inet_ntop(requester->ip.ipv6 ? AF_INET6 : AF_INET, requester->ip.bytes, text, REQUESTER_TEXT_MAX);
	return text;
}

const char *requester_text(const struct requester *requester, char text[REQUESTER_TEXT_MAX])
{
	char ip[REQUESTER_TEXT_MAX], port[8] = "-";

	if (!requester->known)
		return "unknown";
	if (requester->local)
		return "unix:";
	if (requester->port)
		snprintf(port, sizeof port, "%u", (unsigned)requester->port);
	snprintf(text, REQUESTER_TEXT_MAX, requester->ip.ipv6 ? "[%.45s]:%s" : "%.45s:%s",
	    requester_address(requester, ip), port);
	return text;
}

void requester_read(struct requester *requester, const struct conf *conf, const struct http_msg *m)
{
	if (!requester->settled && requester_is_trusted(requester, conf))
		requester_read_fields(requester, conf, m);
	else
		requester->rights = requester->rights && !came_through_a_proxy(m);
}
