/* Owns the cases of the option table: every option from every source, precedence, the file format, messages, printing, reload.
 * Must not know: what the proxy does with a value. Invariant: an option without a row in `values` fails. */
#include "conf/conf_internal.h"
#include "tests/unit/conf/printed.h"
#include "tests/unit/unit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* conf_load() takes main's argv and envp and writes to none of it. */
#define WORDS(words) ((char *const *)(uintptr_t)(words))

#define REDIS "; allowed: HOST:PORT, [ADDRESS]:PORT, or /PATH of a socket"
#define PATH_27 "/aaaaaaaaaaaaaaaaaaaaaaaaaa"
#define CORS "; allowed: https://host or https://host:port, up to 16 with commas between, or *"
#define PARENTS "; allowed: http://host:port, http://user:password@host:port, the same with socks5h://, or off"

/* In the working folder, with a value that every option with a secret takes. */
#define SECRET_FILE "test_conf.secret"
#define SECRET "http://u:hunter2@h:1"

/* One value other than the default for each option, and how it is written back. */
static const struct { const char *name, *text, *formatted; } values[] = {
	{ "listen", "[::1]:9000", "[::1]:9000\n" },
	{ "tls-listen", "unix:/run/utfeed/u.sock", "unix:/run/utfeed/u.sock\n" },
	{ "listen-mode", "600", "0600" },
	{ "tls-listen-cert", "/etc/utfeed/cert.pem", "/etc/utfeed/cert.pem" },
	{ "tls-listen-key", "/etc/utfeed/key.pem", "/etc/utfeed/key.pem" },
	{ "tls-listen-min", "1.3", "1.3" },
	{ "client-allow", "10.0.0.0/8, fd00::/8 192.0.2.7", "10.0.0.0/8\nfd00::/8\n192.0.2.7/32\n" },
	{ "trusted-proxies", "10.0.0.1, fd00::/8", "10.0.0.1/32\nfd00::/8\n" },
	{ "client-field", "Forwarded", "forwarded" },
	{ "proxy-protocol", "on", "on" },
	{ "workers", "4", "4" },
	{ "max-connections", "500", "500" },
	{ "client-connections", "0", "0" },
	{ "client-rate", "120/m", "2/s" },
	{ "client-burst", "7", "7" },
	{ "drain-delay", "5s", "5s" },
	{ "drain-timeout", "1500ms", "1500ms" },
	{ "user", "utfeed", "utfeed" },
	{ "group", "65532", "65532" },
	{ "takeover-socket", "/run/utfeed/takeover.sock", "/run/utfeed/takeover.sock" },
	{ "sandbox", "Strict", "strict" },
	{ "sandbox-read", "/etc/letsencrypt/", "/etc/letsencrypt/\n" },
	{ "route", "//a.example/b/=https://o/ name=x user-agent=\"a # \\\"b\\\"\"", "//a.example/b/=https://o/ name=x user-agent=\"a # \\\"b\\\"\"\n" },
	{ "hosts", "Feeds.Example.org, .B\xc3\xbc" "cher.example 192.0.2.0/24 *", "feeds.example.org\n.xn--bcher-kva.example\n192.0.2.0/24\n*\n" },
	{ "gateway", "off", "off" },
	{ "cors-allow", "HTTPS://Reader.Example:443/, http://a:81 moz-extension://b-c", "https://reader.example,http://a:81,moz-extension://b-c" },
	{ "forward", "false", "off" },
	{ "forward-credentials", "on", "on" },
	{ "redirects", "20", "20" },
	{ "redirect-downgrade", "on", "on" },
	{ "upgrade-https", "yes", "on" },
	{ "origin-connections", "6", "6" },
	{ "origin-idle", "0", "0" },
	{ "origin-idle-timeout", "10ms", "10ms" },
	{ "min-interval", "24h", "24h" },
	{ "host-interval", "AUTO", "auto" },
	{ "http-proxy", "Proxy.Example:3128/", "http://proxy.example:3128" },
	{ "http-proxy-file", SECRET_FILE, SECRET_FILE },
	{ "https-proxy", "SOCKS5h://a%40b:c@[::1]", "socks5h://a%40b:c@[::1]:1080" },
	{ "https-proxy-file", SECRET_FILE, SECRET_FILE },
	{ "no-proxy", "localhost, .Example.:8080,[fd00::/8]:80 *.svc,,10.0.0.0/8", ".localhost\n.example:8080\n[fd00::/8]:80\n.svc\n10.0.0.0/8\n" },
	{ "cache", "off", "off" },
	{ "cache-bytes", "1G", "1g" },
	{ "cache-lmdb", "/var/cache/utfeed", "/var/cache/utfeed" },
	{ "cache-lmdb-bytes", "16m", "16m" },
	{ "cache-redis", "[::1]:6379", "[::1]:6379" },
	{ "cache-redis-password", "a \"b\" c", "a \"b\" c" },
	{ "cache-redis-password-file", SECRET_FILE, SECRET_FILE },
	{ "cache-redis-user", "feeds", "feeds" },
	{ "cache-redis-tls", "yes", "on" },
	{ "cache-redis-ca-file", "/etc/utfeed/ca.pem", "/etc/utfeed/ca.pem" },
	{ "cache-object-max", "1024", "1k" },
	{ "purge-allow", "10.0.0.7", "10.0.0.7/32\n" },
	{ "client-no-cache", "off", "off" },
	{ "error-max", "0", "0" },
	{ "freshness-floor", "120s", "2m" },
	{ "stale-if-error", "720h", "720h" },
	{ "keep-feed", "90m", "90m" },
	{ "error-floor", "5s", "5s" },
	{ "slow-after", "400ms", "400ms" },
	{ "reload-floor", "5m", "5m" },
	{ "freshness-max", "8760h", "8760h" },
	{ "adaptive", "off", "off" },
	{ "pause", "off", "off" },
	{ "moved-max", "0", "0" },
	{ "moved", "tell", "tell" },
	{ "moved-after", "1h", "1h" },
	{ "feed-hints", "off", "off" },
	{ "refresh-hot", "0", "0" },
	{ "allow", "a.example, 192.0.2.0/24:*,[FD00::/8]:8080 *:81,", "a.example\n192.0.2.0/24:*\n[fd00::/8]:8080\n*:81\n" },
	{ "deny", ".B\xc3\x9c" "cher.Example.:*, *:25", ".xn--bcher-kva.example:*\n*:25\n" },
	{ "connect-allow", ".Mail.example:993, 192.0.2.7,[2001:db8::1]:*", ".mail.example:993\n192.0.2.7/32\n[2001:db8::1/128]:*\n" },
	{ "intercept", "example.org, .Example.net 10.0.0.0/8", "example.org\n.example.net\n10.0.0.0/8\n" },
	{ "intercept-ca-cert", "/etc/utfeed/ca.pem", "/etc/utfeed/ca.pem" },
	{ "intercept-ca-key", "/etc/utfeed/ca.key", "/etc/utfeed/ca.key" },
	{ "intercept-else", "Tunnel", "tunnel" },
	{ "intercept-tls-min", "1.0", "1.0" },
	{ "pac", "on", "on" },
	{ "policy", "rome-strict", "rome-strict" },
	{ "client-policy", "any", "any" },
	{ "on-error", "pass", "pass" },
	{ "sniff-bytes", "4096", "4k" },
	{ "repair", "-characters,-references", "bom,junk,declaration,line-ends,entities,ampersands,tags,end,trailing" },
	{ "rewrite", "Enclosures", "enclosures" },
	{ "gateway-url", "http://[::1]:8080/a//", "http://[::1]:8080/a" },
	{ "characters", "Replace", "replace" },
	{ "output", "US-ASCII", "us-ascii" },
	{ "gzip", "0", "off" },
	{ "gzip-min", "0", "0" },
	{ "max-header-bytes", "1025", "1025" },
	{ "max-header-fields", "8", "8" },
	{ "max-url-bytes", "64k", "64k" },
	{ "transit-bytes", "16M", "16m" },
	{ "decoded-ratio", "7", "7" },
	{ "decoded-max", "1t", "1t" },
	{ "decoding-bytes", "2m", "2m" },
	{ "resolver", "127.0.0.1:5353,[::1]:53", "127.0.0.1:5353,[::1]:53" },
	{ "resolv-conf", "/run/resolv.conf", "/run/resolv.conf" },
	{ "hosts-file", "/run/hosts", "/run/hosts" },
	{ "connect-timeout", "3600s", "1h" },
	{ "queue-timeout", "1000ms", "1s" },
	{ "first-byte-timeout", "90s", "90s" },
	{ "between-bytes-timeout", "2m", "2m" },
	{ "fetch-timeout", "5m", "5m" },
	{ "request-timeout", "10ms", "10ms" },
	{ "keepalive-timeout", "1h", "1h" },
	{ "write-timeout", "61s", "61s" },
	{ "tunnel-idle-timeout", "1h", "1h" },
	{ "tls-ca-file", "/etc/utfeed/ca.pem", "/etc/utfeed/ca.pem" },
	{ "via", "edge.1", "edge.1" },
	{ "cdn-loop", "1", "on" },
	{ "contact-url", "https://feeds.example/about?a=b", "https://feeds.example/about?a=b" },
	{ "user-agent", "feeds # 1 \"x\" (\\)", "feeds # 1 \"x\" (\\)" },
	{ "accept", "application/atom+xml;q=0.9, */*", "application/atom+xml;q=0.9, */*" },
	{ "access-log", "no", "off" },
	{ "log-format", "JSON", "json" },
	{ "access-log-file", "/var/log/utfeed/access.log", "/var/log/utfeed/access.log" },
	{ "trace-allow", "10.0.0.0/8", "10.0.0.0/8\n" },
	{ "log-level", "warn", "warn" },
	{ "admin-listen", "127.0.0.1:9180", "127.0.0.1:9180\n" },
	{ "admin-allow", "10.0.0.7", "10.0.0.7/32\n" },
	{ "admin-token", "word", "word" },
	{ "admin-token-file", SECRET_FILE, SECRET_FILE },
	{ "admin-tls-cert", "/etc/utfeed/admin.pem", "/etc/utfeed/admin.pem" },
	{ "admin-tls-key", "/etc/utfeed/admin.key", "/etc/utfeed/admin.key" },
};
enum { VALUES = sizeof(values) / sizeof(values[0]) };

static char *const no_variables[] = { NULL };

static struct conf *make(void)
{
	struct conf *conf = conf_new();

	CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
	return conf;
}

static const struct conf_row *row_of(const char *name)
{
	return conf_row_find(conf_options, CONF_OPTION_COUNT, name, strlen(name));
}

static bool reads(const struct conf *conf, const char *name, const char *formatted)
{
	char *text = conf_format(row_of(name), conf);
	bool same = text && strcmp(text, formatted) == 0;

	free(text);
	return same;
}

/* A file with this text; the caller unlinks and frees the name. */
static char *write_file(const char *text)
{
	char *path = strdup("/tmp/utfeed-test-conf-XXXXXX");
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path;
}

static void rows(void)
{
	for (size_t i = 0; i < CONF_OPTION_COUNT; i++) {
		const struct conf_row *row = &conf_options[i];
		size_t listed = 0;
		for (size_t j = 0; j < VALUES; j++)
			listed += strcmp(values[j].name, row->name) == 0;
		UNIT_ROW(listed == 1, "%s: needs one row in values", row->name);
		UNIT_ROW(strncmp(row->name, "port", 4) != 0 && strncmp(row->name, "service", 7) != 0, "%s: Kubernetes sets it", row->name);
		UNIT_ROW(row->name[strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0', "%s", row->name);
		UNIT_ROW((row->min == NULL) == (row->max == NULL), "%s", row->name);
	}
	CU_ASSERT_EQUAL(VALUES, CONF_OPTION_COUNT);
}

/* What options other than the one named need beside them. */
static void add_needed(struct conf *conf, const char *name)
{
	static const struct { const char *name, *text; } needed[] = { { "trusted-proxies", "10.0.0.1" }, { "client-allow", "127.0.0.1" },
		{ "intercept-ca-cert", "ca.pem" }, { "intercept-ca-key", "ca.key" } };

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		struct conf_error error = { "" };
		struct conf_value value = { needed[i].text, "w" };
		if (strcmp(name, needed[i].name) != 0)
			UNIT_ROW(conf_set(conf, row_of(needed[i].name), CONF_LEVEL_FILE, &value, &error) == 0, "%s", error.text);
	}
}

static void put_file(const char *name, const char *text, size_t len, mode_t mode)
{
	FILE *out = fopen(name, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	CU_ASSERT(fwrite(text, 1, len, out) == len && fchmod(fileno(out), mode) == 0 && fclose(out) == 0);
}

static void every_option(void)
{
	put_file(SECRET_FILE, SECRET "\n", sizeof(SECRET), 0600);
	for (size_t i = 0; i < VALUES; i++) {
		char flag[256], equals[256], variable[256], name[CONF_ENV_NAME_MAX], quoted[256] = "", file[512];
		struct conf_error error = { "" };
		for (const char *at = values[i].text; *at; at++)
			snprintf(quoted + strlen(quoted), sizeof(quoted) - strlen(quoted), "%s%c", strchr("\"\\", *at) ? "\\" : "", *at);
		conf_env_name(row_of(values[i].name), name);
		snprintf(flag, sizeof(flag), "--%s", values[i].name);
		snprintf(equals, sizeof(equals), "--%s=%s", values[i].name, values[i].text);
		snprintf(variable, sizeof(variable), "%s=%s", name, values[i].text);
		snprintf(file, sizeof(file), "%s = \"%s\"\n", values[i].name, quoted);
		char *path = write_file(file);
		const char *const sources[][6] = {
			{ "serve", flag, values[i].text, NULL, NULL }, { "serve", equals, NULL, NULL, NULL },
			{ "serve", NULL, NULL, variable, NULL }, { "serve", "-c", path, NULL, NULL }
		};
		for (size_t j = 0; j < 4; j++) {
			const char *const *source = sources[j];
			struct conf *conf = make();
			add_needed(conf, values[i].name);
			int status = conf_load(conf, source[2] ? 3 : source[1] ? 2 : 1, WORDS(source), WORDS(source + 3), &error);
			UNIT_ROW(status == 0, "%s, source %zu: %s", values[i].name, j, error.text);
			UNIT_ROW(reads(conf, values[i].name, values[i].formatted), "%s, source %zu", values[i].name, j);
			conf_free(&conf);
		}
		unlink(path);
		free(path);
	}
	unlink(SECRET_FILE);
}

static void precedence(void)
{
	static const struct { const char *rule, *file, *variable, *flag, *name, *formatted; } cases[] = {
		{ "default", "", "X=", "--via=x", "sniff-bytes", "64k" },
		{ "file before default", "sniff-bytes = 2k", "X=", "--via=x", "sniff-bytes", "2k" },
		{ "variable before file", "sniff-bytes = 2k", "UTFEED_SNIFF_BYTES=3k", "--via=x", "sniff-bytes", "3k" },
		{ "flag before variable", "sniff-bytes = 2k", "UTFEED_SNIFF_BYTES=3k", "--sniff-bytes=4k", "sniff-bytes", "4k" },
		{ "flag before file", "sniff-bytes = 2k", "X=", "--sniff-bytes=4k", "sniff-bytes", "4k" },
		{ "empty variable is none", "sniff-bytes = 2k", "UTFEED_SNIFF_BYTES=", "--via=x", "sniff-bytes", "2k" },
		{ "list of the file replaces the default", "listen = 127.1.1.1:1\nlisten = 127.1.1.1:2", "X=", "--via=x", "listen", "127.1.1.1:1\n127.1.1.1:2\n" },
		{ "list of a variable replaces the file's", "listen = 127.1.1.1:1", "UTFEED_LISTEN=127.2.2.2:2; [::1]:3\n127.2.2.2:4;", "--via=x", "listen",
			"127.2.2.2:2\n[::1]:3\n127.2.2.2:4\n" },
		{ "list of flags replaces the variable's", "listen = 127.1.1.1:1", "UTFEED_LISTEN=127.2.2.2:2", "--listen=127.3.3.3:3", "listen", "127.3.3.3:3\n" },
		{ "routes of flags replace sections", "[route /a]\norigin = http://o", "X=", "--route=/b=http://o", "route", "/b=http://o/\n" },
		{ "several routes in a variable", "", "UTFEED_ROUTE=/a=http://o name=a;/b/c=http://p\n", "--via=x", "route",
			"/b/c=http://p/\n/a=http://o/ name=a\n" },
		{ "names of others are left alone", "", "UTFEED_PORT=tcp://10.0.0.1:80", "--via=x", "sniff-bytes", "64k" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *path = write_file(cases[i].file);
		const char *const argv[] = { "serve", "--config", path, cases[i].flag };
		const char *const envp[] = { cases[i].variable, NULL };
		struct conf_error error = { "" };
		struct conf *conf = make();
		int status = conf_load(conf, 4, WORDS(argv), WORDS(envp), &error);
		UNIT_ROW(status == 0, "%s: %s", cases[i].rule, error.text);
		UNIT_ROW(reads(conf, cases[i].name, cases[i].formatted), "%s", cases[i].rule);
		conf_free(&conf);
		unlink(path);
		free(path);
	}
}

/* Variables that are not utfeed's own. */
static void common_variables(void)
{
	static const struct { const char *rule, *variables[4], *flag, *name, *formatted; } cases[] = {
		{ "http_proxy", { "http_proxy=a:1" }, "--via=x", "http-proxy", "http://a:1" },
		{ "https_proxy", { "https_proxy=a:1" }, "--via=x", "https-proxy", "http://a:1" },
		{ "one is not for the other", { "https_proxy=a:1" }, "--via=x", "http-proxy", "off" },
		{ "one is not for the other", { "http_proxy=a:1" }, "--via=x", "https-proxy", "off" },
		{ "HTTP_PROXY: a client's field Proxy in CGI", { "HTTP_PROXY=a:1" }, "--via=x", "http-proxy", "off" },
		{ "HTTPS_PROXY", { "HTTPS_PROXY=a:1" }, "--via=x", "https-proxy", "http://a:1" },
		{ "small letters first", { "HTTPS_PROXY=a:1", "https_proxy=b:2" }, "--via=x", "https-proxy", "http://b:2" },
		{ "an empty one is none", { "HTTPS_PROXY=a:1", "https_proxy=" }, "--via=x", "https-proxy", "http://a:1" },
		{ "all_proxy for http", { "all_proxy=a:1" }, "--via=x", "http-proxy", "http://a:1" },
		{ "all_proxy for https", { "all_proxy=a:1" }, "--via=x", "https-proxy", "http://a:1" },
		{ "ALL_PROXY", { "ALL_PROXY=a:1" }, "--via=x", "http-proxy", "http://a:1" },
		{ "all_proxy behind http_proxy", { "all_proxy=a:1", "http_proxy=b:2" }, "--via=x", "http-proxy", "http://b:2" },
		{ "all_proxy as SOCKS", { "all_proxy=socks5h://a:1" }, "--via=x", "https-proxy", "socks5h://a:1" },
		{ "all_proxy not read where it is not wanted", { "all_proxy=socks5://a", "http_proxy=b:2", "https_proxy=c:3" }, "--via=x", "http-proxy",
			"http://b:2" },
		{ "no_proxy", { "no_proxy=a,b" }, "--via=x", "no-proxy", ".a\n.b\n" },
		{ "NO_PROXY", { "NO_PROXY=*" }, "--via=x", "no-proxy", "*\n" },
		{ "utfeed's own variable first", { "http_proxy=a:1", "UTFEED_HTTP_PROXY=b:2" }, "--via=x", "http-proxy", "http://b:2" },
		{ "flag first", { "http_proxy=a:1" }, "--http-proxy=off", "http-proxy", "off" },
		{ "what is not wanted need not be right", { "http_proxy=socks5://a" }, "--http-proxy=off", "http-proxy", "off" },
		{ "an empty list of utfeed's own", { "no_proxy=a" }, "--no-proxy=", "no-proxy", "" },
		{ "a route's is the global one", { "http_proxy=a:1" }, "--route=/=http://o", "route", "/=http://o/\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const argv[] = { "serve", cases[i].flag };
		struct conf_error error = { "" };
		struct conf *conf = make();
		int status = conf_load(conf, 2, WORDS(argv), WORDS(cases[i].variables), &error);
		UNIT_ROW(status == 0, "%s: %s", cases[i].rule, error.text);
		UNIT_ROW(reads(conf, cases[i].name, cases[i].formatted), "%s", cases[i].rule);
		conf_free(&conf);
	}
}

static void members(void)
{
	static const char text[] = "connect-timeout = 10s\nsniff-bytes = 64k\nlisten = [::1]:0\nlisten = 10.0.0.1:80\nworkers = auto\n";
	struct conf_error error;
	struct conf *conf = make();

	CU_ASSERT_EQUAL(conf->listen.count, 1);
	CU_ASSERT_EQUAL(conf->listen.items[0].port, 8080);
	CU_ASSERT_EQUAL(conf->sniff_bytes, NORMALISE_SNIFF_BYTES);
	CU_ASSERT_EQUAL(conf->repair, REPAIR_ALL);
	CU_ASSERT_STRING_EQUAL(conf->user_agent, "");
	CU_ASSERT_EQUAL(conf_file_parse(conf, text, sizeof(text) - 1, "f", no_variables, &error), 0);
	CU_ASSERT_EQUAL(conf->connect_timeout_ms, 10000);
	CU_ASSERT_EQUAL(conf->listen.count, 2);
	CU_ASSERT_STRING_EQUAL(conf->listen.items[0].host, "::1");
	CU_ASSERT_TRUE(conf->listen.items[0].ipv6);
	CU_ASSERT_FALSE(conf->listen.items[1].ipv6);
	CU_ASSERT(conf->workers >= 1 && conf->workers <= 64);
	conf_free(&conf);
	CU_ASSERT_PTR_NULL(conf);
	conf_free(&conf);
}

static void file_format(void)
{
	static const struct { const char *rule, *text, *name, *formatted; } cases[] = {
		{ "no blanks", "via=a", "via", "a" },
		{ "blanks", " \tvia \t=  a \t\n", "via", "a" },
		{ "CRLF", "via = a\r\npolicy = rfc7303\r\n", "policy", "rfc7303" },
		{ "byte order mark", "\xef\xbb\xbfvia = a", "via", "a" },
		{ "comment lines", "# x = y\n\n  # z\nvia = a\n#", "via", "a" },
		{ "comment behind a value", "via = a # b", "via", "a" },
		{ "# inside a word is text", "via = a#b", "via", "a#b" },
		{ "blanks without quotes", "user-agent = a b  c", "user-agent", "a b  c" },
		{ "quotes keep # and blanks", "user-agent = \" a # b \"   # c", "user-agent", " a # b " },
		{ "escapes in quotes", "user-agent = \"\\\"\\\\\\x\"", "user-agent", "\"\\\\x" },
		{ "= in a value", "user-agent = a=b", "user-agent", "a=b" },
		{ "section", "[route /a]\norigin = http://o\ncharset = KOI8-R # c\n", "route", "/a=http://o/ charset=koi8-r\n" },
		{ "section with blanks and comment", " [route   //h/a ]  # c\n origin = http://o", "route", "//h/a=http://o/\n" },
		{ "days", "keep-feed = 7d", "keep-feed", "168h" },
		{ "weeks", "keep-feed = 1W", "keep-feed", "168h" },
		{ "several sections", "[route /]\norigin=http://o\n[route /b]\norigin=http://p\n", "route", "/=http://o/\n/b=http://p/\n" },
		{ "inline route and section", "route = /b=http://p policy=rfc7303\n[route /]\norigin=http://o", "route",
			"/b=http://p/ policy=rfc7303\n/=http://o/\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf_error error = { "" };
		struct conf *conf = make();
		int status = conf_file_parse(conf, cases[i].text, strlen(cases[i].text), "f", no_variables, &error);
		UNIT_ROW(status == 0, "%s: %s", cases[i].rule, error.text);
		UNIT_ROW(reads(conf, cases[i].name, cases[i].formatted), "%s", cases[i].rule);
		conf_free(&conf);
	}
}

static void file_errors(void)
{
	static const struct { const char *text, *message; } cases[] = {
		{ "\n\nnonsense\n", "f:3: not a line NAME = VALUE" },
		{ "sniffbytes = 1", "f:1: 'sniffbytes' is not an option; did you mean sniff-bytes?" },
		{ "sniff-bytes = 2g", "f:1: sniff-bytes: '2g' is out of range; allowed: 1k to 1m" },
		{ "sniff-bytes = 1023", "f:1: sniff-bytes: '1023' is out of range; allowed: 1k to 1m" },
		{ "sniff-bytes = 2kb", "f:1: sniff-bytes: '2kb' is not a size (bytes, or with k, m, g, t); allowed: 1k to 1m" },
		{ "sniff-bytes = -1", "f:1: sniff-bytes: '-1' is not a size (bytes, or with k, m, g, t); allowed: 1k to 1m" },
		{ "sniff-bytes =", "f:1: sniff-bytes: '' is not a size (bytes, or with k, m, g, t); allowed: 1k to 1m" },
		{ "decoded-max = 99999999999999999999", "f:1: decoded-max: '99999999999999999999' is not a size (bytes, or with k, m, g, t); allowed: 0 to 1t" },
		{ "decoded-max = 99999999999t", "f:1: decoded-max: '99999999999t' is not a size (bytes, or with k, m, g, t); allowed: 0 to 1t" },
		{ "write-timeout = 10", "f:1: write-timeout: '10' is not a time (a whole number with ms, s, m, h, d or w); allowed: 10ms to 1h" },
		{ "keep-feed = 31d", "f:1: keep-feed: '31d' is out of range; allowed: 0 to 720h" },
		{ "keep-feed = 1y", "f:1: keep-feed: '1y' is not a time (a whole number with ms, s, m, h, d or w); allowed: 0 to 720h" },
		{ "[route /]\nchrset = x", "f:2: 'chrset' is not an option; did you mean charset?" },
		{ "write-timeout = 0", "f:1: write-timeout: '0' is out of range; allowed: 10ms to 1h" },
		{ "workers = 65", "f:1: workers: '65' is out of range; allowed: 1 to 64, or auto" },
		{ "max-connections = 1k", "f:1: max-connections: '1k' is not a whole number; allowed: 1 to 1000000" },
		{ "gateway = maybe", "f:1: gateway: 'maybe' is not a switch; allowed: on, off (or yes, no, true, false, 1, 0)" },
		{ "output = latin1", "f:1: output: 'latin1' is not known; allowed: utf-8|us-ascii" },
		{ "policy = best", "f:1: policy: 'best' is not a policy; allowed: auto, rome-strict, rome-lenient, rome-2004-09-10, rfc7303, feedparser, "
			"4suite, appendix-f" },
		{ "repair = bom,all the", "f:1: repair: 'the' is not a repair; allowed: bom, junk, declaration, characters, references, line-ends, entities, ampersands, tags, end, trailing, namespaces, base, double, all, none, "
			"each also with a minus" },
		{ "rewrite = images", "f:1: rewrite: 'images' is not known; allowed: off|enclosures" },
		{ "gateway-url = nas.lan:8080", "f:1: gateway-url: 'nas.lan:8080' is not a URL: its scheme is neither http nor https" },
		{ "gateway-url = http://nas.lan/?a=", "f:1: gateway-url: 'http://nas.lan/?***' is not one for a gateway; allowed: http or https, a host, and a path "
		    "without & and '" },
		{ "gateway-url = http://nas.lan/a&b", "f:1: gateway-url: 'http://nas.lan/a&b' is not one for a gateway; allowed: http or https, a host, and a path "
		    "without & and '" },
		{ "repair =", "f:1: repair: '' is not a repair; allowed: bom, junk, declaration, characters, references, line-ends, entities, ampersands, tags, end, trailing, namespaces, base, double, all, none, each also "
			"with a minus" },
		{ "via =", "f:1: via: is empty; allowed: letters, digits and !#$%&'*+-.^_`|~" },
		{ "via = a b", "f:1: via: character 2 has the code 0x20; allowed: letters, digits and !#$%&'*+-.^_`|~" },
		{ "contact-url = feeds@example.org", "f:1: contact-url: '***@example.org' is not a URL: it does not begin with http:// or https://" },
		{ "contact-url = http://u:p@h/", "f:1: contact-url: 'http://***@h/' is not a URL: it holds user information" },
		{ "contact-url = http://h/a(b", "f:1: contact-url: 'http://h/a(b' has a parenthesis; allowed: %28 and %29" },
		{ "user-agent = a\tb", "f:1: user-agent: character 2 has the code 0x09; allowed: printable ASCII characters" },
		{ "cors-allow = reader.example", "f:1: cors-allow: 'reader.example' is not an origin" CORS },
		{ "cors-allow = https://a/b", "f:1: cors-allow: 'https://a/b' is not an origin" CORS },
		{ "cors-allow = null", "f:1: cors-allow: 'null' is not an origin" CORS },
		{ "cors-allow = https://", "f:1: cors-allow: 'https://' is not an origin" CORS },
		{ "cors-allow = https://a:0x1", "f:1: cors-allow: 'https://a:0x1' is not an origin" CORS },
		{ "cors-allow = 1a://b", "f:1: cors-allow: '1a://b' is not an origin" CORS },
		{ "cors-allow = *, https://a", "f:1: cors-allow: * stands beside origins" CORS },
		{ "cors-allow = a://a a://b a://c a://d a://e a://f a://g a://h a://i a://j a://k a://l a://m a://n a://o a://p a://q",
			"f:1: cors-allow: 'a://q' is one origin too many" CORS },
		{ "cache-redis = 6379", "f:1: cache-redis: is neither a host with its port nor a path" REDIS },
		{ "cache-redis = redis.example", "f:1: cache-redis: is neither a host with its port nor a path" REDIS },
		{ "cache-redis = redis.example:", "f:1: cache-redis: is neither a host with its port nor a path" REDIS },
		{ "cache-redis = redis.example:0", "f:1: cache-redis: is neither a host with its port nor a path" REDIS },
		{ "cache-redis = ::1:6379", "f:1: cache-redis: is neither a host with its port nor a path" REDIS },
		{ "cache-redis = redis://:secret@h:6379", "f:1: cache-redis: is neither a host with its port nor a path" REDIS },
		{ "cache-redis = /\xc3\xa9", "f:1: cache-redis: the path has a character that is not printable ASCII" REDIS },
		{ "cache-redis = " PATH_27 PATH_27 PATH_27 PATH_27, "f:1: cache-redis: a socket's path has at most 107 bytes" REDIS },
		{ "cache-lmdb = /a\ncache-redis = h:1", "f:2: cache-redis: cache-lmdb is set too, at f:1; allowed: one of them" },
		{ "cache-redis = /a\ncache-redis-tls = on", "f:2: cache-redis-tls: a socket has no TLS; allowed: with HOST:PORT as cache-redis" },
		{ "user-agent = \"a", "f:1: user-agent: a quoted value has no closing quote" },
		{ "user-agent = \"a\" b", "f:1: user-agent: text after a closing quote; allowed: a # comment" },
		{ "listen = localhost:80", "f:1: listen: 'localhost:80' is not an address and a port; allowed: such as 127.0.0.1:8080, 0.0.0.0:8080, [::1]:8080, unix:/PATH" },
		{ "client-allow = 10.0.0.1/8", "f:1: client-allow: '10.0.0.1/8' is no address block, or has bits set behind its prefix; allowed: "
			"address blocks such as 192.0.2.0/24, 2001:db8::/32, 192.0.2.7" },
		{ "allow = 0x7f.1:80", "f:1: allow: '0x7f.1:80' is no destination; allowed: with commas between, example.org (the host), .example.org (and all below it), "
			"192.0.2.0/24, 2001:db8::/32 or *, each with :PORT or :* behind it (IPv6: [2001:db8::/32]:PORT)" },
		{ "allow = a.example, ?", "f:1: allow: '?***' is no destination; allowed: with commas between, example.org (the host), .example.org (and "
			"all below it), 192.0.2.0/24, 2001:db8::/32 or *, each with :PORT or :* behind it (IPv6: [2001:db8::/32]:PORT)" },
		{ "deny = \" , \"", "f:1: deny: is empty; allowed: with commas between, example.org (the host), .example.org (and all below it), "
			"192.0.2.0/24, 2001:db8::/32 or *, each with :PORT or :* behind it (IPv6: [2001:db8::/32]:PORT)" },
		{ "listen = 8080", "f:1: listen: '8080' is not an address and a port; allowed: such as 127.0.0.1:8080, 0.0.0.0:8080, [::1]:8080, unix:/PATH" },
		{ "listen = 1.2.3.4:65536", "f:1: listen: '1.2.3.4:65536' is not an address and a port; allowed: such as 127.0.0.1:8080, 0.0.0.0:8080, [::1]:8080, unix:/PATH" },
		{ "listen = ::1:80", "f:1: listen: '::1:80' is not an address and a port; allowed: such as 127.0.0.1:8080, 0.0.0.0:8080, [::1]:8080, unix:/PATH" },
		{ "listen = 1.2.3.4:80\nlisten = 1.2.3.4:80", "f:2: listen: '1.2.3.4:80' is given twice; allowed: once" },
		{ "listen = unix:a.sock", "f:1: listen: 'unix:a.sock' is no path of a socket; allowed: unix:/PATH of at most 107 bytes, such as "
			"unix:/run/utfeed/utfeed.sock" },
		{ "listen = \"unix:/a b\"", "f:1: listen: 'unix:/a b' is no path of a socket; allowed: unix:/PATH of at most 107 bytes, such as "
			"unix:/run/utfeed/utfeed.sock" },
		{ "listen = unix:/run/", "f:1: listen: 'unix:/run/' is no path of a socket; allowed: unix:/PATH of at most 107 bytes, such as "
			"unix:/run/utfeed/utfeed.sock" },
		{ "listen = unix:" PATH_27 PATH_27 PATH_27 PATH_27, "f:1: listen: 'unix:" PATH_27 PATH_27 "/aaaa' is no path of a socket; allowed: unix:/PATH of "
			"at most 107 bytes, such as unix:/run/utfeed/utfeed.sock" },
		{ "listen = unix:/a\nlisten = unix:/a", "f:2: listen: 'unix:/a' is given twice; allowed: once" },
		{ "listen-mode = 0888", "f:1: listen-mode: '0888' is no mode of a file; allowed: octal digits as for chmod(1), 0 to 0777" },
		{ "client-rate = 1/d", "f:1: client-rate: '1/d' is not a rate (a whole number, with /s, /m or /h); allowed: 0 to 1000000/s" },
		{ "client-rate = 1000001", "f:1: client-rate: '1000001' is out of range; allowed: 0 to 1000000/s" },
		{ "listen-mode = 1777", "f:1: listen-mode: '1777' is no mode of a file; allowed: octal digits as for chmod(1), 0 to 0777" },
		{ "via = a\nvia = b", "f:2: via: given twice, first at f:1; allowed: once" },
		{ "[gateway]\nsniff-bytes = 2k", "f:2: sniff-bytes: not an option of the gateway; allowed: above the first section" },
		{ "[gateway]\ncookies = on", "f:2: cookies: an option of a route; allowed: below a [route PATTERN]" },
		{ "[gateway]\ngateway-floor = 1m", "f:2: gateway-floor: not an option of the gateway; allowed: above the first section" },
		{ "[gateway]\nfreshness-flor = 1m", "f:2: 'freshness-flor' is not an option; did you mean freshness-floor?" },
		{ "[gateway]\nkeep-feed = 31d", "f:2: keep-feed: '31d' is out of range; allowed: 0 to 720h" },
		{ "[gateway]\naccept = a\n[gateway]\naccept = b", "f:4: accept: given twice for the gateway, first at f:2; allowed: once" },
		{ "gateway-floor = 25h", "f:1: gateway-floor: freshness-floor: '25h' is out of range; allowed: 0 to 24h" },
		{ "gateway-stale = 1h\n[gateway]\nstale-if-error = 2h", "f:3: stale-if-error: given twice for the gateway, first at f:1; allowed: once" },
		{ "[gateway /a]", "f:1: not a section; allowed: [route PATTERN], [gateway]" },
		{ "[cache]", "f:1: not a section; allowed: [route PATTERN], [gateway]" },
		{ "[route /a", "f:1: not a section; allowed: [route PATTERN], [gateway]" },
		{ "[route]", "f:1: not a section; allowed: [route PATTERN], [gateway]" },
		{ "[", "f:1: not a section; allowed: [route PATTERN], [gateway]" },
		{ "[route a]", "f:1: 'a' is not a pattern; allowed: /prefix or //host[:port]/prefix, without =" },
		{ "[route /a=b]", "f:1: '/a=b' is not a pattern; allowed: /prefix or //host[:port]/prefix, without =" },
		{ "[route /]\nsniff-bytes = 2k", "f:2: sniff-bytes: not an option of a route; allowed: above the first section" },
		{ "charset = koi8-r", "f:1: charset: an option of a route; allowed: below a [route PATTERN]" },
		{ "[route /]\ncharset = x", "f:2: charset: 'x' is not a known encoding; allowed: none, or a label that utfeed charsets lists" },
		{ "[route /]\nname = a\nname = b", "f:3: name: given twice for the route /, first at f:2; allowed: once" },
		{ "via = a\n[route /]\nname = a\n", "f:2: route / has no origin; allowed: a line origin = URL" },
		{ "[route /]\norigin=http://o\n[route /]\norigin=http://o\n", NULL },
		{ "route = /", "f:1: route: '/' has no origin; allowed: PATTERN=ORIGIN[ NAME=VALUE]..." },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf_error error = { "" };
		struct conf *conf = make();
		int status = conf_file_parse(conf, cases[i].text, strlen(cases[i].text), "f", no_variables, &error);
		if (status == 0)
			status = conf_settle(conf, &error);
		UNIT_ROW(status == -1, "%s", cases[i].text);
		UNIT_ROW(!cases[i].message || strcmp(error.text, cases[i].message) == 0, "%s: got %s", cases[i].text, error.text);
		conf_free(&conf);
	}
	struct conf_error error;
	struct conf *conf = make();
	CU_ASSERT_EQUAL(conf_file_parse(conf, "via = a\0b\n", 10, "f", no_variables, &error), -1);
	CU_ASSERT_STRING_EQUAL(error.text, "f:1: a zero byte; allowed: text");
	conf_free(&conf);
}

/* Values with variables: ${HOST} is h, ${EMPTY} empty, ${TRICKY} full of what the format knows. */
static void variables(void)
{
	static char host[] = "HOST=h", empty[] = "EMPTY=", tricky[] = "TRICKY=${HOST} $$ \" # \\ [x]";
	static char *const envp[] = { host, empty, tricky, NULL };
	static const struct { const char *rule, *text, *value, *message; } cases[] = {
		{ "a variable", "${HOST}", "h", NULL },
		{ "within a word", "a${HOST}b${HOST}", "ahbh", NULL },
		{ "in quotes", "\" ${HOST} \"", " h ", NULL },
		{ "a default is not wanted", "${HOST:-x}", "h", NULL },
		{ "a default", "${NONE:-x y}z", "x yz", NULL },
		{ "a default for an empty variable", "${EMPTY:-x}", "x", NULL },
		{ "an empty default", "a${NONE:-}", "a", NULL },
		{ "a default ends at the first brace", "${NONE:-a}}", "a}", NULL },
		{ "two dollars are one", "$$a$$$$", "$a$$", NULL },
		{ "two dollars begin no variable", "$${HOST}", "${HOST}", NULL },
		{ "a dollar by itself", "a$HOST$", "a$HOST$", NULL },
		{ "never expanded twice, nor read as syntax", "${TRICKY}", "${HOST} $$ \" # \\ [x]", NULL },
		{ "the same in quotes", "\"${TRICKY}\" # c", "${HOST} $$ \" # \\ [x]", NULL },
		{ "a comment cuts before", "a # ${NONE}", "a", NULL },
		{ "absent", "${NONE}", NULL, "f:1: accept: the variable NONE is not set, or empty; " },
		{ "empty", "${EMPTY}", NULL, "f:1: accept: the variable EMPTY is not set, or empty; " },
		{ "a part of a name is another one", "${HOS}", NULL, "f:1: accept: the variable HOS is not set, or empty; " },
		{ "no name", "${}", NULL, "f:1: accept: what stands behind ${ is no variable; " },
		{ "a digit first", "${1A}", NULL, "f:1: accept: what stands behind ${ is no variable; " },
		{ "a name with a minus", "${A-B}", NULL, "f:1: accept: what stands behind ${ is no variable; " },
		{ "no end", "${HOST", NULL, "f:1: accept: what stands behind ${ is no variable; " },
		{ "one in the other", "${NONE:-${HOST}}", NULL, "f:1: accept: what stands behind ${ is no variable; " },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char file[128];
		struct conf_error error = { "" };
		struct conf *conf = make(), *again = make();
		snprintf(file, sizeof(file), "accept = %s\n", cases[i].text);
		int status = conf_file_parse(conf, file, strlen(file), "f", envp, &error);
		UNIT_ROW(status == (cases[i].value ? 0 : -1), "%s: %s", cases[i].rule, error.text);
		if (status == 0) {
			char *text = printed(conf_dump, conf);
			UNIT_ROW(strcmp(conf->accept, cases[i].value) == 0, "%s: got %s", cases[i].rule, conf->accept);
			UNIT_ROW(conf_file_parse(again, text, strlen(text), "f", no_variables, &error) == 0 && strcmp(again->accept, cases[i].value) == 0,
				"%s: printed and read again: %s", cases[i].rule, error.text);
			free(text);
		} else
			UNIT_ROW(cases[i].message && strncmp(error.text, cases[i].message, strlen(cases[i].message)) == 0, "%s: got %s", cases[i].rule,
				error.text);
		conf_free(&conf);
		conf_free(&again);
	}
}

/* A variable is the operator's, but it may be as long as the system lets it be. */
static void variables_long(void)
{
	char *variable = malloc(40000), *const envp[] = { variable, NULL };
	static const char text[] = "accept = ${LONG}${LONG}\n";
	struct conf_error error = { "" };
	struct conf *conf = make();

	CU_ASSERT_PTR_NOT_NULL_FATAL(variable);
	memset(variable, 'a', 39999);
	memcpy(variable, "LONG=", 5);
	variable[39999] = '\0';
	CU_ASSERT_EQUAL(conf_file_parse(conf, text, sizeof(text) - 1, "f", envp, &error), -1);
	CU_ASSERT_STRING_EQUAL(error.text, "f:1: accept: is longer than 65536 bytes with its variables");
	conf_free(&conf);
	free(variable);
}

/* The notes of a load: as many errors, and as many warnings that hold the word. */
static void notes(void)
{
	static const struct { const char *rule, *variables[3], *file; size_t errors, warnings; const char *word; } cases[] = {
		{ "nothing", { NULL }, "via = a", 0, 0, "" },
		{ "all errors of a file", { NULL }, "via = (\nnonsense\npolicy = x\nvia = b\naccept = fine\n", 4, 0, "" },
		{ "lines of a refused section are not read", { NULL }, "[route x]\nfoo = bar\n[route /]\norigin = x\n", 2, 0, "" },
		{ "the file's and the variables'", { "UTFEED_POLICY=x", "UTFEED_OUTPUT=y" }, "via = (", 3, 0, "" },
		{ "a variable misspelt", { "UTFEED_SNIF_BYTES=1" }, "", 0, 1, "UTFEED_SNIF_BYTES is no option's variable; did you mean UTFEED_SNIFF_BYTES?" },
		{ "two letters in each other's place", { "UTFEED_CAHCE=off" }, "", 0, 1, "did you mean UTFEED_CACHE?" },
		{ "a variable unlike any", { "UTFEED_FOO_BAR_BAZ=1" }, "", 0, 1, "UTFEED_FOO_BAR_BAZ is no option's variable and is ignored" },
		{ "an empty one is none", { "UTFEED_SNIF_BYTES=" }, "", 0, 0, "" },
		{ "those of Kubernetes", { "UTFEED_PORT_8080_TCP_ADDR=10.0.0.1", "UTFEED_CANARY_SERVICE_HOST=10.0.0.1" }, "", 0, 0, "" },
		{ "the file's name is one", { "UTFEED_CONFIG=/dev/null" }, "", 0, 0, "" },
		{ "names of others", { "UTFEEDS_X=1", "MY_UTFEED_X=1" }, "", 0, 0, "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *path = write_file(cases[i].file);
		const char *const argv[] = { "serve", "-c", path };
		struct conf_error error = { "" };
		struct conf *conf = make();
		size_t warnings = 0;
		int status = conf_load(conf, 3, WORDS(argv), WORDS(cases[i].variables), &error);
		UNIT_ROW(status == (cases[i].errors ? -1 : 0) && conf->notes.errors == cases[i].errors, "%s: %zu errors, %s", cases[i].rule,
			conf->notes.errors, error.text);
		for (size_t j = 0; j < conf->notes.count; j++)
			if (conf->notes.items[j].level == CONF_NOTE_WARNING) {
				warnings++;
				UNIT_ROW(strstr(conf->notes.items[j].text, cases[i].word) != NULL, "%s: %s", cases[i].rule, conf->notes.items[j].text);
			}
		UNIT_ROW(warnings == cases[i].warnings, "%s: %zu warnings", cases[i].rule, warnings);
		conf_free(&conf);
		unlink(path);
		free(path);
	}
}

static size_t told;

static void count_told(enum conf_note_level level, const char *text)
{
	(void)level;
	told++;
	CU_ASSERT(told <= CONF_NOTES_MAX || strcmp(text, "30 more, not shown") == 0);
}

static void notes_are_bounded(void)
{
	char text[50 * 2 + 1] = "";
	struct conf_error error = { "" };
	struct conf *conf = make();

	for (size_t i = 0; i < 50; i++)
		strcat(text, "x\n");
	CU_ASSERT_EQUAL(conf_file_parse(conf, text, strlen(text), "f", no_variables, &error), -1);
	CU_ASSERT_STRING_EQUAL(error.text, "f:1: not a line NAME = VALUE");
	told = 0;
	conf_tell(conf, count_told);
	CU_ASSERT_EQUAL(told, CONF_NOTES_MAX + 1);
	conf_free(&conf);
}

/* Files by name, in a folder of their own that is the working folder; the first one is read. */
struct files { const char *rule; struct { const char *name, *text; } files[4]; const char *message, *via, *accept; size_t routes; };

static void make_files(const struct files *files)
{
	CU_ASSERT_EQUAL(mkdir("d", 0700), 0);
	CU_ASSERT_EQUAL(mkdir("d/folder.conf", 0700), 0);
	for (size_t i = 0; i < 4 && files->files[i].name; i++) {
		FILE *out = fopen(files->files[i].name, "w");
		CU_ASSERT_PTR_NOT_NULL_FATAL(out);
		fputs(files->files[i].text, out);
		fclose(out);
	}
}

static void drop_files(const struct files *files)
{
	for (size_t i = 0; i < 4 && files->files[i].name; i++)
		unlink(files->files[i].name);
	rmdir("d/folder.conf");
	rmdir("d");
}

static void check_files(const struct files *files)
{
	const char *const argv[] = { "serve", "-c", files->files[0].name };
	struct conf_error error = { "" };
	struct conf *conf = make();
	int status;

	make_files(files);
	status = conf_load(conf, 3, WORDS(argv), no_variables, &error);
	UNIT_ROW(status == (files->message ? -1 : 0), "%s: %s", files->rule, error.text);
	UNIT_ROW(!files->message || strcmp(error.text, files->message) == 0, "%s: got %s", files->rule, error.text);
	UNIT_ROW(!files->via || strcmp(conf->via, files->via) == 0, "%s: got via %s", files->rule, conf->via);
	UNIT_ROW(!files->accept || strcmp(conf->accept, files->accept) == 0, "%s: got accept %s", files->rule, conf->accept);
	UNIT_ROW(files->message || conf->routes.count == files->routes, "%s: %zu routes", files->rule, conf->routes.count);
	conf_free(&conf);
	drop_files(files);
}

static void includes(void)
{
	static const struct files cases[] = {
		{ "a file", { { "f", "include = d/x\naccept = b" }, { "d/x", "via = a" } }, NULL, "a", "b", 0 },
		{ "without =", { { "f", "include d/x # c" }, { "d/x", "via = a" } }, NULL, "a", NULL, 0 },
		{ "in quotes", { { "f", "include = \"d/x y\"" }, { "d/x y", "via = a" } }, NULL, "a", NULL, 0 },
		{ "a folder's *.conf, no other file, no hidden one", { { "f", "include = d" }, { "d/1.conf", "via = a" }, { "d/x", "!" }, { "d/.h.conf", "!" } }, NULL, "a",
			NULL, 0 },
		{ "a folder with a slash", { { "f", "include d/" }, { "d/1.conf", "via = a" } }, NULL, "a", NULL, 0 },
		{ "a pattern", { { "f", "include = d/?.[c]*" }, { "d/1.conf", "via = a" }, { "d/2.txt", "!" } }, NULL, "a", NULL, 0 },
		{ "a pattern of this folder", { { "f", "include = x*y" }, { "x-y", "via = a" } }, NULL, "a", NULL, 0 },
		{ "a pattern that matches nothing", { { "f", "include = d/*.none\nvia = a" } }, NULL, "a", NULL, 0 },
		{ "sorted by bytes", { { "f", "include = d" }, { "d/a.conf", "!" }, { "d/B.conf", "?" } }, "d/B.conf:1: not a line NAME = VALUE", NULL, NULL, 0 },
		{ "relative to the file that says so", { { "f", "include = d/x" }, { "d/x", "include = y" }, { "d/y", "via = a" } }, NULL, "a", NULL, 0 },
		{ "routes end with their file", { { "f", "include = d\nvia = a" }, { "d/1.conf", "[route /a/]\norigin = http://o/" },
			{ "d/2.conf", "accept = b\n[route /b/]\norigin = http://o/" } }, NULL, "a", "b", 2 },
		{ "lines for a route", { { "f", "[route /a/]\ninclude = d/x\norigin = http://o/" }, { "d/x", "charset = koi8-r" } }, NULL, NULL, NULL, 1 },
		{ "errors are of the included file", { { "f", "\ninclude = d" }, { "d/1.conf", "\npolicy = x" } }, "d/1.conf:2: policy: 'x' is not a policy; allowed: auto, "
			"rome-strict, rome-lenient, rome-2004-09-10, rfc7303, feedparser, 4suite, appendix-f", NULL, NULL, 0 },
		{ "given twice", { { "f", "via = a\ninclude = d" }, { "d/1.conf", "via = b" } }, "d/1.conf:1: via: given twice, first at f:1; allowed: once", NULL, NULL, 0 },
		{ "absent", { { "f", "include = d/none" } }, "f:1: include: d/none: No such file or directory", NULL, NULL, 0 },
		{ "absent folder of a pattern", { { "f", "include = e/*.conf" } }, "f:1: include: e/: No such file or directory", NULL, NULL, 0 },
		{ "a pattern for folders", { { "f", "include = */x" } }, "f:1: include: a folder's name has a wildcard; allowed: a file, a folder, or FOLDER/*.conf", NULL,
			NULL, 0 },
		{ "empty", { { "f", "include =" } }, "f:1: include: is empty; allowed: a file, a folder, or FOLDER/*.conf", NULL, NULL, 0 },
		{ "itself", { { "f", "include = d" }, { "d/1.conf", "include = ../f" } }, "d/1.conf:1: include: d/../f includes itself", NULL, NULL, 0 },
		{ "a route's line behind a refused pattern", { { "f", "[route /a\ninclude = d/none" } }, "f:1: not a section; allowed: [route PATTERN], [gateway]", NULL, NULL, 0 },
	};
	char folder[] = "/tmp/utfeed-test-conf-XXXXXX", *before = getcwd(NULL, 0);

	CU_ASSERT_FATAL(before && mkdtemp(folder) && chdir(folder) == 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_files(&cases[i]);
	CU_ASSERT_EQUAL(chdir(before), 0);
	CU_ASSERT_EQUAL(rmdir(folder), 0);
	free(before);
}

/* Files that include each other without a circle: too deep, or too many. */
static void includes_are_bounded(void)
{
	char folder[] = "/tmp/utfeed-test-conf-XXXXXX", *before = getcwd(NULL, 0), name[16], text[64];
	struct conf_error error = { "" };

	CU_ASSERT_FATAL(before && mkdtemp(folder) && chdir(folder) == 0);
	for (size_t twice = 0; twice < 2; twice++) {
		for (size_t i = 0; i < 9; i++) {
			snprintf(name, sizeof(name), "%zu", i);
			FILE *out = fopen(name, "w");
			CU_ASSERT_PTR_NOT_NULL_FATAL(out);
			snprintf(text, sizeof(text), "include = %zu\n", i + 1);
			for (size_t times = 0; times < (twice ? i < 7 ? 4 : 0 : 1); times++)
				fputs(text, out);
			fclose(out);
		}
		struct conf *conf = make();
		static const char *const argv[] = { "serve", "-c0" };
		CU_ASSERT_EQUAL(conf_load(conf, 2, WORDS(argv), no_variables, &error), -1);
		CU_ASSERT_STRING_EQUAL(strstr(error.text, "include"), twice ? "include: more than 1000 files" : "include: more than 8 files include each other");
		conf_free(&conf);
	}
	for (size_t i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "%zu", i);
		unlink(name);
	}
	CU_ASSERT_EQUAL(chdir(before), 0);
	CU_ASSERT_EQUAL(rmdir(folder), 0);
	free(before);
}

static void start_errors(void)
{
	static const struct { const char *variable, *argv[4], *message; } cases[] = {
		{ "X=", { "serve", "--sniff-bytes", "2g" }, "--sniff-bytes: '2g' is out of range; allowed: 1k to 1m" },
		{ "X=", { "serve", "--sniff-bytes" }, "--sniff-bytes: has no value; allowed: SIZE" },
		{ "X=", { "serve", "--sniffbytes=1" }, "'--sniffbytes' is not an option; did you mean --sniff-bytes?" },
		{ "X=", { "serve", "--" }, "'--' is not an option; utfeed serve --help lists them" },
		{ "X=", { "serve", "-" }, "'-' is not an option; utfeed serve --help lists them" },
		{ "X=", { "serve", "-x" }, "'-x' is not an option; utfeed serve --help lists them" },
		{ "X=", { "serve", "http://o/" }, "argument 1 is not an option; utfeed serve --help lists them" },
		{ "X=", { "serve", "--help=x" }, "--help: takes no value" },
		{ "X=", { "serve", "-c" }, "-c: has no value; allowed: FILE" },
		{ "X=", { "serve", "-c", "/nonexistent/f" }, "/nonexistent/f: No such file or directory" },
		{ "X=", { "serve", "-c/" }, "/: Is a directory" },
		{ "UTFEED_CONFIG=/nonexistent/g", { "serve" }, "/nonexistent/g: No such file or directory" },
		{ "UTFEED_CONFIG=/nonexistent/g", { "serve", "-c", "/nonexistent/f" }, "/nonexistent/f: No such file or directory" },
		{ "UTFEED_POLICY=x", { "serve", "--policy=auto" }, "UTFEED_POLICY: 'x' is not a policy; allowed: auto, rome-strict, rome-lenient, "
			"rome-2004-09-10, rfc7303, feedparser, 4suite, appendix-f" },
		{ "UTFEED_LISTEN=1.2.3.4:80;x", { "serve" }, "UTFEED_LISTEN: 'x' is not an address and a port; allowed: such as 127.0.0.1:8080, "
			"0.0.0.0:8080, [::1]:8080, unix:/PATH" },
		{ "UTFEED_LISTEN=127.0.0.1:80;[::]:80", { "serve" }, "UTFEED_LISTEN: [::]:80 is open to other machines, and no client-allow says which may "
			"use it; write for example client-allow = 192.168.0.0/16 (or --client-allow), or 0.0.0.0/0, ::/0 for "
			"everybody" },
		{ "http_proxy=socks5://u:secret@h:1", { "serve" }, "http_proxy: socks5 makes utfeed look names up, so DNS learns of them; write "
			"socks5h, with which the proxy looks them up" PARENTS },
		{ "https_proxy=https://h:1", { "serve" }, "https_proxy: only proxies that speak plain HTTP, or SOCKS5 (socks5h), can be parents" PARENTS },
		{ "https_proxy=socks4a://h:1", { "serve" }, "https_proxy: only proxies that speak plain HTTP, or SOCKS5 (socks5h), can be parents" PARENTS },
		{ "http_proxy=socks5h://user@h:1", { "serve" }, "http_proxy: SOCKS5 has a user and a password of 1 to 255 bytes each" PARENTS },
		{ "http_proxy=socks5h://:secret@h:1", { "serve" }, "http_proxy: SOCKS5 has a user and a password of 1 to 255 bytes each" PARENTS },
		{ "http_proxy=socks5h://u:sec%0Aret@h:1", { "serve" }, "http_proxy: user or password has a character that cannot be sent, or a % that is "
			"no %XX" PARENTS },
		{ "all_proxy=http://h", { "serve" }, "all_proxy: has no port, which curl takes for 1080 and others for 80" PARENTS },
		{ "http_proxy=http://h:1/x", { "serve" }, "http_proxy: a proxy has no path" PARENTS },
		{ "http_proxy=http://u:secret@h:99999", { "serve" }, "http_proxy: the host or the port of the proxy is not valid" PARENTS },
		{ "http_proxy=http://u:sec%4ret@h:1", { "serve" }, "http_proxy: user or password has a character that cannot be sent, or a % that is "
			"no %XX" PARENTS },
		{ "http_proxy=http://u%3a:secret@h:1", { "serve" }, "http_proxy: user or password has a character that cannot be sent, or a % that is "
			"no %XX" PARENTS },
		{ "http_proxy=http://u:%0d%0aX@h:1", { "serve" }, "http_proxy: user or password has a character that cannot be sent, or a % that is "
			"no %XX" PARENTS },
		{ "no_proxy=a,b/c", { "serve" }, "no_proxy: 'b/c' is no destination; allowed: with commas between, example.org (and all below it), "
			"192.0.2.0/24, 2001:db8::/32 or *, each with :PORT behind it for that port alone" },
		{ "UTFEED_ROUTE=/=http://o http-proxy=u:secret@h", { "serve" }, "UTFEED_ROUTE: http-proxy: has no port, which curl takes for 1080 and "
			"others for 80" PARENTS },
		{ "UTFEED_PROXY_PROTOCOL=on", { "serve" }, "UTFEED_PROXY_PROTOCOL: trusted-proxies does not say whose connections begin "
			"with such a header" },
		{ "UTFEED_TRUSTED_PROXIES=127.0.0.1", { "serve" }, "UTFEED_TRUSTED_PROXIES: no client-allow says which of the clients "
			"behind them may use utfeed; write for example client-allow = 192.168.0.0/16, or 0.0.0.0/0, ::/0 for everybody" },
		{ "X=", { "serve", "--listen", "[::]:80" }, "--listen: [::]:80 is open to other machines, and no client-allow says which may use it; write "
			"for example client-allow = 192.168.0.0/16 (or --client-allow), or 0.0.0.0/0, ::/0 for everybody" },
		{ "X=", { "serve", "--cache-redis=/a", "--cache-redis-tls=on" }, "--cache-redis-tls: a socket has no TLS; allowed: with HOST:PORT as cache-redis" },
		{ "UTFEED_HOSTS=a.example,b:80", { "serve" }, "UTFEED_HOSTS: 'b:80' is no destination; allowed: with commas between, example.org, .example.org "
			"(and all below it), 192.0.2.0/24, 2001:db8::/32 or *" },
		{ "UTFEED_ROUTE=/=http://o;/=http://o", { "serve" }, "UTFEED_ROUTE: route / is also set at UTFEED_ROUTE; allowed: one route a pattern" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const envp[] = { cases[i].variable, NULL };
		struct conf_error error = { "" };
		struct conf *conf = make();
		int argc = 0;
		while (cases[i].argv[argc])
			argc++;
		UNIT_ROW(conf_load(conf, argc, WORDS(cases[i].argv), WORDS(envp), &error) == -1, "%s", cases[i].message);
		UNIT_ROW(strcmp(error.text, cases[i].message) == 0, "%s: got %s", cases[i].message, error.text);
		conf_free(&conf);
	}
}

/* Secrets in files. The file has the bytes and the mode; warned: that others may read it. */
static void secret_files(void)
{
	static const struct { const char *rule, *argv[4], *variable, *bytes; size_t len; mode_t mode; const char *message, *name, *formatted; bool warned; } cases[] = {
		{ "a flag", { "serve", "--cache-redis-password-file=" SECRET_FILE }, "X=", "a b", 3, 0600, NULL, "cache-redis-password", "a b", false },
		{ "a variable", { "serve" }, "UTFEED_CACHE_REDIS_PASSWORD_FILE=" SECRET_FILE, "a", 1, 0600, NULL, "cache-redis-password", "a", false },
		{ "the last line end", { "serve", "--cache-redis-password-file=" SECRET_FILE }, "X=", "a\n", 2, 0600, NULL, "cache-redis-password", "a", false },
		{ "of Windows", { "serve", "--cache-redis-password-file=" SECRET_FILE }, "X=", "a\r\n", 3, 0600, NULL, "cache-redis-password", "a", false },
		{ "a variable's syntax is none", { "serve", "--cache-redis-password-file=" SECRET_FILE }, "X=", "${X} # $$\"", 10, 0600, NULL, "cache-redis-password",
			"${X} # $$\"", false },
		{ "two line ends", { "serve", "--cache-redis-password-file=" SECRET_FILE }, "X=", "a\n\n", 3, 0600,
			"--cache-redis-password-file: character 2 has the code 0x0a; allowed: printable ASCII characters", "cache-redis-password", NULL, false },
		{ "empty", { "serve", "--cache-redis-password-file=" SECRET_FILE }, "X=", "\n", 1, 0600,
			"--cache-redis-password-file: the file is empty; allowed: the value, and nothing else", "cache-redis-password", NULL, false },
		{ "a zero byte", { "serve", "--cache-redis-password-file=" SECRET_FILE }, "X=", "a\0b", 3, 0600,
			"--cache-redis-password-file: the file has a zero byte; allowed: the value, and nothing else", "cache-redis-password", NULL, false },
		{ "absent, and its name not shown", { "serve", "--cache-redis-password-file=hunter2" }, "X=", "", 0, 0600,
			"--cache-redis-password-file: the file cannot be read: No such file or directory", "cache-redis-password", NULL, false },
		{ "a folder", { "serve", "--cache-redis-password-file=/tmp" }, "X=", "", 0, 0600, "--cache-redis-password-file: the file cannot be read: Is a directory",
			"cache-redis-password", NULL, false },
		{ "a device", { "serve", "--cache-redis-password-file=/dev/zero" }, "X=", "", 0, 0600,
			"--cache-redis-password-file: the file cannot be read: Operation not supported", "cache-redis-password", NULL, false },
		{ "both", { "serve", "--cache-redis-password-file=" SECRET_FILE }, "UTFEED_CACHE_REDIS_PASSWORD=hunter2", "a", 1, 0600,
			"--cache-redis-password-file: cache-redis-password is set too, at UTFEED_CACHE_REDIS_PASSWORD; allowed: one of them", "cache-redis-password", NULL,
			false },
		{ "none by an empty name", { "serve", "--cache-redis-password-file=" }, "UTFEED_CACHE_REDIS_PASSWORD=a", "", 0, 0600, NULL, "cache-redis-password", "a", false },
		{ "others may read it", { "serve", "--cache-redis-password-file=" SECRET_FILE }, "X=", "a", 1, 0644, NULL, "cache-redis-password", "a", true },
		{ "a proxy", { "serve", "--http-proxy-file=" SECRET_FILE }, "X=", SECRET "\n", sizeof(SECRET), 0640, NULL, "http-proxy", SECRET, false },
		{ "before the variables of all programs", { "serve", "--http-proxy-file=" SECRET_FILE }, "http_proxy=http://p:2", SECRET, sizeof(SECRET) - 1, 0600, NULL,
			"http-proxy", SECRET, false },
		{ "what is wrong with it", { "serve", "--https-proxy-file=" SECRET_FILE }, "X=", "http://u:hunter2@h", 18, 0600,
			"--https-proxy-file: has no port, which curl takes for 1080 and others for 80" PARENTS, "https-proxy", NULL, false },
		{ "a route's", { "serve", "--route=/=http://o http-proxy-file=" SECRET_FILE }, "X=", SECRET, sizeof(SECRET) - 1, 0600, NULL, "route",
			"/=http://o/ http-proxy-file=" SECRET_FILE "\n", false },
		{ "a route's before the global one", { "serve", "--route=/=http://o http-proxy-file=" SECRET_FILE, "--http-proxy=p:2" }, "X=", SECRET, sizeof(SECRET) - 1, 0600,
			NULL, "route", "/=http://o/ http-proxy-file=" SECRET_FILE "\n", false },
		{ "both of a route", { "serve", "--route=/=http://o http-proxy-file=" SECRET_FILE " http-proxy=u:hunter2@p:2" }, "X=", SECRET, sizeof(SECRET) - 1, 0600,
			"--route: http-proxy-file: http-proxy is set too, at --route; allowed: one of them", "route", NULL, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const envp[] = { cases[i].variable, NULL };
		struct conf_error error = { "" };
		struct conf *conf = make();
		int argc = 0;
		while (cases[i].argv[argc])
			argc++;
		put_file(SECRET_FILE, cases[i].bytes, cases[i].len, cases[i].mode);
		int status = conf_load(conf, argc, WORDS(cases[i].argv), WORDS(envp), &error);
		UNIT_ROW(status == (cases[i].message ? -1 : 0), "%s: %s", cases[i].rule, error.text);
		UNIT_ROW(!cases[i].message || strcmp(error.text, cases[i].message) == 0, "%s: got %s", cases[i].rule, error.text);
		UNIT_ROW(cases[i].message || reads(conf, cases[i].name, cases[i].formatted), "%s", cases[i].rule);
		UNIT_ROW(cases[i].message || conf->notes.count == (cases[i].warned ? 1 : 0), "%s: %zu notes", cases[i].rule, conf->notes.count);
		if (!cases[i].message && strcmp(cases[i].name, "route") == 0)
			UNIT_ROW(conf->routes.items[0].http_proxy.credentials != NULL, "%s", cases[i].rule);
		char *text = cases[i].message ? NULL : printed(conf_dump, conf);
		UNIT_ROW(!text || !strstr(text, "unter2"), "%s: %s", cases[i].rule, text);
		free(text);
		conf_free(&conf);
	}
	unlink(SECRET_FILE);
}

/* Whatever is wrong with what holds a password, the message does not. */
static void secrets(void)
{
	static const struct { const char *rule, *variable, *argv[4], *file; } cases[] = {
		{ "a misspelt flag", "X=", { "serve", "--cache-redis-pasword=hunter2" }, NULL },
		{ "a flag with one dash", "X=", { "serve", "-phunter2" }, NULL },
		{ "a blank behind the =", "X=", { "serve", "--cache-redis-password=", "hunter2" }, NULL },
		{ "a misspelt name", "X=", { "serve" }, "cache-redis-pasword = hunter2" },
		{ "a name without =", "X=", { "serve" }, "cache-redis-password hunter2" },
		{ "a line alone", "X=", { "serve" }, "cache-redis-password =\nhunter2" },
		{ "a line of base64", "X=", { "serve" }, "cache-redis-password =\nHunter2==" },
		{ "a URL as a line", "X=", { "serve" }, "http://u:hunter2@h/?a=b" },
		{ "a section", "X=", { "serve" }, "[cache-redis-password = hunter2]" },
		{ "a section's pattern", "X=", { "serve" }, "[route //u:hunter2@h/]" },
		{ "a section with an origin", "X=", { "serve" }, "[route /a=http://u:hunter2@h/]" },
		{ "an origin", "X=", { "serve", "--route", "/=http://u:hunter2@h/" }, NULL },
		{ "an origin, a slash in the password", "X=", { "serve", "--route", "/=http://u:p/hunter2@h/" }, NULL },
		{ "an origin, longer than what is shown", "X=", { "serve", "--route", "/=http://u:hunter2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@h/" }, NULL },
		{ "an origin's query", "X=", { "serve", "--route", "/=http://h/?key=hunter2" }, NULL },
		{ "an inline route's unknown option", "X=", { "serve", "--route", "/=http://h htp-proxy=http://u:hunter2@h:1" }, NULL },
		{ "an inline route's proxy with a blank", "X=", { "serve", "--route", "/=http://h http-proxy=http://u:my hunter2@h:1" }, NULL },
		{ "an inline route without origin", "X=", { "serve", "--route", "/ http-proxy=http://u:hunter2@h:1" }, NULL },
		{ "an inline route's pattern", "X=", { "serve", "--route", "//u:hunter2@h=http://h" }, NULL },
		{ "a destination", "X=", { "serve", "--allow", "u:hunter2@h" }, NULL },
		{ "an address", "X=", { "serve", "--listen", "u:hunter2@h:80" }, NULL },
		{ "a block", "X=", { "serve", "--client-allow", "u:hunter2@h" }, NULL },
		{ "a server", "UTFEED_CACHE_REDIS=redis://u:hunter2@h:1", { "serve" }, NULL },
		{ "a parent", "http_proxy=http://u:hunter2@h", { "serve" }, NULL },
		{ "a password with a character too many", "UTFEED_CACHE_REDIS_PASSWORD=hunter2\t", { "serve" }, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const envp[] = { cases[i].variable, NULL };
		struct conf_error error = { "" };
		struct conf *conf = make();
		int argc = 0, status;
		while (cases[i].argv[argc])
			argc++;
		status = cases[i].file ? conf_file_parse(conf, cases[i].file, strlen(cases[i].file), "f", no_variables, &error) : 0;
		if (status == 0)
			status = conf_load(conf, argc, WORDS(cases[i].argv), WORDS(envp), &error);
		UNIT_ROW(status == -1 && *error.text, "trust 20: %s is refused", cases[i].rule);
		UNIT_ROW(!strstr(error.text, "unter2"), "trust 20: %s: %s", cases[i].rule, error.text);
		conf_free(&conf);
	}
}

static void flags(void)
{
	static const char *const argv[] = { "serve", "--via", "a", "--via=b", "--listen", "127.1.1.1:1", "--listen=127.1.1.1:2" };
	static const char *const envp[] = { NULL };
	struct conf_error error;
	struct conf *conf = make();

	CU_ASSERT_EQUAL(conf_load(conf, 7, WORDS(argv), WORDS(envp), &error), 0);
	CU_ASSERT_STRING_EQUAL(conf->via, "b");
	CU_ASSERT(reads(conf, "listen", "127.1.1.1:1\n127.1.1.1:2\n"));
	CU_ASSERT_EQUAL(conf->action, CONF_SERVE);
	CU_ASSERT_PTR_NULL(conf->file);
	conf_free(&conf);
}

static void act(FILE *out, const struct conf *conf)
{
	conf_act(conf, out);
}

static void manual_flags(FILE *out, const struct conf *conf)
{
	(void)conf;
	conf_print_manual_flags(out);
}

static void manual_options(FILE *out, const struct conf *conf)
{
	(void)conf;
	conf_print_manual_options(out);
}

/* Both manuals name every option; no generated line is one that mdoc(7) would take for a macro. */
static void manuals(void)
{
	void (*const manual[])(FILE *, const struct conf *) = { manual_flags, manual_options };

	for (size_t m = 0; m < 2; m++) {
		char *text = printed(manual[m], NULL);
		for (size_t i = 0; i < CONF_OPTION_COUNT; i++)
			UNIT_ROW(strstr(text, conf_options[i].name) != NULL, "%s", conf_options[i].name);
		for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
			UNIT_ROW(*line != '.' || isupper((unsigned char)line[1]), "%.40s", line);
		free(text);
	}
}

static void actions(void)
{
	static const struct { const char *flag; enum conf_action action; const char *holds; } cases[] = {
		{ "--help", CONF_PRINT_HELP, "--sniff-bytes SIZE" },
		{ "-h", CONF_PRINT_HELP, "Usage: utfeed serve" },
		{ "--print-sample", CONF_PRINT_SAMPLE, "#sniff-bytes = 64k" },
		{ "--print-config", CONF_PRINT_CONFIG, "# via: --via\nvia = x\n" },
		{ "--check-config", CONF_CHECK_CONFIG, "utfeed: the configuration is right\n" },
		{ "--via=y", CONF_SERVE, "" },
	};
	static const char *const envp[] = { NULL };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const argv[] = { "serve", "--via=x", cases[i].flag };
		struct conf_error error = { "" };
		struct conf *conf = make();
		UNIT_ROW(conf_load(conf, 3, WORDS(argv), WORDS(envp), &error) == 0, "%s: %s", cases[i].flag, error.text);
		UNIT_ROW(conf->action == cases[i].action, "%s", cases[i].flag);
		char *text = printed(act, conf);
		UNIT_ROW(strstr(text, cases[i].holds) != NULL, "%s", cases[i].flag);
		free(text);
		conf_free(&conf);
	}
}

/* What conf_dump() writes loads to what it wrote, secrets but for their name. One value at a time: some exclude each other. */
static void dump_loads(void)
{
	for (size_t i = 0; i < VALUES; i++) {
		struct conf_error error = { "" };
		struct conf *conf = make(), *again = make();
		struct conf_value value = { values[i].text, "w" };
		add_needed(conf, values[i].name);
		UNIT_ROW(conf_set(conf, row_of(values[i].name), CONF_LEVEL_FILE, &value, &error) == 0, "%s", error.text);
		UNIT_ROW(conf_settle(conf, &error) == 0, "%s", error.text);
		char *text = printed(conf_dump, conf);
		UNIT_ROW(conf_file_parse(again, text, strlen(text), "f", no_variables, &error) == 0, "%s", error.text);
		UNIT_ROW(conf_settle(again, &error) == 0, "%s", error.text);
		char *shown = conf_show(row_of(values[i].name), conf);
		UNIT_ROW(shown && reads(again, values[i].name, shown), "%s", values[i].name);
		bool secret = strstr(shown, "***") != NULL;
		UNIT_ROW(secret == (strcmp(values[i].name, "cache-redis-password") == 0 || strcmp(values[i].name, "https-proxy") == 0 ||
			strcmp(values[i].name, "admin-token") == 0),
			"%s: %s", values[i].name, shown);
		UNIT_ROW(secret || strcmp(shown, values[i].formatted) == 0, "%s: %s", values[i].name, shown);
		free(shown);
		free(text);
		conf_free(&conf);
		conf_free(&again);
	}
}

/* The same for every text that a route or an option may have, and for whatever file it stood in. */
static void dump_loads_texts(void)
{
	static const char *const texts[] = { "old reader/1.0", " x", "x ", "\"", "\"x\"", "\\", "x\\", "a # b", "#", "a\"b", "a;b", "x=\"y z\"", "]", "", "'",
		"\\\"", "a  b", "-", "[route /x]" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct conf_error error = { "" };
		struct conf *conf = make(), *again = make();
		struct conf_value origin = { "http://o/", "w" }, text = { texts[i], "a\nvia = b" };
		struct conf_route *route = conf_add_route(conf, CONF_LEVEL_FILE, "/a/", "w", &error);
		CU_ASSERT_PTR_NOT_NULL_FATAL(route);
		UNIT_ROW(conf_route_set(route, &conf_route_options[CONF_ROUTE_origin], &origin, &error) == 0 &&
			conf_route_set(route, &conf_route_options[CONF_ROUTE_user_agent], &text, &error) == 0 &&
			conf_set(conf, row_of("accept"), CONF_LEVEL_FILE, &text, &error) == 0 && conf_settle(conf, &error) == 0, "%s", error.text);
		char *dumped = printed(conf_dump, conf);
		UNIT_ROW(conf_file_parse(again, dumped, strlen(dumped), "f", no_variables, &error) == 0 && conf_settle(again, &error) == 0, "%s: %s", texts[i],
			error.text);
		UNIT_ROW(again->routes.count == 1 && strcmp(again->routes.items[0].user_agent, texts[i]) == 0, "a route's '%s'", texts[i]);
		UNIT_ROW(strcmp(again->accept, texts[i]) == 0 && strcmp(again->via, "utfeed") == 0, "'%s'", texts[i]);
		free(dumped);
		conf_free(&conf);
		conf_free(&again);
	}
}

/* A name left empty is the pattern, which cannot be written as a name. */
static void dump_loads_unnamed(void)
{
	static const char text[] = "[route /a/]\norigin = http://o/\nname = \"\"\n";
	struct conf_error error = { "" };
	struct conf *conf = make(), *again = make();

	UNIT_ROW(conf_file_parse(conf, text, strlen(text), "f", no_variables, &error) == 0 && conf_settle(conf, &error) == 0, "%s", error.text);
	char *dumped = printed(conf_dump, conf);
	UNIT_ROW(conf_file_parse(again, dumped, strlen(dumped), "f", no_variables, &error) == 0 && conf_settle(again, &error) == 0, "%s", error.text);
	UNIT_ROW(again->routes.count == 1 && strcmp(again->routes.items[0].name, "/a/") == 0, "%s", dumped);
	free(dumped);
	conf_free(&conf);
	conf_free(&again);
}

/* The sample with its #NAME = VALUE lines made real loads to the defaults. */
static void sample_loads(void)
{
	struct conf_error error = { "" };
	struct conf *conf = make(), *defaults = make();
	char *sample = NULL, *line, *rest;
	size_t len, options = 0, of_gateway = 0;
	FILE *out = open_memstream(&sample, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	conf_print_sample(out);
	fclose(out);
	for (line = sample; line; line = rest ? rest + 1 : NULL) {
		rest = strchr(line, '\n');
		if (line[0] == '#' && (islower((unsigned char)line[1]) || line[1] == '[')) {
			line[0] = ' ';
			options++;
		}
	}
	for (size_t i = 0; i < CONF_ROUTE_OPTION_COUNT; i++)
		of_gateway += conf_ways[i].gateway != NULL;
	CU_ASSERT_EQUAL(options, CONF_OPTION_COUNT + CONF_ROUTE_OWN_COUNT + 1 + of_gateway + 1);
	UNIT_ROW(conf_file_parse(conf, sample, len, "sample", no_variables, &error) == 0, "%s", error.text);
	UNIT_ROW(conf_settle(conf, &error) == 0, "%s", error.text);
	for (size_t i = 0; i < CONF_OPTION_COUNT; i++) {
		char *is = conf_format(&conf_options[i], conf), *was = conf_format(&conf_options[i], defaults);
		UNIT_ROW(!conf_options[i].def || strcmp(is, was) == 0, "%s", conf_options[i].name);
		free(is);
		free(was);
	}
	CU_ASSERT_EQUAL(conf->routes.count, 2);
	free(sample);
	conf_free(&conf);
	conf_free(&defaults);
}

static void add_held(void *arg, const char *place, const char *sentence)
{
	char *text = arg;

	snprintf(text + strlen(text), 200 - strlen(text), "%s%s;", place, strstr(sentence, "not given") ? " gone" : "");
}

static void reload(void)
{
	static const struct { const char *running, *file; int held; const char *told; } cases[] = {
		{ "", "", 0, "" },
		{ "", "policy = rfc7303\n[route /]\norigin = http://o", 0, "" },
		{ "", "listen = 127.0.0.1:8080", 0, "" },
		{ "", "listen = 127.0.0.1:8081", 1, "f:1: listen;" },
		{ "", "via = x\nworkers = 2", 1, "f:2: workers;" },
		{ "workers = 2", "via = x", 1, "r:1: workers gone;" },
		{ "cache-lmdb = \"/a b\"\nresolver = 192.0.2.1", "cache-redis = h:1", 3, "r:2: resolver gone;" },
		{ "cache-redis = h:1", "cache-lmdb = /a\nuser = u", 3, "f:2: user;" },
		{ "listen = unix:/a\nlisten = 127.0.0.1:1", "listen = 127.0.0.1:1\nlisten-mode = 0600", 2, "f:1: listen;f:2: listen-mode;" },
		{ "listen = 0.0.0.0:1\nclient-allow = ::/0, 0.0.0.0/0", "", -1, "r:1: listen gone;" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf_error error = { "" };
		struct conf *running = make(), *fresh = make();
		char text[200] = "";

		UNIT_ROW(conf_file_parse(running, cases[i].running, strlen(cases[i].running), "r", no_variables, &error) == 0, "%s", error.text);
		UNIT_ROW(conf_file_parse(fresh, cases[i].file, strlen(cases[i].file), "f", no_variables, &error) == 0, "%s", error.text);
		UNIT_ROW(conf_hold(fresh, running, add_held, text, &error) == cases[i].held, "%s: %s", cases[i].file, error.text);
		UNIT_ROW(strstr(text, cases[i].told) != NULL, "%s: told %s", cases[i].file, text);
		text[0] = '\0';
		UNIT_ROW(cases[i].held < 0 || conf_hold(fresh, running, add_held, text, &error) == 0, "%s: held values are the running ones", cases[i].file);
		conf_free(&running);
		conf_free(&fresh);
	}
}

UNIT_SUITE(conf, { "rows", rows }, { "every option", every_option }, { "precedence", precedence }, { "common variables", common_variables }, { "members", members },
	{ "file format", file_format }, { "file errors", file_errors }, { "variables", variables }, { "variables, long", variables_long }, { "notes", notes },
	{ "notes are bounded", notes_are_bounded }, { "includes", includes }, { "includes are bounded", includes_are_bounded }, { "start errors", start_errors }, { "flags", flags },
	{ "actions", actions }, { "manuals", manuals }, { "dump loads", dump_loads }, { "trust 20: dump loads, texts", dump_loads_texts }, { "trust 20: dump loads, a route without name", dump_loads_unnamed }, { "trust 20: secrets", secrets }, { "secret files", secret_files }, { "sample loads", sample_loads }, { "reload", reload })
