/* Owns the limits of LMDB's store where several processes use one folder: whose counts, and when a smaller one does.
 * Must not know: where the limit stands. Invariant: this process opens no store; each store has a process of its own. */
#include "tests/unit/stores.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { ENTRY_LEN = 15000, STEPS_MAX = 12, SMALL = 1, LARGE = 64 /* MiB: 768 KiB of the small one's are for entries */ };

/* ---- what the linker puts in place of another (tests/include.am): a clock to set forward ---- */

int __real_clock_gettime(clockid_t, struct timespec *);
int __wrap_clock_gettime(clockid_t, struct timespec *);

static time_t clock_ahead;                     /* seconds */

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	int r = __real_clock_gettime(id, t);

	t->tv_sec += clock_ahead;
	return r;
}

/* ---- a process with a store ---- */

/* NOTHING: any more, it ends. OPEN: with first MiB; PUT, HOLDS: the entries from first to before end; LATER: first minutes. */
enum what { NOTHING, OPEN, CLOSE, PUT, HOLDS, LATER };
struct step {
	char who;
	enum what what;
	unsigned first, end;
	unsigned least, most;          /* HOLDS: so many of them */
};

static void entry_key(char *key, size_t cap, unsigned number)
{
	snprintf(key, cap, "http://h%u/\nk", number);
}

static unsigned store_step(struct store **s, const struct step *step)
{
	unsigned held = 0;
	char key[32];

	switch (step->what) {
	case NOTHING: _exit(0);
	case OPEN: *s = stores_lmdb((size_t)step->first << 20); break;
	case CLOSE: (*s)->ops->free(*s); break;
	case LATER: clock_ahead += (time_t)step->first * 60; break;
	case PUT: case HOLDS:
		for (unsigned k = step->first; k < step->end; k++) {
			entry_key(key, sizeof key, k);
			if (step->what == PUT)
				stores_put(*s, key, k, ENTRY_LEN);
			else
				held += stores_holds(*s, key, k, ENTRY_LEN);
		}
		while (!stores_settle(*s))
			stores_nap();
	}
	return held;
}

/* Does and answers each step that it reads, until the other end closes. */
static void process_main(int told)
{
	struct store *s = NULL;
	struct step step;

	while (read(told, &step, sizeof step) == sizeof step) {
		unsigned held = store_step(&s, &step);

		if (write(told, &held, sizeof held) != sizeof held)
			break;
	}
	_exit(0);
}

struct process { pid_t pid; int fd; };

static struct process process_start(void)
{
	struct process p;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) || (p.pid = fork()) < 0)
		abort();
	if (!p.pid) {
		close(ends[0]);
		process_main(ends[1]);
	}
	close(ends[1]);
	p.fd = ends[0];
	return p;
}

static unsigned process_do(struct process *p, const struct step *step)
{
	unsigned held;

	if (write(p->fd, step, sizeof *step) != sizeof *step || read(p->fd, &held, sizeof held) != sizeof held)
		abort();
	return held;
}

static void process_end(struct process *p)
{
	static const struct step end = { 'a', NOTHING, 0, 0, 0, 0 };

	if (write(p->fd, &end, sizeof end) != sizeof end)
		abort();
	close(p->fd);
	waitpid(p->pid, NULL, 0);
}

/* ---- cases ---- */

static const struct { const char *name; struct step steps[STEPS_MAX]; } cases[] = {
	{ "issue 31, A 6: a smaller one takes nothing from a larger one", {
		{ 'a', OPEN, SMALL, 0, 0, 0 }, { 'a', PUT, 0, 10, 0, 0 }, { 'b', OPEN, LARGE, 0, 0, 0 }, { 'b', PUT, 100, 140, 0, 0 }, { 'a', PUT, 300, 301, 0, 0 },
		{ 'a', HOLDS, 0, 10, 10, 10 }, { 'b', HOLDS, 100, 140, 40, 40 }, { 'b', HOLDS, 300, 301, 1, 1 } } },
	{ "nor where the file has outgrown its map", {
		{ 'a', OPEN, SMALL, 0, 0, 0 }, { 'b', OPEN, LARGE, 0, 0, 0 }, { 'b', PUT, 0, 200, 0, 0 }, { 'a', PUT, 300, 310, 0, 0 }, { 'b', HOLDS, 0, 310, 210, 210 } } },
	{ "nor while the larger one starts again", {
		{ 'a', OPEN, SMALL, 0, 0, 0 }, { 'b', OPEN, LARGE, 0, 0, 0 }, { 'b', PUT, 0, 100, 0, 0 }, { 'a', PUT, 300, 301, 0, 0 }, { 'b', CLOSE, 0, 0, 0, 0 }, { 'a', PUT, 301, 310, 0, 0 },
		{ 'a', HOLDS, 0, 100, 100, 100 } } },
	{ "nor where it starts first after both have ended", {
		{ 'b', OPEN, LARGE, 0, 0, 0 }, { 'a', OPEN, SMALL, 0, 0, 0 }, { 'b', PUT, 0, 100, 0, 0 }, { 'a', PUT, 300, 301, 0, 0 }, { 'b', CLOSE, 0, 0, 0, 0 }, { 'a', CLOSE, 0, 0, 0, 0 }, { 'a', OPEN, SMALL, 0, 0, 0 },
		{ 'a', PUT, 301, 310, 0, 0 }, { 'a', HOLDS, 0, 100, 100, 100 } } },
	{ "nor where the larger one comes back for a moment", {
		{ 'b', OPEN, LARGE, 0, 0, 0 }, { 'a', OPEN, SMALL, 0, 0, 0 }, { 'a', PUT, 300, 301, 0, 0 }, { 'b', PUT, 0, 100, 0, 0 }, { 'b', CLOSE, 0, 0, 0, 0 }, { 'a', PUT, 301, 302, 0, 0 },
		{ 'a', LATER, 9, 0, 0, 0 }, { 'c', OPEN, LARGE, 0, 0, 0 }, { 'c', PUT, 100, 110, 0, 0 }, { 'c', CLOSE, 0, 0, 0, 0 }, { 'a', LATER, 9, 0, 0, 0 }, { 'a', HOLDS, 0, 110, 110, 110 } } },
	{ "but once that has been away for long, its own limit counts", {
		{ 'b', OPEN, LARGE, 0, 0, 0 }, { 'a', OPEN, SMALL, 0, 0, 0 }, { 'a', PUT, 300, 301, 0, 0 }, { 'b', PUT, 0, 100, 0, 0 }, { 'b', CLOSE, 0, 0, 0, 0 }, { 'a', PUT, 301, 302, 0, 0 },
		{ 'a', LATER, 11, 0, 0, 0 }, { 'a', PUT, 302, 303, 0, 0 }, { 'a', HOLDS, 0, 100, 20, 51 }, { 'a', HOLDS, 301, 303, 2, 2 } } },
	{ "a smaller limit that nobody else has counts at once", {
		{ 'b', OPEN, LARGE, 0, 0, 0 }, { 'b', PUT, 0, 100, 0, 0 }, { 'b', CLOSE, 0, 0, 0, 0 }, { 'a', OPEN, SMALL, 0, 0, 0 }, { 'a', PUT, 300, 301, 0, 0 }, { 'a', HOLDS, 0, 100, 20, 51 },
		{ 'a', HOLDS, 300, 301, 1, 1 } } },
	{ "and a larger one again", {
		{ 'a', OPEN, SMALL, 0, 0, 0 }, { 'a', PUT, 0, 10, 0, 0 }, { 'a', CLOSE, 0, 0, 0, 0 }, { 'b', OPEN, LARGE, 0, 0, 0 }, { 'b', PUT, 10, 200, 0, 0 }, { 'b', HOLDS, 0, 200, 200, 200 } } },
};

static void run_case(size_t row)
{
	struct process processes[3];

	for (size_t i = 0; i < COUNT(processes); i++)
		processes[i] = process_start();
	for (const struct step *step = cases[row].steps; step < cases[row].steps + STEPS_MAX && step->what; step++) {
		unsigned held = process_do(&processes[step->who - 'a'], step);

		if (step->what == HOLDS)
			UNIT_ROW(held >= step->least && held <= step->most, "%s: %u of those from %u to %u", cases[row].name, held, step->first,
				step->end);
	}
	for (size_t i = 0; i < COUNT(processes); i++)
		process_end(&processes[i]);
	stores_folder_clear();
}

static void limits(void)
{
	stores_folder();
	for (size_t row = 0; row < COUNT(cases); row++)
		run_case(row);
}

UNIT_SUITE(store_lmdb_limit, { "limits", limits })
