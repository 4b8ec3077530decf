/* Owns the process's limit of open files, and what it leaves for clients. Must not know: who opens them, configuration.
 * Invariant: clients alone can never use up the descriptors that their origins need. */
#ifndef UTFEED_PROXY_SETTINGS_FD_LIMIT_H
#define UTFEED_PROXY_SETTINGS_FD_LIMIT_H

#include <stddef.h>

/* To the hard limit: the soft one is often 1024, for programs that use select(). */
void fd_limit_raise(void);

/* Clients there is room for, each with a connection to an origin, beside listeners, DNS, stores and the loops; at least
 * one. */
size_t fd_limit_clients(void);

#endif
