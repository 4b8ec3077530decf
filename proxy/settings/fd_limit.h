/* Owns the process's limit of open files, and how many of them are left for clients. Must not know: who opens them,
 * configuration.
 * Invariant: clients alone can never use up the descriptors that their origins need. */
#ifndef UTFEED_PROXY_SETTINGS_FD_LIMIT_H
#define UTFEED_PROXY_SETTINGS_FD_LIMIT_H

#include <stddef.h>

/* Raises the soft limit to the hard one: it is often 1024, for programs that use select(). */
void fd_limit_raise(void);

/* The most connections at the admin listener. */
enum { FD_LIMIT_ADMIN = 168 };
/* How many clients there is room for, each with a connection to an origin, beside listeners, DNS, stores, the loops and
 * so many others; at least one. */
size_t fd_limit_clients(size_t others);

#endif
