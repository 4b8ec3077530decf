/* Owns getting a connection to an origin, or to the parent proxy before it: name lookup, addresses of both families in
 * the order of RFC 8305, the guard's check of each address, the tunnel through the parent, TLS.
 * Must not know: requests, responses. Every failure is told by one callback. */
#ifndef UTFEED_PROXY_ORIGIN_ORIGIN_H
#define UTFEED_PROXY_ORIGIN_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/base/failure.h"
#include "proxy/base/log.h"

struct conf_parent;
struct conn;
struct fetch_record;
struct guard;
struct loop;
struct origin;
struct resolver;
struct tls_context;

struct origin_target {
	const char *host;              /* without brackets */
	uint16_t port;
	struct tls_context *tls;       /* NULL: plain */
	const struct guard *guard;     /* NULL: the operator chose the host, so any address will do */
	/* NULL: none. The operator chose the parent, so the guard checks host alone, not the parent's address */
	const struct conf_parent *parent;
	bool tunnel;                   /* CONNECT is used with a parent even without TLS */
	unsigned generation;           /* of the settings that these pointers point into */
	struct log_id id;              /* of the request that needs the connection */
	struct fetch_record *record;   /* likewise; it outlives the handle; NULL: nothing is measured */
	uint64_t connect_timeout_ms;   /* for lookup, all addresses, tunnel and TLS together */
};

/* conn: becomes the receiver's, who calls conn_set_owner() at once; NULL: it failed, and failure says why. The handle
 * is no longer valid. */
typedef void origin_ready_f(void *arg, struct conn *conn, const struct failure *);

/* Begins to connect. ready() is called from the loop, never from within this call. NULL: out of memory. */
struct origin *origin_open(struct loop *, struct resolver *, const struct origin_target *, origin_ready_f *ready,
    void *arg);
void origin_cancel(struct origin **);

#endif
