/* Owns getting a connection to an origin, or to the parent proxy before it. Its steps are name lookup, addresses of
 * both families in the order of RFC 8305, the guard's check of each, the tunnel through the parent, and TLS.
 * Must not know: requests, responses. One callback tells of success and of every failure. */
#ifndef UTFEED_PROXY_ORIGIN_DIAL_H
#define UTFEED_PROXY_ORIGIN_DIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/base/failure.h"
#include "proxy/base/log.h"

struct conf_parent;
struct conn;
struct fetch_timing;
struct guard;
struct loop;
struct dial;
struct resolver;
struct tls_context;

struct dial_target {
	const char *host;              /* without brackets */
	uint16_t port;
	struct tls_context *tls;       /* NULL: plain */
	const struct guard *guard;     /* NULL: the operator chose the host, so any address will do */
	/* NULL: none. The operator chose the parent, so the guard checks host alone, not the parent's address */
	const struct conf_parent *parent;
	bool tunnel;                   /* CONNECT is used with a parent even without TLS. */
	bool h2;                       /* With tls: HTTP/2 is offered; conn_protocol() tells what the origin chose. */
	unsigned generation;           /* Of the settings that these pointers point into. */
	struct log_id id;              /* Of the request that needs the connection. */
	struct fetch_timing *timing;   /* Likewise; it outlives the handle; NULL: nothing is measured. */
	uint64_t connect_timeout_ms;   /* For lookup, all addresses, tunnel and TLS together. */
};

/* conn: becomes the receiver's, who calls conn_set_owner() at once; NULL: it failed, and failure says why. The handle
 * is no longer valid. */
typedef void dial_ready_f(void *arg, struct conn *conn, const struct failure *);

/* Begins to connect. ready() is called from the loop, never from within this call. NULL: out of memory. */
struct dial *dial_start(struct loop *, struct resolver *, const struct dial_target *, dial_ready_f *ready,
    void *arg);
void dial_cancel(struct dial **);

#endif
