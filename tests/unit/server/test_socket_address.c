/* Owns the cases of proxy/server/socket_address.c: addresses as text, and which one asks for which. Must not know: sockets.
 * Invariant: nothing is bound. */
#include "proxy/server/socket_address.h"
#include "conf/conf.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/un.h>

/* "ADDR PORT", or a path. */
static struct sockaddr_storage made(const char *host, unsigned port)
{
	char text[64];
	struct conf_listen listen = { .host = text, .ipv6 = strchr(host, ':') != NULL, .port = (uint16_t)port };
	struct sockaddr_storage a;

	strcpy(text, host);
	if (host[0] != '/') {
		CU_ASSERT(socket_address(&a, &listen) > 0);
		return a;
	}
	memset(&a, 0, sizeof a);
	a.ss_family = AF_UNIX;
	strcpy(((struct sockaddr_un *)(void *)&a)->sun_path, host);
	return a;
}

static void texts(void)
{
	static const struct { const char *host; unsigned port; const char *want; bool inet; } cases[] = {
		{ "192.0.2.1", 80, "192.0.2.1:80", true },
		{ "0.0.0.0", 65535, "0.0.0.0:65535", true },
		{ "2001:db8::1", 443, "[2001:db8::1]:443", true },
		{ "::", 1, "[::]:1", true },
		{ "/run/utfeed", 0, "unix:/run/utfeed", false },
		{ "/run/a b", 0, "unix:/run/a\\x20b", false },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sockaddr_storage a = made(cases[i].host, cases[i].port);
		char text[SOCKET_TEXT_MAX];

		UNIT_ROW(!strcmp(socket_address_text(text, &a), cases[i].want), "%s: %s", cases[i].want, text);
		UNIT_ROW(socket_address_is_inet(&a) == cases[i].inet, "%s", cases[i].want);
	}
}

static void matches(void)
{
	static const struct { const char *rule, *wanted; unsigned wanted_port; const char *there; unsigned port; bool match; } cases[] = {
		{ "the same", "192.0.2.1", 80, "192.0.2.1", 80, true },
		{ "another port", "192.0.2.1", 80, "192.0.2.1", 81, false },
		{ "another host", "192.0.2.1", 80, "192.0.2.2", 80, false },
		{ "any port", "192.0.2.1", 0, "192.0.2.1", 81, true },
		{ "any port of another host", "192.0.2.1", 0, "192.0.2.2", 81, false },
		{ "a port is not any", "192.0.2.1", 80, "192.0.2.1", 0, false },
		{ "every host is a host of its own", "0.0.0.0", 80, "192.0.2.1", 80, false },
		{ "IPv6", "2001:db8::1", 80, "2001:db8::1", 80, true },
		{ "IPv6, any port", "2001:db8::1", 0, "2001:db8::1", 80, true },
		{ "IPv6, another host", "2001:db8::1", 80, "2001:db8::2", 80, false },
		{ "another family", "0.0.0.0", 80, "::", 80, false },
		{ "a path", "/run/a", 0, "/run/a", 0, true },
		{ "another path", "/run/a", 0, "/run/ab", 0, false },
		{ "a path and a host", "/run/a", 0, "192.0.2.1", 0, false },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sockaddr_storage wanted = made(cases[i].wanted, cases[i].wanted_port), there = made(cases[i].there, cases[i].port);

		UNIT_ROW(socket_address_matches(&wanted, &there) == cases[i].match, "%s", cases[i].rule);
	}
}

UNIT_SUITE(socket_address, { "texts", texts }, { "matches", matches })
