/* Owns what both sides of a takeover share: who may be at the other end. Must not know: messages. */
#ifndef UTFEED_PROXY_SERVER_TAKEOVER_INTERNAL_H
#define UTFEED_PROXY_SERVER_TAKEOVER_INTERNAL_H

#include <stdbool.h>

struct ucred;

/* Fills in who was at the other end when the connection was made, or when its listening socket was. Whether that is a
 * process of this one's user, or of root. */
bool takeover_peer(int fd, struct ucred *);
/* A socket to the process that listens there, which waits so long at most for it to take and give a message. -1: errno
 * says why. */
int takeover_connect(const char *path, int answer_s) __attribute__((warn_unused_result));

#endif
