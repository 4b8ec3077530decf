/* Owns getting a connection to an origin, or to the parent proxy before it: name lookup, its addresses of both families
 * as RFC 8305 has it, each past the guard, the tunnel through the parent, TLS.
 * Must not know: requests, responses. Every way to fail is told by one callback. */
#ifndef UTFEED_PROXY_ORIGIN_ORIGIN_H
#define UTFEED_PROXY_ORIGIN_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/base/failure.h"
#include "proxy/base/log.h"

struct conf_parent;
struct conn;
struct guard;
struct loop;
struct origin;
struct resolver;
struct tls_context;

struct origin_target {
	const char *host;              /* without brackets */
	uint16_t port;
	struct tls_context *tls;       /* NULL: plain */
	const struct guard *guard;     /* NULL: where the operator points, anything goes */
	/* NULL: none. The parent's own address is the operator's: the guard sees host alone */
	const struct conf_parent *parent;
	bool tunnel;                   /* through a parent by CONNECT also where it is plain */
	unsigned generation;           /* of the settings these pointers point into */
	struct log_id id;              /* for whom */
	uint64_t connect_timeout_ms;   /* for lookup, all addresses, tunnel and TLS together */
};

/* conn: the receiver's (conn_set_owner() at once); NULL: failed, and why. The handle is gone. */
typedef void origin_ready_f(void *arg, struct conn *conn, const struct failure *);

/* ready comes from the loop, never from within. NULL: out of memory. */
struct origin *origin_open(struct loop *, struct resolver *, const struct origin_target *, origin_ready_f *ready,
    void *arg);
void origin_cancel(struct origin **);

#endif
