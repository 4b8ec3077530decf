/* Owns the cases of proxy/http/target_inside.c: what may be asked inside an opened CONNECT. Must not know: TLS. Invariant: whatever is asked,
 * a destination is an https URL of the CONNECT's host and port. */
#include "proxy/http/target_inside.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static const char *const error_names[] = {
	[TARGET_OK] = "ok", [TARGET_NO_MEMORY] = "no memory", [TARGET_BAD_HOST] = "bad host", [TARGET_BAD_TARGET] = "bad target",
	[TARGET_BAD_URL] = "bad url", [TARGET_MISDIRECTED] = "misdirected",
};

struct row { const char *rule, *host; int minor; const char *target, *want; };

/* host: the value of Host; NULL: none; "a|b": two. */
static void check(const char *host, uint16_t port, const struct row *rows, size_t n)
{
	struct conf *conf = conf_new();
	struct destination connect = { .port = port };
	struct inside in;

	CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
	snprintf(connect.host, sizeof connect.host, "%s", host);
	inside_set(&in, &connect);
	for (size_t i = 0; i < n; i++) {
		char bytes[512], got[600], room[24];
		const char *why, *second = rows[i].host ? strchr(rows[i].host, '|') : NULL;
		struct http_field fields[2];
		struct http_msg m = { .fields = fields, .max_fields = 2, .major = 1, .minor = (uint8_t)rows[i].minor, .base = bytes };
		size_t len = rows[i].host ? strlen(rows[i].host) : 0, first = second ? (size_t)(second - rows[i].host) : len;
		struct target t;
		enum target_error e;

		snprintf(bytes, sizeof bytes, "%s%s", rows[i].host ? rows[i].host : "", rows[i].target);
		m.target = (uint32_t)len;
		m.target_len = (uint32_t)strlen(rows[i].target);
		fields[0] = (struct http_field){ .id = H_HOST, .value_len = (uint32_t)first };
		fields[1] = (struct http_field){ .id = H_HOST, .value = (uint32_t)first + 1, .value_len = (uint32_t)(len - first - 1) };
		if (rows[i].host)
			http_msg_add(&m);
		if (second)
			http_msg_add(&m);
		e = target_inside(&t, conf, &in, &m, room, sizeof room, &why);
		if (e == TARGET_OK) {
			snprintf(got, sizeof got, "%s %s %s", t.to.authority, t.to.path, t.to.tls && t.mode == TARGET_FORWARD && t.to.port == port ? "" : "not its own");
			got[strlen(got) - (got[strlen(got) - 1] == ' ')] = '\0';
			target_free(&t);
		} else
			snprintf(got, sizeof got, "%s", error_names[e]);
		UNIT_ROW(!strcmp(got, rows[i].want), "%s: %s", rows[i].rule, got);
	}
	conf_free(&conf);
}

static void by_name(void)
{
	static const struct row rows[] = {
		{ "RFC 9112 3.2.1: a path", "example.org", 1, "/a?b", "example.org /a?b" },
		{ "capitals, a final dot", "EXAMPLE.org.", 1, "/a", "example.org /a" },
		{ "the port named", "example.org:443", 1, "/", "example.org /" },
		{ "another port", "example.org:80", 1, "/", "misdirected" },
		{ "another host", "example.com", 1, "/", "misdirected" },
		{ "a host below it", "a.example.org", 1, "/", "misdirected" },
		{ "a host above it", "org", 1, "/", "misdirected" },
		{ "RFC 9112 3.2: none in HTTP/1.1", NULL, 1, "/", "bad host" },
		{ "none in HTTP/1.0", NULL, 0, "/a", "example.org /a" },
		{ "two", "example.org|example.org", 1, "/", "bad host" },
		{ "an empty one", "", 1, "/", "bad host" },
		{ "user information", "u@example.org", 1, "/", "bad host" },
		{ "RFC 9112 3.2.2: a URL", "example.org", 1, "https://example.org/a", "example.org /a" },
		{ "a URL in capitals", "example.org", 1, "HTTPS://Example.ORG:443/a", "example.org /a" },
		{ "a URL, the right one beside another Host", "example.com", 1, "https://example.org/a", "misdirected" },
		{ "a URL of another host", "example.org", 1, "https://example.com/a", "misdirected" },
		{ "a URL of another port", "example.org", 1, "https://example.org:444/a", "misdirected" },
		{ "a URL of http", "example.org", 1, "http://example.org/a", "misdirected" },
		{ "a URL of http, by the port of https", "example.org", 1, "http://example.org:443/a", "misdirected" },
		{ "a URL with user information", "example.org", 1, "https://u:p@example.org/a", "bad url" },
		{ "a host hidden behind another", "example.org", 1, "https://example.org@example.com/", "bad url" },
		{ "a path that looks like a host", "example.org", 1, "//example.com/a", "example.org //example.com/a" },
		{ "a path that is a URL of the gateway's", "example.org", 1, "/https://example.com/", "example.org /https://example.com/" },
		{ "another scheme", "example.org", 1, "ftp://example.org/", "bad target" },
		{ "RFC 9112 3.2.4: an asterisk", "example.org", 1, "*", "bad target" },
		{ "a host and a port", "example.org", 1, "example.org:443", "bad target" },
		{ "a fragment", "example.org", 1, "/a#b", "bad url" },
		{ "a blank by its back door", "example.org", 1, "/a\tb", "bad url" },
	};
	static const struct row unicode[] = {
		{ "UTF-8", "xn--bcher-kva.example", 1, "/\xc3\xbc", "xn--bcher-kva.example /%C3%BC" },
		{ "Host in UTF-8 beside a URL", "b\xc3\xbc" "cher.example", 1, "https://b\xc3\xbc" "cher.example/a", "xn--bcher-kva.example /a" },
		{ "another one", "\xc3\xbc.example", 1, "https://b\xc3\xbc" "cher.example/a", "misdirected" },
		{ "beside a path", "b\xc3\xbc" "cher.example", 1, "/a", "bad host" },
	};
	static const struct row dotted[] = { { "a final dot in CONNECT", "example.org", 1, "/", "example.org /" } };

	check("example.org", 443, rows, COUNT(rows));
	check("xn--bcher-kva.example", 443, unicode, COUNT(unicode));
	check("Example.org.", 443, dotted, COUNT(dotted));
}

static void by_port_and_address(void)
{
	static const struct row port[] = {
		{ "its port", "example.org:8443", 1, "/a", "example.org:8443 /a" },
		{ "no port means 443", "example.org", 1, "/a", "misdirected" },
		{ "a URL with its port", "example.org:8443", 1, "https://example.org:8443/", "example.org:8443 /" },
	};
	static const struct row ipv6[] = {
		{ "an address", "[2001:db8::1]", 1, "/a", "[2001:db8::1] /a" },
		{ "another", "[2001:db8::2]", 1, "/a", "misdirected" },
	};
	static const struct row ipv4[] = { { "an address", "192.0.2.1", 1, "/a", "192.0.2.1 /a" }, { "in another spelling", "0xc0000201", 1, "/a", "misdirected" } };

	check("example.org", 8443, port, COUNT(port));
	check("2001:db8::1", 443, ipv6, COUNT(ipv6));
	check("192.0.2.1", 443, ipv4, COUNT(ipv4));
}

UNIT_SUITE(target_inside, { "by name", by_name }, { "by port and address", by_port_and_address })
