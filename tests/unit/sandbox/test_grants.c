/* Owns the cases of proxy/sandbox/grants.c: what is listed for a configuration's files, of a tree of the test's own. Must not know: Landlock.
 * Invariant: what a case does not name is not listed. */
#include "proxy/sandbox/grants.h"
#include "proxy/sandbox/landlock.h"

#include "conf/conf.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/utfeed-grants-XXXXXX";

static const char *const folders[] = { "a", "a/live", "a/archive", "home", "home/own", "shared", "run" };
static const char *const files[] = { "a/f", "a/archive/1", "home/f", "home/own/f", "shared/f" };

static char alone[1024];

static void on_alone(const char *path, const char *folder)
{
	size_t len = strlen(alone);

	(void)folder;
	snprintf(alone + len, sizeof alone - len, "%s ", path + strlen(top) + 1);
}

static void make_tree(void)
{
	CU_ASSERT_FATAL(mkdtemp(top) && !chdir(top));
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		CU_ASSERT_EQUAL_FATAL(mkdir(folders[i], 0755), 0);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		fclose(fopen(files[i], "w"));
	CU_ASSERT(!chmod("shared", 01777) && !mkfifo("run/fifo", 0600));
	CU_ASSERT(!symlink("../archive/1", "a/live/1") && !symlink("a", "link"));
}

static void drop_tree(void)
{
	unlink("link");
	unlink("a/live/1");
	unlink("run/fifo");
	for (size_t i = sizeof files / sizeof *files; i--;)
		unlink(files[i]);
	for (size_t i = sizeof folders / sizeof *folders; i--;)
		rmdir(folders[i]);
	CU_ASSERT(!chdir("/") && !rmdir(top));
}

static const char *rights_text(unsigned rights)
{
	static char text[5];

	snprintf(text, sizeof text, "%s%s%s%s", rights & LANDLOCK_READ ? "r" : "", rights & LANDLOCK_APPEND ? "a" : "",
		rights & LANDLOCK_STORE ? "s" : "", rights & LANDLOCK_REMOVE ? "d" : "");
	return text;
}

/* The list for the words of a command line, whose paths begin with %s for the tree's folder. */
static void list(const char *option, const char *value, char *text, size_t cap)
{
	static char *const none[] = { NULL };
	char word[256], path[200];
	const char *const words[] = { "serve", "--resolv-conf=", "--hosts-file=", word };
	struct conf *conf = conf_new();
	struct conf_error error;
	struct grants g = { 0 };
	size_t len = 0;

	snprintf(path, sizeof path, "%s/%s", top, value);
	snprintf(word, sizeof word, "--%s=%s%s", option, strstr(option, "listen") ? "unix:" : "", path);
	text[0] = alone[0] = '\0';
	/* the two options that must name a file name none that is listed here */
	if (!conf || conf_load(conf, 2, (char *const *)(uintptr_t)(const char *const[]){ words[0], word }, none, &error)) {
		CU_FAIL("not loaded");
		conf_free(&conf);
		return;
	}
	grants_add_conf(&g, conf, on_alone);
	for (size_t i = 0; i < g.n; i++)
		if (!strncmp(g.items[i].path, top, strlen(top)))
			len += (size_t)snprintf(text + len, cap - len, "%s:%s ", rights_text(g.items[i].rights),
				g.items[i].path + strlen(top) + (g.items[i].path[strlen(top)] == '/'));
	CU_ASSERT(!g.failed);
	grants_free(&g);
	conf_free(&conf);
}

static void of_files(void)
{
	static const struct { const char *rule, *option, *value, *listed, *alone; } cases[] = {
		{ "a file and its folder", "tls-ca-file", "a/f", "r:a r:a/f ", "" },
		{ "one that is absent", "tls-ca-file", "a/absent", "r:a r:a/absent ", "" },
		{ "in a folder that is absent", "tls-ca-file", "absent/f", "r:absent/f ", "absent/f " },
		{ "a link, and where it leads", "tls-ca-file", "a/live/1", "r:a/archive r:a/live r:a/live/1 ", "" },
		{ "by a folder that is a link", "tls-ca-file", "link/f", "r:a r:link r:link/f ", "" },
		{ "in the home", "tls-ca-file", "home/f", "r:home/f ", "home/f " },
		{ "in a folder of the home", "tls-ca-file", "home/own/f", "r:home/own r:home/own/f ", "" },
		{ "above the home", "tls-ca-file", "f", "r:f ", "f " },
		{ "where everybody makes files", "tls-ca-file", "shared/f", "r:shared/f ", "shared/f " },
		{ "a folder", "sandbox-read", "a", "r:a ", "" },
		{ "a folder in which all is allowed, though it is the home", "sandbox-read", "home", "r:home ", "" },
		{ "a log", "access-log-file", "a/log", "a:a a:a/log ", "" },
		{ "a log in the home", "access-log-file", "home/log", "a:home/log ", "home/log " },
		{ "a log that is a pipe", "access-log-file", "run/fifo", "a:run/fifo ", "" },
		{ "a store", "cache-lmdb", "a/store", "s:a/store ", "" },
		{ "a store in the home", "cache-lmdb", "home", "s:home ", "" },
		{ "a socket", "takeover-socket", "run/t", "d:run ", "" },
		{ "a listening socket where everybody makes files", "listen", "shared/s", "d:shared ", "" },
	};
	char home[64], text[1024];

	make_tree();
	snprintf(home, sizeof home, "%s/home", top);
	setenv("HOME", home, 1);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		list(cases[i].option, cases[i].value, text, sizeof text);
		UNIT_ROW(!strcmp(text, cases[i].listed) && !strcmp(alone, cases[i].alone), "%s: %s; alone: %s", cases[i].rule, text, alone);
	}
	drop_tree();
}

static void wide_folders(void)
{
	static const struct { const char *rule, *folder, *home; bool wide; } cases[] = {
		{ "the root", "/", NULL, true },
		{ "the root by another name", "/usr/..", NULL, true },
		{ "of everybody", "/tmp", NULL, true },
		{ "absent", "/nonexistent/x", NULL, true },
		{ "the system's", "/etc", NULL, false },
		{ "the home", "/usr/share", "/usr/share", true },
		{ "above the home", "/usr", "/usr/share", true },
		{ "beside the home", "/etc", "/usr/share", false },
		{ "below the home", "/usr/share", "/usr", false },
		{ "a home that is absent", "/etc", "/nonexistent", false },
		{ "a home that is the root", "/etc", "/", false },
		{ "no home", "/etc", "", false },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		UNIT_ROW(grants_are_wide(cases[i].folder, cases[i].home) == cases[i].wide, "%s", cases[i].rule);
}

static bool listed(const struct grants *g, const char *path)
{
	for (size_t i = 0; i < g->n; i++)
		if (!strcmp(g->items[i].path, path))
			return g->items[i].rights == LANDLOCK_READ;
	return false;
}

/* What libraries read by themselves, also where variables say so; /proc where it is asked for. */
static void of_the_system(void)
{
	static const struct { const char *rule, *variable, *value, *path; } cases[] = {
		{ "converters", NULL, NULL, "/usr" },
		{ "names", NULL, NULL, "/etc/nsswitch.conf" },
		{ "a null device", NULL, NULL, "/dev/null" },
		{ "one folder", "GCONV_PATH", "/opt/gconv", "/opt/gconv" },
		{ "the second of two", "GCONV_PATH", "/opt/gconv:/srv/x", "/srv/x" },
		{ "with nothing between", "GCONV_PATH", "::/srv/x:", "/srv/x" },
		{ "authorities", "SSL_CERT_FILE", "/srv/ca.pem", "/srv/ca.pem" },
		{ "a folder of them", "SSL_CERT_DIR", "/srv/one:/srv/two", "/srv/two" },
		{ "OpenSSL's own configuration", "OPENSSL_CONF", "/srv/openssl.cnf", "/srv/openssl.cnf" },
	};
	struct grants g = { 0 };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (cases[i].variable)
			setenv(cases[i].variable, cases[i].value, 1);
		grants_add_system(&g, i % 2, on_alone);
		UNIT_ROW(listed(&g, cases[i].path) && !g.failed, "%s", cases[i].rule);
		UNIT_ROW(listed(&g, "/proc") == (i % 2), "%s: /proc", cases[i].rule);
		grants_free(&g);
		if (cases[i].variable)
			unsetenv(cases[i].variable);
	}
}

UNIT_SUITE(grants, { "of files", of_files }, { "wide folders", wide_folders }, { "of the system", of_the_system })
