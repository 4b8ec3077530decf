/* Checking what clients may reach; see guard.h. */
#include "proxy/settings/guard.h"

#include <string.h>

#include "conf/conf.h"

#define GUARD_DENIED "denied by configuration"
#define GUARD_PORT "port other than 80 and 443"
#define GUARD_TUNNEL "not in connect-allow"
#define GUARD_LOCALHOST "loopback (RFC 6761 section 6.3)"

#define GROUP(g) (uint8_t)((g) >> 8), (uint8_t)((g) & 0xff)

static const struct {
	struct cidr block;
	const char *what;
} special[] = {
#define V4(a, b, c, d, bits, what) { { { false, { a, b, c, d } }, bits }, what },
#define V6(a, b, c, d, e, f, g, h, bits, what) \
	{ { { true, { GROUP(a), GROUP(b), GROUP(c), GROUP(d), GROUP(e), GROUP(f), GROUP(g), GROUP(h) } }, bits }, \
		what },
#include "proxy/settings/special_addresses.def"
#undef V4
#undef V6
};

/* Where IPv6 addresses carry the IPv4 address at which their packets end up. */
static const struct {
	struct cidr block;
	uint8_t at[4];                 /* where the four bytes of the IPv4 address are */
	uint8_t flip;                  /* xor for each byte */
	bool maybe;                    /* one of several possible forms; it is another one if the first byte is 0 */
} embedded[] = {
	{ { { true, { 0, 0x64, 0xff, 0x9b } }, 96 }, { 12, 13, 14, 15 }, 0, false },      /* RFC 6052 section 2.1 */
	{ { { true, { 0, 0x64, 0xff, 0x9b, 0, 1 } }, 48 }, { 6, 7, 9, 10 }, 0, true },    /* 2.2, prefix of 48 */
	{ { { true, { 0, 0x64, 0xff, 0x9b, 0, 1 } }, 48 }, { 7, 9, 10, 11 }, 0, true },   /* 56 */
	{ { { true, { 0, 0x64, 0xff, 0x9b, 0, 1 } }, 48 }, { 9, 10, 11, 12 }, 0, true },  /* 64 */
	{ { { true, { 0, 0x64, 0xff, 0x9b, 0, 1 } }, 48 }, { 12, 13, 14, 15 }, 0, true }, /* 96 */
	{ { { true, { 0x20, 0x02 } }, 16 }, { 2, 3, 4, 5 }, 0, false },        /* 6to4: RFC 3056 section 2 */
	{ { { true, { 0x20, 0x01 } }, 32 }, { 4, 5, 6, 7 }, 0, false },        /* Teredo server: RFC 4380 section 4 */
	{ { { true, { 0x20, 0x01 } }, 32 }, { 12, 13, 14, 15 }, 0xff, false }, /* Teredo client */
	{ { { true, { [8] = 0xff, [9] = 0xff } }, 96 }, { 12, 13, 14, 15 }, 0, false },   /* RFC 2765 section 2.1 */
};

static const char *special_what(const struct ip *ip)
{
	for (size_t i = 0; i < sizeof special / sizeof *special; i++)
		if (cidr_contains(&special[i].block, ip))
			return special[i].what;
	return NULL;
}

static bool is_web_port(uint16_t port)
{
	return port == 80 || port == 443;
}

static bool is_tunnel_port(uint16_t port)
{
	return port == 443;
}

static bool port_matches(const struct conf_destination *served, uint16_t port, bool where_none)
{
	return served->port == DESTINATION_PORT_NONE ? where_none
	    : served->port == DESTINATION_PORT_ANY || served->port == port;
}

/* Whether a block in the list names the address with that port. where_none: whether a block without a port does so. */
static bool block_listed(const struct conf_destination_list *list, const struct ip *ip, uint16_t port, bool where_none)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct conf_destination *served = &list->items[i];

		if (served->kind == DESTINATION_BLOCK && cidr_contains(&served->cidr, ip) &&
		    port_matches(served, port, where_none))
			return true;
	}
	return false;
}

/* Whether the host consists of letters, digits, '-', '_' and '.' only. A name that a lookup could read otherwise than
 * we do never gets there. */
static bool is_plain_name(const char *host, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = host[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
		        c == '_' || c == '.'))
			return false;
		if (c == '.' && (i == 0 || host[i - 1] == '.'))
			return false;
	}
	return len != 0;
}

/* Checks the name of a tunnel. Unless a block in the list may still hold its addresses, the list must name it. */
static const char *tunnel_check_name(const struct conf_destination_list *tunnels, const char *host, size_t len,
    struct guard_pass *pass)
{
	bool by_block = false;

	for (size_t i = 0; i < tunnels->count; i++) {
		const struct conf_destination *served = &tunnels->items[i];

		if (!port_matches(served, pass->port, is_tunnel_port(pass->port)))
			continue;
		pass->port_open |= conf_destination_names(served, host, len);
		by_block |= served->kind == DESTINATION_BLOCK;
	}
	return pass->port_open || by_block ? NULL : GUARD_TUNNEL;
}

const char *guard_check_name(const struct guard *guard, const char *host, uint16_t port, struct guard_pass *pass)
{
	size_t len = strlen(host);
	bool by_block = false;
	struct ip ip;

	*pass = (struct guard_pass){ .port = port, .port_open = !guard->tunnels && is_web_port(port) };
	if (!ip_parse(host, len, &ip)) {
		if (!is_plain_name(host, len))
			return "not a host name";
		if (ip_is_numeric_host(host, len))
			return "an address in another spelling than dotted decimal";
		if (host[len - 1] == '.')
			len--;
	}
	for (size_t i = 0; i < guard->deny->count; i++)
		if (conf_destination_names(&guard->deny->items[i], host, len) &&
		    port_matches(&guard->deny->items[i], port, true))
			return GUARD_DENIED;
	for (size_t i = 0; i < guard->allow->count; i++) {
		const struct conf_destination *served = &guard->allow->items[i];

		if (!port_matches(served, port, is_web_port(port)))
			continue;
		pass->port_open |= !guard->tunnels && served->kind == DESTINATION_EVERY;
		pass->addresses_open |= served->kind != DESTINATION_EVERY && conf_destination_names(served, host, len);
		by_block |= served->kind == DESTINATION_BLOCK;
	}
	if (guard->tunnels)
		return tunnel_check_name(guard->tunnels, host, len, pass);
	return pass->port_open || pass->addresses_open || by_block ? NULL : GUARD_PORT;
}

static const char *check_ip(const struct guard *guard, const struct guard_pass *pass, const struct ip *ip)
{
	bool allowed = pass->addresses_open || block_listed(guard->allow, ip, pass->port, is_web_port(pass->port));
	const char *what;

	if (block_listed(guard->deny, ip, pass->port, true))
		return GUARD_DENIED;
	if (!allowed && (what = special_what(ip)))
		return what;
	if (guard->tunnels)
		return pass->port_open || block_listed(guard->tunnels, ip, pass->port, is_tunnel_port(pass->port))
		    ? NULL
		    : GUARD_TUNNEL;
	return allowed || pass->port_open ? NULL : GUARD_PORT;
}

/* Whether the interface identifier holds an IPv4 address (ISATAP, RFC 5214 section 6.1); its u bit may be set or
 * not. */
static bool is_isatap(const struct ip *ip)
{
	return ip->ipv6 && (ip->bytes[8] & ~2) == 0 && ip->bytes[9] == 0 && ip->bytes[10] == 0x5e &&
	    ip->bytes[11] == 0xfe;
}

static struct ip embedded_ip(const struct ip *outer, const uint8_t at[4], uint8_t flip)
{
	struct ip in = { .ipv6 = false };

	for (size_t i = 0; i < 4; i++)
		in.bytes[i] = outer->bytes[at[i]] ^ flip;
	return in;
}

/* Checks an address and every address that it carries. */
static const char *check_whole_ip(const struct guard *guard, const struct guard_pass *pass, const struct ip *ip)
{
	static const uint8_t last[4] = { 12, 13, 14, 15 };
	const char *why;
	struct ip in;

	if ((why = check_ip(guard, pass, ip)))
		return why;
	for (size_t i = 0; i < sizeof embedded / sizeof *embedded; i++) {
		if (!cidr_contains(&embedded[i].block, ip))
			continue;
		in = embedded_ip(ip, embedded[i].at, embedded[i].flip);
		if (!(embedded[i].maybe && !in.bytes[0]) && (why = check_ip(guard, pass, &in)))
			return why;
	}
	if (is_isatap(ip)) {
		in = embedded_ip(ip, last, 0);
		return check_ip(guard, pass, &in);
	}
	return NULL;
}

const char *guard_check_address(const struct guard *guard, const struct guard_pass *pass,
    const struct sockaddr *address)
{
	struct ip ip;

	return ip_from_sockaddr(address, &ip) ? check_whole_ip(guard, pass, &ip) : "not an internet address";
}

const char *guard_opener(const char *why)
{
	bool closed = !strcmp(why, GUARD_PORT) || !strcmp(why, GUARD_LOCALHOST);

	for (size_t i = 0; !closed && i < sizeof special / sizeof *special; i++)
		closed = special[i].what && !strcmp(special[i].what, why);
	return closed ? "allow" : !strcmp(why, GUARD_TUNNEL) ? "connect-allow" : NULL;
}

/* Whether the name means the loopback interface of the machine that looks it up (RFC 6761 section 6.3). */
static bool guard_is_localhost(const char *host, size_t len)
{
	const struct conf_destination localhost = { .kind = DESTINATION_BELOW, .host = (char[]){ "localhost" } };

	return conf_destination_names(&localhost, host, len - (len && host[len - 1] == '.'));
}

const char *guard_check_unresolved(const struct guard *guard, const struct guard_pass *pass, const char *host)
{
	size_t len = strlen(host);
	struct ip ip;

	if (ip_parse(host, len, &ip))
		return check_whole_ip(guard, pass, &ip);
	if (!pass->addresses_open && guard_is_localhost(host, len))
		return GUARD_LOCALHOST;
	if (guard->tunnels)
		return pass->port_open ? NULL : GUARD_TUNNEL;
	return pass->addresses_open || pass->port_open ? NULL : GUARD_PORT;
}
