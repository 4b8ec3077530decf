/* Owns the cases of proxy/settings/guard.c and conf/cidr.c: which URLs of clients reach which addresses. Must not know: sockets.
 * Invariant: each row names its rule; addresses are the edges of their blocks, and their neighbours outside. */
#include "conf/conf_internal.h"
#include "proxy/settings/guard.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void list_read(struct conf_destination_list *list, const char *text)
{
	char copy[256], *save = NULL;
	struct conf_error error;

	*list = (struct conf_destination_list){ NULL, 0 };
	snprintf(copy, sizeof(copy), "%s", text ? text : "");
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		UNIT_ROW(conf_destination_set(NULL, list, &(struct conf_value){ word, NULL }, &error) == 0, "%s: %s", word, error.text);
}

static bool make_address(const char *text, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in *in = (void *)out;
	struct sockaddr_in6 *in6 = (void *)out;

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		return true;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	return inet_pton(AF_INET6, text, &in6->sin6_addr) == 1;
}

/* Would url be connected to, its name resolving to address (NULL: the host is the address; "?": a parent proxy will know)? *why:
 * what stopped it. tunnels: connect-allow; NULL: no tunnel is asked for. */
static bool reaches_by(const char *url, const char *address, const char *allow, const char *deny, const char *tunnels, const char **why)
{
	struct conf_destination_list allowed, denied, opened;
	struct guard guard = { &allowed, &denied, tunnels ? &opened : NULL };
	struct guard_pass pass;
	struct sockaddr_storage to;
	struct url u;
	char host[URL_MAX_HOST + 1];

	*why = "not a URL";
	if (url_parse(url, strlen(url), &u) != URL_OK)
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)u.host.len, url + u.host.at);
	list_read(&allowed, allow);
	list_read(&denied, deny);
	list_read(&opened, tunnels);
	*why = guard_check_name(&guard, host, u.port, &pass);
	if (!*why && address && !strcmp(address, "?"))
		*why = guard_check_unresolved(&guard, &pass, host);
	else if (!*why) {
		*why = "not an address";
		if (make_address(address ? address : host, u.port, &to))
			*why = guard_check_address(&guard, &pass, (struct sockaddr *)&to);
	}
	conf_destination_clear(&allowed);
	conf_destination_clear(&denied);
	conf_destination_clear(&opened);
	return !*why;
}

static bool reaches(const char *url, const char *address, const char *allow, const char *deny, const char **why)
{
	return reaches_by(url, address, allow, deny, NULL, why);
}

static void closed_addresses(void)
{
	static const struct { const char *rule, *address; } cases[] = {
		{ "RFC 1122: this host", "0.0.0.0" }, { "RFC 791: this network", "0.0.0.1" }, { "RFC 791: its end", "0.255.255.255" },
		{ "RFC 1918", "10.0.0.0" }, { "RFC 1918", "10.1.2.3" }, { "RFC 1918: end", "10.255.255.255" },
		{ "RFC 6598", "100.64.0.0" }, { "RFC 6598: a cloud's metadata", "100.100.100.200" }, { "RFC 6598: end", "100.127.255.255" },
		{ "RFC 1122: loopback", "127.0.0.0" }, { "loopback", "127.0.0.1" }, { "loopback", "127.0.0.53" },
		{ "loopback", "127.1.2.3" }, { "loopback: end", "127.255.255.255" },
		{ "a cloud's own service", "168.63.129.16" },
		{ "RFC 3927", "169.254.0.0" }, { "RFC 3927: clouds' metadata", "169.254.169.254" }, { "a cloud's task metadata", "169.254.170.2" },
		{ "RFC 3927: end", "169.254.255.255" },
		{ "RFC 1918: 172.16/12", "172.16.0.0" }, { "docker's default", "172.17.0.1" }, { "RFC 1918: end", "172.31.255.255" },
		{ "RFC 7335", "192.0.0.0" }, { "RFC 7335: end", "192.0.0.7" }, { "RFC 7600", "192.0.0.8" }, { "RFC 7723", "192.0.0.9" },
		{ "RFC 8155", "192.0.0.10" }, { "RFC 8880", "192.0.0.170" }, { "RFC 7050", "192.0.0.171" }, { "a cloud's metadata", "192.0.0.192" },
		{ "RFC 6890: end", "192.0.0.255" }, { "RFC 5737 TEST-NET-1", "192.0.2.0" }, { "TEST-NET-1: end", "192.0.2.255" },
		{ "RFC 7535 AS112", "192.31.196.1" }, { "RFC 7450 AMT", "192.52.193.1" }, { "RFC 7526", "192.88.99.1" },
		{ "RFC 6751", "192.88.99.2" }, { "RFC 7526: end", "192.88.99.255" },
		{ "RFC 1918: 192.168/16", "192.168.0.0" }, { "a home router", "192.168.1.1" }, { "RFC 1918: end", "192.168.255.255" },
		{ "RFC 7534 AS112", "192.175.48.1" }, { "RFC 2544", "198.18.0.0" }, { "RFC 2544: end", "198.19.255.255" },
		{ "RFC 5737 TEST-NET-2", "198.51.100.1" }, { "RFC 5737 TEST-NET-3", "203.0.113.255" },
		{ "RFC 5771 multicast", "224.0.0.1" }, { "SSDP", "239.255.255.250" }, { "multicast: end", "239.255.255.255" },
		{ "RFC 1112 reserved", "240.0.0.0" }, { "reserved", "255.255.255.254" }, { "RFC 919", "255.255.255.255" },

		{ "RFC 4291: unspecified", "::" }, { "RFC 4291: loopback", "::1" }, { "beside it", "::2" },
		{ "IPv4-compatible loopback", "::127.0.0.1" }, { "IPv4-compatible private", "::10.0.0.1" },
		{ "IPv4-compatible public: deprecated", "::8.8.8.8" }, { "IPv4-compatible: end", "::ffff:ffff" },
		{ "v4-mapped loopback", "::ffff:127.0.0.1" }, { "v4-mapped loopback in hex", "::ffff:7f00:1" },
		{ "v4-mapped, no gap", "0:0:0:0:0:ffff:7f00:0001" }, { "v4-mapped private", "::ffff:10.1.2.3" },
		{ "v4-mapped metadata", "::ffff:169.254.169.254" }, { "v4-mapped metadata in hex", "::ffff:a9fe:a9fe" },
		{ "v4-mapped this host", "::ffff:0.0.0.0" }, { "v4-mapped CGNAT", "::ffff:100.64.0.1" }, { "v4-mapped multicast", "::ffff:224.0.0.1" },
		{ "v4-mapped broadcast", "::ffff:255.255.255.255" },
		{ "IPv4-translated", "::ffff:0:127.0.0.1" }, { "IPv4-translated public", "::ffff:0:8.8.8.8" },
		{ "NAT64 to loopback", "64:ff9b::127.0.0.1" }, { "NAT64 to private", "64:ff9b::10.0.0.1" }, { "NAT64 in hex", "64:ff9b::a00:1" },
		{ "NAT64 to metadata", "64:ff9b::169.254.169.254" }, { "NAT64 to CGNAT", "64:ff9b::100.64.0.1" },
		{ "NAT64 to 192.168", "64:ff9b::c0a8:101" }, { "NAT64 to 0.0.0.0", "64:ff9b::" }, { "NAT64 to multicast", "64:ff9b::e000:1" },
		{ "NAT64 to an end", "64:ff9b::ffff:ffff" }, { "beside NAT64", "64:ff9b:0:0:0:1::" },
		{ "RFC 8215 local NAT64", "64:ff9b:1::8.8.8.8" }, { "RFC 8215 to private", "64:ff9b:1::10.0.0.1" },
		{ "RFC 8215, prefix of 48", "64:ff9b:1:a00:0:100::" }, { "RFC 8215: end", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff" },
		{ "below RFC 8215", "64:ff9a:ffff::1" }, { "above RFC 8215", "64:ff9b:2::1" },
		{ "RFC 6666", "100::" }, { "RFC 6666: end", "100::ffff:ffff:ffff:ffff" }, { "RFC 9780", "100:0:0:1::1" }, { "unassigned", "200::1" },
		{ "RFC 4380 Teredo", "2001::1" }, { "Teredo with a public server", "2001:0:808:808:0:0:f7f7:f7f7" },
		{ "Teredo with a private client", "2001:0:4136:e378:8000:63bf:f5ff:fffe" }, { "Teredo: end", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ "RFC 7723", "2001:1::1" }, { "RFC 8155", "2001:1::2" }, { "RFC 9665", "2001:1::3" }, { "RFC 2928", "2001:1::4" },
		{ "RFC 5180", "2001:2::1" }, { "RFC 7450", "2001:3::1" }, { "RFC 7535", "2001:4:112::1" }, { "RFC 4843 ORCHID", "2001:10::1" },
		{ "ORCHID: end", "2001:1f:ffff::1" }, { "RFC 7343 ORCHIDv2", "2001:20::1" }, { "ORCHIDv2: end", "2001:2f:ffff::1" },
		{ "RFC 9374", "2001:30::1" }, { "RFC 2928: rest", "2001:40::1" }, { "RFC 2928: end", "2001:1ff:ffff::1" },
		{ "RFC 3849", "2001:db8::1" }, { "RFC 3849: end", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ "RFC 3056 6to4 to loopback", "2002:7f00:1::" }, { "6to4 to private", "2002:a00:1::1" }, { "6to4 to metadata", "2002:a9fe:a9fe::1" },
		{ "6to4 to public: not reachable", "2002:808:808::1" }, { "6to4: end", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ "RFC 7534", "2620:4f:8000::1" }, { "RFC 3701", "3ffe::1" }, { "RFC 9637", "3fff::1" },
		{ "RFC 9637: end", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff" }, { "unassigned", "4000::1" },
		{ "RFC 9602 SRv6", "5f00::1" }, { "SRv6: end", "5f00:ffff::1" }, { "unassigned", "8000::1" }, { "unassigned", "e000::1" },
		{ "RFC 4193", "fc00::" }, { "RFC 4193", "fd00::1" }, { "a cloud's metadata", "fd00:ec2::254" },
		{ "RFC 4193: end", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" }, { "unassigned", "fe00::1" },
		{ "RFC 4291 link-local", "fe80::1" }, { "link-local: end", "febf:ffff::1" }, { "RFC 3879", "fec0::1" },
		{ "multicast", "ff02::1" }, { "multicast", "ff0e::1" }, { "the last", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ "RFC 5214 ISATAP to private", "2a00:1450::5efe:10.0.0.1" }, { "ISATAP, u bit", "2a00:1450::200:5efe:192.168.0.1" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char url[128];
		const char *why;

		UNIT_ROW(!reaches("http://name.example/", cases[i].address, NULL, NULL, &why), "%s: %s", cases[i].rule, cases[i].address);
		snprintf(url, sizeof(url), strchr(cases[i].address, ':') ? "https://[%s]/" : "https://%s/", cases[i].address);
		UNIT_ROW(!reaches(url, NULL, NULL, NULL, &why), "%s: %s", cases[i].rule, url);
	}
}

static void open_addresses(void)
{
	static const struct { const char *rule, *address; } cases[] = {
		{ "before 10/8", "9.255.255.255" }, { "after 10/8", "11.0.0.0" }, { "after 0/8", "1.0.0.0" }, { "public", "1.1.1.1" },
		{ "public", "8.8.8.8" }, { "before CGNAT", "100.63.255.255" }, { "after CGNAT", "100.128.0.0" },
		{ "before loopback", "126.255.255.255" }, { "after loopback", "128.0.0.0" }, { "before link-local", "169.253.255.255" },
		{ "after link-local", "169.255.0.0" }, { "before 172.16/12", "172.15.255.255" }, { "after 172.16/12", "172.32.0.0" },
		{ "before 192.0.0/24", "191.255.255.255" }, { "192.0.1/24", "192.0.1.1" }, { "after 192.0.2/24", "192.0.3.0" },
		{ "before 192.168/16", "192.167.255.255" }, { "after 192.168/16", "192.169.0.0" }, { "before 198.18/15", "198.17.255.255" },
		{ "after 198.18/15", "198.20.0.0" }, { "after 198.51.100/24", "198.51.101.0" }, { "after 203.0.113/24", "203.0.114.0" },
		{ "before multicast", "223.255.255.255" }, { "beside a cloud's service", "168.63.129.17" },
		{ "v4-mapped public", "::ffff:8.8.8.8" }, { "NAT64 to public", "64:ff9b::8.8.8.8" }, { "NAT64 in hex", "64:ff9b::101:101" },
		{ "first of 2000::/3", "2000::1" }, { "after 2001::/23", "2001:200::1" }, { "public", "2001:4860:4860::8888" },
		{ "before documentation", "2001:db7:ffff::1" }, { "after documentation", "2001:db9::1" }, { "after 6to4", "2003::1" },
		{ "public", "2606:4700:4700::1111" }, { "beside AS112", "2620:4f:8001::1" }, { "public", "2a00:1450:4001::200e" },
		{ "before 6bone", "3ffd::1" }, { "after 3fff::/20", "3fff:1000::1" }, { "ISATAP to public", "2a00:1450::5efe:8.8.8.8" },
		{ "no ISATAP", "2a00:1450::100:5efe:10.0.0.1" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why;
		bool open = reaches("http://name.example/", cases[i].address, NULL, NULL, &why);

		UNIT_ROW(open, "%s: %s: %s", cases[i].rule, cases[i].address, why);
		UNIT_ROW(!reaches("http://name.example:22/", cases[i].address, NULL, NULL, &why), "%s: port 22", cases[i].address);
	}
}

/* Hosts that some reader takes for 127.0.0.1 or another address: none of them gets as far as a lookup. */
static void spellings(void)
{
	static const struct { const char *rule, *url; } cases[] = {
		{ "short form", "http://127.1/" }, { "short form", "http://127.0.1/" }, { "hex part", "http://0x7f.1/" },
		{ "hex parts", "http://0x7f.0x0.0x0.0x1/" }, { "upper-case hex", "http://0X7F.1/" }, { "hex last", "http://127.0.0.0x1/" },
		{ "hex whole", "http://0x7f000001/" }, { "hex whole, zeroes", "http://0x000000007f000001/" }, { "0x alone", "http://0x/" },
		{ "0x last", "http://127.0.0.0x/" }, { "octal", "http://0177.0.0.1/" }, { "octal, short", "http://0177.1/" },
		{ "octal whole", "http://017700000001/" }, { "octal zeroes", "http://127.0.0.01/" }, { "leading zeroes", "http://127.000.000.001/" },
		{ "decimal whole", "http://2130706433/" }, { "decimal whole, private", "http://167772161/" }, { "decimal metadata", "http://2852039166/" },
		{ "zero", "http://0/" }, { "zeroes", "http://00000/" }, { "one", "http://1/" }, { "overflow to loopback", "http://4294967297/" },
		{ "part over 255", "http://127.0.0.256/" }, { "five parts", "http://127.0.0.0.1/" }, { "three parts", "http://10.0.1/" },
		{ "two parts", "http://169.16689662/" }, { "two parts, metadata", "http://169.0xfea9fe/" }, { "mixed", "http://0xa9.254.0251.254/" },
		{ "decimal public", "http://134744072/" }, { "name that ends in a number", "http://example.1/" },
		{ "name that ends in hex", "http://example.0xff/" }, { "trailing dot", "http://127.0.0.1./" }, { "trailing dot, short", "http://127.1./" },
		{ "trailing dot, decimal", "http://2130706433./" }, { "trailing dot, hex", "http://0x7f000001./" }, { "two trailing dots", "http://127.0.0.1../" },
		{ "leading dot", "http://.127.0.0.1/" }, { "empty label", "http://127..0.1/" }, { "dot alone", "http://./" },
		{ "percent-encoded digit", "http://%31%32%37.0.0.1/" }, { "percent-encoded dot", "http://127%2e0%2e0%2e1/" },
		{ "percent-encoded name", "http://%6c%6f%63%61%6c%68%6f%73%74/" }, { "percent-encoded NUL", "http://example.org%00.internal/" },
		{ "U+3002", "http://127\xe3\x80\x82""0\xe3\x80\x82""0\xe3\x80\x82""1/" }, { "U+FF0E", "http://127\xef\xbc\x8e""0.0.1/" },
		{ "U+FF61", "http://127\xef\xbd\xa1""0.0.1/" }, { "full-width digits", "http://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/" },
		{ "circled digits", "http://\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.1/" }, { "soft hyphen", "http://127.0.0.\xc2\xad""1/" },
		{ "percent-encoded U+3002", "http://127%E3%80%820.0.1/" }, { "Arabic digits", "http://\xd9\xa1\xd9\xa2\xd9\xa7.0.0.1/" },
		{ "brackets around IPv4", "http://[127.0.0.1]/" }, { "brackets around a name", "http://[localhost]/" }, { "no brackets", "http://::1/" },
		{ "zone", "http://[fe80::1%25eth0]/" }, { "zone of loopback", "http://[::1%25lo]/" }, { "bracket left open", "http://[::1/" },
		{ "IPvFuture", "http://[v1.::1]/" }, { "blank before", "http:// 127.0.0.1/" }, { "blank in", "http://127.0.0. 1/" },
		{ "tab", "http://127.0.0.1\t/" }, { "user information", "http://example.org@127.0.0.1/" }, { "user and port", "http://example.org:80@127.0.0.1/" },
		{ "backslash", "http://example.org\\@127.0.0.1/" }, { "backslash as slash", "http:\\\\127.0.0.1/" }, { "sign", "http://+127.0.0.1/" },
		{ "port 0", "http://8.8.8.8:0/" }, { "port that wraps", "http://8.8.8.8:65616/" },
		{ "another scheme", "gopher://127.0.0.1/" }, { "file", "file:///etc/passwd" }, { "no host", "http:///" },
	};
	static const char *const own[] = { "", ".", "a..b", "127\343\200\2020.0.1", "a b", "a%2eb", "a/b", "a:b", "[::1]", "::1%lo", "1:2" };
	struct conf_destination_list none = { NULL, 0 };
	struct guard guard = { &none, &none, NULL };
	struct guard_pass pass;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why;
		/* A resolver that takes any of them for a public address gets no say */
		UNIT_ROW(!reaches(cases[i].url, "8.8.8.8", NULL, NULL, &why), "%s: %s", cases[i].rule, cases[i].url);
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		UNIT_ROW(guard_check_name(&guard, own[i], 80, &pass) != NULL, "'%s' is no host", own[i]);
}

/* Names of every kind, resolving to closed and open addresses: the address decides (rebinding changes nothing). */
static void names(void)
{
	static const struct { const char *rule, *url, *address; bool reached; } cases[] = {
		{ "a public name", "http://example.org/", "93.184.215.14", true },
		{ "https", "https://example.org/", "93.184.215.14", true },
		{ "port 443 by http", "http://example.org:443/", "93.184.215.14", true },
		{ "port 80 given", "http://example.org:80/", "93.184.215.14", true },
		{ "port 0080", "http://example.org:0080/", "93.184.215.14", true },
		{ "port 8080", "http://example.org:8080/", "93.184.215.14", false },
		{ "port 22", "http://example.org:22/", "93.184.215.14", false },
		{ "port 6379", "https://example.org:6379/", "93.184.215.14", false },
		{ "port 81", "http://example.org:81/", "93.184.215.14", false },
		{ "trailing dot", "http://example.org./", "93.184.215.14", true },
		{ "name that now resolves to loopback", "http://example.org/", "127.0.0.1", false },
		{ "to IPv6 loopback", "http://example.org/", "::1", false },
		{ "to this host", "http://example.org/", "0.0.0.0", false },
		{ "to a mapped address", "http://example.org/", "::ffff:192.168.0.1", false },
		{ "localhost", "http://localhost/", "127.0.0.1", false },
		{ "localhost.", "http://localhost./", "127.0.0.1", false },
		{ "RFC 6761 below localhost", "http://x.localhost/", "::1", false },
		{ "address in a public name", "http://127.0.0.1.example.org/", "127.0.0.1", false },
		{ "the same with dashes", "http://10-0-0-1.example.org/", "10.0.0.1", false },
		{ "digits in a name", "http://1and1.example/", "93.184.215.14", true },
		{ "a label of digits in front", "http://123.example/", "93.184.215.14", true },
		{ "hex look-alike", "http://0xabc.example/", "93.184.215.14", true },
		{ "punycode", "http://xn--bcher-kva.example/", "93.184.215.14", true },
		{ "x is no hex digit", "http://a.0xg/", "93.184.215.14", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why;
		bool reached = reaches(cases[i].url, cases[i].address, NULL, NULL, &why);
		UNIT_ROW(reached == cases[i].reached, "%s: %s", cases[i].rule, why ? why : "reached");
	}
}

/* Whatever the parent proxy makes of a name: what is plain to see is refused before it hears of it. */
static void behind_a_parent(void)
{
	static const struct { const char *rule, *url, *allow, *deny; bool reached; } cases[] = {
		{ "a public name", "http://example.org/", NULL, NULL, true },
		{ "https", "https://example.org/", NULL, NULL, true },
		{ "a public address", "http://93.184.215.14/", NULL, NULL, true },
		{ "another port", "http://example.org:8080/", NULL, NULL, false },
		{ "another port of a public address", "http://93.184.215.14:22/", NULL, NULL, false },
		{ "RFC 1918", "http://10.0.0.1/", NULL, NULL, false },
		{ "clouds' metadata", "http://169.254.169.254/", NULL, NULL, false },
		{ "loopback, IPv6", "http://[::1]/", NULL, NULL, false },
		{ "mapped", "http://[::ffff:10.0.0.1]/", NULL, NULL, false },
		{ "NAT64", "http://[64:ff9b::7f00:1]/", NULL, NULL, false },
		{ "ISATAP", "http://[2a00::5efe:7f00:1]/", NULL, NULL, false },
		{ "another spelling", "http://0x7f.1/", NULL, NULL, false },
		{ "a dot behind it", "http://127.0.0.1./", NULL, NULL, false },
		{ "the parent's own localhost (RFC 6761 section 6.3)", "http://localhost/", NULL, NULL, false },
		{ "the same with a dot", "http://LocalHost./", NULL, NULL, false },
		{ "below it", "http://a.localhost/", NULL, NULL, false },
		{ "not below it", "http://alocalhost/", NULL, NULL, true },
		{ "allowed by name", "http://localhost:81/", "localhost:81", NULL, true },
		{ "allowed by name, another port", "http://localhost:82/", "localhost:81", NULL, false },
		{ "allowed by block", "http://10.0.0.1:81/", "10.0.0.0/8:81", NULL, true },
		{ "a port open to a block only: no name can show that it lies there", "http://example.org:81/", "10.0.0.0/8:81", NULL, false },
		{ "a port open to all", "http://example.org:81/", "*:81", NULL, true },
		{ "a port open to all opens no address", "http://10.0.0.1:81/", "*:81", NULL, false },
		{ "denied by name", "http://a.example.org/", NULL, ".example.org", false },
		{ "denied by block", "http://93.184.215.14/", NULL, "93.184.0.0/16", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why;
		bool reached = reaches(cases[i].url, "?", cases[i].allow, cases[i].deny, &why);
		UNIT_ROW(reached == cases[i].reached, "%s: %s", cases[i].rule, why ? why : "reached");
	}
}

static void lists(void)
{
	static const struct { const char *rule, *allow, *deny, *url, *address; bool reached; } cases[] = {
		{ "allow a host: its closed address", "intra.example", NULL, "http://intra.example/", "10.0.0.5", true },
		{ "not another's", "intra.example", NULL, "http://other.example/", "10.0.0.5", false },
		{ "not one below it", "intra.example", NULL, "http://a.intra.example/", "10.0.0.5", false },
		{ "not one that ends alike", "intra.example", NULL, "http://xintra.example/", "10.0.0.5", false },
		{ "case and dot do not count", "Intra.Example.", NULL, "http://INTRA.example./", "10.0.0.5", true },
		{ ".host: itself", ".intra.example", NULL, "http://intra.example/", "10.0.0.5", true },
		{ ".host: below", ".intra.example", NULL, "http://a.b.intra.example/", "10.0.0.5", true },
		{ ".host: not alike", ".intra.example", NULL, "http://xintra.example/", "10.0.0.5", false },
		{ "a host without port: 80 and 443 only", "intra.example", NULL, "http://intra.example:8080/", "10.0.0.5", false },
		{ "a host and port", "intra.example:8080", NULL, "http://intra.example:8080/", "10.0.0.5", true },
		{ "a host and port: not its other ports", "intra.example:8080", NULL, "http://intra.example/", "10.0.0.5", false },
		{ "a host on any port", "intra.example:*", NULL, "http://intra.example:9/", "10.0.0.5", true },
		{ "a block", "10.0.0.0/24", NULL, "http://intra.example/", "10.0.0.5", true },
		{ "beside the block", "10.0.0.0/24", NULL, "http://intra.example/", "10.0.1.5", false },
		{ "a block: not its other ports", "10.0.0.0/24", NULL, "http://intra.example:81/", "10.0.0.5", false },
		{ "a block and port", "10.0.0.0/24:81", NULL, "http://intra.example:81/", "10.0.0.5", true },
		{ "a block and port: not elsewhere", "10.0.0.0/24:81", NULL, "http://intra.example:81/", "93.184.215.14", false },
		{ "a block on any port", "127.0.0.0/8:*", NULL, "http://127.0.0.1:5000/", NULL, true },
		{ "one address", "127.0.0.1:*", NULL, "http://127.0.0.1:5000/", NULL, true },
		{ "one address, not the next", "127.0.0.1:*", NULL, "http://127.0.0.2:5000/", NULL, false },
		{ "its other spellings stay shut", "127.0.0.1:*", NULL, "http://0x7f.1/", "127.0.0.1", false },
		{ "mapped is the same address", "127.0.0.1:*", NULL, "http://[::ffff:127.0.0.1]/", NULL, true },
		{ "a mapped block is the IPv4 block", "::ffff:127.0.0.0/104", NULL, "http://127.0.0.1/", NULL, true },
		{ "IPv6 loopback", "::1", NULL, "http://[::1]/", NULL, true },
		{ "IPv6 loopback on a port", "[::1]:8080", NULL, "http://[::1]:8080/", NULL, true },
		{ "IPv6 block on any port", "[fd00::/8]:*", NULL, "http://[fd00:1::1]:8080/", NULL, true },
		{ "IPv6 block, beside it", "[fd00::/8]:*", NULL, "http://[fc00:1::1]:8080/", NULL, false },
		{ "every host's port", "*:8080", NULL, "http://example.org:8080/", "93.184.215.14", true },
		{ "every host's port opens no address", "*:8080", NULL, "http://example.org:8080/", "10.0.0.5", false },
		{ "every host's ports", "*:*", NULL, "http://example.org:22/", "93.184.215.14", true },
		{ "every host's ports open no address", "*:*", NULL, "http://example.org:22/", "::1", false },
		{ "every address there is", "0.0.0.0/0:*", NULL, "http://example.org:22/", "127.0.0.1", true },
		{ "6to4 opened, the address in it not", "2002::/16", NULL, "http://[2002:a00:1::1]/", NULL, false },
		{ "6to4 opened, public inside", "2002::/16", NULL, "http://[2002:808:808::1]/", NULL, true },
		{ "Teredo opened, private client", "2001::/32", NULL, "http://[2001:0:808:808::f5ff:fffe]/", NULL, false },
		{ "Teredo opened, private server", "2001::/32", NULL, "http://[2001:0:a00:1::f7f7:f7f7]/", NULL, false },
		{ "Teredo opened, public both", "2001::/32", NULL, "http://[2001:0:808:808::f7f7:f7f7]/", NULL, true },
		{ "local NAT64 opened, /96, public", "64:ff9b:1::/48", NULL, "http://[64:ff9b:1::8.8.8.8]/", NULL, true },
		{ "local NAT64 opened, /96, private", "64:ff9b:1::/48", NULL, "http://[64:ff9b:1::10.0.0.1]/", NULL, false },
		{ "local NAT64 opened, /48, private", "64:ff9b:1::/48", NULL, "http://[64:ff9b:1:a00:0:100::]/", NULL, false },
		{ "local NAT64 opened, /48 with a public suffix", "64:ff9b:1::/48", NULL, "http://[64:ff9b:1:a00:0:100:808:808]/", NULL, false },
		{ "local NAT64 opened, /56, private", "64:ff9b:1::/48", NULL, "http://[64:ff9b:1:a:0:1::]/", NULL, false },
		{ "local NAT64 opened, /64, private", "64:ff9b:1::/48", NULL, "http://[64:ff9b:1:0:a:0:100:0]/", NULL, false },
		{ "deny a host", NULL, "example.org", "http://example.org/", "93.184.215.14", false },
		{ "deny a host on every port", "*:*", "example.org", "http://example.org:8080/", "93.184.215.14", false },
		{ "deny: not below", NULL, "example.org", "http://a.example.org/", "93.184.215.14", true },
		{ "deny below", NULL, ".example.org", "http://a.example.org/", "93.184.215.14", false },
		{ "deny: trailing dot and case", NULL, "example.org", "http://EXAMPLE.org./", "93.184.215.14", false },
		{ "deny a port", NULL, "*:443", "https://example.org/", "93.184.215.14", false },
		{ "deny a port, not another", NULL, "*:443", "http://example.org/", "93.184.215.14", true },
		{ "deny all", NULL, "*", "http://example.org/", "93.184.215.14", false },
		{ "deny a block", NULL, "93.184.0.0/16", "http://example.org/", "93.184.215.14", false },
		{ "deny a block, mapped", NULL, "93.184.0.0/16", "http://example.org/", "::ffff:93.184.215.14", false },
		{ "deny a block, by NAT64", NULL, "93.184.0.0/16", "http://example.org/", "64:ff9b::93.184.215.14", false },
		{ "deny IPv6", NULL, "2a00::/16", "http://example.org/", "2a00:1450::1", false },
		{ "deny all of IPv6", NULL, "::/0", "http://example.org/", "2a00:1450::1", false },
		{ "deny wins by name", "intra.example", "intra.example", "http://intra.example/", "10.0.0.5", false },
		{ "deny wins by block", "intra.example", "10.0.0.0/8", "http://intra.example/", "10.0.0.5", false },
		{ "deny wins within allow", "10.0.0.0/8", "10.0.0.5", "http://intra.example/", "10.0.0.5", false },
		{ "the rest of allow", "10.0.0.0/8", "10.0.0.5", "http://intra.example/", "10.0.0.6", true },
		{ "deny a host's port", "intra.example:*", "intra.example:22", "http://intra.example:22/", "10.0.0.5", false },
		{ "its others", "intra.example:*", "intra.example:22", "http://intra.example:23/", "10.0.0.5", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why;
		bool reached = reaches(cases[i].url, cases[i].address, cases[i].allow, cases[i].deny, &why);
		UNIT_ROW(reached == cases[i].reached, "%s: %s", cases[i].rule, why ? why : "reached");
	}
}

/* Whatever inet_aton takes for an address is one as we read it, or is no host. */
static void nothing_inet_aton_reads_is_a_name(void)
{
	static const char *const parts[] = { "0", "1", "127", "0x7f", "0X1", "0177", "00", "0x", "255", "256", "16777217", "0xffffffff", "09", "x" };
	enum { N = sizeof(parts) / sizeof(parts[0]), FORMS = N + N * N + N * N * N + N * N * N * N };
	struct conf_destination_list none = { NULL, 0 };
	struct guard guard = { &none, &none, NULL };
	size_t read = 0, slipped = 0;

	for (size_t form = 0; form < FORMS; form++) {
		char host[64] = "";
		size_t rest = form, count = 1;
		struct guard_pass pass;
		struct in_addr in;
		struct ip ip;

		for (size_t of = N; rest >= of; of *= N, count++)
			rest -= of;
		for (size_t i = 0; i < count; i++, rest /= N)
			snprintf(host + strlen(host), sizeof(host) - strlen(host), "%s%s", i ? "." : "", parts[rest % N]);
		if (!inet_aton(host, &in))
			continue;
		read++;
		slipped += !guard_check_name(&guard, host, 80, &pass) && !ip_parse(host, strlen(host), &ip);
	}
	CU_ASSERT(read > 1000);
	CU_ASSERT_EQUAL(slipped, 0);
}

#define NOT_LISTED "not in connect-allow"
#define LOOPBACK "loopback (RFC 1122 section 3.2.1.3)"

/* https stands for port 443, http for 80. */
static void tunnels(void)
{
	static const struct { const char *rule, *tunnels, *allow, *deny, *url, *address, *why; } cases[] = {
		{ "a host, port 443 by itself", "feeds.example", NULL, NULL, "https://feeds.example/", "8.8.8.8", NULL },
		{ "a host: no other port", "feeds.example", NULL, NULL, "http://feeds.example/", "8.8.8.8", NOT_LISTED },
		{ "a host: no other host", "feeds.example", NULL, NULL, "https://a.feeds.example/", "8.8.8.8", NOT_LISTED },
		{ "letters' case and a final dot", "feeds.example", NULL, NULL, "https://Feeds.EXAMPLE./", "8.8.8.8", NULL },
		{ "all below", ".feeds.example", NULL, NULL, "https://a.feeds.example/", "8.8.8.8", NULL },
		{ "no end of a label", ".feeds.example", NULL, NULL, "https://myfeeds.example/", "8.8.8.8", NOT_LISTED },
		{ "a port", "feeds.example:8443", NULL, NULL, "https://feeds.example:8443/", "8.8.8.8", NULL },
		{ "a port: not 443 then", "feeds.example:8443", NULL, NULL, "https://feeds.example/", "8.8.8.8", NOT_LISTED },
		{ "every port", "feeds.example:*", NULL, NULL, "https://feeds.example:22/", "8.8.8.8", NULL },
		{ "every host", "*", NULL, NULL, "https://feeds.example/", "8.8.8.8", NULL },
		{ "every host: port 443", "*", NULL, NULL, "http://feeds.example/", "8.8.8.8", NOT_LISTED },
		{ "a block, by a name", "8.8.8.0/24", NULL, NULL, "https://feeds.example/", "8.8.8.8", NULL },
		{ "a block, by an address", "8.8.8.0/24", NULL, NULL, "https://8.8.8.8/", NULL, NULL },
		{ "a block, outside it", "8.8.8.0/24", NULL, NULL, "https://feeds.example/", "8.8.9.8", NOT_LISTED },
		{ "a block's port", "8.8.8.0/24:25", NULL, NULL, "https://feeds.example/", "8.8.8.8", NOT_LISTED },
		{ "IPv6", "[2606:4700::/32]:993", NULL, NULL, "https://[2606:4700::1]:993/", NULL, NULL },
		{ "listed, closed address", "feeds.example", NULL, NULL, "https://feeds.example/", "10.0.0.1", "private use (RFC 1918)" },
		{ "a parent looks up: listed by name", "feeds.example", NULL, NULL, "https://feeds.example/", "?", NULL },
		{ "a parent looks up: another port", "feeds.example", NULL, NULL, "https://feeds.example:22/", "?", NOT_LISTED },
		{ "a parent looks up: a block, and no address is seen", "8.8.8.0/24", NULL, NULL, "https://feeds.example/", "?", NOT_LISTED },
		{ "a parent looks up: allow opens no tunnel", "8.8.8.0/24", "feeds.example", NULL, "https://feeds.example/", "?", NOT_LISTED },
		{ "a parent looks up: a block, by an address", "8.8.8.0/24", NULL, NULL, "https://8.8.8.8/", "?", NULL },
		{ "a parent looks up: a closed address", "*", NULL, NULL, "https://10.0.0.1/", "?", "private use (RFC 1918)" },
		{ "a parent looks up: localhost", "*", NULL, NULL, "https://localhost/", "?", "loopback (RFC 6761 section 6.3)" },
		{ "every host, closed address", "*:*", NULL, NULL, "https://127.0.0.1/", NULL, LOOPBACK },
		{ "a closed block", "10.0.0.0/8", NULL, NULL, "https://10.0.0.1/", NULL, "private use (RFC 1918)" },
		{ "a closed address inside", "[64:ff9b::/96]", NULL, NULL, "https://[64:ff9b::7f00:1]/", NULL, LOOPBACK },
		{ "an address inside that is not listed", "[64:ff9b::/96]", NULL, NULL, "https://[64:ff9b::808:808]/", NULL, NOT_LISTED },
		{ "both listed", "*", NULL, NULL, "https://[64:ff9b::808:808]/", NULL, NULL },
		{ "opened by both", "feeds.example", "10.0.0.0/8", NULL, "https://feeds.example/", "10.0.0.1", NULL },
		{ "opened by both, by name", "feeds.example", "feeds.example", NULL, "https://feeds.example/", "10.0.0.1", NULL },
		{ "opened by both, each on its port", "10.0.0.1:8443", "10.0.0.1", NULL, "https://10.0.0.1:8443/", NULL, "private use (RFC 1918)" },
		{ "opened by both on a port", "10.0.0.1:8443", "10.0.0.1:8443", NULL, "https://10.0.0.1:8443/", NULL, NULL },
		{ "allow opens no tunnel", "a.example", "feeds.example", NULL, "https://feeds.example/", "8.8.8.8", NOT_LISTED },
		{ "allow opens no tunnel's port", "feeds.example", "*:8443", NULL, "https://feeds.example:8443/", "8.8.8.8", NOT_LISTED },
		{ "allow by block opens no tunnel", "a.example", "8.8.8.8", NULL, "https://8.8.8.8/", NULL, NOT_LISTED },
		{ "deny by name counts first", "*", "*", "feeds.example", "https://feeds.example/", "8.8.8.8", "denied by configuration" },
		{ "deny by address counts first", "feeds.example", "8.8.8.8", "8.8.8.8", "https://feeds.example/", "8.8.8.8", "denied by configuration" },
		{ "another spelling", "*", NULL, NULL, "https://0x8.8.8.8/", "8.8.8.8", "an address in another spelling than dotted decimal" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why;

		reaches_by(cases[i].url, cases[i].address, cases[i].allow, cases[i].deny, cases[i].tunnels, &why);
		UNIT_ROW(why && cases[i].why ? strcmp(why, cases[i].why) == 0 : why == cases[i].why, "%s: %s", cases[i].rule, why ? why : "reached");
	}
}

/* Each reason names the option that would open the destination, if one would. */
static void openers(void)
{
	static const struct { const char *why, *option; } cases[] = {
		{ LOOPBACK, "allow" }, { "loopback (RFC 6761 section 6.3)", "allow" }, { "private use (RFC 1918)", "allow" },
		{ "unique local (RFC 4193)", "allow" }, { "port other than 80 and 443", "allow" }, { NOT_LISTED, "connect-allow" },
		{ "denied by configuration", NULL }, { "not a host name", NULL }, { "an address in another spelling than dotted decimal", NULL },
		{ "own listener", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *option = guard_opener(cases[i].why);

		UNIT_ROW(option && cases[i].option ? strcmp(option, cases[i].option) == 0 : option == cases[i].option, "%s: %s", cases[i].why, option ? option : "none");
	}
}

static void other_families(void)
{
	struct conf_destination_list none = { NULL, 0 };
	struct guard guard = { &none, &none, NULL };
	struct guard_pass pass = { 80, true, true };

	CU_ASSERT_PTR_NOT_NULL(guard_check_address(&guard, &pass, &(struct sockaddr){ .sa_family = AF_UNIX }));
	CU_ASSERT_PTR_NOT_NULL(guard_check_address(&guard, &pass, &(struct sockaddr){ .sa_family = AF_UNSPEC }));
}

static void blocks(void)
{
	static const struct { const char *text, *printed; } good[] = {
		{ "10.0.0.0/8", "10.0.0.0/8" }, { "0.0.0.0/0", "0.0.0.0/0" }, { "192.0.2.7", "192.0.2.7/32" }, { "192.0.2.6/31", "192.0.2.6/31" },
		{ "::/0", "::/0" }, { "::1", "::1/128" }, { "fc00::/7", "fc00::/7" }, { "2001:DB8::/32", "2001:db8::/32" },
		{ "::ffff:10.0.0.0/104", "10.0.0.0/8" }, { "::ffff:0:0/96", "0.0.0.0/0" }, { "::fffe:0:0/95", "::fffe:0:0/95" },
	};
	static const char *const bad[] = {
		"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8 ", " 10.0.0.0/8", "10.0.0.1/8",
		"10.0.0/8", "10/8", "0x0a.0.0.0/8", "010.0.0.0/8", "::/129", "fc00::1/7", "fe80::1%lo", "[::1]", "::1/", "1.2.3.4/32/1", "a/8",
		"10.0.0.0/255.0.0.0", "::ffff:10.0.0.1/104", "10.0.0.0/1000"
	};
	struct cidr c;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char *text = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);
		bool read = cidr_parse(good[i].text, strlen(good[i].text), &c);
		cidr_print(out, &c);
		fclose(out);
		UNIT_ROW(read && strcmp(text, good[i].printed) == 0, "%s: %s", good[i].text, text);
		free(text);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		UNIT_ROW(!cidr_parse(bad[i], strlen(bad[i]), &c), "'%s' is no block", bad[i]);
	CU_ASSERT_FALSE(cidr_parse("10.0.0.0\0" "1", 10, &c));
}

UNIT_SUITE(guard, { "closed addresses", closed_addresses }, { "open addresses", open_addresses }, { "spellings", spellings },
	{ "names", names }, { "behind a parent", behind_a_parent }, { "lists", lists }, { "inet_aton", nothing_inet_aton_reads_is_a_name },
	{ "tunnels", tunnels }, { "openers", openers }, { "other families", other_families }, { "blocks", blocks })
