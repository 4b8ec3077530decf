/* Owns a tunnel, which joins two connections: it passes bytes both ways as they come, with back-pressure, passes on the
 * end of each side, and measures idle time.
 * Must not know: HTTP, who may have a tunnel.
 * Invariant: a side sees an orderly end only where the other side ended so and all its bytes were sent on; anything
 * else that ends the tunnel is a reset. A side is read only when everything it sent before is sent on: at most
 * TUNNEL_READ_BYTES are held for each direction, and an idle tunnel holds none. */
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
	struct conn *client;           /* borrowed; the tunnel gets its events until tunnel_free() */
	struct conn *origin;           /* taken over in any case. */
	struct slice head;             /* Bytes that the client gets first; not counted */
	struct slice early;            /* bytes that the client has sent already. */
	bool client_ended;             /* The client sends no more than early */
	uint64_t idle_timeout_ms;      /* without a byte either way */
	void (*end)(void *arg, enum tunnel_end);       /* called once, from the loop; then call tunnel_free() */
	void *arg;
};

/* NULL: out of memory. */
struct tunnel *tunnel_new(struct loop *, const struct tunnel_settings *);
/* Resets the origin's connection unless the tunnel ended as TUNNEL_DONE, and leaves the client's to its owner. Sets the
 * pointer to NULL. */
void tunnel_free(struct tunnel **);
/* Bytes that came from that side. */
uint64_t tunnel_bytes(const struct tunnel *, enum tunnel_side);

#endif
