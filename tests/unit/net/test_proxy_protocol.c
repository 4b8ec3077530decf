/* Owns the cases of proxy/net/proxy_protocol.c. Must not know: sockets. Invariant: each row names its rule; every cut of a header that is
 * one asks for more. Source: HAProxy's doc/proxy-protocol.txt. */
#include "proxy/net/proxy_protocol.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

#define V2 "\r\n\r\n\0\r\nQUIT\n"
#define ROW(text) text, sizeof(text) - 1
#define TLV_3 "\x04\0\0"
#define PATH_108 "/a23456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345\0\0"
#define PATHS PATH_108 PATH_108

static void headers(void)
{
	static const struct { const char *rule, *bytes; size_t len; const char *want; size_t behind; } cases[] = {
		{ "1: TCP4", ROW("PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n"), "192.0.2.1 56324", 0 },
		{ "1: TCP6", ROW("PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n"), "2001:db8::1 1", 0 },
		{ "1: IPv4 in IPv6", ROW("PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n"), "192.0.2.1 1", 0 },
		{ "1: the longest (2.1)", ROW("PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n"),
			"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535", 0 },
		{ "1: unknown", ROW("PROXY UNKNOWN\r\n"), "unknown", 0 },
		{ "1: unknown, with words", ROW("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n"), "unknown", 0 },
		{ "1: a request behind it", ROW("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\n"), "192.0.2.1 1", 16 },
		{ "1: port 0", ROW("PROXY TCP4 192.0.2.1 192.0.2.2 0 0\r\n"), "192.0.2.1 0", 0 },
		{ "1: a line feed alone", ROW("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n"), "bad", 0 },
		{ "1: too long", ROW("PROXY UNKNOWN 0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\r\n"), "bad", 0 },
		{ "1: two blanks", ROW("PROXY  TCP4 192.0.2.1 192.0.2.2 1 2\r\n"), "bad", 0 },
		{ "1: two blanks further on", ROW("PROXY TCP4 192.0.2.1  192.0.2.2 1 2\r\n"), "bad", 0 },
		{ "1: a blank at the end", ROW("PROXY TCP4 192.0.2.1 192.0.2.2 1 2 \r\n"), "bad", 0 },
		{ "1: words missing", ROW("PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n"), "bad", 0 },
		{ "1: no words", ROW("PROXY \r\n"), "bad", 0 },
		{ "1: no line", ROW("PROXY\r\n"), "bad", 0 },
		{ "1: small letters", ROW("proxy TCP4 192.0.2.1 192.0.2.2 1 2\r\n"), "bad", 0 },
		{ "1: UDP4", ROW("PROXY UDP4 192.0.2.1 192.0.2.2 1 2\r\n"), "bad", 0 },
		{ "1: the wrong family", ROW("PROXY TCP4 2001:db8::1 192.0.2.2 1 2\r\n"), "bad", 0 },
		{ "1: the wrong family of the destination", ROW("PROXY TCP6 2001:db8::1 192.0.2.2 1 2\r\n"), "bad", 0 },
		{ "1: a leading zero (2.1)", ROW("PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n"), "bad", 0 },
		{ "1: a port too large", ROW("PROXY TCP4 192.0.2.1 192.0.2.2 65536 2\r\n"), "bad", 0 },
		{ "1: a port with a sign", ROW("PROXY TCP4 192.0.2.1 192.0.2.2 +1 2\r\n"), "bad", 0 },
		{ "1: no address", ROW("PROXY TCP4 localhost 192.0.2.2 1 2\r\n"), "bad", 0 },
		{ "1: a NUL", ROW("PROXY TCP4 192.0.2.1\0 192.0.2.2 1 2\r\n"), "bad", 0 },
		{ "none: a request", ROW("GET / HTTP/1.1\r\n\r\n"), "bad", 0 },
		{ "none: TLS", ROW("\x16\x03\x01\x02"), "bad", 0 },
		{ "none: another method that begins alike", ROW("PROXYFIND / HTTP/1.1\r\n\r\n"), "bad", 0 },
		{ "2: TCP over IPv4", ROW(V2 "\x21\x11\0\x0c\xc0\0\2\1\xc0\0\2\2\x01\x02\x03\x04"), "192.0.2.1 258", 0 },
		{ "2: TCP over IPv6", ROW(V2 "\x21\x21\0\x24\x20\1\r\xb8\0\0\0\0\0\0\0\0\0\0\0\1\x20\1\r\xb8\0\0\0\0\0\0\0\0\0\0\0\2\x01\x02\x03\x04"),
			"2001:db8::1 258", 0 },
		{ "2: more behind the addresses", ROW(V2 "\x21\x11\0\x0f\xc0\0\2\1\xc0\0\2\2\x01\x02\x03\x04" TLV_3 "GET"), "192.0.2.1 258", 3 },
		{ "2: local (2.2)", ROW(V2 "\x20\x00\0\0"), "local", 0 },
		{ "2: local, whatever it names", ROW(V2 "\x20\x11\0\x0c\xc0\0\2\1\xc0\0\2\2\x01\x02\x03\x04G"), "local", 1 },
		{ "2: unspecified", ROW(V2 "\x21\x00\0\3" TLV_3), "unknown", 0 },
		{ "2: a Unix stream", ROW(V2 "\x21\x31\0\xd8" PATHS), "unknown", 0 },
		{ "2: UDP counts as unspecified (2.2)", ROW(V2 "\x21\x12\0\x0c\xc0\0\2\1\xc0\0\2\2\x01\x02\x03\x04"), "unknown", 0 },
		{ "2: UDP over IPv6 too", ROW(V2 "\x21\x22\0\x24\x20\1\r\xb8\0\0\0\0\0\0\0\0\0\0\0\1\x20\1\r\xb8\0\0\0\0\0\0\0\0\0\0\0\2\x01\x02\x03\x04"),
			"unknown", 0 },
		{ "2: a Unix datagram too", ROW(V2 "\x21\x32\0\xd8" PATHS), "unknown", 0 },
		{ "2: a family nobody named", ROW(V2 "\x21\x41\0\0"), "bad", 0 },
		{ "2: addresses cut", ROW(V2 "\x21\x11\0\x0b\xc0\0\2\1\xc0\0\2\2\x01\x02\x03\x04"), "bad", 0 },
		{ "2: IPv6 addresses cut", ROW(V2 "\x21\x21\0\x23\0"), "bad", 0 },
		{ "2: a command nobody named", ROW(V2 "\x22\x11\0\x0c\xc0\0\2\1\xc0\0\2\2\x01\x02\x03\x04"), "bad", 0 },
		{ "2: another version", ROW(V2 "\x31\x11\0\x0c\xc0\0\2\1\xc0\0\2\2\x01\x02\x03\x04"), "bad", 0 },
		{ "2: another signature", ROW("\r\n\r\n\0\r\nQUIT\r\x21\x11\0\x0c"), "bad", 0 },
		{ "nothing", ROW(""), "more", 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const uint8_t *bytes = (const uint8_t *)cases[i].bytes;
		char got[80] = "", ip[INET6_ADDRSTRLEN];
		struct proxy_protocol p;
		enum proxy_protocol_result r = proxy_protocol_read(&p, bytes, cases[i].len);

		inet_ntop(p.ip.ipv6 ? AF_INET6 : AF_INET, p.ip.bytes, ip, sizeof(ip));
		snprintf(got, sizeof(got), r == PROXY_PROTOCOL_BAD ? "bad" : r == PROXY_PROTOCOL_MORE ? "more" : p.whose == PROXY_PROTOCOL_LOCAL ? "local" :
			p.whose == PROXY_PROTOCOL_UNKNOWN ? "unknown" : "%s %u", ip, (unsigned)p.port);
		UNIT_ROW(strcmp(got, cases[i].want) == 0, "trust 18: %s: %s", cases[i].rule, got);
		if (r != PROXY_PROTOCOL_DONE)
			continue;
		UNIT_ROW(p.length == cases[i].len - cases[i].behind, "trust 18: %s: %zu bytes", cases[i].rule, p.length);
		for (size_t cut = 0; cut < p.length; cut++) {
			struct proxy_protocol q;

			r = proxy_protocol_read(&q, bytes, cut);
			UNIT_ROW(r == PROXY_PROTOCOL_MORE || (r == PROXY_PROTOCOL_DONE && q.length == p.length && bytes[0] == '\r'), "trust 18: %s, cut at %zu",
				cases[i].rule, cut);
		}
	}
}

UNIT_SUITE(proxy_protocol, { "trust 18: headers", headers })
