/* Owns the listening sockets of the process: their addresses, their source, and the workers that accept from them. Must
 * not know: clients, how a socket came here or goes away from here.
 * Invariants: every socket of an address has a worker that accepts from it, because a connection waits in the queue of
 * one socket. A socket that another process accepts from, or will accept from, is closed here and never shut. */
#ifndef UTFEED_PROXY_SERVER_SOCKETS_H
#define UTFEED_PROXY_SERVER_SOCKETS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "proxy/net/unix_socket.h"

struct conf;
struct worker_listener;

/* What is spoken on a socket. */
enum socket_kind { SOCKET_LISTEN, SOCKET_TLS_LISTEN, SOCKET_ADMIN_LISTEN, SOCKET_KINDS, SOCKET_UNNAMED = SOCKET_KINDS };

/* The sockets of one address; with SO_REUSEPORT there are several. */
struct socket_group {
	enum socket_kind kind;
	struct sockaddr_storage address;       /* its port is a real one */
	socklen_t address_len;
	int *fds;
	size_t n;
	struct unix_socket file;       /* of a Unix socket, to be removed at the end */
	bool configured;               /* takes the place of a configured address */
	bool bound;                    /* by this process */

	bool held;                     /* a service manager has the sockets too, for the process after this one */
	int offer;                     /* counts the former process's groups from 0; -1: not one of these */
	atomic_bool given;             /* the next process accepts from them */
};

struct sockets {
	struct socket_group *groups;
	size_t n;
};

/* Sockets of one address that a service manager or a former process gave. */
struct socket_gift {
	const int *fds;
	size_t n;
	const char *name;              /* its kind's; else the address tells the kind of a service manager's */
	size_t name_len;
	bool held;
	int offer;                     /* of socket_group */
	const char *from;              /* for messages: who gave them, and which ones they are */
};

/* The option's name, which also names the kind to other processes. */
const char *socket_kind_name(enum socket_kind);

/* Adds sockets that were given; they are owned from now on in any case. -1: one does not fit (logged). */
int sockets_adopt(struct sockets *, const struct conf *, const struct socket_gift *)
    __attribute__((warn_unused_result));
/* Binds the configured addresses that no socket was given for; an address gets a socket for each worker. Closes the
 * sockets of a former process whose addresses are no longer configured. -1: logged. */
int sockets_bind(struct sockets *, const struct conf *, size_t workers) __attribute__((warn_unused_result));
/* Whether the sockets can be served under that configuration. -1: one cannot (logged). */
int sockets_check(const struct sockets *, const struct conf *) __attribute__((warn_unused_result));
/* Writes the listeners of that worker, or of the admin listener; their descriptors are the caller's. Returns how many;
 * -1: logged. */
int sockets_share(const struct sockets *, bool admin, size_t worker, size_t workers, struct worker_listener **)
    __attribute__((warn_unused_result));
bool sockets_have(const struct sockets *, enum socket_kind);

/* Makes the kernel open no new connections on the workers' sockets that are this process's alone. */
void sockets_shut(const struct sockets *);
/* Whether every connection to such sockets that its client takes for open can be accepted already. */
bool sockets_are_quiet(const struct sockets *);
/* Closes the sockets here; workers have descriptors of their own. */
void sockets_close(struct sockets *);
void sockets_free(struct sockets *);

#endif
