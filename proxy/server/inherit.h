/* Owns the sockets that a service manager opened for this process (sd_listen_fds(3)): the variables LISTEN_PID,
 * LISTEN_FDS and LISTEN_FDNAMES, and which descriptors they mean. Must not know: what becomes of a socket.
 * Invariant: the variables are gone afterwards, so that no child takes them for its own. */
#ifndef UTFEED_PROXY_SERVER_INHERIT_H
#define UTFEED_PROXY_SERVER_INHERIT_H

#include <stddef.h>
#include <sys/types.h>

struct conf;
struct sockets;

enum { INHERIT_FIRST = 3 };    /* SD_LISTEN_FDS_START */

/* What the variables say. */
struct inherit {
	size_t n;                      /* descriptors from INHERIT_FIRST on */
	const char *names;             /* separated by colons; NULL: they have none */
};

/* Reads the values; NULL: the variable is not set. n is 0 where they mean another process. Returns NULL, or what is
 * wrong. */
const char *inherit_read(const char *pid, const char *fds, const char *names, pid_t own, struct inherit *);
/* The name of descriptor number i (from 0); "" where it has none. */
const char *inherit_name(const struct inherit *, size_t i, size_t *len);

/* Adds the sockets of this process's environment. -1: one of them does not fit (logged). */
int inherit_sockets(struct sockets *, const struct conf *) __attribute__((warn_unused_result));

#endif
