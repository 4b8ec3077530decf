/* Giving up rights; see sandbox.h. */
#include "proxy/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/sandbox/call_filter.h"
#include "proxy/sandbox/forbidden.h"
#include "proxy/sandbox/grants.h"
#include "proxy/sandbox/landlock.h"

/* A build that watches itself (sanitizers, coverage) makes system calls and opens files of its own. */
#ifdef UTFEED_INSTRUMENTED
enum { SANDBOX_BY_DEFAULT = false };
#else
enum { SANDBOX_BY_DEFAULT = true };
#endif

enum { SANDBOX_TEXT_MAX = 160 };

static const struct sandbox_mode {
	bool files, calls, demanded;
} modes[] = {
	[CONF_SANDBOX_ON] = { SANDBOX_BY_DEFAULT, SANDBOX_BY_DEFAULT, false },
	[CONF_SANDBOX_OFF] = { false, false, false },
	[CONF_SANDBOX_SECCOMP] = { false, true, true },
	[CONF_SANDBOX_LANDLOCK] = { true, false, true },
	[CONF_SANDBOX_STRICT] = { true, true, true },
};

/* ---- what there is ---- */

/* Why files cannot be given up: a sentence for the log. NULL: they can. */
static const char *files_missing(char text[SANDBOX_TEXT_MAX])
{
	if (landlock_version() >= 1)
		return NULL;
	snprintf(text, SANDBOX_TEXT_MAX, "the kernel or the container has no limits for files (Landlock: %s)",
	    strerror(errno));
	return text;
}

/* -1: it is demanded. */
static int sandbox_miss(const struct conf *conf, const char *what)
{
	bool demanded = modes[conf->sandbox].demanded;

	log_line(demanded ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO, "%s: %s; %s", conf_place(conf, NULL, "sandbox").text,
	    what, demanded ? "write sandbox = on, which does without" : "utfeed runs without");
	return demanded ? -1 : 0;
}

/* What is not there at the start has no right that could be allowed. */
static void check_paths(const struct conf *conf)
{
	for (size_t i = 0; i < conf->sandbox_read.count; i++)
		if (access(conf->sandbox_read.items[i], F_OK))
			log_warn("%s: %s: %s; utfeed will not be able to read it later either: make it before the "
			         "start",
			    conf_place(conf, NULL, "sandbox-read").text, conf->sandbox_read.items[i], strerror(errno));
}

int sandbox_check(const struct conf *conf)
{
	const struct sandbox_mode *mode = &modes[conf->sandbox];
	const char *files, *calls;
	char text[SANDBOX_TEXT_MAX];
	int status = 0;

	check_paths(conf);
	if (!mode->demanded)
		return 0;
	if (mode->files && (files = files_missing(text)))
		status = sandbox_miss(conf, files);
	if (mode->calls && (calls = call_filter_missing()))
		status |= sandbox_miss(conf, calls);
	return status;
}

static int sandbox_fail(const struct conf *conf, const char *what)
{
	log_error("%s: %s: %s", conf_place(conf, NULL, "sandbox").text, what, strerror(errno));
	return -1;
}

/* ---- files ---- */

static void on_alone(const char *path, const char *folder)
{
	if (!access(path, F_OK))
		log_info("sandbox: utfeed may read the file %s, but not its folder %s, which is not utfeed's own; if "
		         "another file replaces it, a reload cannot read that; keep it in a folder of its own, or name "
		         "the folder in sandbox-read",
		    path, folder);
}

static int files_allow(struct landlock *landlock, const struct grants *g)
{
	for (size_t i = 0; i < g->n; i++) {
		int status = landlock_allow(landlock, g->items[i].path, g->items[i].rights);

		if (status < 0)
			return -1;
		if (!status && log_is(LOG_LEVEL_DEBUG))
			log_line(LOG_LEVEL_DEBUG, "sandbox: allowed: %s%s%s%s %s",
			    g->items[i].rights & LANDLOCK_READ ? "r" : "-",
			    g->items[i].rights & LANDLOCK_APPEND ? "a" : "-",
			    g->items[i].rights & LANDLOCK_STORE ? "s" : "-",
			    g->items[i].rights & LANDLOCK_REMOVE ? "d" : "-", g->items[i].path);
	}
	return 0;
}

static int files_enforce(struct landlock *landlock, const struct grants *g)
{
	if (g->failed) {
		errno = ENOMEM;
		return -1;
	}
	return files_allow(landlock, g) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || landlock_enforce(landlock) ? -1
	    : 0;
}

int sandbox_files(struct sandbox *sandbox, const struct conf *conf, const struct sandbox_needs *needs)
{
	struct grants g = { 0 };
	struct landlock *landlock;
	const char *missing;
	char text[SANDBOX_TEXT_MAX];

	if (!modes[conf->sandbox].files)
		return 0;
	if ((missing = files_missing(text)))
		return sandbox_miss(conf, missing);
	if (!(landlock = landlock_new(needs->abstract)))
		return sandbox_fail(conf, "Landlock");
	grants_add_conf(&g, conf, on_alone);
	grants_add_system(&g, needs->proc, on_alone);
	int failed = files_enforce(landlock, &g);
	int err = errno;
	grants_free(&g);
	landlock_free(&landlock);
	errno = err;
	sandbox->files = !failed;
	return failed ? sandbox_fail(conf, "Landlock") : 0;
}

/* ---- system calls ---- */

int sandbox_calls(const struct conf *conf)
{
	const char *missing;

	if (!modes[conf->sandbox].calls)
		return 0;
	if ((missing = call_filter_missing()))
		return sandbox_miss(conf, missing);
	return forbidden_watch() || call_filter_load() ? sandbox_fail(conf, "seccomp") : 0;
}

/* ---- a reload ---- */

/* Landlock does not judge access(2): what that finds and open(2) does not is refused by the sandbox. */
static bool is_refused(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err = errno;

	if (fd >= 0)
		close(fd);
	return fd < 0 && err == EACCES && !access(path, R_OK);
}

static void tell_path(void *arg, enum conf_use use, const char *path)
{
	(void)arg;
	if (use == CONF_USE_READ && is_refused(path))
		log_error("sandbox: %s may be read by this user, but not by this process, whose configuration did not "
		          "name it at the start; start utfeed again, or upgrade it through takeover-socket; "
		          "sandbox-read names folders for later",
		    path);
}

void sandbox_tell(const struct sandbox *sandbox, const struct conf *conf)
{
	if (sandbox->files)
		conf_each_path(conf, tell_path, NULL);
}
