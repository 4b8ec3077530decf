/* Addresses and their blocks; see cidr.h. */
#include "conf/cidr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum { IPV4_BITS = 32, IPV6_BITS = 128, MAPPED_BITS = 96, IPV6_CLIENT_BITS = 64 };

static const struct cidr mapped = { { true, { [10] = 0xff, [11] = 0xff } }, MAPPED_BITS };

static void cidr_unmap(struct ip *ip)
{
	if (!cidr_contains(&mapped, ip))
		return;
	ip->ipv6 = false;
	memmove(ip->bytes, ip->bytes + MAPPED_BITS / 8, IPV4_BITS / 8);
	memset(ip->bytes + IPV4_BITS / 8, 0, sizeof(ip->bytes) - IPV4_BITS / 8);
}

static bool cidr_read_address(const char *text, size_t len, struct ip *ip)
{
	char copy[INET6_ADDRSTRLEN];

	*ip = (struct ip){ .ipv6 = memchr(text, ':', len) != NULL };
	if (len >= sizeof(copy) || memchr(text, '\0', len))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return inet_pton(ip->ipv6 ? AF_INET6 : AF_INET, copy, ip->bytes) == 1;
}

bool ip_parse(const char *text, size_t len, struct ip *ip)
{
	if (!cidr_read_address(text, len, ip))
		return false;
	cidr_unmap(ip);
	return true;
}

void ip_from_bytes(const uint8_t *bytes, bool ipv6, struct ip *ip)
{
	*ip = (struct ip){ .ipv6 = ipv6 };
	memcpy(ip->bytes, bytes, (ipv6 ? IPV6_BITS : IPV4_BITS) / 8);
	cidr_unmap(ip);
}

bool ip_from_sockaddr(const struct sockaddr *address, struct ip *ip)
{
	*ip = (struct ip){ .ipv6 = false };
	if (address->sa_family == AF_INET)
		ip_from_bytes((const uint8_t *)&((const struct sockaddr_in *)(const void *)address)->sin_addr, false,
		    ip);
	else if (address->sa_family == AF_INET6)
		ip_from_bytes(((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr, true, ip);
	else
		return false;
	return true;
}

struct ip ip_client(const struct ip *ip)
{
	struct ip client = *ip;

	if (ip->ipv6)
		memset(client.bytes + IPV6_CLIENT_BITS / 8, 0, (IPV6_BITS - IPV6_CLIENT_BITS) / 8);
	return client;
}

static bool same_prefix(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned rest = bits % 8;

	return memcmp(a, b, bits / 8) == 0 && (!rest || ((a[bits / 8] ^ b[bits / 8]) >> (8 - rest)) == 0);
}

/* Digits without a sign or leading zero, up to max. */
static bool parse_bits(const char *text, size_t len, unsigned max, unsigned *bits)
{
	*bits = 0;
	if (len == 0 || len > 3 || (len > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*bits = *bits * 10 + (unsigned)(text[i] - '0');
	}
	return *bits <= max;
}

/* Reads an address and a prefix length. *masked: the address without the bits behind the prefix. */
static bool cidr_split(const char *text, size_t len, struct cidr *cidr, struct ip *masked)
{
	const char *slash = memchr(text, '/', len);
	size_t address = slash ? (size_t)(slash - text) : len;

	if (!cidr_read_address(text, address, &cidr->ip))
		return false;
	cidr->bits = cidr->ip.ipv6 ? IPV6_BITS : IPV4_BITS;
	if (slash && !parse_bits(slash + 1, len - address - 1, cidr->bits, &cidr->bits))
		return false;
	*masked = (struct ip){ .ipv6 = cidr->ip.ipv6 };
	memcpy(masked->bytes, cidr->ip.bytes, cidr->bits / 8);
	if (cidr->bits % 8)
		masked->bytes[cidr->bits / 8] =
		    cidr->ip.bytes[cidr->bits / 8] & (uint8_t)(0xff << (8 - cidr->bits % 8));
	return true;
}

void cidr_text(const struct cidr *cidr, char block[CIDR_TEXT_MAX])
{
	char address[INET6_ADDRSTRLEN];

	inet_ntop(cidr->ip.ipv6 ? AF_INET6 : AF_INET, cidr->ip.bytes, address, sizeof(address));
	snprintf(block, CIDR_TEXT_MAX, "%s/%u", address, cidr->bits);
}

bool cidr_round(const char *text, size_t len, char block[CIDR_TEXT_MAX])
{
	struct cidr cidr;
	struct ip masked;

	if (!cidr_split(text, len, &cidr, &masked))
		return false;
	cidr.ip = masked;
	cidr_text(&cidr, block);
	return true;
}

bool cidr_parse(const char *text, size_t len, struct cidr *cidr)
{
	struct ip masked;

	if (!cidr_split(text, len, cidr, &masked) ||
	    memcmp(masked.bytes, cidr->ip.bytes, sizeof(masked.bytes)) != 0)
		return false;
	if (cidr->ip.ipv6 && cidr->bits >= MAPPED_BITS) {
		cidr_unmap(&cidr->ip);
		if (!cidr->ip.ipv6)
			cidr->bits -= MAPPED_BITS;
	}
	return true;
}

void cidr_print(FILE *out, const struct cidr *cidr)
{
	char block[CIDR_TEXT_MAX];

	cidr_text(cidr, block);
	fputs(block, out);
}

/* RFC 1122 section 3.2.1.3, RFC 4291 section 2.5.3 */
static const struct cidr loopback[] = {
	[false] = { { false, { 127 } }, 8 }, [true] = { { true, { [15] = 1 } }, IPV6_BITS }
};

bool cidr_contains(const struct cidr *cidr, const struct ip *ip)
{
	return cidr->ip.ipv6 == ip->ipv6 && same_prefix(cidr->ip.bytes, ip->bytes, cidr->bits);
}

bool ip_is_loopback(const struct ip *ip)
{
	return cidr_contains(&loopback[ip->ipv6], ip);
}

bool ip_is_same(const struct ip *a, const struct ip *b)
{
	return a->ipv6 == b->ipv6 && !memcmp(a->bytes, b->bytes, a->ipv6 ? 16 : 4);
}

bool ip_is_unspecified(const struct ip *ip)
{
	return ip_is_same(ip, &(struct ip){ .ipv6 = ip->ipv6 });
}

bool cidr_is_loopback(const struct cidr *cidr)
{
	return ip_is_loopback(&cidr->ip) && cidr->bits >= loopback[cidr->ip.ipv6].bits;
}

bool cidr_list_contains(const struct cidr_list *list, const struct ip *ip)
{
	for (size_t i = 0; i < list->count; i++)
		if (cidr_contains(&list->items[i], ip))
			return true;
	return false;
}

bool ip_is_numeric_host(const char *host, size_t len)
{
	size_t start;

	if (len && host[len - 1] == '.')
		len--;
	for (start = len; start && host[start - 1] != '.'; start--)
		;
	host += start;
	len -= start;
	if (len >= 2 && host[0] == '0' && (host[1] | 0x20) == 'x') {
		for (size_t i = 2; i < len; i++)
			if (!((host[i] >= '0' && host[i] <= '9') ||
			        ((host[i] | 0x20) >= 'a' && (host[i] | 0x20) <= 'f')))
				return false;
		return true;
	}
	for (size_t i = 0; i < len; i++)
		if (host[i] < '0' || host[i] > '9')
			return false;
	return len > 0;
}
