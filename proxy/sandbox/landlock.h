/* Owns the kernel's Landlock: what files and folders this thread, and those that it starts, may open from now on.
 * Must not know: why. Source: landlock(7), the kernel's Documentation/userspace-api/landlock.rst.
 * Invariant: a thread that gives up a right never gets it back; a path that cannot be found gives no right. */
#ifndef UTFEED_PROXY_SANDBOX_LANDLOCK_H
#define UTFEED_PROXY_SANDBOX_LANDLOCK_H

#include <stdbool.h>

/* What may be done with a file, or with all that lies below a folder. */
enum landlock_right {
	LANDLOCK_READ = 1,
	LANDLOCK_APPEND = 2,           /* written to, and made */
	LANDLOCK_STORE = 4,            /* read, written, made, renamed within its folder and removed */
	LANDLOCK_REMOVE = 8
};

struct landlock;

/* The version of Landlock that the kernel has; -1: none, and errno says why. */
int landlock_version(void);

/* Nothing is allowed yet. abstract: Unix sockets without a file may be connected to that others have made. NULL: errno
 * says why. */
struct landlock *landlock_new(bool abstract);
/* Allows rights (a set of enum landlock_right). 1: there is no such path, or it cannot be found. -1: errno says why. */
int landlock_allow(struct landlock *, const char *path, unsigned rights) __attribute__((warn_unused_result));
/* From now on nothing else is allowed. The process needs no_new_privs (prctl(2)). -1: errno says why. */
int landlock_enforce(struct landlock *) __attribute__((warn_unused_result));
void landlock_free(struct landlock **);

#endif
