/* Owns two connections that have become one: bytes both ways as they come, back-pressure, each side's end passed on,
 * idle time.
 * Must not know: HTTP, who may have a tunnel.
 * Invariant: a side sees an orderly end only where the other one ended so and all its bytes went out; whatever else
 * ends the tunnel is a reset. A side is read only when all that it sent before is out: at most TUNNEL_READ_BYTES a way
 * are held, and none while nothing moves. */
#ifndef UTFEED_PROXY_NET_TUNNEL_H
#define UTFEED_PROXY_NET_TUNNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/base/slice.h"

struct conn;
struct loop;
struct tunnel;

enum { TUNNEL_READ_BYTES = 32 * 1024 };

enum tunnel_side { TUNNEL_CLIENT, TUNNEL_ORIGIN, TUNNEL_SIDES };
enum tunnel_end { TUNNEL_DONE, TUNNEL_LOST_CLIENT, TUNNEL_LOST_ORIGIN, TUNNEL_IDLE };

struct tunnel_settings {
	struct conn *client;           /* borrowed; its events are the tunnel's until tunnel_free() */
	struct conn *origin;           /* taken over in any case */
	struct slice head;             /* what the client gets first; not counted */
	struct slice early;            /* what the client sent already */
	bool client_ended;             /* ... and no more will come */
	uint64_t idle_timeout_ms;      /* without a byte either way */
	void (*end)(void *arg, enum tunnel_end);       /* from the loop, once; then tunnel_free() */
	void *arg;
};

/* NULL: out of memory. */
struct tunnel *tunnel_new(struct loop *, const struct tunnel_settings *);
/* Resets the origin's connection unless the tunnel ended as TUNNEL_DONE; the client's is left to its owner. Nulls. */
void tunnel_free(struct tunnel **);
/* Bytes that came from that side. */
uint64_t tunnel_bytes(const struct tunnel *, enum tunnel_side);

#endif
