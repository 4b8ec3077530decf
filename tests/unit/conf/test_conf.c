/* Owns the cases of the option table: every option from every source, flags, printing, the manuals, reload.
 * Must not know: what the proxy does with a value, the file's format (test_conf_file.c), which source counts
 * (test_conf_sources.c). Invariant: an option without a row in `values` fails. */
#include "tests/conf_manual.h"
#include "tests/unit/conf/loads.h"
#include "tests/unit/conf/printed.h"

#include <ctype.h>

/* In the working folder. */
#define SECRET_FILE "test_conf.secret"
#define USERS_FILE "test_conf.users"
#define USERS "alice:$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n"

/* One value other than the default for each option, and how it is written back. */
static const struct { const char *name, *text, *formatted; } values[] = {
	{ "listen", "[::1]:9000", "[::1]:9000\n" },
	{ "tls-listen", "unix:/run/utfeed/u.sock", "unix:/run/utfeed/u.sock\n" },
	{ "listen-mode", "600", "0600" },
	{ "tls-listen-cert", "/etc/utfeed/cert.pem", "/etc/utfeed/cert.pem" },
	{ "tls-listen-key", "/etc/utfeed/key.pem", "/etc/utfeed/key.pem" },
	{ "tls-listen-min", "1.3", "1.3" },
	{ "client-allow", "10.0.0.0/8, fd00::/8 192.0.2.7", "10.0.0.0/8\nfd00::/8\n192.0.2.7/32\n" },
	{ "client-auth", USERS_FILE, USERS_FILE },
	{ "trusted-proxies", "10.0.0.1, fd00::/8", "10.0.0.1/32\nfd00::/8\n" },
	{ "client-field", "Forwarded", "forwarded" },
	{ "proxy-protocol", "on", "on" },
	{ "h2c", "on", "on" },
	{ "workers", "4", "4" },
	{ "max-connections", "500", "500" },
	{ "client-connections", "0", "0" },
	{ "client-rate", "120/m", "2/s" },
	{ "drain-delay", "5s", "5s" },
	{ "drain-timeout", "1500ms", "1500ms" },
	{ "user", "utfeed", "utfeed" },
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
	{ "http2", "off", "off" },
	{ "origin-connections", "6", "6" },
	{ "origin-idle", "0", "0" },
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
	{ "cache-redis", "sentinel://feeds@a:26379,[::1]:1", "sentinel://feeds@a:26379,[::1]:1" },
	{ "cache-redis-password", "a \"b\" c", "a \"b\" c" },
	{ "cache-redis-password-file", SECRET_FILE, SECRET_FILE },
	{ "cache-redis-user", "feeds", "feeds" },
	{ "cache-redis-timeout", "250ms", "250ms" },
	{ "cache-redis-tls", "yes", "on" },
	{ "cache-redis-ca-file", "/etc/utfeed/ca.pem", "/etc/utfeed/ca.pem" },
	{ "cache-object-max", "1024", "1k" },
	{ "purge-allow", "10.0.0.7", "10.0.0.7/32\n" },
	{ "purge-wait", "10000ms", "10s" },
	{ "fill-lease", "2500ms", "2500ms" },
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
	{ "moved", "tell", "tell" },
	{ "moved-after", "1h", "1h" },
	{ "refresh-hot", "3", "3" },
	{ "allow", "a.example, 192.0.2.0/24:*,[FD00::/8]:8080 *:81,", "a.example\n192.0.2.0/24:*\n[fd00::/8]:8080\n*:81\n" },
	{ "deny", ".B\xc3\x9c" "cher.Example.:*, *:25", ".xn--bcher-kva.example:*\n*:25\n" },
	{ "connect-allow", ".Mail.example:993, 192.0.2.7,[2001:db8::1]:*", ".mail.example:993\n192.0.2.7/32\n[2001:db8::1/128]:*\n" },
	{ "intercept", "example.org, .Example.net 10.0.0.0/8", "example.org\n.example.net\n10.0.0.0/8\n" },
	{ "intercept-ca-cert", "/etc/utfeed/ca.pem", "/etc/utfeed/ca.pem" },
	{ "intercept-ca-key", "/etc/utfeed/ca.key", "/etc/utfeed/ca.key" },
	{ "intercept-else", "Tunnel", "tunnel" },
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
	{ "transit-bytes", "16M", "16m" },
	{ "decoded-ratio", "7", "7" },
	{ "decoded-max", "1t", "1t" },
	{ "decoding-bytes", "2m", "2m" },
	{ "resolver", "127.0.0.1:5353,[::1]:53", "127.0.0.1:5353,[::1]:53" },
	{ "resolv-conf", "/run/resolv.conf", "/run/resolv.conf" },
	{ "hosts-file", "/run/hosts", "/run/hosts" },
	{ "connect-timeout", "3600s", "1h" },
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
	{ "sign-agent", "https://Bot.Example:443/", "https://bot.example" },
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

static void every_option(void)
{
	put_file(SECRET_FILE, SECRET "\n", sizeof(SECRET), 0600);
	put_file(USERS_FILE, USERS, sizeof(USERS) - 1, 0600);
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
	unlink(USERS_FILE);
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

static void flags(void)
{
	static const char *const words[] = { "serve", "--via", "a", "--via=b", "--listen", "127.1.1.1:1", "--listen=127.1.1.1:2", NULL };
	struct conf_error error;
	struct conf *conf = make();

	CU_ASSERT_EQUAL(load_words(conf, words, NULL, &error), 0);
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
	print_manual_flags(out);
}

static void manual_options(FILE *out, const struct conf *conf)
{
	(void)conf;
	print_manual_options(out);
}

/* Both manuals name every option. A generated line begins with a dot only for a macro of mdoc(7) or a line break. A backslash of a text is an escape. */
static void manuals(void)
{
	void (*const manual[])(FILE *, const struct conf *) = { manual_flags, manual_options };

	for (size_t m = 0; m < 2; m++) {
		char *text = printed(manual[m], NULL);
		for (size_t i = 0; i < CONF_OPTION_COUNT; i++)
			UNIT_ROW(strstr(text, conf_options[i].name) != NULL, "%s", conf_options[i].name);
		for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
			UNIT_ROW(*line != '.' || isupper((unsigned char)line[1]) || strncmp(line, ".br\n", 4) == 0, "%.40s", line);
		for (const char *at = strchr(text, '\\'); at; at = strchr(at + 1, '\\'))
			UNIT_ROW(strchr("e&", at[1]) != NULL, "%.40s", at);
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

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const words[] = { "serve", "--via=x", cases[i].flag, NULL };
		struct conf_error error = { "" };
		struct conf *conf = make();
		UNIT_ROW(load_words(conf, words, NULL, &error) == 0, "%s: %s", cases[i].flag, error.text);
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

UNIT_SUITE(conf, { "rows", rows }, { "every option", every_option }, { "members", members },
	{ "flags", flags }, { "actions", actions }, { "manuals", manuals }, { "dump loads", dump_loads },
	{ "trust 20: dump loads, texts", dump_loads_texts }, { "trust 20: dump loads, a route without name", dump_loads_unnamed }, { "sample loads", sample_loads }, { "reload", reload })
