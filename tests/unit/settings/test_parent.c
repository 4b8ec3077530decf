/* Owns the cases of proxy/settings/parent.c and conf/conf_parent.c: which requests go through a parent proxy, and who it is told they are
 * from. Must not know: sockets. Invariant: each row names its rule. Sources: curl(1) on no_proxy and proxy environment variables,
 * RFC 7617 section 2, RFC 1929 section 2. */
#include "conf/conf_internal.h"
#include "proxy/settings/parent.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

static bool goes_through(const char *url, const char *no_proxy)
{
	struct conf_parent http = { .host = (char[]){ "http.test" }, .port = 1 }, https = { .host = (char[]){ "https.test" }, .port = 2 };
	struct conf_destination_list none = { NULL, 0 };
	const struct parent_rules rules = { &http, &https, &none };
	const struct conf_parent *parent;
	struct destination to = { .path = NULL };
	struct conf_error error = { "" };
	const char *why = "";

	UNIT_ROW(conf_hosts_set(NULL, &none, &(struct conf_value){ no_proxy, NULL }, &error) == 0, "%s: %s", no_proxy, error.text);
	UNIT_ROW(destination_from_url(&to, (struct slice){ url, strlen(url) }, &why) == DESTINATION_OK, "%s: %s", url, why);
	parent = parent_choose(&rules, &to);
	UNIT_ROW(!parent || parent == (to.tls ? &https : &http), "%s: the other one", url);
	destination_free(&to);
	conf_destination_clear(&none);
	return parent;
}

static void no_proxy(void)
{
	static const struct { const char *rule, *no_proxy, *url; bool through; } cases[] = {
		{ "no list", "", "http://example.org/", true },
		{ "no list, https", "", "https://example.org/", true },
		{ "no list: loopback is nothing special", "", "http://127.0.0.1/", true },
		{ "a name is the host", "example.org", "http://example.org/", false },
		{ "whatever the scheme", "example.org", "https://example.org/", false },
		{ "and all below it", "example.org", "http://a.b.example.org/", false },
		{ "whole labels", "example.org", "http://anexample.org/", true },
		{ "not above it", "www.example.org", "http://example.org/", true },
		{ "not in the middle", "example", "http://example.org/", true },
		{ "a dot before it", ".example.org", "http://a.example.org/", false },
		{ "a dot before it: the host too", ".example.org", "http://example.org/", false },
		{ "*. before it", "*.example.org", "http://a.example.org/", false },
		{ "a dot behind it", "example.org.", "http://example.org/", false },
		{ "a dot behind the URL's", "example.org", "http://example.org./", false },
		{ "capital letters", "EXAMPLE.org", "http://example.ORG/", false },
		{ "the last of several", "a.test, b.test,example.org", "http://example.org/", false },
		{ "blanks between", "a.test b.test\texample.org", "http://b.test/", false },
		{ "empty items", ",,a.test,", "http://b.test/", true },
		{ "all", "*", "http://example.org/", false },
		{ "all, among others", "a.test,*", "http://127.0.0.1/", false },
		{ "one label", "localhost", "http://localhost/", false },
		{ "port", "example.org:8080", "http://example.org:8080/", false },
		{ "another port", "example.org:8080", "http://example.org/", true },
		{ "the scheme's own port", "example.org:443", "https://example.org/", false },
		{ "any port, said so", "example.org:*", "http://example.org:81/", false },
		{ "no port: any", "example.org", "http://example.org:8080/", false },
		{ "a port of all", "*:8080", "http://example.org:8080/", false },
		{ "a port of all, another", "*:8080", "http://example.org/", true },
		{ "address", "192.0.2.7", "http://192.0.2.7/", false },
		{ "another address", "192.0.2.7", "http://192.0.2.70/", true },
		{ "address and port", "192.0.2.7:81", "http://192.0.2.7:81/", false },
		{ "address and another port", "192.0.2.7:81", "http://192.0.2.7/", true },
		{ "block", "10.0.0.0/8", "http://10.200.3.4/", false },
		{ "outside of it", "10.0.0.0/8", "http://11.0.0.1/", true },
		{ "/32", "192.0.2.7/32", "http://192.0.2.7/", false },
		{ "/0", "0.0.0.0/0", "http://192.0.2.7/", false },
		{ "/0 is of IPv4", "0.0.0.0/0", "http://[2001:db8::1]/", true },
		{ "no name lies in a block", "0.0.0.0/0,::/0", "http://example.org/", true },
		{ "IPv6", "::1", "http://[::1]/", false },
		{ "IPv6, another spelling", "::1", "http://[0:0::1]/", false },
		{ "IPv6 in brackets", "[::1]", "http://[::1]/", false },
		{ "IPv6 and port", "[::1]:81", "http://[::1]:81/", false },
		{ "IPv6 and another port", "[::1]:81", "http://[::1]/", true },
		{ "IPv6 block", "2001:db8::/32", "http://[2001:db8:1::2]/", false },
		{ "outside of it", "2001:db8::/32", "http://[2001:db9::2]/", true },
		{ "IPv4 in IPv6", "192.0.2.7", "http://[::ffff:192.0.2.7]/", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		UNIT_ROW(goes_through(cases[i].url, cases[i].no_proxy) == cases[i].through, "%s: %s", cases[i].rule, cases[i].no_proxy);
}

static void off(void)
{
	struct conf_parent set = { .host = (char[]){ "http.test" }, .port = 1 }, unset = { .host = NULL };
	struct conf_destination_list none = { NULL, 0 };
	struct destination plain = { .host = "a.test", .port = 80 }, tls = { .host = "a.test", .port = 443, .tls = true };

	CU_ASSERT_PTR_NULL(parent_choose(&(struct parent_rules){ &unset, &set, &none }, &plain));
	CU_ASSERT_PTR_EQUAL(parent_choose(&(struct parent_rules){ &unset, &set, &none }, &tls), &set);
	CU_ASSERT_PTR_EQUAL(parent_choose(&(struct parent_rules){ &set, &unset, &none }, &plain), &set);
	CU_ASSERT_PTR_NULL(parent_choose(&(struct parent_rules){ &set, &unset, &none }, &tls));
}

static void credentials(void)
{
	static const struct { const char *rule, *value, *line; } cases[] = {
		{ "none", "http://h:1", "" },
		{ "RFC 7617 section 2, its example", "http://Aladdin:open%20sesame@h:1", "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n" },
		{ "as they are", "h2:p@h:1", "Proxy-Authorization: Basic aDI6cA==\r\n" },
		{ "no password", "http://user@h:1", "Proxy-Authorization: Basic dXNlcjo=\r\n" },
		{ "an empty one", "http://user:@h:1", "Proxy-Authorization: Basic dXNlcjo=\r\n" },
		{ "no user", "http://:p@h:1", "Proxy-Authorization: Basic OnA=\r\n" },
		{ "a colon in the password", "http://u:a:b@h:1", "Proxy-Authorization: Basic dTphOmI=\r\n" },
		{ "an @ in it: the last one counts", "http://u:a@b@h:1", "Proxy-Authorization: Basic dTphQGI=\r\n" },
		{ "escaped", "http://u%40x:%2F%3a%25@h:1", "Proxy-Authorization: Basic dUB4Oi86JQ==\r\n" },
		{ "beyond ASCII (RFC 7617 section 3: test, 123 pound)", "http://test:123%C2%A3@h:1", "Proxy-Authorization: Basic dGVzdDoxMjPCow==\r\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf_parent parent = { .host = NULL };
		struct conf_error error = { "" };
		struct text t = { 0 };
		UNIT_ROW(conf_parent_set(NULL, &parent, &(struct conf_value){ cases[i].value, NULL }, &error) == 0, "%s: %s", cases[i].rule, error.text);
		UNIT_ROW(parent.host && strcmp(parent.host, "h") == 0 && parent.port == 1, "%s", cases[i].rule);
		parent_add_credentials(&t, &parent);
		UNIT_ROW(t.len == strlen(cases[i].line) && (!t.len || memcmp(t.bytes, cases[i].line, t.len) == 0), "%s: %.*s", cases[i].rule,
			(int)t.len, t.len ? t.bytes : "");
		free(t.bytes);
		conf_parent_clear(&parent);
	}
}

#define A_32 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A_255 A_32 A_32 A_32 A_32 A_32 A_32 A_32 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* RFC 1929 section 2: a version, and two words with a byte of length each. */
static void socks_credentials(void)
{
	static const struct { const char *rule, *value, *want; } cases[] = {
		{ "none", "socks5h://h:1", NULL },
		{ "two words", "socks5h://u:secret@h:1", "\1\1u\6secret" },
		{ "escaped, with a colon in the user", "socks5h://a%3Ab:c%20@h:1", "\1\3a:b\2c " },
		{ "a colon in the password", "socks5h://u:a:b@h:1", "\1\1u\3a:b" },
		{ "beyond ASCII", "socks5h://u:%C2%A3@h:1", "\1\1u\2\302\243" },
		{ "the longest", "socks5h://" A_255 ":" A_255 "@h:1", "\1\377" A_255 "\377" A_255 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf_parent parent = { .host = NULL };
		struct conf_error error = { "" };
		UNIT_ROW(conf_parent_set(NULL, &parent, &(struct conf_value){ cases[i].value, NULL }, &error) == 0, "%s: %s", cases[i].rule, error.text);
		UNIT_ROW(parent.kind == CONF_PARENT_SOCKS && !parent_reads(&parent, false), "%s", cases[i].rule);
		UNIT_ROW(!cases[i].want == !parent.credentials && (!cases[i].want || !strcmp(parent.credentials, cases[i].want)), "%s", cases[i].rule);
		conf_parent_clear(&parent);
	}
}

static bool same_way(uint16_t a_port, const struct conf_parent *a, uint16_t b_port, const struct conf_parent *b)
{
	struct text one = { 0 }, other = { 0 };
	bool same;

	parent_add_way(&one, a_port, a);
	parent_add_way(&other, b_port, b);
	same = one.len == other.len && !memcmp(one.bytes, other.bytes, one.len);
	text_free(&one);
	text_free(&other);
	return same;
}

/* Connections are shared by requests through the same proxy as the same user, and so are sessions of TLS. */
static void same(void)
{
	static const struct { const char *rule, *a, *b; bool same; } cases[] = {
		{ "one proxy", "h:1", "http://H:1/", true }, { "hosts", "h:1", "g:1", false }, { "ports", "h:1", "h:2", false },
		{ "one user", "u:p@h:1", "u:%70@h:1", true }, { "passwords", "u:p@h:1", "u:q@h:1", false }, { "a user and none", "u:p@h:1", "h:1", false },
		{ "none and a user", "h:1", "u:p@h:1", false }, { "what it speaks", "h:1", "socks5h://h:1", false },
		{ "SOCKS, one user", "socks5h://u:p@h", "socks5h://%75:p@h:1080", true }, { "SOCKS, two", "socks5h://u:p@h", "socks5h://u:q@h", false },
		{ "SOCKS, where the colon stands", "socks5h://a%3Ab:c@h", "socks5h://a:b%3Ac@h", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf_parent a = { .host = NULL }, b = { .host = NULL };
		struct conf_error error = { "" };
		UNIT_ROW(conf_parent_set(NULL, &a, &(struct conf_value){ cases[i].a, NULL }, &error) == 0, "%s: %s", cases[i].rule, error.text);
		UNIT_ROW(conf_parent_set(NULL, &b, &(struct conf_value){ cases[i].b, NULL }, &error) == 0, "%s: %s", cases[i].rule, error.text);
		UNIT_ROW(parent_same(&a, &b) == cases[i].same, "%s", cases[i].rule);
		UNIT_ROW(same_way(443, &a, 443, &b) == cases[i].same, "%s: ways", cases[i].rule);
		UNIT_ROW(!same_way(443, &a, 44, &a) && !same_way(443, &a, 443, NULL), "%s: another port, direct", cases[i].rule);
		UNIT_ROW(!parent_same(&a, NULL) && !parent_same(NULL, &b), "%s: direct", cases[i].rule);
		conf_parent_clear(&a);
		conf_parent_clear(&b);
	}
	CU_ASSERT_TRUE(parent_same(NULL, NULL));
}

UNIT_SUITE(parent, { "no_proxy", no_proxy }, { "off", off }, { "credentials", credentials }, { "socks_credentials", socks_credentials }, { "same", same })
