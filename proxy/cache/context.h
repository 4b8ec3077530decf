/* Owns the shape of what a request is carried out with: one worker's means and the settings in force when it began.
 * Must not know: what is done with them. Invariant: conf, tls and the guards are those of settings. */
#ifndef UTFEED_PROXY_CACHE_CONTEXT_H
#define UTFEED_PROXY_CACHE_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "proxy/base/log.h"

struct cache;
struct conf;
struct fetch_pool;
struct guard;
struct loop;
struct backoff;
struct resolver;
struct settings;
struct tls_set;

/* All borrowed but settings. */
struct request_context {
	size_t worker;                     /* its number */
	struct loop *loop;
	const struct conf *conf;
	struct fetch_pool *fetches;
	struct backoff *backoff;
	struct cache *cache;           /* shared by all workers */
	struct tls_set *tls;
	const struct guard *guard;         /* for destinations that clients choose */
	const struct guard *tunnel_guard;  /* the same, for those of CONNECT */
	struct resolver *resolver;         /* for tunnels */
	struct settings *settings;         /* a reference; NULL: none yet */
	struct log_id id;                  /* of the request */
	bool secure;                       /* the client came over TLS: its https is 443 where it names no port */
};

/* From now on under these, of which a reference is taken; NULL: under none. */
void request_context_set(struct request_context *, struct settings *);

#endif
