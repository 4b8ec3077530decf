/* Owns the cases of secrets: values in files, and messages that do not show them.
 * Must not know: what the proxy does with a value. */
#include "tests/unit/conf/loads.h"
#include "tests/unit/conf/printed.h"

/* In the working folder. */
#define SECRET_FILE "test_conf_secret.secret"

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
			"--cache-redis-password-file: character 2 has the code 0x0a; write printable ASCII characters alone", "cache-redis-password", NULL, false },
		{ "empty", { "serve", "--cache-redis-password-file=" SECRET_FILE }, "X=", "\n", 1, 0600,
			"--cache-redis-password-file: the file is empty; write the value into it, and nothing else", "cache-redis-password", NULL, false },
		{ "a zero byte", { "serve", "--cache-redis-password-file=" SECRET_FILE }, "X=", "a\0b", 3, 0600,
			"--cache-redis-password-file: the file has a zero byte; write the value into it, and nothing else", "cache-redis-password", NULL, false },
		{ "absent, and its name not shown", { "serve", "--cache-redis-password-file=hunter2" }, "X=", "", 0, 0600,
			"--cache-redis-password-file: the file cannot be read: No such file or directory; write the name of a file that utfeed may read", "cache-redis-password", NULL, false },
		{ "a folder", { "serve", "--cache-redis-password-file=/tmp" }, "X=", "", 0, 0600, "--cache-redis-password-file: the file cannot be read: Is a directory; write the name of a file that utfeed may read",
			"cache-redis-password", NULL, false },
		{ "a device", { "serve", "--cache-redis-password-file=/dev/zero" }, "X=", "", 0, 0600,
			"--cache-redis-password-file: the file cannot be read: Operation not supported; write the name of a file that utfeed may read", "cache-redis-password", NULL, false },
		{ "both", { "serve", "--cache-redis-password-file=" SECRET_FILE }, "UTFEED_CACHE_REDIS_PASSWORD=hunter2", "a", 1, 0600,
			"--cache-redis-password-file: cache-redis-password is set too, at UTFEED_CACHE_REDIS_PASSWORD; write one of them", "cache-redis-password", NULL,
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
			"--route: http-proxy-file: http-proxy is set too, at --route; write one of them", "route", NULL, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf_error error = { "" };
		struct conf *conf = make();
		put_file(SECRET_FILE, cases[i].bytes, cases[i].len, cases[i].mode);
		int status = load_words(conf, cases[i].argv, cases[i].variable, &error);
		UNIT_ROW(status == (cases[i].message ? -1 : 0), "%s: %s", cases[i].rule, error.text);
		UNIT_ROW(!cases[i].message || strcmp(error.text, cases[i].message) == 0, "%s: got %s", cases[i].rule, error.text);
		UNIT_ROW(cases[i].message || reads(conf, cases[i].name, cases[i].formatted), "%s", cases[i].rule);
		bool warned = false;
		for (size_t j = 0; j < conf->notes.count; j++)
			warned = warned || strstr(conf->notes.items[j].text, "everybody on this machine may read the file");
		UNIT_ROW(cases[i].message || warned == cases[i].warned, "%s: %zu notes", cases[i].rule, conf->notes.count);
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
		struct conf_error error = { "" };
		struct conf *conf = make();
		int status = cases[i].file ? conf_file_parse(conf, cases[i].file, strlen(cases[i].file), "f", no_variables, &error) : 0;
		if (status == 0)
			status = load_words(conf, cases[i].argv, cases[i].variable, &error);
		UNIT_ROW(status == -1 && *error.text, "trust 20: %s is refused", cases[i].rule);
		UNIT_ROW(!strstr(error.text, "unter2"), "trust 20: %s: %s", cases[i].rule, error.text);
		conf_free(&conf);
	}
}

UNIT_SUITE(conf_secret, { "trust 20: secrets", secrets }, { "secret files", secret_files })
