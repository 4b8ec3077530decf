/* Owns the cases of proxy/http/cookie_jar.c. Invariant: each row names its rule (RFC 6265, section in brackets). */
#include "proxy/http/cookie_jar.h"
#include "tests/unit/heads.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define LONG_4 "aaaa"
#define LONG_64 LONG_4 LONG_4 LONG_4 LONG_4 LONG_4 LONG_4 LONG_4 LONG_4 LONG_4 LONG_4 LONG_4 LONG_4 LONG_4 LONG_4 LONG_4 LONG_4
#define LONG_1024 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64

enum { NOW = 1700000000 };             /* 14 November 2023 */

static struct destination at(const char *url)
{
	struct destination d = { .path = NULL };
	const char *why;

	CU_ASSERT_EQUAL_FATAL(destination_from_url(&d, (struct slice){ url, strlen(url) }, &why), DESTINATION_OK);
	return d;
}

static bool take(struct cookie_jar **jar, const char *url, const char *lines)
{
	struct destination from = at(url);
	struct http_msg m;

	head_read(&m, lines, 302);
	bool changed = cookie_jar_take(jar, &from, &m, NOW);
	head_free(&m);
	destination_free(&from);
	return changed;
}

/* The Cookie line of a request to url, as a string. */
static char *line(const struct cookie_jar *jar, const char *url)
{
	struct destination to = at(url);
	struct text t = { 0 };
	size_t len;

	cookie_jar_write(jar, &t, &to);
	UNIT_ROW(cookie_jar_has(jar, &to) == (t.len != 0), "%s", url);
	text_add(&t, "", 1);
	destination_free(&to);
	return text_take(&t, &len);
}

struct row { const char *rule, *from, *lines, *to, *want; };

static void check(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct cookie_jar *jar = NULL;

		take(&jar, rows[i].from, rows[i].lines);
		char *got = line(jar, rows[i].to);
		UNIT_ROW(!strcmp(got, rows[i].want), "%s: %s", rows[i].rule, got);
		free(got);
		cookie_jar_free(&jar);
		CU_ASSERT_PTR_NULL(jar);
	}
}

static void reading(void)
{
	static const struct row rows[] = {
		{ "none", "http://h.example/", "X: a=b\n", "http://h.example/", "" },
		{ "one (5.2)", "http://h.example/", "Set-Cookie: a=b\n", "http://h.example/", "Cookie: a=b\r\n" },
		{ "several, in their order (5.4)", "http://h.example/", "Set-Cookie: a=b\nSet-Cookie: c=d\n", "http://h.example/", "Cookie: a=b; c=d\r\n" },
		{ "blanks around (5.2)", "http://h.example/", "Set-Cookie:  a = b ; Path = / \n", "http://h.example/x", "Cookie: a=b\r\n" },
		{ "an = in the value", "http://h.example/", "Set-Cookie: a=b=c==\n", "http://h.example/", "Cookie: a=b=c==\r\n" },
		{ "quotes are part of it", "http://h.example/", "Set-Cookie: a=\"b c\"\n", "http://h.example/", "Cookie: a=\"b c\"\r\n" },
		{ "an empty value", "http://h.example/", "Set-Cookie: a=\n", "http://h.example/", "Cookie: a=\r\n" },
		{ "no = (5.2)", "http://h.example/", "Set-Cookie: a\n", "http://h.example/", "" },
		{ "no name (5.2)", "http://h.example/", "Set-Cookie: =b\n", "http://h.example/", "" },
		{ "nothing", "http://h.example/", "Set-Cookie: \n", "http://h.example/", "" },
		{ "attributes alone", "http://h.example/", "Set-Cookie: ; Path=/\n", "http://h.example/", "" },
		{ "unknown attributes (5.2)", "http://h.example/", "Set-Cookie: a=b; HttpOnly; SameSite=Lax; x=y;;\n", "http://h.example/", "Cookie: a=b\r\n" },
		{ "a tab in the value", "http://h.example/", "Set-Cookie: a=b\tc\n", "http://h.example/", "" },
		{ "set once more: the last (5.3)", "http://h.example/", "Set-Cookie: a=b\nSet-Cookie: c=d\nSet-Cookie: a=e\n", "http://h.example/", "Cookie: a=e; c=d\r\n" },
		{ "names are told apart by case", "http://h.example/", "Set-Cookie: a=b\nSet-Cookie: A=c\n", "http://h.example/", "Cookie: a=b; A=c\r\n" },
		{ "a field of more than there is room", "http://h.example/", "Set-Cookie: a=" LONG_1024 LONG_1024 LONG_1024 LONG_1024 LONG_1024 LONG_1024 LONG_1024 LONG_1024
			"\nSet-Cookie: c=d\n", "http://h.example/", "Cookie: c=d\r\n" },
	};

	check(rows, COUNT(rows));
}

static void lifetimes(void)
{
	static const struct row rows[] = {
		{ "Max-Age above 0 (5.2.2)", "http://h.example/", "Set-Cookie: a=b; Max-Age=1\n", "http://h.example/", "Cookie: a=b\r\n" },
		{ "Max-Age 0", "http://h.example/", "Set-Cookie: a=b\nSet-Cookie: a=; Max-Age=0\n", "http://h.example/", "" },
		{ "Max-Age below 0", "http://h.example/", "Set-Cookie: a=b\nSet-Cookie: a=c; max-age=-1\n", "http://h.example/", "" },
		{ "Max-Age that is no number", "http://h.example/", "Set-Cookie: a=b; Max-Age=0x\n", "http://h.example/", "Cookie: a=b\r\n" },
		{ "Max-Age before Expires (5.3)", "http://h.example/", "Set-Cookie: a=b; Max-Age=9; Expires=Thu, 01 Jan 1970 00:00:00 GMT\n", "http://h.example/",
			"Cookie: a=b\r\n" },
		{ "Expires before, Max-Age behind", "http://h.example/", "Set-Cookie: a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=9\n", "http://h.example/",
			"Cookie: a=b\r\n" },
		{ "Expires in the past (5.2.1)", "http://h.example/", "Set-Cookie: a=b\nSet-Cookie: a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT\n", "http://h.example/", "" },
		{ "Expires with hyphens (5.1.1)", "http://h.example/", "Set-Cookie: a=b\nSet-Cookie: a=; expires=Thu, 01-Jan-1970 00:00:01 GMT\n", "http://h.example/", "" },
		{ "Expires to come", "http://h.example/", "Set-Cookie: a=b; Expires=Wed, 09 Jun 2100 10:18:14 GMT\n", "http://h.example/", "Cookie: a=b\r\n" },
		{ "Expires that is no date", "http://h.example/", "Set-Cookie: a=b; Expires=soon\n", "http://h.example/", "Cookie: a=b\r\n" },
		{ "ended under another path is another one", "http://h.example/", "Set-Cookie: a=b\nSet-Cookie: a=; Path=/x; Max-Age=0\n", "http://h.example/",
			"Cookie: a=b\r\n" },
	};

	check(rows, COUNT(rows));
}

static void matching(void)
{
	static const struct row rows[] = {
		{ "the host itself (5.1.3)", "http://h.example/", "Set-Cookie: a=b\n", "http://H.example/", "Cookie: a=b\r\n" },
		{ "ports are no difference (8.5)", "http://h.example:81/", "Set-Cookie: a=b\n", "http://h.example:82/", "Cookie: a=b\r\n" },
		{ "a host below it (5.3)", "http://h.example/", "Set-Cookie: a=b\n", "http://www.h.example/", "" },
		{ "another host", "http://h.example/", "Set-Cookie: a=b\n", "http://i.example/", "" },
		{ "Domain: a host below it", "http://h.example/", "Set-Cookie: a=b; Domain=h.example\n", "http://www.h.example/", "Cookie: a=b\r\n" },
		{ "Domain with a dot (5.2.3)", "http://www.h.example/", "Set-Cookie: a=b; Domain=.H.Example\n", "http://feeds.h.example/", "Cookie: a=b\r\n" },
		{ "Domain: its own end is not enough", "http://h.example/", "Set-Cookie: a=b; Domain=h.example\n", "http://xh.example/", "" },
		{ "Domain of another (5.3)", "http://h.example/", "Set-Cookie: a=b; Domain=i.example\n", "http://i.example/", "" },
		{ "Domain below the host", "http://h.example/", "Set-Cookie: a=b; Domain=www.h.example\n", "http://www.h.example/", "" },
		{ "Domain without a dot", "http://h.example/", "Set-Cookie: a=b; Domain=example\n", "http://i.example/", "" },
		{ "Domain that is the host, without a dot", "http://localhost/", "Set-Cookie: a=b; Domain=localhost\n", "http://localhost/", "Cookie: a=b\r\n" },
		{ "Domain that is empty (5.2.3)", "http://h.example/", "Set-Cookie: a=b; Domain=\n", "http://h.example/", "Cookie: a=b\r\n" },
		{ "Domain of an address (5.1.3)", "http://10.0.0.1/", "Set-Cookie: a=b; Domain=0.0.1\n", "http://10.0.0.1/", "" },
		{ "Domain that is an address", "http://10.0.0.1/", "Set-Cookie: a=b; Domain=10.0.0.1\n", "http://10.0.0.1/", "Cookie: a=b\r\n" },
		{ "IPv6", "http://[::1]:80/", "Set-Cookie: a=b\n", "http://[::1]:81/", "Cookie: a=b\r\n" },
		{ "Secure, over TLS (5.4)", "https://h.example/", "Set-Cookie: a=b; Secure\n", "https://h.example/", "Cookie: a=b\r\n" },
		{ "Secure, without TLS", "https://h.example/", "Set-Cookie: a=b; Secure\n", "http://h.example/", "" },
		{ "Secure, set without TLS", "http://h.example/", "Set-Cookie: a=b; Secure\n", "https://h.example/", "" },
		{ "not Secure, both", "https://h.example/", "Set-Cookie: a=b\n", "http://h.example/", "Cookie: a=b\r\n" },
		{ "default path (5.1.4)", "http://h.example/x/y?/z/", "Set-Cookie: a=b\n", "http://h.example/x/other", "Cookie: a=b\r\n" },
		{ "default path, the folder itself", "http://h.example/x/y", "Set-Cookie: a=b\n", "http://h.example/x", "Cookie: a=b\r\n" },
		{ "default path, above", "http://h.example/x/y", "Set-Cookie: a=b\n", "http://h.example/", "" },
		{ "default path of one segment", "http://h.example/y", "Set-Cookie: a=b\n", "http://h.example/z/z", "Cookie: a=b\r\n" },
		{ "Path", "http://h.example/", "Set-Cookie: a=b; Path=/x\n", "http://h.example/x/y", "Cookie: a=b\r\n" },
		{ "Path, and its query", "http://h.example/", "Set-Cookie: a=b; Path=/x\n", "http://h.example/x?y", "Cookie: a=b\r\n" },
		{ "Path, another that begins so", "http://h.example/", "Set-Cookie: a=b; Path=/x\n", "http://h.example/xy", "" },
		{ "Path with a slash", "http://h.example/", "Set-Cookie: a=b; Path=/x/\n", "http://h.example/x", "" },
		{ "Path without one is none (5.2.4)", "http://h.example/x/y", "Set-Cookie: a=b; Path=y\n", "http://h.example/x/", "Cookie: a=b\r\n" },
		{ "the longer path first (5.4)", "http://h.example/", "Set-Cookie: a=1; Path=/\nSet-Cookie: a=2; Path=/x\nSet-Cookie: b=3; Path=/\n", "http://h.example/x",
			"Cookie: a=2; a=1; b=3\r\n" },
	};

	check(rows, COUNT(rows));
}

/* RFC 6265bis sections 5.4 and 5.7. */
static void promises(void)
{
	static const struct row rows[] = {
		{ "__Secure-, as it promises", "https://h.example/", "Set-Cookie: __Secure-a=b; Secure; Domain=h.example\n", "https://www.h.example/",
			"Cookie: __Secure-a=b\r\n" },
		{ "__Secure- that is not", "https://h.example/", "Set-Cookie: __Secure-a=b\n", "https://h.example/", "" },
		{ "__Secure- without TLS", "http://h.example/", "Set-Cookie: __Secure-a=b; Secure\n", "https://h.example/", "" },
		{ "in any case of letters", "https://h.example/", "Set-Cookie: __sEcUrE-a=b\n", "https://h.example/", "" },
		{ "__Host-, as it promises", "https://h.example/x/y", "Set-Cookie: __Host-a=b; Secure; Path=/\n", "https://h.example/", "Cookie: __Host-a=b\r\n" },
		{ "__Host- that is not secure", "https://h.example/", "Set-Cookie: __Host-a=b; Path=/\n", "https://h.example/", "" },
		{ "__Host- with a Domain", "https://h.example/", "Set-Cookie: __Host-a=b; Secure; Path=/; Domain=h.example\n", "https://h.example/", "" },
		{ "__Host- with an empty Domain", "https://h.example/", "Set-Cookie: __Host-a=b; Secure; Path=/; Domain=\n", "https://h.example/",
			"Cookie: __Host-a=b\r\n" },
		{ "__Host- without a Path", "https://h.example/", "Set-Cookie: __Host-a=b; Secure\n", "https://h.example/", "" },
		{ "__Host- with another Path", "https://h.example/", "Set-Cookie: __Host-a=b; Secure; Path=/x\n", "https://h.example/x", "" },
		{ "the last Path counts", "https://h.example/", "Set-Cookie: __HOST-a=b; Secure; Path=/; Path=/x\n", "https://h.example/x", "" },
		{ "without a name, in the value", "https://h.example/", "Set-Cookie: =__Host-a=b\n", "https://h.example/", "" },
		{ "behind blanks", "https://h.example/", "Set-Cookie:   __Host-a = b\n", "https://h.example/", "" },
		{ "without =", "https://h.example/", "Set-Cookie: __Secure-a\n", "https://h.example/", "" },
		{ "a longer name is another's", "http://h.example/", "Set-Cookie: x__Host-a=b\n", "http://h.example/", "Cookie: x__Host-a=b\r\n" },
		{ "a prefix that is none", "http://h.example/", "Set-Cookie: __Host=b\n", "http://h.example/", "Cookie: __Host=b\r\n" },
	};

	check(rows, COUNT(rows));
}

static void suffixes(void)
{
	static const struct row rows[] = {
		{ "of a country", "http://a.co.uk/", "Set-Cookie: a=b; Domain=co.uk\n", "http://b.co.uk/", "" },
		{ "nor is it the host's own then", "http://a.co.uk/", "Set-Cookie: a=b; Domain=co.uk\n", "http://a.co.uk/", "" },
		{ "in any case of letters", "http://a.co.uk/", "Set-Cookie: a=b; Domain=.CO.uK\n", "http://b.co.uk/", "" },
		{ "of a company", "http://a.github.io/", "Set-Cookie: a=b; Domain=github.io\n", "http://b.github.io/", "" },
		{ "by a rule with a star", "http://a.foo.ck/", "Set-Cookie: a=b; Domain=foo.ck\n", "http://b.foo.ck/", "" },
		{ "an exception from it", "http://a.www.ck/", "Set-Cookie: a=b; Domain=www.ck\n", "http://b.www.ck/", "Cookie: a=b\r\n" },
		{ "of an internationalised name", "http://a.xn--55qx5d.cn/", "Set-Cookie: a=b; Domain=xn--55qx5d.cn\n", "http://b.xn--55qx5d.cn/", "" },
		{ "with a dot at its end", "http://a.co.uk./", "Set-Cookie: a=b; Domain=co.uk.\n", "http://b.co.uk./", "" },
		{ "that is the host: its own", "http://github.io/", "Set-Cookie: a=b; Domain=GitHub.io\n", "http://github.io/", "Cookie: a=b\r\n" },
		{ "and nobody else's", "http://github.io/", "Set-Cookie: a=b; Domain=github.io\n", "http://a.github.io/", "" },
		{ "__Host- for it", "https://github.io/", "Set-Cookie: __Host-a=b; Secure; Path=/; Domain=github.io\n", "https://github.io/", "" },
		{ "a name below one", "http://a.shop.co.uk/", "Set-Cookie: a=b; Domain=shop.co.uk\n", "http://b.shop.co.uk/", "Cookie: a=b\r\n" },
		{ "a name that no list has", "http://a.shop.test/", "Set-Cookie: a=b; Domain=shop.test\n", "http://b.c.shop.test/", "Cookie: a=b\r\n" },
	};

	check(rows, COUNT(rows));
}

/* RFC 6265bis section 5.7: what came without TLS does not take the place of what came with it. */
static void secure_ones(void)
{
	static const struct { const char *rule, *url, *lines, *want; } steps[] = {
		{ "it is replaced without TLS", "http://h.example/", "Set-Cookie: a=no\n", "a=yes" },
		{ "from a host below", "http://www.h.example/", "Set-Cookie: a=no; Domain=h.example\n", "a=yes" },
		{ "with a longer path", "http://h.example/", "Set-Cookie: a=no; Path=/x\n", "a=yes" },
		{ "it is ended without TLS", "http://h.example/", "Set-Cookie: a=; Max-Age=0\n", "a=yes" },
		{ "another name", "http://h.example/", "Set-Cookie: b=1; Path=/\n", "a=yes; b=1" },
		{ "with TLS, as another domain's", "https://h.example/", "Set-Cookie: a=2; Path=/; Domain=h.example\n", "a=yes; b=1; a=2" },
		{ "with TLS", "https://h.example/", "Set-Cookie: a=3\n", "a=3; b=1; a=2" },
		{ "ended with TLS", "https://h.example/", "Set-Cookie: a=; Max-Age=0\n", "b=1; a=2" },
	};
	struct cookie_jar *jar = NULL;

	take(&jar, "https://h.example/", "Set-Cookie: a=yes; Secure\n");
	for (size_t i = 0; i < COUNT(steps); i++) {
		char want[64], *got;

		take(&jar, steps[i].url, steps[i].lines);
		got = line(jar, "https://h.example/x");
		snprintf(want, sizeof want, "Cookie: %s\r\n", steps[i].want);
		UNIT_ROW(!strcmp(got, want), "%s: %s", steps[i].rule, got);
		free(got);
	}
	cookie_jar_free(&jar);
}

/* What several responses set; whether each changed anything decides whether a site may lead back to itself. */
static void changes(void)
{
	static const struct { const char *rule, *url, *lines; bool changed; } steps[] = {
		{ "nothing", "http://h.example/", "X: y\n", false },
		{ "the first", "http://h.example/", "Set-Cookie: a=b\n", true },
		{ "the same", "http://h.example/", "Set-Cookie: a=b; HttpOnly\n", false },
		{ "another value", "http://h.example/", "Set-Cookie: a=c\n", true },
		{ "ended", "http://h.example/", "Set-Cookie: a=c; Max-Age=0\n", true },
		{ "ended once more", "http://h.example/", "Set-Cookie: a=c; Max-Age=0\n", false },
		{ "refused", "http://h.example/", "Set-Cookie: a=c; Domain=i.example\n", false },
		{ "another host's", "http://i.example/", "Set-Cookie: a=d\n", true },
	};
	struct cookie_jar *jar = NULL;

	for (size_t i = 0; i < COUNT(steps); i++)
		UNIT_ROW(take(&jar, steps[i].url, steps[i].lines) == steps[i].changed, "%s", steps[i].rule);
	cookie_jar_free(&jar);
	cookie_jar_free(&jar);
	CU_ASSERT_FALSE(cookie_jar_has(NULL, &(struct destination){ .path = NULL }));
}

static void bounds(void)
{
	struct cookie_jar *jar = NULL;
	char lines[64];

	for (int i = 0; i < 2 * COOKIE_JAR_MAX; i++) {
		snprintf(lines, sizeof lines, "Set-Cookie: c%d=x; Path=/\n", i);
		UNIT_ROW(take(&jar, "http://h.example/", lines) == (i < COOKIE_JAR_MAX), "number %d", i);
	}
	CU_ASSERT_TRUE(take(&jar, "http://h.example/", "Set-Cookie: c0=y; Path=/\n"));
	CU_ASSERT_FALSE(take(&jar, "http://h.example/", "Set-Cookie: c1=" LONG_1024 LONG_1024 LONG_1024 LONG_1024 LONG_1024 LONG_1024 LONG_1024 LONG_1024 "; Path=/\n"));
	char *got = line(jar, "http://h.example/");
	UNIT_ROW(!strncmp(got, "Cookie: c0=y; c1=x; ", 20) && strstr(got, "; c19=x\r\n"), "%s", got);
	free(got);
	cookie_jar_free(&jar);
}

UNIT_SUITE(cookie_jar, { "reading", reading }, { "lifetimes", lifetimes }, { "matching", matching }, { "promises", promises },
	{ "suffixes", suffixes }, { "secure ones", secure_ones }, { "changes", changes }, { "bounds", bounds })
