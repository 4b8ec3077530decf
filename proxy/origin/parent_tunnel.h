/* Owns asking a parent proxy for a tunnel: CONNECT of HTTP, and the head of its answer (RFC 9110 section 9.3.6); or
 * CONNECT of SOCKS5.
 * Must not know: TLS, what the tunnel is for. The caller keeps the time.
 * Invariant: when a tunnel is open, nothing was read beyond the parent's answer. */
#ifndef UTFEED_PROXY_ORIGIN_PARENT_TUNNEL_H
#define UTFEED_PROXY_ORIGIN_PARENT_TUNNEL_H

#include <stdint.h>

#include "proxy/base/failure.h"

struct conf_parent;
struct conn;
struct parent_tunnel;

/* failure NULL: the connection leads to the destination from now on. The receiver frees the handle, within the call or
 * later. */
typedef void parent_tunnel_f(void *arg, const struct failure *failure);

/* conn is connected to the parent; it stays the caller's, who sets another owner afterwards. host: without brackets;
 * borrowed.
 * done() is called from the loop, never from within this call. NULL: out of memory. */
struct parent_tunnel *parent_tunnel_open(struct conn *, const struct conf_parent *, const char *host, uint16_t port,
    parent_tunnel_f *done, void *arg);
void parent_tunnel_free(struct parent_tunnel **);

#endif
