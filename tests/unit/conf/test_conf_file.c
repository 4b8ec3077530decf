/* Owns the cases of the configuration file: its format, what is wrong in it, variables in values, files that include others.
 * Must not know: what the proxy does with a value. */
#include "tests/unit/conf/loads.h"
#include "tests/unit/conf/printed.h"

#define REDIS "; write HOST:PORT, [ADDRESS]:PORT, or /PATH of a socket"
#define LISTS "; write sentinel://NAME@HOST:PORT,HOST:PORT or cluster://HOST:PORT,HOST:PORT"
#define EIGHT "h:1,h:1,h:1,h:1,h:1,h:1,h:1,h:1"
#define PATH_27 "/aaaaaaaaaaaaaaaaaaaaaaaaaa"
#define CORS "; write https://host or https://host:port, up to 16 with commas between, or *"

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
		{ "\n\nnonsense\n", "f:3: not a line that utfeed knows; write NAME = VALUE, [route PATTERN], [gateway], include = FILE or a # comment" },
		{ "sniffbytes = 1", "f:1: 'sniffbytes' is not an option; did you mean sniff-bytes?" },
		{ "sniff-bytes = 2g", "f:1: sniff-bytes: '2g' is too large; write a size from 1k to 1m" },
		{ "sniff-bytes = 1023", "f:1: sniff-bytes: '1023' is too small; write a size from 1k to 1m" },
		{ "sniff-bytes = 2kb", "f:1: sniff-bytes: '2kb' is not a size; write bytes, or a number with k, m, g or t, from 1k to 1m" },
		{ "sniff-bytes = -1", "f:1: sniff-bytes: '-1' is not a size; write bytes, or a number with k, m, g or t, from 1k to 1m" },
		{ "sniff-bytes =", "f:1: sniff-bytes: '' is not a size; write bytes, or a number with k, m, g or t, from 1k to 1m" },
		{ "decoded-max = 99999999999999999999", "f:1: decoded-max: '99999999999999999999' is not a size; write bytes, or a number with k, m, g or t, from 0 to 1t" },
		{ "decoded-max = 99999999999t", "f:1: decoded-max: '99999999999t' is not a size; write bytes, or a number with k, m, g or t, from 0 to 1t" },
		{ "write-timeout = 10", "f:1: write-timeout: '10' is not a time; write a whole number with ms, s, m, h, d or w, from 10ms to 1h" },
		{ "keep-feed = 31d", "f:1: keep-feed: '31d' is too large; write a time from 0 to 720h" },
		{ "keep-feed = 1y", "f:1: keep-feed: '1y' is not a time; write a whole number with ms, s, m, h, d or w, from 0 to 720h" },
		{ "[route /]\nchrset = x", "f:2: 'chrset' is not an option; did you mean charset?" },
		{ "write-timeout = 0", "f:1: write-timeout: '0' is too small; write a time from 10ms to 1h" },
		{ "workers = 65", "f:1: workers: '65' is too large; write a whole number from 1 to 64, or auto" },
		{ "max-connections = 1k", "f:1: max-connections: '1k' is not a whole number; write one from 1 to 1000000" },
		{ "gateway = maybe", "f:1: gateway: 'maybe' is not a switch; write on or off" },
		{ "output = latin1", "f:1: output: 'latin1' is not known; write utf-8 or us-ascii" },
		{ "policy = best", "f:1: policy: 'best' is not a policy; write one of auto, rome-strict, rome-lenient, rome-2004-09-10, rfc7303, feedparser, "
			"4suite, appendix-f" },
		{ "repair = bom,all the", "f:1: repair: 'the' is not a repair; write names from bom, junk, declaration, characters, references, line-ends, entities, ampersands, tags, end, trailing, namespaces, base, double, all, none, "
			"each also with a minus" },
		{ "rewrite = images", "f:1: rewrite: 'images' is not known; write off or enclosures" },
		{ "gateway-url = nas.lan:8080", "f:1: gateway-url: 'nas.lan:8080' is not a URL: its scheme is neither http nor https; write one such as http://127.0.0.1:8080/" },
		{ "gateway-url = http://nas.lan/?a=", "f:1: gateway-url: 'http://nas.lan/?***' cannot be a gateway's; write http or https, a host, and a path without ?, & and '" },
		{ "gateway-url = http://nas.lan/a&b", "f:1: gateway-url: 'http://nas.lan/a&b' cannot be a gateway's; write http or https, a host, and a path without ?, & and '" },
		{ "repair =", "f:1: repair: '' is not a repair; write names from bom, junk, declaration, characters, references, line-ends, entities, ampersands, tags, end, trailing, namespaces, base, double, all, none, each also "
			"with a minus" },
		{ "via =", "f:1: via: is empty; write letters, digits and !#$%&'*+-.^_`|~" },
		{ "via = a b", "f:1: via: character 2 is a blank; write letters, digits and !#$%&'*+-.^_`|~" },
		{ "contact-url = feeds@example.org", "f:1: contact-url: '***@example.org' is not a URL: it does not begin with http:// or https://; write one such as https://example.org/about" },
		{ "contact-url = http://u:p@h/", "f:1: contact-url: 'http://***@h/' is not a URL: it holds user information; write one such as https://example.org/about" },
		{ "contact-url = http://h/a(b", "f:1: contact-url: 'http://h/a(b' has a parenthesis; write %28 for ( and %29 for )" },
		{ "user-agent = a\tb", "f:1: user-agent: character 2 has the code 0x09; write printable ASCII characters alone" },
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
		{ "cache-redis = redis://:secret@h:6379", "f:1: cache-redis: is a URL" REDIS },
		{ "cache-redis = sentinel://feeds", "f:1: cache-redis: has no name of a master before an @" LISTS },
		{ "cache-redis = sentinel://@h:1", "f:1: cache-redis: has no name of a master before an @" LISTS },
		{ "cache-redis = sentinel://a b@h:1", "f:1: cache-redis: the master's name has a character that is not printable ASCII" LISTS },
		{ "cache-redis = sentinel://a@h:1,h", "f:1: cache-redis: server 2 is not HOST:PORT" LISTS },
		{ "cache-redis = cluster://", "f:1: cache-redis: server 1 is not HOST:PORT" LISTS },
		{ "cache-redis = cluster://h:1,", "f:1: cache-redis: server 2 is not HOST:PORT" LISTS },
		{ "cache-redis = cluster://u:hunter2@h:1",
			"f:1: cache-redis: server 1 has a name or a password; write these as cache-redis-user and cache-redis-password" },
		{ "cache-redis = h:1,h:2", "f:1: cache-redis: has more than one server" LISTS },
		{ "deny = 10.0.0.1/8", "f:1: deny: '10.0.0.1/8' has bits set behind its prefix; write 10.0.0.0/8" },
		{ "sign-agent = o.example", "f:1: sign-agent: 'o.example' is not an https URL without a path; write https://host or https://host:port" },
		{ "normalize = off", "f:1: 'normalize' is not an option; did you mean normalise?" },
		{ "cache-redis = cluster://" EIGHT "," EIGHT ",h:1", "f:1: cache-redis: has more than 16 servers" LISTS },
		{ "cache-redis = /\xc3\xa9", "f:1: cache-redis: the path has a character that is not printable ASCII" REDIS },
		{ "cache-redis = " PATH_27 PATH_27 PATH_27 PATH_27, "f:1: cache-redis: a socket's path has at most 107 bytes" REDIS },
		{ "cache-lmdb = /a\ncache-redis = h:1", "f:2: cache-redis: cache-lmdb is set too, at f:1; write one of them" },
		{ "cache-redis = /a\ncache-redis-tls = on", "f:2: cache-redis-tls: a socket has no TLS; write HOST:PORT as cache-redis, or cache-redis-tls = off" },
		{ "user-agent = \"a", "f:1: user-agent: a quoted value has no closing quote; write \" at its end" },
		{ "user-agent = \"a\" b", "f:1: user-agent: text stands behind a closing quote; write \\\" for a quote within, or # before a comment" },
		{ "listen = localhost:80", "f:1: listen: 'localhost:80' has a name, not an address, before its port; write 127.0.0.1:80 to serve this machine, or 0.0.0.0:80 to serve others too" },
		{ "client-allow = 10.0.0.1/8", "f:1: client-allow: '10.0.0.1/8' has bits set behind its prefix; write 10.0.0.0/8" },
		{ "allow = 0x7f.1:80", "f:1: allow: '0x7f.1:80' is not a destination; write, with commas between, example.org (the host), .example.org (and all below it), "
			"192.0.2.0/24, 2001:db8::/32 or *, each with :PORT or :* behind it (IPv6: [2001:db8::/32]:PORT)" },
		{ "allow = a.example, ?", "f:1: allow: '?***' is not a destination; write, with commas between, example.org (the host), .example.org (and "
			"all below it), 192.0.2.0/24, 2001:db8::/32 or *, each with :PORT or :* behind it (IPv6: [2001:db8::/32]:PORT)" },
		{ "deny = \" , \"", "f:1: deny: is empty; write, with commas between, example.org (the host), .example.org (and all below it), "
			"192.0.2.0/24, 2001:db8::/32 or *, each with :PORT or :* behind it (IPv6: [2001:db8::/32]:PORT)" },
		{ "listen = 8080", "f:1: listen: '8080' has no address before its port; write 127.0.0.1:8080 to serve this machine, or 0.0.0.0:8080 to serve others too" },
		{ "listen = 1.2.3.4:65536", "f:1: listen: '1.2.3.4:65536' is not an address and a port; write one such as 127.0.0.1:8080, 0.0.0.0:8080, [::1]:8080 or unix:/PATH" },
		{ "listen = ::1:80", "f:1: listen: '::1:80' is not an address and a port; write one such as 127.0.0.1:8080, 0.0.0.0:8080, [::1]:8080 or unix:/PATH" },
		{ "listen = 1.2.3.4:80\nlisten = 1.2.3.4:80", "f:2: listen: '1.2.3.4:80' is given twice; write it once" },
		{ "listen = unix:a.sock", "f:1: listen: 'unix:a.sock' is not the path of a socket; write unix:/PATH of at most 107 bytes, such as "
			"unix:/run/utfeed/utfeed.sock" },
		{ "listen = \"unix:/a b\"", "f:1: listen: 'unix:/a b' is not the path of a socket; write unix:/PATH of at most 107 bytes, such as "
			"unix:/run/utfeed/utfeed.sock" },
		{ "listen = unix:/run/", "f:1: listen: 'unix:/run/' is not the path of a socket; write unix:/PATH of at most 107 bytes, such as "
			"unix:/run/utfeed/utfeed.sock" },
		{ "listen = unix:" PATH_27 PATH_27 PATH_27 PATH_27, "f:1: listen: 'unix:" PATH_27 PATH_27 "/aaaa' is not the path of a socket; write unix:/PATH of "
			"at most 107 bytes, such as unix:/run/utfeed/utfeed.sock" },
		{ "listen = unix:/a\nlisten = unix:/a", "f:2: listen: 'unix:/a' is given twice; write it once" },
		{ "listen-mode = 0888", "f:1: listen-mode: '0888' is not a file mode; write octal digits as for chmod(1), from 0 to 0777" },
		{ "client-rate = 1/d", "f:1: client-rate: '1/d' is not a rate; write a whole number with /s, /m or /h, from 0 to 1000000/s" },
		{ "client-rate = 1000001", "f:1: client-rate: '1000001' is too large; write a rate from 0 to 1000000/s" },
		{ "listen-mode = 1777", "f:1: listen-mode: '1777' is not a file mode; write octal digits as for chmod(1), from 0 to 0777" },
		{ "via = a\nvia = b", "f:2: via: is given twice, first at f:1; write it once" },
		{ "[gateway]\nsniff-bytes = 2k", "f:2: sniff-bytes: is not an option of the gateway; write it above the first section" },
		{ "[gateway]\ncookies = on", "f:2: cookies: is an option of a route; write it below a [route PATTERN]" },
		{ "[gateway]\ngateway-floor = 1m", "f:2: gateway-floor: is not an option of the gateway; write it above the first section" },
		{ "[gateway]\nfreshness-flor = 1m", "f:2: 'freshness-flor' is not an option; did you mean freshness-floor?" },
		{ "[gateway]\nkeep-feed = 31d", "f:2: keep-feed: '31d' is too large; write a time from 0 to 720h" },
		{ "[gateway]\naccept = a\n[gateway]\naccept = b", "f:4: accept: is given twice for the gateway, first at f:2; write it once" },
		{ "gateway-floor = 25h", "f:1: gateway-floor: freshness-floor: '25h' is too large; write a time from 0 to 24h" },
		{ "gateway-stale = 1h\n[gateway]\nstale-if-error = 2h", "f:3: stale-if-error: is given twice for the gateway, first at f:1; write it once" },
		{ "[gateway /a]", "f:1: not a section; write [route PATTERN] or [gateway]; all other options stand above both" },
		{ "[cache]", "f:1: not a section; write [route PATTERN] or [gateway]; all other options stand above both" },
		{ "[route /a", "f:1: not a section; write [route PATTERN] or [gateway]; all other options stand above both" },
		{ "[route]", "f:1: not a section; write [route PATTERN] or [gateway]; all other options stand above both" },
		{ "[", "f:1: not a section; write [route PATTERN] or [gateway]; all other options stand above both" },
		{ "[route a]", "f:1: 'a' is not a pattern; write /prefix or //host[:port]/prefix, without =" },
		{ "[route /a=b]", "f:1: '/a=b' is not a pattern; write /prefix or //host[:port]/prefix, without =" },
		{ "[route /]\nsniff-bytes = 2k", "f:2: sniff-bytes: is not an option of a route; write it above the first section" },
		{ "sign-key = /k", "f:1: sign-key: is an option of a route; write it below [gateway] or a [route PATTERN]" },
		{ "charset = koi8-r", "f:1: charset: is an option of a route; write it below a [route PATTERN]" },
		{ "[route /]\ncharset = x", "f:2: charset: 'x' is not an encoding that utfeed knows; write none, or a label that utfeed charsets lists" },
		{ "[route /]\nname = a\nname = b", "f:3: name: is given twice for the route /, first at f:2; write it once" },
		{ "via = a\n[route /]\nname = a\n", "f:2: route / has no origin; write a line origin = URL below it" },
		{ "[route /]\norigin=http://o\n[route /]\norigin=http://o\n", NULL },
		{ "route = /", "f:1: route: '/' has no origin; write PATTERN=ORIGIN[ NAME=VALUE]..." },
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
	CU_ASSERT_STRING_EQUAL(error.text, "f:1: a zero byte; write text");
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
		{ "absent", "${NONE}", NULL, "f:1: accept: the variable NONE is not set, or empty; set it, or write ${NAME:-TEXT} for a default" },
		{ "empty", "${EMPTY}", NULL, "f:1: accept: the variable EMPTY is not set, or empty; set it, or write ${NAME:-TEXT} for a default" },
		{ "a part of a name is another one", "${HOS}", NULL, "f:1: accept: the variable HOS is not set, or empty; set it, or write ${NAME:-TEXT} for a default" },
		{ "no name", "${}", NULL, "f:1: accept: what stands behind ${ is not a variable; " },
		{ "a digit first", "${1A}", NULL, "f:1: accept: what stands behind ${ is not a variable; " },
		{ "a name with a minus", "${A-B}", NULL, "f:1: accept: what stands behind ${ is not a variable; " },
		{ "no end", "${HOST", NULL, "f:1: accept: what stands behind ${ is not a variable; " },
		{ "one in the other", "${NONE:-${HOST}}", NULL, "f:1: accept: what stands behind ${ is not a variable; " },
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
	CU_ASSERT_STRING_EQUAL(error.text, "f:1: accept: is longer than 65536 bytes with its variables; write less");
	conf_free(&conf);
	free(variable);
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
		{ "sorted by bytes", { { "f", "include = d" }, { "d/a.conf", "!" }, { "d/B.conf", "?" } }, "d/B.conf:1: not a line that utfeed knows; write NAME = VALUE, [route PATTERN], [gateway], include = FILE or a # comment", NULL, NULL, 0 },
		{ "relative to the file that says so", { { "f", "include = d/x" }, { "d/x", "include = y" }, { "d/y", "via = a" } }, NULL, "a", NULL, 0 },
		{ "routes end with their file", { { "f", "include = d\nvia = a" }, { "d/1.conf", "[route /a/]\norigin = http://o/" },
			{ "d/2.conf", "accept = b\n[route /b/]\norigin = http://o/" } }, NULL, "a", "b", 2 },
		{ "lines for a route", { { "f", "[route /a/]\ninclude = d/x\norigin = http://o/" }, { "d/x", "charset = koi8-r" } }, NULL, NULL, NULL, 1 },
		{ "errors are of the included file", { { "f", "\ninclude = d" }, { "d/1.conf", "\npolicy = x" } }, "d/1.conf:2: policy: 'x' is not a policy; write one of auto, "
			"rome-strict, rome-lenient, rome-2004-09-10, rfc7303, feedparser, 4suite, appendix-f", NULL, NULL, 0 },
		{ "given twice", { { "f", "via = a\ninclude = d" }, { "d/1.conf", "via = b" } }, "d/1.conf:1: via: is given twice, first at f:1; write it once", NULL, NULL, 0 },
		{ "absent", { { "f", "include = d/none" } }, "f:1: include: d/none: No such file or directory; write the name of a file that utfeed may read, of a folder, or FOLDER/*.conf", NULL, NULL, 0 },
		{ "absent folder of a pattern", { { "f", "include = e/*.conf" } }, "f:1: include: e/: No such file or directory; write the name of a file, of a folder, or FOLDER/*.conf", NULL, NULL, 0 },
		{ "a pattern for folders", { { "f", "include = */x" } }, "f:1: include: the name of a folder has a wildcard; write the name of a file, of a folder, or FOLDER/*.conf", NULL,
			NULL, 0 },
		{ "empty", { { "f", "include =" } }, "f:1: include: is empty; write the name of a file, of a folder, or FOLDER/*.conf", NULL, NULL, 0 },
		{ "itself", { { "f", "include = d" }, { "d/1.conf", "include = ../f" } }, "d/1.conf:1: include: d/../f includes itself; leave this line out", NULL, NULL, 0 },
		{ "a route's line behind a refused pattern", { { "f", "[route /a\ninclude = d/none" } }, "f:1: not a section; write [route PATTERN] or [gateway]; all other options stand above both", NULL, NULL, 0 },
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
		CU_ASSERT_STRING_EQUAL(strstr(error.text, "include"), twice ? "include: more than 1000 files; write fewer, larger ones" : "include: more than 8 files include each other; include them from one file");
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

UNIT_SUITE(conf_file, { "file format", file_format }, { "file errors", file_errors }, { "variables", variables },
	{ "variables, long", variables_long }, { "includes", includes }, { "includes are bounded", includes_are_bounded })
