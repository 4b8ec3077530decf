/* Owns listening sockets: binding, accepting in batches, pausing when descriptors run out.
 * Must not know: what becomes of a connection. */
#ifndef UTFEED_PROXY_NET_LISTENER_H
#define UTFEED_PROXY_NET_LISTENER_H

#include <stdbool.h>
#include <sys/socket.h>

struct listener;
struct loop;

/* Takes over fd, a connected non-blocking descriptor without Nagle's delay (inherited from the listening socket). */
typedef void listener_accept_f(void *arg, int fd, const struct sockaddr *peer, socklen_t len);

/* Returns a bound, listening, non-blocking descriptor; -1: errno says why. shared: with SO_REUSEPORT, so that each
 * worker can have one of its own. */
int listener_bind(const struct sockaddr *, socklen_t, bool shared) __attribute__((warn_unused_result));
/* Gives a listening socket that another process made what listener_bind() gives its own; of a Unix socket's options
 * what it has of them. */
void listener_adopt(int fd);
/* Owns fd. NULL: out of memory (fd closed). */
struct listener *listener_new(struct loop *, int fd, listener_accept_f *, void *arg);
void listener_free(struct listener **);
void listener_set_accepting(struct listener *, bool);
/* Accepts the connections that the kernel holds already, then calls emptied(), which may free the listener. */
void listener_finish(struct listener *, void (*emptied)(void *arg, struct listener *));

#endif
