/* The signal's handler and the way back; see store_lmdb_guard.h. */
#include "proxy/store/store_lmdb_guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

static _Thread_local sigjmp_buf *way_back;
static struct sigaction former;

bool lmdb_guard_leave(void)
{
	sigjmp_buf *to = way_back;

	if (!to)
		return false;
	way_back = NULL;
	siglongjmp(*to, 1);
}

/* Outside of a guarded call the former action is restored; the instruction runs again and the signal meets it. */
static void on_sigbus(int sig)
{
	if (!lmdb_guard_leave())
		sigaction(sig, &former, NULL);
}

static void guard_install(void)
{
	struct sigaction action = { .sa_handler = on_sigbus };

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, &former);
}

int lmdb_guarded(int (*run)(void *), void *arg)
{
	static pthread_once_t installed = PTHREAD_ONCE_INIT;
	sigjmp_buf back;
	int rc;

	pthread_once(&installed, guard_install);
	if (sigsetjmp(back, 1))
		return LMDB_FAULT;
	way_back = &back;
	rc = run(arg);
	way_back = NULL;
	return rc;
}
