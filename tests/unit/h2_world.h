/* Owns a session of HTTP/2 at one end of a socket pair, for unit tests and fuzz targets. They say what the owner of its streams does, and
 * what comes from the far end. Must not know: either of them. Invariant: no step waits for a time to pass. */
#ifndef UTFEED_TESTS_H2_WORLD_H
#define UTFEED_TESTS_H2_WORLD_H

#include "proxy/net/h2_internal.h"

extern struct h2_world {
	struct loop *loop;             /* stays when the rest is closed; NULL: h2_world_open() makes one */
	struct conn *conn;
	struct h2 *h2;                 /* NULL: it has ended */
	int far;                       /* the far end: reads and writes of it do not wait */
	unsigned idles, endings, rooms;        /* how often the session's owner was told so */
	struct task stop;
} world;

/* Opens all but the streams, each of which opened() takes over. NULL: it is a client's session. False: something failed. */
bool h2_world_open(const struct h2_settings *, void (*opened)(void *arg, struct conn *));
/* What is ready now, and no more. False: the loop failed. */
bool h2_world_turn(void);
/* A head, a body of H2_WORLD_BODY bytes at most, and a foot: the pieces that follow the first `at` bytes, up to max bytes. Returns how many
 * pieces these are. */
enum { H2_WORLD_BODY = 200000 };
int h2_world_pieces(struct slice head, size_t body, const char *foot, size_t at, size_t max, struct iovec iov[3]);
/* Closes all but the loop. */
void h2_world_close(void);

#endif
