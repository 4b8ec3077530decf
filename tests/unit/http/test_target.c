/* Owns the cases of proxy/http/target.c: routes, gateway, ?url=, forward proxy, Host. Must not know: how targets are fetched.
 * Invariant: each row names its rule; a result is written "MODE scheme host port authority path". */
#include "proxy/http/target.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define ARGV(words) ((char *const *)(uintptr_t)(words))

static const char *const error_names[] = {
	[TARGET_OK] = "ok", [TARGET_NO_MEMORY] = "no memory", [TARGET_BAD_HOST] = "bad host", [TARGET_BAD_TARGET] = "bad target",
	[TARGET_BAD_URL] = "bad url", [TARGET_NO_ROUTE] = "no route", [TARGET_FORWARD_OFF] = "forward off", [TARGET_BAD_PATH] = "bad path",
	[TARGET_BAD_AUTHORITY] = "bad authority", [TARGET_NOT_SERVED] = "not served",
};

static struct conf *load(const char *const *words, int count)
{
	static char *const none[] = { NULL };
	struct conf *conf = conf_new();
	struct conf_error error = { "" };

	CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
	if (!UNIT_ROW(conf_load(conf, count, ARGV(words), none, &error) == 0, "%s", error.text))
		CU_FAIL_FATAL("configuration");
	return conf;
}

/* A request head; NULL host: no such field. "a|b": two of them. Its bytes are the caller's to free. */
static char *head(struct http_msg *m, struct http_field fields[2], const char *host, int minor, const char *target)
{
	size_t host_len = host ? strlen(host) : 0, first = host ? strcspn(host, "|") : 0, len = strlen(target);
	char *bytes = malloc(host_len + len);

	*m = (struct http_msg){ .fields = fields, .max_fields = 2, .major = 1, .minor = (uint8_t)minor };
	if (host_len)
		memcpy(bytes, host, host_len);
	memcpy(bytes + host_len, target, len);
	m->base = bytes;
	m->target = (uint32_t)host_len;
	m->target_len = (uint32_t)len;
	fields[0] = (struct http_field){ .id = H_HOST, .value_len = (uint32_t)first };
	fields[1] = (struct http_field){ .id = H_HOST, .value = (uint32_t)first + 1, .value_len = (uint32_t)(host_len - first - 1) };
	if (host)
		http_msg_add(m);
	if (first < host_len)
		http_msg_add(m);
	return bytes;
}

static enum target_error find(struct target *t, const struct conf *conf, const char *host, int minor, const char *target, const char **why)
{
	struct http_field fields[2];
	struct http_msg m;
	char *bytes = head(&m, fields, host, minor, target);
	static char room[24];
	struct target lent;
	enum target_error error = target_find(t, conf, &m, 80, NULL, 0, why);

	/* Where its path lies makes no difference. */
	CU_ASSERT_EQUAL(target_find(&lent, conf, &m, 80, room, sizeof room, why), error);
	CU_ASSERT(error || (!strcmp(lent.to.path, t->to.path) && lent.to.path_len == t->to.path_len && lent.to.lent == (lent.to.path == room)));
	target_free(&lent);
	free(bytes);
	return error;
}

struct row { const char *rule, *host, *target, *want; };

static void check(const struct conf *conf, const struct row *rows, size_t count)
{
	static const char *const modes[] = { "route", "gateway", "forward" };

	for (size_t i = 0; i < count; i++) {
		struct target t;
		const char *why;
		char got[1024];
		enum target_error error = find(&t, conf, rows[i].host, 1, rows[i].target, &why);

		if (error)
			snprintf(got, sizeof(got), "%s", error_names[error]);
		else
			snprintf(got, sizeof(got), "%s %s %s %u %s %s", modes[t.mode], t.to.tls ? "https" : "http", t.to.host, (unsigned)t.to.port, t.to.authority, t.to.path);
		UNIT_ROW(strcmp(got, rows[i].want) == 0, "%s: wanted [%s], got [%s]", rows[i].rule, rows[i].want, got);
		UNIT_ROW((error == TARGET_BAD_URL) == (why[0] != '\0'), "%s: %s", rows[i].rule, why);
		UNIT_ROW(error || t.to.path_len == strlen(t.to.path), "%s", rows[i].rule);
		target_free(&t);
		CU_ASSERT_PTR_NULL(t.to.path);
	}
}

static const char *const plain[] = { "serve" };
static const char *const routed[] = {
	"serve", "--forward", "on", "--route", "/f/=http://Origin.Example:8080/base/ name=f", "--route", "//feeds.example/=https://[::1]/ name=v6",
	"--route", "/\xd0\xb6/=http://o.example/\xc3\xbc/",
};

static void gateway(void)
{
	static const struct row rows[] = {
		{ "https", "h", "/https://example.org/feed.xml", "gateway https example.org 443 example.org /feed.xml" },
		{ "http", "h", "/http://example.org/feed.xml", "gateway http example.org 80 example.org /feed.xml" },
		{ "squeezed slash", "h", "/https:/example.org/feed.xml", "gateway https example.org 443 example.org /feed.xml" },
		{ "squeezed, no path", "h", "/http:/example.org", "gateway http example.org 80 example.org /" },
		{ "query is the URL's", "h", "/https://example.org/a?b=c&d", "gateway https example.org 443 example.org /a?b=c&d" },
		{ "a query without a path", "h", "/https://example.org?b", "gateway https example.org 443 example.org /?b" },
		{ "host in lower case, path as it is", "h", "/HTTP://Example.ORG/Feed", "gateway http example.org 80 example.org /Feed" },
		{ "port", "h", "/http://example.org:8080/", "gateway http example.org 8080 example.org:8080 /" },
		{ "default port is not told", "h", "/https://example.org:443/", "gateway https example.org 443 example.org /" },
		{ "the other scheme's port is", "h", "/https://example.org:80/", "gateway https example.org 80 example.org:80 /" },
		{ "IPv6", "h", "/http://[2001:DB8::1]:81/a", "gateway http 2001:db8::1 81 [2001:db8::1]:81 /a" },
		{ "IPv6 squeezed", "h", "/http:/[::1]/a", "gateway http ::1 80 [::1] /a" },
		{ "dot segments are the origin's affair", "h", "/http://example.org/a/../b", "gateway http example.org 80 example.org /a/../b" },
		{ "escapes stay", "h", "/http://example.org/%2e%2E/%zz", "gateway http example.org 80 example.org /%2e%2E/%zz" },
		{ "a URL in its query", "h", "/http://a/?u=http://b/", "gateway http a 80 a /?u=http://b/" },
		{ "no host", "h", "/http://", "bad url" },
		{ "no host, squeezed", "h", "/http:/", "bad url" },
		{ "three slashes", "h", "/http:///a", "bad url" },
		{ "user information", "h", "/http://u:p@example.org/", "bad url" },
		{ "user information, squeezed", "h", "/http:/u@example.org/", "bad url" },
		{ "port 0", "h", "/http://example.org:0/", "bad url" },
		{ "backslash", "h", "/http://example.org\\@b/", "bad url" },
		{ "fragment", "h", "/http://example.org/#a", "bad url" },
		{ "other scheme", "h", "/ftp://example.org/", "no route" },
		{ "no slash at all", "h", "/http:example.org/", "no route" },
		{ "no route", "h", "/feed.xml", "no route" },
		{ "all encoded", "h", "/https%3A%2F%2Fexample.org%2Ffeed.xml%3Fa%3Db%2520c", "gateway https example.org 443 example.org /feed.xml?a=b%20c" },
		{ "all encoded, a query behind it", "h", "/http%3a%2f%2fexample.org%2Ff?a=%20", "gateway http example.org 80 example.org /f?a=%20" },
		{ "only the scheme encoded", "h", "/http%3A%2F%2Fexample.org/a%2Fb%20c", "gateway http example.org 80 example.org /a%2Fb%20c" },
		{ "encoded host alone", "h", "/http%3A%2F%2Fexample.org%3A8080", "gateway http example.org 8080 example.org:8080 /" },
		{ "colon plain, slashes encoded", "h", "/https:%2F%2Fexample.org/", "gateway https example.org 443 example.org /" },
		{ "encoded and squeezed", "h", "/https%3A%2Fexample.org/", "gateway https example.org 443 example.org /" },
		{ "encoded user information", "h", "/http%3A%2F%2Fu%3Ap%40example.org%2F", "bad url" },
		{ "encoded control", "h", "/http%3A%2F%2Fexample.org%2F%0d%0aX%3Ay", "bad url" },
		{ "encoded NUL in the host", "h", "/http%3A%2F%2Fexample.org%00.a%2F", "bad url" },
		{ "encoded dots stay in the path", "h", "/http%3A%2F%2Fexample.org%2F..%2Fa", "gateway http example.org 80 example.org /../a" },
		{ "encoded, no host", "h", "/http%3A%2F%2F", "bad url" },
		{ "feed:", "h", "/feed://example.org/a?b", "gateway http example.org 80 example.org /a?b" },
		{ "feed: squeezed", "h", "/feed:/example.org/a", "gateway http example.org 80 example.org /a" },
		{ "feed: before https", "h", "/feed:https://example.org/a", "gateway https example.org 443 example.org /a" },
		{ "feed: before http, squeezed", "h", "/Feed:HTTP:/example.org/a", "gateway http example.org 80 example.org /a" },
		{ "feed: encoded", "h", "/feed%3Ahttps%3A%2F%2Fexample.org%2Fa", "gateway https example.org 443 example.org /a" },
		{ "feed: before feed:", "h", "/feed:feed://example.org/a", "no route" },
		{ "feed: with user information", "h", "/feed:https://u:p@example.org/a", "bad url" },
		{ "feed: before another scheme", "h", "/feed:ftp://example.org/a", "no route" },
		{ "a word like it", "h", "/feeds/a", "no route" },
		{ "a host without a scheme", "h", "/Example.org/feed.xml?a", "gateway https example.org 443 example.org /feed.xml?a" },
		{ "a host with a hyphen", "h", "/a-1.example/", "gateway https a-1.example 443 a-1.example /" },
		{ "a file is no host", "h", "/favicon.ico", "no route" },
		{ "a host without a dot", "h", "/localhost/a", "no route" },
		{ "an address without a scheme", "h", "/127.0.0.1/a", "no route" },
		{ "a number at the end", "h", "/v1.2/a", "no route" },
		{ "a short address", "h", "/0x7f.1/a", "no route" },
		{ "a dot first", "h", "/.well-known/a", "no route" },
		{ "two dots", "h", "/a..example/a", "no route" },
		{ "a dot last", "h", "/example.org./a", "no route" },
		{ "one letter last", "h", "/a.b/c", "no route" },
		{ "UTF-8 (RFC 3987 3.1)", "h", "/http://example.org/\xd0\xb6?\xc3\xbc", "gateway http example.org 80 example.org /%D0%B6?%C3%BC" },
		{ "UTF-8 and its escapes are one", "h", "/http://example.org/%D0%B6?%C3%BC", "gateway http example.org 80 example.org /%D0%B6?%C3%BC" },
		{ "UTF-8, squeezed", "h", "/http:/example.org/\xd0\xb6", "gateway http example.org 80 example.org /%D0%B6" },
		{ "UTF-8 in all of an encoded URL", "h", "/http%3A%2F%2Fexample.org%2F%D0%B6", "gateway http example.org 80 example.org /%D0%B6" },
		{ "no UTF-8", "h", "/http://example.org/\xfc", "bad url" },
		{ "no UTF-8 in an encoded URL", "h", "/http%3A%2F%2Fexample.org%2F%FC", "bad url" },
		{ "a host in UTF-8 (RFC 5891)", "h", "/http://b\xc3\xbc" "cher.example:81/a", "gateway http xn--bcher-kva.example 81 xn--bcher-kva.example:81 /a" },
		{ "a host in escapes (RFC 3986 3.2.2)", "h", "/http://b%C3%BCcher.example/a", "gateway http xn--bcher-kva.example 80 xn--bcher-kva.example /a" },
		{ "host and path in UTF-8", "h", "/feed://b%C3%BCcher.example/%C3%BC", "gateway http xn--bcher-kva.example 80 xn--bcher-kva.example /%C3%BC" },
		{ "a host in escapes without a scheme", "h", "/b%C3%BCcher.example/a", "gateway https xn--bcher-kva.example 443 xn--bcher-kva.example /a" },
		{ "its last label too", "h", "/a.%D1%80%D1%84/%D0%B6", "gateway https a.xn--p1ai 443 a.xn--p1ai /%D0%B6" },
		{ "an escape of ASCII is none of a host", "h", "/b%2Dc.example/a", "no route" },
		{ "half an escape", "h", "/b%C", "bad target" },
		{ "a port without a scheme", "h", "/example.org:80/a", "no route" },
		{ "user information without a scheme", "h", "/u:p@example.org/a", "no route" },
		{ "nothing", "h", "/", "no route" },
	};
	struct conf *conf = load(plain, COUNT(plain));

	check(conf, rows, COUNT(rows));
	conf->gateway = false;
	check(conf, &(const struct row){ "off", "h", "/https://example.org/", "no route" }, 1);
	check(conf, &(const struct row){ "a host, off", "h", "/example.org/a", "no route" }, 1);
	check(conf, &(const struct row){ "encoded, off", "h", "/http%3A%2F%2Fexample.org%2Fa", "no route" }, 1);
	check(conf, &(const struct row){ "?url= off", "h", "/?url=https://example.org/", "no route" }, 1);
	conf_free(&conf);
}

static void query(void)
{
	static const struct row rows[] = {
		{ "as it is: everything to the end", "h", "/?url=https://example.org/a?b=c&d=e", "gateway https example.org 443 example.org /a?b=c&d=e" },
		{ "encoded", "h", "/?url=https%3A%2F%2Fexample.org%2Fa%3Fb%3Dc", "gateway https example.org 443 example.org /a?b=c" },
		{ "encoded: up to the next &", "h", "/?url=https%3a%2f%2fexample.org%2fa&x=y", "gateway https example.org 443 example.org /a" },
		{ "encoded &", "h", "/?url=http%3A%2F%2Fa%2F%3Fb%26c", "gateway http a 80 a /?b&c" },
		{ "encoded once only", "h", "/?url=http%3A%2F%2Fa%2F%2541", "gateway http a 80 a /%41" },
		{ "half encoded", "h", "/?url=https:%2F%2Fexample.org/", "gateway https example.org 443 example.org /" },
		{ "encoded, another parameter with a URL", "h", "/?url=https%3A%2F%2Fexample.org%2F&ref=http://b/", "gateway https example.org 443 example.org /" },
		{ "escape cut off", "h", "/?url=http%3A%2F%2Fa%2F%4", "gateway http a 80 a /%4" },
		{ "escape that is none", "h", "/?url=http%3A%2F%2Fa%2F%zz", "gateway http a 80 a /%zz" },
		{ "UTF-8 as escapes, as it is", "h", "/?url=http://example.org/%D0%B6?%C3%BC", "gateway http example.org 80 example.org /%D0%B6?%C3%BC" },
		{ "UTF-8, encoded as forms do", "h", "/?url=http%3A%2F%2Fb%C3%BCcher.example%2F%D0%B6", "gateway http xn--bcher-kva.example 80 xn--bcher-kva.example /%D0%B6" },
		{ "UTF-8, no scheme", "h", "/?url=b%C3%BCcher.example%2F%D0%B6", "gateway https xn--bcher-kva.example 443 xn--bcher-kva.example /%D0%B6" },
		{ "encoded bytes that are no UTF-8", "h", "/?url=http%3A%2F%2Fa%2F%FC", "bad url" },
		{ "encoded twice they stay", "h", "/?url=http%3A%2F%2Fa%2F%25FC", "gateway http a 80 a /%FC" },
		{ "encoded blank", "h", "/?url=http%3A%2F%2Fa%2F%20", "bad url" },
		{ "encoded NUL", "h", "/?url=http%3A%2F%2Fa%00.b%2F", "bad url" },
		{ "encoded CR LF", "h", "/?url=http%3A%2F%2Fa%2F%0d%0aX:y", "bad url" },
		{ "encoded fragment", "h", "/?url=http%3A%2F%2Fa%2F%23b", "bad url" },
		{ "no scheme", "h", "/?url=example.org/feed", "gateway https example.org 443 example.org /feed" },
		{ "no scheme, encoded", "h", "/?url=example.org%2Ffeed&x=y", "gateway https example.org 443 example.org /feed" },
		{ "no scheme, no slash", "h", "/?url=example.org", "bad url" },
		{ "feed:", "h", "/?url=feed://example.org/a&b", "gateway http example.org 80 example.org /a&b" },
		{ "feed: encoded", "h", "/?url=feed%3Ahttps%3A%2F%2Fexample.org%2Fa%252Fb&x", "gateway https example.org 443 example.org /a%2Fb" },
		{ "not decoded twice", "h", "/?url=http%253A%252F%252Fexample.org%252Fa", "bad url" },
		{ "other scheme", "h", "/?url=ftp://example.org/", "bad url" },
		{ "file", "h", "/?url=file:///etc/passwd", "bad url" },
		{ "nothing", "h", "/?url=", "bad url" },
		{ "other parameter", "h", "/?uri=http://a/", "no route" },
		{ "not first", "h", "/?a=b&url=http://a/", "no route" },
	};
	struct conf *conf = load(plain, COUNT(plain));

	check(conf, rows, COUNT(rows));
	conf_free(&conf);
}

static void routes(void)
{
	static const struct row rows[] = {
		{ "prefix replaced", "h", "/f/a.xml", "route http origin.example 8080 origin.example:8080 /base/a.xml" },
		{ "query kept", "h", "/f/a.xml?b=http://c/", "route http origin.example 8080 origin.example:8080 /base/a.xml?b=http://c/" },
		{ "the prefix alone", "h", "/f/", "route http origin.example 8080 origin.example:8080 /base/" },
		{ "by Host", "Feeds.Example:99", "/a", "route https ::1 443 [::1] /a" },
		{ "a route before ?url=", "feeds.example", "/?url=http://a/", "route https ::1 443 [::1] /?url=http://a/" },
		{ "a route before an encoded URL", "feeds.example", "/http%3A%2F%2Fa%2F", "route https ::1 443 [::1] /http%3A%2F%2Fa%2F" },
		{ "a route before feed:", "feeds.example", "/feed://a.example/", "route https ::1 443 [::1] /feed://a.example/" },
		{ "a route before a host", "feeds.example", "/a.example/b", "route https ::1 443 [::1] /a.example/b" },
		{ "the gateway before a route", "feeds.example", "/http://a/", "gateway http a 80 a /" },
		{ "dot segments", "h", "/f/../a", "bad path" },
		{ "encoded dot segments", "h", "/f/%2e%2E/a", "bad path" },
		{ "dots behind an encoded slash", "h", "/f/a%2f..%2fb", "bad path" },
		{ "dots in the query are none", "h", "/f/a?../..", "route http origin.example 8080 origin.example:8080 /base/a?../.." },
		{ "UTF-8 as escapes", "h", "/f/%D0%B6?%C3%BC", "route http origin.example 8080 origin.example:8080 /base/%D0%B6?%C3%BC" },
		{ "a route beyond ASCII", "h", "/%D0%B6/a", "route http o.example 80 o.example /%C3%BC/a" },
		{ "bad escape in a path", "h", "/f/%zz", "bad target" },
		{ "brackets in a path", "h", "/f/a[1]", "bad target" },
		{ "control in the query", "h", "/f/a?b\nc", "bad target" },
		{ "tab at the path's end", "h", "/f/a\t?b", "bad target" },
		{ "8 bits in the query", "h", "/f/a?\xe9", "bad target" },
		{ "no such route", "h", "/g/", "no route" },
		{ "other case", "h", "/F/", "no route" },
	};
	struct conf *conf = load(routed, COUNT(routed));

	check(conf, rows, COUNT(rows));
	conf_free(&conf);
}

static void forward(void)
{
	static const struct row rows[] = {
		{ "absolute form", "example.org", "http://example.org/a?b", "forward http example.org 80 example.org /a?b" },
		{ "the target wins over Host (9112 3.2.2)", "other.example", "http://example.org/", "forward http example.org 80 example.org /" },
		{ "a route's Host does not matter", "feeds.example", "http://example.org/", "forward http example.org 80 example.org /" },
		{ "https", "h", "https://example.org", "forward https example.org 443 example.org /" },
		{ "capitals", "h", "HTTP://Example.org/A", "forward http example.org 80 example.org /A" },
		{ "UTF-8", "h", "http://example.org/\xd0\xb6", "forward http example.org 80 example.org /%D0%B6" },
		{ "a host in UTF-8", "b\xc3\xbc" "cher.example", "http://b\xc3\xbc" "cher.example/", "forward http xn--bcher-kva.example 80 xn--bcher-kva.example /" },
		{ "Host in UTF-8 with a port", "b\xc3\xbc" "cher.example:8080", "http://example.org/", "forward http example.org 80 example.org /" },
		{ "Host in escapes", "b%C3%BCcher.example", "HTTP://example.org/", "forward http example.org 80 example.org /" },
		{ "Host that is no UTF-8", "b\xfc" "cher.example", "http://example.org/", "bad host" },
		{ "Host with escapes of ASCII", "b%2Dc.example", "http://example.org/", "bad host" },
		{ "Host in UTF-8 with user information", "u@b\xc3\xbc" "cher.example", "http://example.org/", "bad host" },
		{ "Host in UTF-8 with a path", "b\xc3\xbc" "cher.example/a", "http://example.org/", "bad host" },
		{ "two of them", "b\xc3\xbc" "cher.example|a", "http://example.org/", "bad host" },
		{ "Host in UTF-8 beside a path", "b\xc3\xbc" "cher.example", "/f/a", "bad host" },
		{ "Host in UTF-8 beside a URL in the gateway", "b\xc3\xbc" "cher.example", "/http://example.org/", "bad host" },
		{ "user information", "h", "http://u@example.org/", "bad url" },
		{ "other scheme", "h", "ftp://example.org/", "bad target" },
		{ "asterisk", "h", "*", "bad target" },
		{ "authority", "h", "example.org:443", "bad target" },
	};
	struct conf *conf = load(routed, COUNT(routed));

	check(conf, rows, COUNT(rows));
	conf->forward = false;
	check(conf, &(const struct row){ "off", "h", "http://example.org/", "forward off" }, 1);
	check(conf, &(const struct row){ "off, but the gateway is on", "h", "/http://example.org/", "gateway http example.org 80 example.org /" }, 1);
	conf_free(&conf);
}

/* RFC 9112 section 3.2. */
static void hosts(void)
{
	static const struct { const char *rule, *host; int minor; bool fine; } cases[] = {
		{ "one", "h", 1, true },
		{ "empty, as for a target without authority", "", 1, true },
		{ "none in HTTP/1.1", NULL, 1, false },
		{ "none in HTTP/1.0", NULL, 0, true },
		{ "two", "h|h", 1, false },
		{ "two in HTTP/1.0", "h|g", 0, false },
		{ "one in HTTP/1.0", "h", 0, true },
		{ "port", "h:8080", 1, true },
		{ "empty port", "h:", 1, true },
		{ "IPv6", "[::1]:80", 1, true },
		{ "IPv6 without brackets", "::1", 1, false },
		{ "port too large", "h:65536", 1, false },
		{ "letters in the port", "h:8o", 1, false },
		{ "a list", "h, g", 1, false },
		{ "a path", "h/a", 1, false },
		{ "user information", "u@h", 1, false },
		{ "a URL", "http://h", 1, false },
		{ "only a port", ":80", 1, false },
	};
	static const char *const targets[] = { "/https://example.org/", "https://example.org/", "/f/" };
	struct conf *conf = load(routed, COUNT(routed));

	for (size_t i = 0; i < COUNT(cases) * COUNT(targets); i++) {
		struct target t;
		const char *why;
		enum target_error error = find(&t, conf, cases[i / COUNT(targets)].host, cases[i / COUNT(targets)].minor, targets[i % COUNT(targets)], &why);

		UNIT_ROW(error == (cases[i / COUNT(targets)].fine ? TARGET_OK : TARGET_BAD_HOST), "%s, %s: %s", cases[i / COUNT(targets)].rule,
			targets[i % COUNT(targets)], error_names[error]);
		target_free(&t);
	}
	conf_free(&conf);
}

/* The longest host there may be, and one more byte. */
static void longest(void)
{
	for (size_t len = URL_MAX_HOST - 1; len <= URL_MAX_HOST + 1; len++) {
		char url[512] = "/http://", host[URL_MAX_HOST + 2];
		struct conf *conf = load(plain, COUNT(plain));
		struct target t;
		const char *why;
		enum target_error error;

		for (size_t i = 0; i < len; i++)
			host[i] = i % 60 == 59 ? '.' : 'a';
		host[len] = '\0';
		snprintf(url, sizeof(url), "/http://%s:65535/", host);
		error = find(&t, conf, "h", 1, url, &why);
		UNIT_ROW(error == (len <= URL_MAX_HOST ? TARGET_OK : TARGET_BAD_URL), "%zu: %s", len, error_names[error]);
		UNIT_ROW(error || (strcmp(t.to.host, host) == 0 && strlen(t.to.authority) == len + 6), "%zu", len);
		target_free(&t);
		conf_free(&conf);
	}
}

/* CONNECT's target: RFC 9112 section 3.2.3, RFC 9110 section 9.3.6. */
static void authorities(void)
{
	static const struct { const char *rule, *host, *target, *want; int minor; } rows[] = {
		{ "a name", "example.org:443", "example.org:443", "example.org 443", 1 },
		{ "Host says something else", "other.example", "example.org:443", "example.org 443", 1 },
		{ "HTTP/1.0 without Host", NULL, "example.org:443", "example.org 443", 0 },
		{ "IPv4", "h", "192.0.2.1:80", "192.0.2.1 80", 1 },
		{ "IPv6", "h", "[2001:db8::1]:8443", "2001:db8::1 8443", 1 },
		{ "the first port", "h", "h:1", "h 1", 1 },
		{ "the last port", "h", "h:65535", "h 65535", 1 },
		{ "UTF-8", "h", "b\xc3\xbc" "cher.example:443", "xn--bcher-kva.example 443", 1 },
		{ "UTF-8 as escapes", "h", "b%C3%BCcher.example:443", "xn--bcher-kva.example 443", 1 },
		{ "UTF-8, no port", "h", "b%C3%BCcher.example", "bad authority", 1 },
		{ "no UTF-8", "h", "b%FCcher.example:443", "bad authority", 1 },
		{ "Host in UTF-8", "b\xc3\xbc" "cher.example", "example.org:443", "bad host", 1 },
		{ "no port", "h", "example.org", "bad authority", 1 },
		{ "empty port", "h", "example.org:", "bad authority", 1 },
		{ "port 0", "h", "example.org:0", "bad authority", 1 },
		{ "port beyond", "h", "example.org:65536", "bad authority", 1 },
		{ "port with a sign", "h", "example.org:+443", "bad authority", 1 },
		{ "port of letters", "h", "example.org:https", "bad authority", 1 },
		{ "two ports", "h", "example.org:443:443", "bad authority", 1 },
		{ "no host", "h", ":443", "bad authority", 1 },
		{ "IPv6 without brackets", "h", "2001:db8::1:443", "bad authority", 1 },
		{ "IPv6, no port", "h", "[::1]", "bad authority", 1 },
		{ "IPv6, a zone", "h", "[fe80::1%25lo]:443", "bad authority", 1 },
		{ "a name in brackets", "h", "[example.org]:443", "bad authority", 1 },
		{ "user information", "h", "u@example.org:443", "bad authority", 1 },
		{ "a path", "h", "example.org:443/", "bad authority", 1 },
		{ "a query", "h", "example.org:443?a", "bad authority", 1 },
		{ "origin-form", "h", "/", "bad authority", 1 },
		{ "absolute-form", "h", "https://example.org:443", "bad authority", 1 },
		{ "asterisk-form", "h", "*", "bad authority", 1 },
		{ "percent-encoded", "h", "example%2eorg:443", "bad authority", 1 },
		{ "a NUL in it", "h", "example.org%00:443", "bad authority", 1 },
		{ "no Host in HTTP/1.1", NULL, "example.org:443", "bad host", 1 },
		{ "two Hosts", "a|b", "example.org:443", "bad host", 1 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct http_field fields[2];
		struct http_msg m;
		struct destination to;
		char *bytes = head(&m, fields, rows[i].host, rows[i].minor, rows[i].target), got[512];
		enum target_error error = target_authority(&to, &m);

		if (error)
			snprintf(got, sizeof(got), "%s", error_names[error]);
		else
			snprintf(got, sizeof(got), "%s %u", to.host, (unsigned)to.port);
		UNIT_ROW(strcmp(got, rows[i].want) == 0, "%s: wanted [%s], got [%s]", rows[i].rule, rows[i].want, got);
		free(bytes);
	}
}

UNIT_SUITE(target, { "gateway", gateway }, { "query", query }, { "routes", routes }, { "forward", forward }, { "hosts", hosts },
	{ "longest", longest }, { "authorities", authorities })
