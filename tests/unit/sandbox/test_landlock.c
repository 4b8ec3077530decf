/* Owns the cases of proxy/sandbox/landlock.c, each in a process of its own, with files in a folder of the test's. Must not know: configuration.
 * Invariant: nothing is given up by the process that runs the cases. */
#include "proxy/sandbox/landlock.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char top[] = "/tmp/utfeed-landlock-XXXXXX";

enum act { READ, WRITE, MAKE, CUT, LIST, REMOVE, MOVE, MOVE_AWAY };

static const char *in(char path[128], const char *name)
{
	snprintf(path, 128, "%s/%s", top, name);
	return path;
}

static int opened(const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? errno : 0;
}

/* 0, or the error. */
static int try(enum act act, const char *name)
{
	char path[128], other[128];

	in(path, name);
	switch (act) {
	case READ: return opened(path, O_RDONLY);
	case WRITE: return opened(path, O_WRONLY);
	case MAKE: return opened(path, O_WRONLY | O_CREAT | O_EXCL);
	case CUT: return opened(path, O_WRONLY | O_TRUNC);
	case LIST: return opened(path, O_RDONLY | O_DIRECTORY);
	case REMOVE: return unlink(path) ? errno : 0;
	case MOVE: return rename(path, strcat(strcpy(other, path), ".moved")) ? errno : 0;
	default: return rename(path, in(other, "b/moved")) ? errno : 0;
	}
}

static void confine(const char *name, unsigned rights)
{
	char path[128];
	struct landlock *l = landlock_new(false);

	if (!l || landlock_allow(l, in(path, name), rights) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || landlock_enforce(l))
		_exit(255);
	landlock_free(&l);
}

static void make_tree(void)
{
	static const char *const names[] = { "a/f", "a/g", "b/f" };
	char path[128];

	mkdir(in(path, "a"), 0700);
	mkdir(in(path, "b"), 0700);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		close(open(in(path, names[i]), O_WRONLY | O_CREAT | O_TRUNC, 0600));
}

static void drop_tree(void)
{
	static const char *const names[] = { "a/f", "a/g", "b/f", "a/new", "a/f.moved", "b/moved" };
	char path[128];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unlink(in(path, names[i]));
	rmdir(in(path, "a"));
	rmdir(in(path, "b"));
}

/* What the child ends with. */
static int in_a_child(const char *allowed, unsigned rights, enum act act, const char *name)
{
	pid_t child;
	int status = -1;

	make_tree();
	if (!(child = fork())) {
		confine(allowed, rights);
		_exit(try(act, name));
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
	drop_tree();
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void rights(void)
{
	static const struct { const char *rule, *allowed; unsigned rights; enum act act; const char *name; int error; } cases[] = {
		{ "reading a file below the folder", "a", LANDLOCK_READ, READ, "a/f", 0 },
		{ "listing it", "a", LANDLOCK_READ, LIST, "a", 0 },
		{ "writing what is read", "a", LANDLOCK_READ, WRITE, "a/f", EACCES },
		{ "making beside what is read", "a", LANDLOCK_READ, MAKE, "a/new", EACCES },
		{ "removing what is read", "a", LANDLOCK_READ, REMOVE, "a/f", EACCES },
		{ "reading elsewhere", "a", LANDLOCK_READ, READ, "b/f", EACCES },
		{ "listing above", "a", LANDLOCK_READ, LIST, "", EACCES },
		{ "a file by itself", "a/f", LANDLOCK_READ, READ, "a/f", 0 },
		{ "beside a file by itself", "a/f", LANDLOCK_READ, READ, "a/g", EACCES },
		{ "appending", "a", LANDLOCK_APPEND, WRITE, "a/f", 0 },
		{ "making a log", "a", LANDLOCK_APPEND, MAKE, "a/new", 0 },
		{ "reading a log", "a", LANDLOCK_APPEND, READ, "a/f", EACCES },
		{ "emptying a log", "a", LANDLOCK_APPEND, CUT, "a/f", EACCES },
		{ "removing a log", "a", LANDLOCK_APPEND, REMOVE, "a/f", EACCES },
		{ "a log by itself", "a/f", LANDLOCK_APPEND, WRITE, "a/f", 0 },
		{ "making beside a log by itself", "a/f", LANDLOCK_APPEND, MAKE, "a/new", EACCES },
		{ "reading a store", "a", LANDLOCK_STORE, READ, "a/f", 0 },
		{ "emptying a store's file", "a", LANDLOCK_STORE, CUT, "a/f", 0 },
		{ "making in a store", "a", LANDLOCK_STORE, MAKE, "a/new", 0 },
		{ "setting aside in a store", "a", LANDLOCK_STORE, MOVE, "a/f", 0 },
		{ "moving out of a store", "a", LANDLOCK_STORE, MOVE_AWAY, "a/f", EACCES },
		{ "removing a socket", "a", LANDLOCK_REMOVE, REMOVE, "a/f", 0 },
		{ "reading where sockets are", "a", LANDLOCK_REMOVE, READ, "a/f", EACCES },
		{ "nothing where a path is absent", "absent", LANDLOCK_STORE, READ, "a/f", EACCES },
	};

	if (landlock_version() < 3)
		UNIT_SKIP("this kernel's Landlock is older than its version 3");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(top));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int got = in_a_child(cases[i].allowed, cases[i].rights, cases[i].act, cases[i].name);

		/* moving between folders is EXDEV (landlock(7)) */
		UNIT_ROW(got == cases[i].error || (cases[i].act == MOVE_AWAY && got == EXDEV), "%s: %d (%s)", cases[i].rule, got, strerror(got));
	}
	rmdir(top);
}

/* Others' sockets without a file are closed, but for who says that one is needed; this process's are not. */
static void abstract_sockets(void)
{
	static const struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0utfeed-test-landlock" };
	int listening = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = offsetof(struct sockaddr_un, sun_path) + sizeof "utfeed-test-landlock";

	if (landlock_version() < 6)
		UNIT_SKIP("this kernel's Landlock is older than its version 6");
	CU_ASSERT_FATAL(listening >= 0 && !bind(listening, (const struct sockaddr *)&name, len));
	for (int needed = 0; needed < 2; needed++) {
		pid_t child = fork();
		int status = -1;

		if (!child) {
			struct landlock *l = landlock_new(needed);
			int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

			if (!l || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || landlock_enforce(l))
				_exit(255);
			_exit(connect(fd, (const struct sockaddr *)&name, len) ? errno : 0);
		}
		CU_ASSERT(waitpid(child, &status, 0) == child && WIFEXITED(status));
		UNIT_ROW(WEXITSTATUS(status) == (needed ? 0 : EPERM), "needed %d: %s", needed, strerror(WEXITSTATUS(status)));
	}
	close(listening);
}

/* Its own threads and itself it may signal, as its workers do; no other process. */
static void signals(void)
{
	pid_t child;
	int status = -1;

	if (landlock_version() < 6)
		UNIT_SKIP("this kernel's Landlock is older than its version 6");
	if (!(child = fork())) {
		struct landlock *l = landlock_new(false);

		if (!l || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || landlock_enforce(l))
			_exit(255);
		_exit(kill(getpid(), 0) ? 1 : !kill(getppid(), 0) || errno != EPERM ? 2 : 0);
	}
	CU_ASSERT(waitpid(child, &status, 0) == child && WIFEXITED(status));
	CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
}

UNIT_SUITE(landlock, { "rights", rights }, { "abstract sockets", abstract_sockets }, { "signals", signals })
