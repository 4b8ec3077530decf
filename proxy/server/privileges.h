/* Owns becoming another user once the ports are bound. Must not know: what needs which right.
 * Invariants: rights that were given up cannot be had again, which is tried; a process that cannot become the user does
 * not go on as another one. Sources: setuid(2), capabilities(7), prctl(2) PR_SET_DUMPABLE. */
#ifndef UTFEED_PROXY_SERVER_PRIVILEGES_H
#define UTFEED_PROXY_SERVER_PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

struct conf;

enum { PRIVILEGES_GROUPS_MAX = 256 };

struct privileges {
	bool change;                   /* false: the process is that user already, or none is named */
	uid_t uid;
	gid_t gid;
	gid_t groups[PRIVILEGES_GROUPS_MAX];   /* all of the user's, or gid alone */
	int n_groups;
};

/* Finds the user and the group that the configuration names. -1: there is no such one, or this process may not become
 * it (logged). */
int privileges_find(struct privileges *, const struct conf *) __attribute__((warn_unused_result));
/* The rights of the process, while it has another user's for a moment. */
struct privileges_lent {
	struct privileges own;
	int dumpable;
};

/* Gives the only thread that user's rights over files. false: its rights are as before, because the configuration names
 * no other user, or the kernel refuses. */
bool privileges_lend(const struct privileges *, struct privileges_lent *) __attribute__((warn_unused_result));
/* -1: logged; the process must end. */
int privileges_return(const struct privileges_lent *) __attribute__((warn_unused_result));
/* Becomes that user, in all threads. -1: logged; the process must end. */
int privileges_drop(const struct privileges *, const struct conf *) __attribute__((warn_unused_result));

#endif
