/* Owns the files of listening Unix sockets: making one where none lives, and removing it at the end.
 * Must not know: who accepts.
 * Invariant: a file is removed only if it is the one made here, or if it is a socket that nobody listens on. Two
 * processes never make the same file at once: each holds a lock on the folder while it does. Source: unix(7). */
#ifndef UTFEED_PROXY_NET_UNIX_SOCKET_H
#define UTFEED_PROXY_NET_UNIX_SOCKET_H

#include <sys/socket.h>
#include <sys/stat.h>

/* The file of a socket, by which it is known again. */
struct unix_socket {
	char path[108];                /* unix(7); "": none, or not ours to remove */
	dev_t device;
	ino_t inode;
};

/* The address of a path of at most 107 bytes; returns its length. */
socklen_t unix_socket_address(struct sockaddr_storage *, const char *path);
/* Returns a bound, listening, non-blocking descriptor of that type (SOCK_STREAM, SOCK_SEQPACKET) whose file has that
 * mode. -1: errno says why. EADDRINUSE: somebody listens there; ENOTSOCK: the file is not a socket. */
int unix_socket_bind(struct unix_socket *, int type, const char *path, mode_t mode) __attribute__((warn_unused_result));
/* The file of a socket that another process made there; none if there is no such file. */
void unix_socket_know(struct unix_socket *, const char *path);
/* What would keep unix_socket_bind() from making the file, as an errno: ENOENT, ENOTDIR or EACCES of the folder,
 * ENOTSOCK. 0: nothing, or only somebody who listens there now. */
int unix_socket_fault(const char *path);
/* Removes the file, unless somebody else has put another there since. Called before the socket is closed: until then
 * no other file has its inode. May be called again. */
void unix_socket_remove(struct unix_socket *);

#endif
