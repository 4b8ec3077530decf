/* Owns the cases of the gateway as a route, of the defaults by way, and of the former names of options.
 * Must not know: what the options do. Invariant: each row names its rule. */
#include "tests/unit/conf/loads.h"
#include "tests/unit/conf/printed.h"

/* What each way has of an option: the gateway, a route, one with normalise = off, the forward proxy. */
struct by_way { const char *gateway, *route, *plain, *forward; };

#define ROUTES "[route /r/]\norigin = http://o/\n[route /p/]\norigin = http://o/\nnormalise = off\n"

static struct conf *load(const char *file, const char *const *words, const char *variable, struct conf_error *error)
{
	struct conf *conf = make();

	put_file("test_gateway.conf", file, strlen(file), 0600);
	if (load_words(conf, words, variable, error) != 0)
		conf_free(&conf);
	remove("test_gateway.conf");
	return conf;
}

static const struct conf_route *route_of(const struct conf *conf, const char *path)
{
	return conf_route_match(conf, "", 0, path, strlen(path));
}

static bool has(const struct conf_route *route, const char *option, const char *value)
{
	const struct conf_row *row = conf_row_find(conf_route_options, CONF_ROUTE_OPTION_COUNT, option, strlen(option));
	char *text = conf_format(row, route);
	bool same = text && strcmp(text, value) == 0;

	free(text);
	return same;
}

static void expect(const struct conf *conf, const char *rule, const char *option, const struct by_way *want)
{
	UNIT_ROW(has(&conf->by_url, option, want->gateway), "%s: gateway", rule);
	UNIT_ROW(has(route_of(conf, "/r/"), option, want->route), "%s: route", rule);
	UNIT_ROW(has(route_of(conf, "/p/"), option, want->plain), "%s: normalise = off", rule);
	UNIT_ROW(has(&conf->direct, option, want->forward), "%s: forward proxy", rule);
}

static void ways(void)
{
	static const struct { const char *rule, *file, *flag, *variable, *option; struct by_way want; } cases[] = {
		{ "default: keep-feed", "", NULL, NULL, "keep-feed", { "24h", "24h", "0", "0" } },
		{ "default: error-floor", "", NULL, NULL, "error-floor", { "1m", "1m", "0", "0" } },
		{ "default: slow-after", "", NULL, NULL, "slow-after", { "2s", "2s", "0", "0" } },
		{ "default: reload-floor", "", NULL, NULL, "reload-floor", { "5m", "10s", "0", "0" } },
		{ "default: freshness-max", "", NULL, NULL, "freshness-max", { "24h", "0", "0", "0" } },
		{ "default: freshness-floor", "", NULL, NULL, "freshness-floor", { "5m", "0", "0", "0" } },
		{ "default: stale-if-error", "", NULL, NULL, "stale-if-error", { "24h", "0", "0", "0" } },
		{ "default: adaptive", "", NULL, NULL, "adaptive", { "on", "on", "off", "off" } },
		{ "default: pause", "", NULL, NULL, "pause", { "on", "on", "off", "off" } },
		{ "default: moved", "", NULL, NULL, "moved", { "follow", "follow", "off", "off" } },
		{ "default: cdn-loop", "", NULL, NULL, "cdn-loop", { "on", "off", "off", "off" } },
		{ "global, on", "cdn-loop = on\n", NULL, NULL, "cdn-loop", { "on", "on", "off", "off" } },
		{ "default: what has none by way", "", NULL, NULL, "refresh-hot", { "0", "0", "0", "0" } },
		{ "global, by file", "reload-floor = 1h\n", NULL, NULL, "reload-floor", { "1h", "1h", "0", "0" } },
		{ "global, by flag", "", "--reload-floor=1h", NULL, "reload-floor", { "1h", "1h", "0", "0" } },
		{ "global, by variable", "", NULL, "UTFEED_RELOAD_FLOOR=1h", "reload-floor", { "1h", "1h", "0", "0" } },
		{ "global, though as the default", "reload-floor = 10s\n", NULL, NULL, "reload-floor", { "10s", "10s", "0", "0" } },
		{ "global, off", "pause = off\n", NULL, NULL, "pause", { "off", "off", "off", "off" } },
		{ "section", "[gateway]\nfreshness-max = 1h\n", NULL, NULL, "freshness-max", { "1h", "0", "0", "0" } },
		{ "section before a flag", "[gateway]\nfreshness-max = 1h\n", "--freshness-max=2h", NULL, "freshness-max", { "1h", "2h", "0", "0" } },
		{ "section, of what has no default by way", "[gateway]\nuser-agent = a\n", NULL, NULL, "user-agent", { "a", "", "", "" } },
		{ "section with normalise = off is plain", "[gateway]\nnormalise = off\n", NULL, NULL, "keep-feed", { "0", "24h", "0", "0" } },
		{ "sections add up", "[gateway]\naccept = a\n[gateway]\nrefresh-hot = 1\n", NULL, NULL, "refresh-hot", { "1", "0", "0", "0" } },
		{ "former name, file", "gateway-floor = 7m\n", NULL, NULL, "freshness-floor", { "7m", "0", "0", "0" } },
		{ "former name, variable", "gateway-floor = 7m\n", NULL, "UTFEED_GATEWAY_FLOOR=8m", "freshness-floor", { "8m", "0", "0", "0" } },
		{ "former name, flag", "[gateway]\nfreshness-floor = 7m\n", "--gateway-floor=9m", "UTFEED_GATEWAY_FLOOR=8m", "freshness-floor",
			{ "9m", "0", "0", "0" } },
		{ "former name and the global one", "freshness-floor = 1m\n", "--gateway-floor=0", NULL, "freshness-floor", { "0", "1m", "0", "0" } },
		{ "former name of stale-if-error", "", "--gateway-stale=0", NULL, "stale-if-error", { "0", "0", "0", "0" } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *words[] = { "serve", "-ctest_gateway.conf", cases[i].flag, NULL };
		struct conf_error error = { "" };
		char file[512];
		snprintf(file, sizeof(file), "%s" ROUTES, cases[i].file);
		struct conf *conf = load(file, words, cases[i].variable, &error);
		if (UNIT_ROW(conf != NULL, "%s: %s", cases[i].rule, error.text))
			expect(conf, cases[i].rule, cases[i].option, &cases[i].want);
		conf_free(&conf);
	}
}

/* Each option that has a default by way, set by a route that does not normalise, counts there. */
static void plain_routes(void)
{
	for (size_t i = 0; i < CONF_ROUTE_OPTION_COUNT; i++) {
		const struct conf_row *row = &conf_route_options[i];
		const char *value = row->type == CONF_TYPE_BOOL ? "on" : row->type == CONF_TYPE_MOVED ? "tell" : "9m";
		char route[128];
		const char *words[] = { "serve", "--route", route, NULL };
		struct conf_error error = { "" };
		if (!conf_ways[i].plain)
			continue;
		snprintf(route, sizeof(route), "/p/=http://o/ normalise=off %s=%s", row->name, value);
		struct conf *conf = load("", words, NULL, &error);
		if (UNIT_ROW(conf != NULL, "%s: %s", row->name, error.text))
			UNIT_ROW(has(route_of(conf, "/p/"), row->name, value), "%s", row->name);
		conf_free(&conf);
	}
}

/* What --print-config writes of the gateway loads again, and tells where each value is from. */
static void prints(void)
{
	static const char *const words[] = { "serve", "-ctest_gateway.conf", "--gateway-stale=3h", "--reload-floor=1m", NULL };
	static const char *const again_words[] = { "serve", "-ctest_gateway.conf", NULL };
	static const char *const lines[] = { "[gateway]\n", "# freshness-floor: test_gateway.conf:2\nfreshness-floor = 1m\n",
		"# stale-if-error: --gateway-stale\nstale-if-error = 3h\n", "# reload-floor: --reload-floor\nreload-floor = 1m\n",
		"# freshness-max: default\nfreshness-max = 24h\n", "# user-agent: test_gateway.conf:3\nuser-agent = \"a # b\"\n" };
	struct conf_error error = { "" };
	struct conf *conf = load("[gateway]\nfreshness-floor = 1m\nuser-agent = \"a # b\"\n" ROUTES, words, NULL, &error);

	if (!UNIT_ROW(conf != NULL, "%s", error.text))
		return;
	char *text = printed(conf_dump, conf);
	const char *gateway = strstr(text, "\n[gateway]\n");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		UNIT_ROW(gateway && strstr(gateway, lines[i]), "%s", lines[i]);
	struct conf *again = load(text, again_words, NULL, &error);
	if (UNIT_ROW(again != NULL, "%s", error.text)) {
		CU_ASSERT_EQUAL(again->notes.count, 0);
		for (size_t i = 0; i < CONF_ROUTE_OPTION_COUNT; i++) {
			char *was = i == CONF_ROUTE_origin ? NULL : conf_format(&conf_route_options[i], &conf->by_url);
			UNIT_ROW(!was || has(&again->by_url, conf_route_options[i].name, was), "%s", conf_route_options[i].name);
			free(was);
		}
	}
	free(text);
	conf_free(&again);
	conf_free(&conf);
}

/* A former name is warned of with its place, and the new one or what to do. */
static void warns(void)
{
#define NEW ": is a former name; write freshness-floor below [gateway] in the file, or --freshness-floor for the gateway and the routes"
#define GONE ": utfeed does not have this option any more; leave it out; a feed's hints count for 24 h at most, and freshness-max may say less"
	static const struct { const char *file, *flag, *variable, *warning, *place; } cases[] = {
		{ "\ngateway-floor = 1m\n", NULL, NULL, "test_gateway.conf:2: gateway-floor" NEW, "test_gateway.conf:2: freshness-floor" },
		{ "", "--gateway-floor=1m", NULL, "--gateway-floor" NEW, "--gateway-floor: freshness-floor" },
		{ "", NULL, "UTFEED_GATEWAY_FLOOR=1m", "UTFEED_GATEWAY_FLOOR" NEW, "UTFEED_GATEWAY_FLOOR: freshness-floor" },
		{ "\nfeed-hints-max = 1h\n", NULL, NULL, "test_gateway.conf:2: feed-hints-max" GONE, "freshness-floor" },
		{ "feed-hints-max = no time\n", NULL, NULL, "test_gateway.conf:1: feed-hints-max" GONE, "freshness-floor" },
		{ "[gateway]\nfeed-hints-max = 1h\n", NULL, NULL, "test_gateway.conf:2: feed-hints-max" GONE, "freshness-floor" },
		{ "[route /]\norigin=http://o\nfeed-hints-max=1h\n", NULL, NULL, "test_gateway.conf:3: feed-hints-max" GONE, "freshness-floor" },
		{ "route = /=http://o feed-hints-max=1h name=r\n", NULL, NULL, "test_gateway.conf:1: feed-hints-max" GONE, "freshness-floor" },
		{ "", "--feed-hints-max=1h", NULL, "--feed-hints-max" GONE, "freshness-floor" },
		{ "", NULL, "UTFEED_FEED_HINTS_MAX=1h", "UTFEED_FEED_HINTS_MAX" GONE, "freshness-floor" },
		{ "", "--route=/=http://o feed-hints-max=1h", NULL, "--route: feed-hints-max" GONE, "freshness-floor" },
		{ "[gateway]\nfreshness-floor = 1m\n", NULL, NULL, NULL, "test_gateway.conf:2: freshness-floor" },
		{ "", "--freshness-floor=1m", NULL, NULL, "--freshness-floor" },
		{ "", NULL, NULL, NULL, "freshness-floor" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *words[] = { "serve", "-ctest_gateway.conf", cases[i].flag, NULL }, *place = cases[i].place;
		struct conf_error error = { "" };
		struct conf *conf = load(cases[i].file, words, cases[i].variable, &error);
		if (!UNIT_ROW(conf != NULL, "%s: %s", place, error.text))
			continue;
		UNIT_ROW(conf->notes.count == (cases[i].warning ? 1 : 0), "%s: %zu warnings", place, conf->notes.count);
		UNIT_ROW(!cases[i].warning || (conf->notes.count && !strcmp(conf->notes.items[0].text, cases[i].warning)), "%s: %s", place,
			conf->notes.count ? conf->notes.items[0].text : "");
		UNIT_ROW(strcmp(conf_place(conf, &conf->by_url, "freshness-floor").text, place) == 0, "%s: got %s", place,
			conf_place(conf, &conf->by_url, "freshness-floor").text);
		conf_free(&conf);
	}
}

/* "*" and private addresses in allow: the message; NULL: both may stand together. */
static void cors(void)
{
#define REFUSED "with * every web page could read the private addresses that allow opens ("
	static const struct { const char *rule, *file, *refused; } cases[] = {
		{ "RFC 1918", "allow = 192.168.1.0/24\ncors-allow = *\n", "test_gateway.conf:2: cors-allow: " REFUSED "test_gateway.conf:1: allow)" },
		{ "an address", "cors-allow = *\nallow = 10.1.2.3:8080\n", "test_gateway.conf:1: cors-allow: " REFUSED "test_gateway.conf:2: allow)" },
		{ "the gateway's own", "allow = 172.16.0.0/12\n[gateway]\ncors-allow = *\n", "test_gateway.conf:3: cors-allow: " REFUSED
			"test_gateway.conf:1: allow)" },
		{ "a block around one", "allow = 0.0.0.0/0\ncors-allow = *\n", "test_gateway.conf:2: cors-allow: " REFUSED "test_gateway.conf:1: allow)" },
		{ "link-local, where clouds have metadata", "allow = 169.254.169.254\ncors-allow = *\n", "test_gateway.conf:2: cors-allow: " REFUSED
			"test_gateway.conf:1: allow)" },
		{ "IPv6, unique local", "allow = fd00::/8\ncors-allow = *\n", "test_gateway.conf:2: cors-allow: " REFUSED "test_gateway.conf:1: allow)" },
		{ "named origins are the operator's", "allow = 192.168.1.0/24\ncors-allow = https://reader.example\n", NULL },
		{ "ports of public addresses", "allow = *:*\ncors-allow = *\n", NULL },
		{ "public addresses", "allow = 8.8.8.0/24:8080\ncors-allow = *\n", NULL },
		{ "loopback: a warning", "allow = 127.0.0.1:8080\ncors-allow = *\n", NULL },
		{ "a route alone", "allow = 10.0.0.0/8\n[route /r/]\norigin = http://o/\ncors-allow = *\n", NULL },
		{ "not in the gateway", "allow = 10.0.0.0/8\ncors-allow = *\n[gateway]\ncors-allow = \"\"\n", NULL },
		{ "there is no gateway: a warning", "allow = 10.0.0.0/8\ncors-allow = *\ngateway = off\n", NULL },
	};
	static const char *const words[] = { "serve", "-c", "test_gateway.conf", NULL };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf_error error = { "" };
		struct conf *conf = load(cases[i].file, words, "X=", &error);

		UNIT_ROW(!conf == !!cases[i].refused, "%s: %s", cases[i].rule, error.text);
		UNIT_ROW(!cases[i].refused || !strncmp(error.text, cases[i].refused, strlen(cases[i].refused)), "%s: %s", cases[i].rule, error.text);
		UNIT_ROW(!conf || (conf->notes.count == 1) == !!strstr(cases[i].rule, "warning"), "%s", cases[i].rule);
		conf_free(&conf);
	}
}

UNIT_SUITE(gateway, { "cors", cors }, { "ways", ways }, { "routes that do not normalise", plain_routes }, { "prints", prints }, { "warns", warns })
