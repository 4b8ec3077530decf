/* Owns the cases of conf_each_path(): which paths a configuration names, and what for. Must not know: what becomes of them.
 * Invariant: an option whose value is a path has a row in of_each, or the last case fails. */
#include "tests/unit/conf/loads.h"

static const char *const uses[] = { "none", "read", "append", "folder", "socket" };

struct told { char text[4096]; };

static void tell(void *arg, enum conf_use use, const char *path)
{
	struct told *t = arg;
	size_t len = strlen(t->text);

	snprintf(t->text + len, sizeof t->text - len, "%s %s\n", uses[use], path);
}

static struct told told_of(const char *const *words, int *status)
{
	struct conf *conf = make();
	struct conf_error error;
	struct told told = { "" };

	*status = load_words(conf, words, NULL, &error);
	conf_each_path(conf, tell, &told);
	conf_free(&conf);
	return told;
}

/* What every configuration names. */
#define ALWAYS "read /etc/resolv.conf\nread /etc/hosts\n"

static const struct { const char *option, *value, *more, *told; } of_each[] = {
	{ "listen", "unix:/run/u.sock", NULL, "socket /run/u.sock" },
	{ "tls-listen", "unix:/run/u.sock", "--tls-listen-cert=/c", "socket /run/u.sock" },
	{ "admin-listen", "unix:/run/u.sock", NULL, "socket /run/u.sock" },
	{ "tls-listen-cert", "/c.pem", NULL, "read /c.pem" },
	{ "client-auth", "test_paths.users", NULL, "read test_paths.users" },
	{ "tls-listen-key", "/c.key", NULL, "read /c.key" },
	{ "admin-tls-cert", "/c.pem", NULL, "read /c.pem" },
	{ "admin-tls-key", "/c.key", NULL, "read /c.key" },
	{ "intercept-ca-cert", "/c.pem", NULL, "read /c.pem" },
	{ "intercept-ca-key", "/c.key", NULL, "read /c.key" },
	{ "tls-ca-file", "ca.pem", NULL, "read ca.pem" },
	{ "cache-redis-ca-file", "/ca.pem", NULL, "read /ca.pem" },
	{ "resolv-conf", "/r", NULL, "read /r" },
	{ "hosts-file", "/h", NULL, "read /h" },
	{ "http-proxy-file", "test_paths.secret", NULL, "read test_paths.secret" },
	{ "https-proxy-file", "test_paths.secret", NULL, "read test_paths.secret" },
	{ "cache-redis-password-file", "test_paths.secret", "--cache-redis=h:1", "read test_paths.secret" },
	{ "admin-token-file", "test_paths.secret", NULL, "read test_paths.secret" },
	{ "access-log-file", "/var/log/a", NULL, "append /var/log/a" },
	{ "cache-lmdb", "/store", NULL, "folder /store" },
	{ "takeover-socket", "/run/t", NULL, "socket /run/t" },
	{ "sandbox-read", "/etc/ssl", NULL, "read /etc/ssl" },
};
enum { OF_EACH = sizeof of_each / sizeof *of_each };

static void put(const char *name, const char *text)
{
	put_file(name, text, strlen(text), 0600);
}

static void options(void)
{
	put("test_paths.secret", "http://h:1");
	put("test_paths.users", "alice:$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n");
	for (size_t i = 0; i < OF_EACH; i++) {
		char word[128], line[160];
		const char *words[] = { "serve", word, of_each[i].more, NULL };
		int status;
		struct told told;

		snprintf(word, sizeof word, "--%s=%s", of_each[i].option, of_each[i].value);
		snprintf(line, sizeof line, "%s\n", of_each[i].told);
		told = told_of(words, &status);
		UNIT_ROW(!status && strstr(told.text, line), "%s: %d %s", of_each[i].option, status, told.text);
	}
	unlink("test_paths.secret");
	unlink("test_paths.users");
}

static void nothing_named(void)
{
	const char *const words[] = { "serve", NULL };
	int status;
	struct told told = told_of(words, &status);

	CU_ASSERT(!status);
	CU_ASSERT_STRING_EQUAL(told.text, ALWAYS);
}

/* The file itself, what it includes, and a route's own files; not those that the route has from the options of all. Of a file that is wrong
 * as much as was read. */
static void files(void)
{
	static const struct { const char *rule, *text; int status; const char *told; } cases[] = {
		{ "itself", "via = a\n", 0, "read test_paths.conf\n" ALWAYS },
		{ "an included file", "include = test_paths.d\n", 0, "read test_paths.conf\nread test_paths.d\n" ALWAYS },
		{ "one that is absent", "include = /absent\n", -1, "read test_paths.conf\nread /absent\n" ALWAYS },
		{ "a pattern's folder and files", "include = ./test_paths.[d]\n", 0, "read test_paths.conf\nread ./\nread ./test_paths.d\n" ALWAYS },
		{ "routes", "tls-ca-file = /ca\n[route /a/]\norigin = https://o/\n[route /b/]\norigin = https://o/\ntls-ca-file = /b\n"
			    "tls-cert = /c\ntls-key = /k\n",
			0, "read test_paths.conf\n" ALWAYS "read /ca\nread /c\nread /k\nread /b\n" },
		{ "a value that is wrong", "tls-ca-file = /ca\nworkers = many\n", -1, "read test_paths.conf\n" ALWAYS "read /ca\n" },
	};
	const char *const words[] = { "serve", "-c", "test_paths.conf", NULL };

	put("test_paths.d", "user-agent = a\n");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int status;
		struct told told;

		put("test_paths.conf", cases[i].text);
		told = told_of(words, &status);
		UNIT_ROW(status == cases[i].status && !strcmp(told.text, cases[i].told), "%s: %d, %s", cases[i].rule, status, told.text);
	}
	unlink("test_paths.d");
	unlink("test_paths.conf");
}

static bool has_row(const char *option)
{
	for (size_t i = 0; i < OF_EACH; i++)
		if (!strcmp(of_each[i].option, option))
			return true;
	return false;
}

/* A new option that names a file of its prose is one of these types. */
static void every_path(void)
{
	for (size_t i = 0; i < CONF_OPTION_COUNT; i++) {
		const struct conf_row *row = &conf_options[i];
		bool is = conf_is_path(row->type) || row->type == CONF_TYPE_PATHS || row->type == CONF_TYPE_LISTEN;
		bool says = strstr(row->prose, "PEM file") || !strncmp(row->prose, "File with", 9) || !strncmp(row->prose, "A file ", 7) ||
			!strncmp(row->prose, "A folder ", 9);

		UNIT_ROW(is == has_row(row->name), "%s has %s row here", row->name, is ? "no" : "a");
		UNIT_ROW(is || !says || row->type == CONF_TYPE_PATHS, "%s: its prose names a file, its type none", row->name);
	}
}

static void refused_lists(void)
{
	static const char *const wrong[] = { "relative", "./x", "/a\nb" };
	struct conf_error error;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct conf_paths paths = { NULL, 0 };

		UNIT_ROW(conf_paths_set(NULL, &paths, &(struct conf_value){ wrong[i], "" }, &error) == -1 && !paths.count, "%s", wrong[i]);
		conf_paths_clear(&paths);
	}
}

UNIT_SUITE(paths, { "options", options }, { "nothing named", nothing_named }, { "files", files }, { "every path", every_path },
	{ "refused lists", refused_lists })
