/* Owns the schedules build (configure --enable-schedules): every hand-over between threads may take a random while, so that orders of events
 * which a quiet machine shows once in a million come up in minutes. The compiler puts this file before every source then (-include), so
 * that no lock, signal or dropped reference can be left out; any other build does not see it.
 * Must not know: what is handed over. Invariant: only time passes here; what the program does may be what it does without. */
#ifndef UTFEED_STRESS_SCHEDULE_H
#define UTFEED_STRESS_SCHEDULE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

/* Sleeps now and then; errno is kept. Only where UTFEED_SCHEDULE_SEED is in the environment: the number that all lengths come from, or
 * empty for any; the first call says on standard error which it is. */
void schedule_point(void);

/* Both sides of either end: whoever waits for the lock may be late, and what its holder has changed so far may be seen without it. */
static inline int schedule_mutex_lock(pthread_mutex_t *m)
{
	int err;

	schedule_point();
	err = pthread_mutex_lock(m);
	schedule_point();
	return err;
}

static inline int schedule_mutex_unlock(pthread_mutex_t *m)
{
	int err;

	schedule_point();
	err = pthread_mutex_unlock(m);
	schedule_point();
	return err;
}

/* Whoever started a thread goes on late. */
static inline int schedule_thread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *arg)
{
	int err = pthread_create(thread, how, run, arg);

	schedule_point();
	return err;
}

#define pthread_mutex_lock schedule_mutex_lock
#define pthread_mutex_unlock schedule_mutex_unlock
#define pthread_create schedule_thread_create
#define pthread_cond_signal(c) (schedule_point(), (pthread_cond_signal)(c))
#define eventfd_write(fd, n) (schedule_point(), (eventfd_write)(fd, n))
#define eventfd_read(fd, n) (schedule_point(), (eventfd_read)(fd, n))

/* What is published or dropped without a lock. */
#undef atomic_store_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_exchange
#ifdef __clang__
#define atomic_store_explicit(p, v, order) (schedule_point(), __c11_atomic_store(p, v, order))
#define atomic_fetch_sub_explicit(p, v, order) (schedule_point(), __c11_atomic_fetch_sub(p, v, order))
#define atomic_exchange(p, v) (schedule_point(), __c11_atomic_exchange(p, v, __ATOMIC_SEQ_CST))
#else
#define atomic_store_explicit(p, v, order) (schedule_point(), __atomic_store_n(p, v, order))
#define atomic_fetch_sub_explicit(p, v, order) (schedule_point(), __atomic_fetch_sub(p, v, order))
#define atomic_exchange(p, v) (schedule_point(), __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST))
#endif

#endif
