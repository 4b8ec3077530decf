/* Owns the cases of a load from several sources: which one counts, the variables of other programs, errors and warnings of all of them.
 * Must not know: what the proxy does with a value. */
#include "tests/unit/conf/loads.h"

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
		const char *const words[] = { "serve", "--config", path, cases[i].flag, NULL };
		struct conf_error error = { "" };
		struct conf *conf = make();
		int status = load_words(conf, words, cases[i].variable, &error);
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

/* The notes of a load: as many errors, and as many warnings that hold the word. */
static void notes(void)
{
	static const struct { const char *rule, *variables[3], *file; size_t errors, warnings; const char *word; } cases[] = {
		{ "nothing", { NULL }, "via = a", 0, 0, "" },
		{ "all errors of a file", { NULL }, "via = (\nnonsense\npolicy = x\nvia = b\naccept = fine\n", 4, 0, "" },
		{ "lines of a refused section are not read", { NULL }, "[route x]\nfoo = bar\n[route /]\norigin = x\n", 2, 0, "" },
		{ "the file's and the variables'", { "UTFEED_POLICY=x", "UTFEED_OUTPUT=y" }, "via = (", 3, 0, "" },
		{ "a variable misspelt", { "UTFEED_SNIF_BYTES=1" }, "", 0, 1, "UTFEED_SNIF_BYTES is not the variable of an option; did you mean UTFEED_SNIFF_BYTES?" },
		{ "two letters in each other's place", { "UTFEED_CAHCE=off" }, "", 0, 1, "did you mean UTFEED_CACHE?" },
		{ "a variable unlike any", { "UTFEED_FOO_BAR_BAZ=1" }, "", 0, 1, "UTFEED_FOO_BAR_BAZ is not the variable of an option; leave it out" },
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
	CU_ASSERT_STRING_EQUAL(error.text, "f:1: not a line that utfeed knows; write NAME = VALUE, [route PATTERN], [gateway], include = FILE or a # comment");
	told = 0;
	conf_tell(conf, count_told);
	CU_ASSERT_EQUAL(told, CONF_NOTES_MAX + 1);
	conf_free(&conf);
}

static void start_errors(void)
{
	static const struct { const char *variable, *argv[4], *message; } cases[] = {
		{ "X=", { "serve", "--sniff-bytes", "2g" }, "--sniff-bytes: '2g' is too large; write a size from 1k to 1m" },
		{ "X=", { "serve", "--sniff-bytes" }, "--sniff-bytes: has no value; write --sniff-bytes SIZE" },
		{ "X=", { "serve", "--sniffbytes=1" }, "'--sniffbytes' is not an option; did you mean --sniff-bytes?" },
		{ "X=", { "serve", "--" }, "'--' is not an option; utfeed serve --help lists them" },
		{ "X=", { "serve", "-" }, "'-' is not an option; utfeed serve --help lists them" },
		{ "X=", { "serve", "-x" }, "'-x' is not an option; utfeed serve --help lists them" },
		{ "X=", { "serve", "http://o/" }, "argument 1 is neither an option nor the value of one; write --NAME VALUE, with quotes around a value with blanks, or -c FILE for a configuration file" },
		{ "X=", { "serve", "--help=x" }, "--help: takes no value; write --help alone" },
		{ "X=", { "serve", "-c" }, "-c: has no value; write -c FILE" },
		{ "X=", { "serve", "-c", "/nonexistent/f" }, "/nonexistent/f: No such file or directory; write -c FILE (or UTFEED_CONFIG) with a file that utfeed may read; utfeed serve --print-sample prints one to begin with" },
		{ "X=", { "serve", "-c/" }, "/: Is a directory; write -c FILE (or UTFEED_CONFIG) with a file that utfeed may read; utfeed serve --print-sample prints one to begin with" },
		{ "UTFEED_CONFIG=/nonexistent/g", { "serve" }, "/nonexistent/g: No such file or directory; write -c FILE (or UTFEED_CONFIG) with a file that utfeed may read; utfeed serve --print-sample prints one to begin with" },
		{ "UTFEED_CONFIG=/nonexistent/g", { "serve", "-c", "/nonexistent/f" }, "/nonexistent/f: No such file or directory; write -c FILE (or UTFEED_CONFIG) with a file that utfeed may read; utfeed serve --print-sample prints one to begin with" },
		{ "UTFEED_POLICY=x", { "serve", "--policy=auto" }, "UTFEED_POLICY: 'x' is not a policy; write one of auto, rome-strict, rome-lenient, "
			"rome-2004-09-10, rfc7303, feedparser, 4suite, appendix-f" },
		{ "UTFEED_LISTEN=1.2.3.4:80;x", { "serve" }, "UTFEED_LISTEN: 'x' is not an address and a port; write one such as 127.0.0.1:8080, "
			"0.0.0.0:8080, [::1]:8080 or unix:/PATH" },
		{ "UTFEED_LISTEN=127.0.0.1:80;[::]:80", { "serve" }, "UTFEED_LISTEN: [::]:80 is open to other machines, and no client-allow says which may "
			"use it; write for example client-allow = 192.168.0.0/16 (or --client-allow), or 0.0.0.0/0, ::/0 for "
			"everybody" },
		{ "http_proxy=socks5://u:secret@h:1", { "serve" }, "http_proxy: with socks5 utfeed would look names up, so DNS would learn of them; write "
			"socks5h, and the proxy looks them up" },
		{ "https_proxy=https://h:1", { "serve" }, "https_proxy: only proxies that speak plain HTTP, or SOCKS5 (socks5h), can be parents" PARENTS },
		{ "https_proxy=socks4a://h:1", { "serve" }, "https_proxy: only proxies that speak plain HTTP, or SOCKS5 (socks5h), can be parents" PARENTS },
		{ "http_proxy=socks5h://user@h:1", { "serve" }, "http_proxy: SOCKS5 takes a user and a password of 1 to 255 bytes each" PARENTS },
		{ "http_proxy=socks5h://:secret@h:1", { "serve" }, "http_proxy: SOCKS5 takes a user and a password of 1 to 255 bytes each" PARENTS },
		{ "http_proxy=socks5h://u:sec%0Aret@h:1", { "serve" }, "http_proxy: user or password has a character that cannot be sent, or a % without "
			"two digits behind it" PARENTS },
		{ "all_proxy=http://h", { "serve" }, "all_proxy: has no port, which curl takes for 1080 and others for 80" PARENTS },
		{ "http_proxy=http://h:1/x", { "serve" }, "http_proxy: a proxy has no path" PARENTS },
		{ "http_proxy=http://u:secret@h:99999", { "serve" }, "http_proxy: the host or the port of the proxy is not valid" PARENTS },
		{ "http_proxy=http://u:sec%4ret@h:1", { "serve" }, "http_proxy: user or password has a character that cannot be sent, or a % without "
			"two digits behind it" PARENTS },
		{ "http_proxy=http://u%3a:secret@h:1", { "serve" }, "http_proxy: user or password has a character that cannot be sent, or a % without "
			"two digits behind it" PARENTS },
		{ "http_proxy=http://u:%0d%0aX@h:1", { "serve" }, "http_proxy: user or password has a character that cannot be sent, or a % without "
			"two digits behind it" PARENTS },
		{ "no_proxy=a,b/c", { "serve" }, "no_proxy: 'b/c' is not a destination; write, with commas between, example.org (and all below it), "
			"192.0.2.0/24, 2001:db8::/32 or *, each with :PORT behind it for that port alone" },
		{ "UTFEED_ROUTE=/=http://o http-proxy=u:secret@h", { "serve" }, "UTFEED_ROUTE: http-proxy: has no port, which curl takes for 1080 and "
			"others for 80" PARENTS },
		{ "UTFEED_PROXY_PROTOCOL=on", { "serve" }, "UTFEED_PROXY_PROTOCOL: no trusted-proxies says whose connections begin "
			"with such a header; write for example trusted-proxies = 10.0.0.1" },
		{ "UTFEED_TRUSTED_PROXIES=127.0.0.1", { "serve" }, "UTFEED_TRUSTED_PROXIES: no client-allow says which of the clients "
			"behind them may use utfeed; write for example client-allow = 192.168.0.0/16, or 0.0.0.0/0, ::/0 for everybody" },
		{ "X=", { "serve", "--listen", "[::]:80" }, "--listen: [::]:80 is open to other machines, and no client-allow says which may use it; write "
			"for example client-allow = 192.168.0.0/16 (or --client-allow), or 0.0.0.0/0, ::/0 for everybody" },
		{ "X=", { "serve", "--cache-redis=/a", "--cache-redis-tls=on" }, "--cache-redis-tls: a socket has no TLS; write HOST:PORT as cache-redis, or cache-redis-tls = off" },
		{ "UTFEED_HOSTS=a.example,b:80", { "serve" }, "UTFEED_HOSTS: 'b:80' is not a destination; write, with commas between and without ports, example.org, "
			".example.org (and all below it), 192.0.2.0/24, 2001:db8::/32 or *" },
		{ "UTFEED_ROUTE=/=http://o;/=http://o", { "serve" }, "UTFEED_ROUTE: route / is also set at UTFEED_ROUTE; write one route for each pattern" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf_error error = { "" };
		struct conf *conf = make();
		UNIT_ROW(load_words(conf, cases[i].argv, cases[i].variable, &error) == -1, "%s", cases[i].message);
		UNIT_ROW(strcmp(error.text, cases[i].message) == 0, "%s: got %s", cases[i].message, error.text);
		conf_free(&conf);
	}
}

UNIT_SUITE(conf_sources, { "precedence", precedence }, { "common variables", common_variables }, { "notes", notes },
	{ "notes are bounded", notes_are_bounded }, { "start errors", start_errors })
