/* Owns the cases of proxy/answer/requester.c (who a request comes from) and proxy/http/served_host.c (which names are answered to).
 * Must not know: connections. Invariant: each row names its rule. */
#include "proxy/answer/requester.h"
#include "proxy/http/served_host.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define ARGV(words) ((char *const *)(uintptr_t)(words))

enum { FIELDS_MAX = 48, WORDS_MAX = 8 };

static struct conf *load(const char *const *words)
{
	static char *const none[] = { NULL };
	struct conf *conf = conf_new();
	struct conf_error error = { "" };
	int count = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
	while (words[count])
		count++;
	if (!UNIT_ROW(conf_load(conf, count, ARGV(words), none, &error) == 0, "%s", error.text))
		CU_FAIL_FATAL("configuration");
	return conf;
}

/* "Name: value" lines, which must live as long. */
static void head(struct http_msg *m, struct http_field fields[FIELDS_MAX], const char *lines)
{
	*m = (struct http_msg){ .base = lines, .fields = fields, .max_fields = FIELDS_MAX };
	for (const char *at = lines; *at;) {
		size_t len = strcspn(at, "\n"), name = strcspn(at, ":"), value = name + 1 + strspn(at + name + 1, " ");

		CU_ASSERT_FATAL(m->n_fields < FIELDS_MAX);
		fields[m->n_fields] = (struct http_field){ .id = (uint8_t)http_header_id(at, name), .name = (uint32_t)(at - lines),
			.name_len = (uint16_t)name, .value = (uint32_t)((size_t)(at - lines) + value), .value_len = (uint32_t)(len - value) };
		http_msg_add(m);
		at += len + (at[len] == '\n');
	}
}

static struct requester peer(const char *address)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(5) };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(5) };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct requester r;

	if (!strcmp(address, "unix:"))
		requester_of_peer(&r, (struct sockaddr *)&un);
	else if (inet_pton(AF_INET, address, &in.sin_addr) == 1)
		requester_of_peer(&r, (struct sockaddr *)&in);
	else {
		CU_ASSERT_FATAL(inet_pton(AF_INET6, address, &in6.sin6_addr) == 1);
		requester_of_peer(&r, (struct sockaddr *)&in6);
	}
	return r;
}

#define X "X-Forwarded-For: "

static const char *const trusting[] = { "serve", "--trusted-proxies=10.0.0.0/8, 127.0.0.1, fd00::/8", "--client-allow=0.0.0.0/0, ::/0", NULL };
static const char *const forwarded[] = { "serve", "--trusted-proxies=10.0.0.0/8, 127.0.0.1, fd00::/8", "--client-field=forwarded",
	"--client-allow=0.0.0.0/0, ::/0", NULL };
static const char *const plain[] = { "serve", NULL };

static void who(void)
{
	static const struct {
		const char *rule;
		const char *const *words;
		const char *from, *lines, *want;
		bool rights, settled;
	} cases[] = {
		{ "the peer itself", plain, "192.0.2.7", "", "192.0.2.7:5", true, false },
		{ "IPv6", plain, "2001:db8::7", "", "[2001:db8::7]:5", true, false },
		{ "IPv4 in IPv6", plain, "::ffff:192.0.2.7", "", "192.0.2.7:5", true, false },
		{ "nobody believed: no rights by any proxy", plain, "127.0.0.1", X "192.0.2.1\n", "127.0.0.1:5", false, false },
		{ "... nor by one that writes Forwarded", plain, "127.0.0.1", "Forwarded: for=127.0.0.1\n", "127.0.0.1:5", false, false },
		{ "... nor X-Real-IP", plain, "127.0.0.1", "X-Real-IP: 127.0.0.1\n", "127.0.0.1:5", false, false },
		{ "... nor Via", plain, "::1", "Via: 1.1 a\n", "[::1]:5", false, false },
		{ "a peer that is not believed", trusting, "192.0.2.7", X "127.0.0.1\n", "192.0.2.7:5", false, false },
		{ "a peer beside the proxies", trusting, "127.0.0.2", "", "127.0.0.2:5", true, false },
		{ "a Unix socket", plain, "unix:", "", "unix:", true, false },
		{ "... through a proxy that nobody believes", plain, "unix:", X "192.0.2.1\n", "unix:", false, false },
		{ "a proxy there is believed as 127.0.0.1 is", trusting, "unix:", X "192.0.2.1\n", "192.0.2.1:-", true, false },
		{ "... and has no rights of its own", trusting, "unix:", "", "unix:", false, false },
		{ "one proxy", trusting, "10.0.0.1", X "192.0.2.1\n", "192.0.2.1:-", true, false },
		{ "a proxy alone has no rights", trusting, "127.0.0.1", "", "127.0.0.1:5", false, false },
		{ "... nor does it give itself some", trusting, "127.0.0.1", X "127.0.0.1\n", "127.0.0.1:-", false, false },
		{ "a proxy that was made to drop the field", trusting, "10.0.0.1", X "10.0.0.2\n", "10.0.0.2:-", false, false },
		{ "loopback beside a proxy", trusting, "10.0.0.1", X "127.0.0.2\n", "127.0.0.2:-", true, false },
		{ "a liar before the last", trusting, "10.0.0.1", X "127.0.0.1, 192.0.2.1\n", "192.0.2.1:-", false, false },
		{ "two proxies", trusting, "10.0.0.1", X "192.0.2.1, 10.0.0.2\n", "192.0.2.1:-", true, false },
		{ "two proxies, a liar", trusting, "10.0.0.1", X "127.0.0.2, 192.0.2.1, 10.0.0.2\n", "192.0.2.1:-", false, false },
		{ "several lines", trusting, "10.0.0.1", X "127.0.0.2\n" X "192.0.2.1\n" X "10.0.0.2\n", "192.0.2.1:-", false, false },
		{ "other fields between", trusting, "10.0.0.1", X "192.0.2.1\nX-A: 127.0.0.2\n" X "10.0.0.2\n", "192.0.2.1:-", true, false },
		{ "empty members", trusting, "10.0.0.1", X "192.0.2.1,,\n" X "\n" X " ,\n", "192.0.2.1:-", true, false },
		{ "no blanks", trusting, "10.0.0.1", X "192.0.2.1,10.0.0.2\n", "192.0.2.1:-", true, false },
		{ "a port", trusting, "10.0.0.1", X "192.0.2.1:443\n", "192.0.2.1:443", true, false },
		{ "IPv6", trusting, "fd00::1", X "2001:db8::1\n", "[2001:db8::1]:-", true, false },
		{ "IPv6 in brackets", trusting, "fd00::1", X "[2001:db8::1]\n", "[2001:db8::1]:-", true, false },
		{ "IPv6 with a port", trusting, "fd00::1", X "[2001:db8::1]:9\n", "[2001:db8::1]:9", true, false },
		{ "IPv4 in IPv6 is IPv4", trusting, "::ffff:10.0.0.1", X "::ffff:10.0.0.2, ::ffff:192.0.2.1\n", "192.0.2.1:-", false, false },
		{ "unknown", trusting, "10.0.0.1", X "unknown\n", "unknown", false, false },
		{ "unknown, hiding one", trusting, "10.0.0.1", X "192.0.2.1, unknown\n", "unknown", false, false },
		{ "garbage", trusting, "10.0.0.1", X "127.0.0.2;x\n", "unknown", false, false },
		{ "a name", trusting, "10.0.0.1", X "localhost\n", "unknown", false, false },
		{ "an octet too many", trusting, "10.0.0.1", X "127.0.0.2.3\n", "unknown", false, false },
		{ "octal", trusting, "10.0.0.1", X "0177.0.0.2\n", "unknown", false, false },
		{ "a port too large", trusting, "10.0.0.1", X "192.0.2.1:65536\n", "unknown", false, false },
		{ "an empty port", trusting, "10.0.0.1", X "192.0.2.1:\n", "unknown", false, false },
		{ "brackets around IPv4", trusting, "10.0.0.1", X "[192.0.2.1]\n", "unknown", false, false },
		{ "a bracket left open", trusting, "10.0.0.1", X "[2001:db8::1\n", "unknown", false, false },
		{ "text behind brackets", trusting, "10.0.0.1", X "[2001:db8::1]x\n", "unknown", false, false },
		{ "a zone", trusting, "10.0.0.1", X "fe80::1%lo\n", "unknown", false, false },
		{ "quotes hide nothing", trusting, "10.0.0.1", X "\"127.0.0.2, 192.0.2.1\n", "192.0.2.1:-", false, false },
		{ "the field that does not count", trusting, "10.0.0.1", "Forwarded: for=127.0.0.2\n", "10.0.0.1:5", false, false },
		{ "... beside the one that does", trusting, "10.0.0.1", "Forwarded: for=127.0.0.2\n" X "192.0.2.1\n", "192.0.2.1:-", true, false },
		{ "Forwarded (7239 4)", forwarded, "10.0.0.1", "Forwarded: for=192.0.2.1\n", "192.0.2.1:-", true, false },
		{ "Forwarded, and X-Forwarded-For of a client", forwarded, "10.0.0.1", "Forwarded: for=192.0.2.1\n" X "127.0.0.2\n", "192.0.2.1:-", true, false },
		{ "Forwarded: parameters", forwarded, "10.0.0.1", "Forwarded: proto=http; For=192.0.2.1 ;by=10.0.0.1\n", "192.0.2.1:-", true, false },
		{ "Forwarded: quoted, a port", forwarded, "10.0.0.1", "Forwarded: for=\"192.0.2.1:80\"\n", "192.0.2.1:80", true, false },
		{ "Forwarded: IPv6 (7239 6)", forwarded, "10.0.0.1", "Forwarded: for=\"[2001:db8::1]:80\"\n", "[2001:db8::1]:80", true, false },
		{ "Forwarded: elements", forwarded, "10.0.0.1", "Forwarded: for=127.0.0.2, for=192.0.2.1;by=_a, for=10.0.0.2\n", "192.0.2.1:-", false, false },
		{ "Forwarded: lines", forwarded, "10.0.0.1", "Forwarded: for=127.0.0.2\nForwarded: for=192.0.2.1\n", "192.0.2.1:-", false, false },
		{ "Forwarded: unknown (7239 6.2)", forwarded, "10.0.0.1", "Forwarded: for=unknown\n", "unknown", false, false },
		{ "Forwarded: obfuscated (7239 6.3)", forwarded, "10.0.0.1", "Forwarded: for=_hidden\n", "unknown", false, false },
		{ "Forwarded: no for", forwarded, "10.0.0.1", "Forwarded: proto=http\n", "unknown", false, false },
		{ "Forwarded: for twice", forwarded, "10.0.0.1", "Forwarded: for=192.0.2.1;for=127.0.0.2\n", "unknown", false, false },
		{ "Forwarded: a quote left open before it", forwarded, "10.0.0.1", "Forwarded: for=\"127.0.0.2, for=192.0.2.1\n", "unknown", false, false },
		{ "Forwarded: ... in a line of its own", forwarded, "10.0.0.1", "Forwarded: for=\"127.0.0.2\nForwarded: for=192.0.2.1\n", "192.0.2.1:-", false,
			false },
		{ "settled: fields do not count", trusting, "10.0.0.1", X "127.0.0.2\n", "10.0.0.1:5", false, true },
		{ "33 proxies", trusting, "10.0.0.1", X "192.0.2.1" ",10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2"
			",10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2"
			",10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2,10.0.0.2\n", "unknown", false, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct conf *conf = load(cases[i].words);
		struct requester r = peer(cases[i].from);
		struct http_field fields[FIELDS_MAX];
		char text[REQUESTER_TEXT_MAX];
		struct http_msg m;

		head(&m, fields, cases[i].lines);
		r.settled = cases[i].settled;
		if (r.settled)
			r.rights = false;
		requester_read(&r, conf, &m);
		UNIT_ROW(strcmp(requester_text(&r, text), cases[i].want) == 0, "trust 18: %s: %s", cases[i].rule, requester_text(&r, text));
		UNIT_ROW(r.rights == cases[i].rights, "trust 18: %s: rights", cases[i].rule);
		conf_free(&conf);
	}
}

static void lists(void)
{
	static const char *const words[] = { "serve", "--client-allow=10.0.0.0/8", "--purge-allow=0.0.0.0/0, ::/0", NULL };
	struct conf *conf = load(words);
	struct requester known = peer("10.0.0.1"), other = peer("192.0.2.1"), nobody = { .known = false }, loopback = peer("127.9.9.9");
	struct requester loopback6 = peer("::1"), mapped = peer("::ffff:127.0.0.1"), not6 = peer("7f00::1");

	CU_ASSERT(requester_in(&known, &conf->client_allow) && !requester_in(&other, &conf->client_allow));
	UNIT_ROW(!requester_in(&nobody, &conf->client_allow), "trust 18: %s", "who is not known is not listed");
	UNIT_ROW(requester_in(&nobody, &conf->purge_allow), "trust 18: %s", "but where everybody is");
	CU_ASSERT(requester_is_loopback(&loopback) && requester_is_loopback(&loopback6) && requester_is_loopback(&mapped));
	CU_ASSERT(!requester_is_loopback(&known) && !requester_is_loopback(&nobody) && !requester_is_loopback(&not6));
	conf_free(&conf);
}

static void names(void)
{
	static const char *const named[] = { "serve", "--hosts=feeds.example.org, .Sub.example.org", "--hosts", "192.0.2.0/24", "--hosts=[2001:db8::/32]",
		"--route=//routed.example.org/=http://o/", NULL };
	static const char *const all[] = { "serve", "--hosts=*", NULL };
	static const char *const routed[] = { "serve", "--route=//Routed.example.org:81/=http://o/", NULL };
	static const struct { const char *rule; const char *const *words; const char *host; bool tls, served; } cases[] = {
		{ "none (HTTP/1.0)", plain, "", false, true },
		{ "IPv4", plain, "192.0.2.1:8080", false, true },
		{ "IPv6", plain, "[2001:db8::1]:8080", false, true },
		{ "localhost", plain, "localhost:8080", false, true },
		{ "below localhost", plain, "a.LocalHost", false, true },
		{ "a container's name", plain, "utfeed:8080", false, true },
		{ "Kubernetes", plain, "utfeed.default.svc.cluster.local", false, true },
		{ ".internal", plain, "host.docker.internal:8080", false, true },
		{ ".home.arpa", plain, "pi.home.arpa", false, true },
		{ ".lan", plain, "pi.lan", false, true },
		{ ".test", plain, "feeds.test", false, true },
		{ "a final dot", plain, "pi.local.", false, true },
		{ "no name of the DNS: its last label is a number", plain, "10.1", false, true },
		{ "anybody's name", plain, "evil.example.org:8080", false, false },
		{ "... that looks like an address", plain, "127.0.0.1.example.org", false, false },
		{ "... that begins with a number", plain, "1.2.3.4a", false, false },
		{ "... whose last label has one", plain, "evil.a1", false, false },
		{ "... that ends alike", plain, "evillocal.org", false, false },
		{ "... a private name inside", plain, "a.local.evil.org", false, false },
		{ "... no label of its own", plain, "evil.xlocal", false, false },
		{ "... .arpa alone", plain, "evil.arpa", false, false },
		{ "... with a final dot", plain, "evil.example.org.", false, false },
		{ "over TLS the certificate tells", plain, "evil.example.org", true, true },
		{ "a route's name", routed, "routed.Example.org", false, true },
		{ "... below it", routed, "a.routed.example.org", false, false },
		{ "named", named, "Feeds.example.org:8080", false, true },
		{ "named, a final dot", named, "feeds.example.org.", false, true },
		{ "below a named one", named, "a.feeds.example.org", false, false },
		{ "named with what is below", named, "a.sub.example.org", false, true },
		{ "a block", named, "192.0.2.9", false, true },
		{ "an IPv6 block", named, "[2001:db8::1]:80", false, true },
		{ "a route's name beside them", named, "routed.example.org", false, true },
		{ "named: no other address", named, "127.0.0.1:8080", false, false },
		{ "named: no other name", named, "localhost", false, false },
		{ "named: TLS too", named, "evil.example.org", true, false },
		{ "named: none", named, "", false, true },
		{ "*", all, "evil.example.org", false, true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct conf *conf = load(cases[i].words);
		struct url_host asked = { .port_given = false };

		CU_ASSERT(!*cases[i].host || url_parse_host(cases[i].host, strlen(cases[i].host), &asked) == URL_OK);
		UNIT_ROW(served_host(conf, cases[i].host, &asked, cases[i].tls) == cases[i].served, "trust 18: %s: %s", cases[i].rule, cases[i].host);
		conf_free(&conf);
	}
}

UNIT_SUITE(requester, { "trust 18: who", who }, { "trust 18: lists", lists }, { "trust 18: names", names })
