/* Owns the cases of options that have no effect because another one is off (conf/idle.def): each row of the table is found, and nothing else is.
 * Must not know: what the options do. Invariant: a row of idle.def without a case fails. */
#include "tests/unit/conf/loads.h"

#define FILE_NAME "test_idle.conf"
#define OFF "cache = off\n"
#define ROUTE "[route /a/]\norigin = https://o/\n"
#define PLAIN "[route /a/]\norigin = http://o/\n"

static const struct { const char *option, *because; } rows[] = {
#define IDLE(option, needs, because, write) { option, because },
#include "conf/idle.def"
#undef IDLE
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* A file, and the one warning that it gets: the option, and why it has no effect. */
static const struct { const char *text, *option, *because; } idle[] = {
	{ OFF "cache-bytes = 2m", "cache-bytes", "cache is off" },
	{ OFF "cache-lmdb = /a", "cache-lmdb", "cache is off" },
	{ OFF "cache-lmdb-bytes = 2m", "cache-lmdb-bytes", "cache is off" },
	{ "cache-lmdb-bytes = 2m", "cache-lmdb-bytes", "cache-lmdb names no folder" },
	{ OFF "cache-redis = h:1", "cache-redis", "cache is off" },
	{ "cache-redis-password = a", "cache-redis-password", "cache-redis names no server" },
	{ "cache-redis-user = a", "cache-redis-user", "cache-redis names no server" },
	{ "cache-redis-timeout = 2s", "cache-redis-timeout", "cache-redis names no server" },
	{ "fill-lease = 5s", "fill-lease", "cache-redis names no server" },
	{ "cache-redis-tls = on", "cache-redis-tls", "cache-redis names no server" },
	{ "cache-redis-ca-file = a", "cache-redis-ca-file", "cache-redis names no server" },
	{ "cache-redis = h:1\ncache-redis-ca-file = a", "cache-redis-ca-file", "cache-redis-tls is off" },
	{ OFF "cache-object-max = 2m", "cache-object-max", "cache is off" },
	{ OFF "error-max = 2m", "error-max", "cache is off" },
	{ OFF "error-floor = 2m", "error-floor", "cache is off" },
	{ OFF "freshness-floor = 2m", "freshness-floor", "cache is off" },
	{ OFF "freshness-max = 2m", "freshness-max", "cache is off" },
	{ OFF "stale-if-error = 2m", "stale-if-error", "cache is off" },
	{ OFF "keep-feed = 2m", "keep-feed", "cache is off" },
	{ OFF "slow-after = 4s", "slow-after", "cache is off" },
	{ "keep-feed = 0\nslow-after = 4s", "slow-after", "keep-feed is 0" },
	{ OFF "client-no-cache = off", "client-no-cache", "cache is off" },
	{ OFF "reload-floor = 2m", "reload-floor", "cache is off" },
	{ "client-no-cache = off\nreload-floor = 2m", "reload-floor", "client-no-cache is off" },
	{ OFF "adaptive = off", "adaptive", "cache is off" },
	{ OFF "refresh-hot = 4", "refresh-hot", "cache is off" },
	{ "moved-after = 2h", "moved-after", "moved is not tell" },
	{ "sign-agent = https://a", "sign-agent", "no sign-key names a file" },
	{ "tls-listen-cert = a", "tls-listen-cert", "tls-listen names no address" },
	{ "tls-listen-key = a", "tls-listen-key", "tls-listen names no address" },
	{ "tls-listen-min = 1.3", "tls-listen-min", "tls-listen names no address" },
	{ "listen-mode = 0600", "listen-mode", "no listener is a Unix socket" },
	{ "client-field = forwarded", "client-field", "trusted-proxies names no proxy" },
	{ "sandbox = seccomp\nsandbox-read = /a", "sandbox-read", "sandbox does not limit files" },
	{ "forward = off\nforward-credentials = on", "forward-credentials", "forward is off" },
	{ "forward = off\npac = on", "pac", "forward is off" },
	{ "gateway = off\ncors-allow = https://a", "cors-allow", "gateway is off and there is no route" },
	{ "gateway = off\ngateway-url = http://a/", "gateway-url", "gateway is off" },
	{ "gateway = off\nforward = off\nmin-interval = 2m\n" ROUTE, "min-interval", "gateway and forward are off" },
	{ "gateway = off\nforward = off\nallow = a\n" ROUTE, "allow", "gateway and forward are off" },
	{ "gateway = off\nforward = off\ndeny = a\n" ROUTE, "deny", "gateway and forward are off" },
	{ "gateway = off\nredirects = 2", "redirects", "gateway is off, and no route has follow-redirects = on" },
	{ "gateway = off\nredirect-downgrade = on", "redirect-downgrade", "gateway is off, and no route has follow-redirects = on" },
	{ "redirects = 0\nredirect-downgrade = on", "redirect-downgrade", "redirects is 0" },
	{ "no-proxy = a", "no-proxy", "http-proxy and https-proxy are off" },
	{ "intercept-ca-cert = a", "intercept-ca-cert", "intercept names no host" },
	{ "intercept-ca-key = a", "intercept-ca-key", "intercept names no host" },
	{ "intercept-else = tunnel", "intercept-else", "intercept names no host" },
	{ ROUTE "normalise = off\npolicy = rfc7303", "policy", "normalise is off" },
	{ ROUTE "normalise = off\non-error = pass", "on-error", "normalise is off" },
	{ ROUTE "normalise = off\nrepair = none", "repair", "normalise is off" },
	{ ROUTE "normalise = off\nrewrite = enclosures", "rewrite", "normalise is off" },
	{ ROUTE "normalise = off\noutput = us-ascii", "output", "normalise is off" },
	{ ROUTE "normalise = off\ncharacters = replace", "characters", "normalise is off" },
	{ "repair = none\ncharacters = replace", "characters", "repair leaves characters out" },
	{ ROUTE "normalise = off\ncharset = koi8-r", "charset", "normalise is off" },
	{ ROUTE "policy = rfc7303\ncharset = koi8-r", "charset", "only the policies auto and 4suite ask for it" },
	{ "gzip = off\ngzip-min = 2k", "gzip-min", "gzip is off" },
	{ "user-agent = a\ncontact-url = http://a/", "contact-url", "user-agent is set" },
	{ PLAIN "http2 = off", "http2", "its origin is http" },
	{ PLAIN "tls-verify = off", "tls-verify", "its origin is http" },
	{ PLAIN "tls-ca-file = a", "tls-ca-file", "its origin is http" },
	{ ROUTE "tls-verify = off\ntls-ca-file = a", "tls-ca-file", "tls-verify is off" },
	{ PLAIN "tls-cert = a", "tls-cert", "its origin is http" },
	{ ROUTE "tls-key = a", "tls-key", "tls-cert names no file" },
	{ "admin-allow = 10.0.0.0/8", "admin-allow", "admin-listen names no address" },
	{ "admin-token = a", "admin-token", "admin-listen names no address" },
	{ "admin-tls-cert = a", "admin-tls-cert", "admin-listen names no address" },
	{ "admin-tls-key = a", "admin-tls-key", "admin-listen names no address" },
	{ "admin-listen = 127.0.0.1:1\nadmin-tls-key = a", "admin-tls-key", "admin-tls-cert names no file" },
	{ "access-log = off\nlog-format = json", "log-format", "access-log is off" },
	{ "access-log = off\naccess-log-file = /a", "access-log-file", "access-log is off" },
};
enum { IDLE_CASES = sizeof(idle) / sizeof(idle[0]) };

/* The warnings of a file; the caller frees what is returned. */
static struct conf *loaded(const char *text, const char *variable)
{
	static const char *const words[] = { "serve", "-c", FILE_NAME, NULL };
	struct conf_error error = { "" };
	struct conf *conf = make();

	put_file(FILE_NAME, text, strlen(text), 0600);
	UNIT_ROW(load_words(conf, words, variable, &error) == 0, "%s: %s", text, error.text);
	unlink(FILE_NAME);
	return conf;
}

static void each_is_told(void)
{
	for (size_t i = 0; i < IDLE_CASES; i++) {
		struct conf *conf = loaded(idle[i].text, "X=");
		char want[160];

		snprintf(want, sizeof(want), ": %s: has no effect, because %s; write ", idle[i].option, idle[i].because);
		UNIT_ROW(conf->notes.count == 1, "%s: %zu warnings, %s", idle[i].text, conf->notes.count, conf->notes.count > 1 ? conf->notes.items[1].text : "");
		UNIT_ROW(conf->notes.count && strstr(conf->notes.items[0].text, want), "%s: got %s", idle[i].text,
			conf->notes.count ? conf->notes.items[0].text : "");
		conf_free(&conf);
	}
}

static void each_has_a_case(void)
{
	for (size_t i = 0; i < ROWS; i++) {
		bool found = false;

		UNIT_ROW(conf_option_row(rows[i].option) || conf_route_row(rows[i].option), "%s is not an option", rows[i].option);
		for (size_t k = 0; k < IDLE_CASES; k++)
			found = found || (strcmp(rows[i].option, idle[k].option) == 0 && strcmp(rows[i].because, idle[k].because) == 0);
		UNIT_ROW(found, "%s, because %s: no case", rows[i].option, rows[i].because);
	}
}

static void others_are_not_told(void)
{
	static const struct { const char *rule, *text, *variable; } cases[] = {
		{ "defaults", "", "X=" },
		{ "the default, written", OFF "keep-feed = 24h\ncache-object-max = 6m\nadmin-allow = 127.0.0.0/8, ::1", "X=" },
		{ "a route has a cache", OFF "cache-bytes = 2m\nkeep-feed = 2m\n" ROUTE "cache = on", "X=" },
		{ "of two routes one inherits", "keep-feed = 2m\n" ROUTE "cache = off", "X=" },
		{ "what a route inherits", "policy = rfc7303\n" ROUTE "normalise = off", "X=" },
		{ "sockets of a service manager", "tls-listen-cert = a\nadmin-token = a\nlisten-mode = 0600", "LISTEN_FDS=1" },
		{ "a route follows redirects", "gateway = off\nredirects = 2\n" ROUTE "follow-redirects = on", "X=" },
		{ "a route has a parent", "no-proxy = a\n" ROUTE "http-proxy = h:1", "X=" },
		{ "a Unix socket of the admin listener", "listen-mode = 0600\nadmin-listen = unix:/a", "X=" },
		{ "the admin listener checks URLs", "gateway = off\nforward = off\nallow = a\nadmin-listen = 127.0.0.1:1\n" ROUTE, "X=" },
		{ "anybody may name a policy", "client-policy = any\n" ROUTE "policy = rfc7303\ncharset = koi8-r", "X=" },
		{ "an http origin that may redirect", PLAIN "tls-verify = off\nfollow-redirects = on", "X=" },
		{ "for pages of a route", "gateway = off\ncors-allow = https://a\n" ROUTE, "X=" },
		{ "printed and read again: the gateway's defaults", OFF "freshness-floor = 0\nkeep-feed = 24h\n[gateway]\nfreshness-floor = 5m\nkeep-feed = 24h", "X=" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf *conf = loaded(cases[i].text, cases[i].variable);

		UNIT_ROW(conf->notes.count == 0, "%s: %s", cases[i].rule, conf->notes.count ? conf->notes.items[0].text : "");
		conf_free(&conf);
	}
}

static void a_route_is_named(void)
{
	struct conf *conf = loaded(ROUTE "cache = off\nkeep-feed = 2m\n[route /b/]\norigin = http://o/\ncache = off\nkeep-feed = 3m\n", "X=");

	CU_ASSERT_EQUAL_FATAL(conf->notes.count, 2);
	CU_ASSERT_STRING_EQUAL(conf->notes.items[0].text, FILE_NAME ":4: keep-feed: has no effect, because cache is off; write cache = on, or leave this out");
	CU_ASSERT_STRING_EQUAL(conf->notes.items[1].text, FILE_NAME ":8: keep-feed: has no effect, because cache is off; write cache = on, or leave this out");
	conf_free(&conf);
}

UNIT_SUITE(idle, { "each is told", each_is_told }, { "each has a case", each_has_a_case }, { "others are not told", others_are_not_told },
	{ "a route is named", a_route_is_named })
