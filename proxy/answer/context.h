/* Owns the shape of what a request is carried out with: the means of one worker, and the settings that were in force
 * when the request began.
 * Must not know: what is done with them. Invariant: conf, tls and the guards belong to settings. */
#ifndef UTFEED_PROXY_ANSWER_CONTEXT_H
#define UTFEED_PROXY_ANSWER_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "proxy/base/log.h"

struct cache;
struct conf;
struct feeds_seen;
struct fleet;
struct fetch_pool;
struct fetch_timing;
struct trace;
struct guard;
struct loop;
struct backoff;
struct resolver;
struct settings;
struct sweeper;
struct tls_set;

/* Every pointer but settings is borrowed. */
struct request_context {
	size_t worker;                     /* its number */
	struct loop *loop;
	const struct conf *conf;
	struct fetch_pool *fetches;
	struct backoff *backoff;
	struct cache *cache;           /* shared by all workers */
	struct fleet *fleet;           /* likewise; NULL: this process is alone */
	struct sweeper *sweeper;       /* this worker's */
	struct feeds_seen *feeds;      /* shared by all workers; NULL: nobody looks at the list */
	struct tls_set *tls;
	const struct guard *guard;         /* for destinations that clients choose */
	const struct guard *tunnel_guard;  /* for destinations of CONNECT */
	struct resolver *resolver;         /* for tunnels */
	struct settings *settings;         /* one reference; NULL: none yet */
	struct log_id id;                  /* of the request */
	/* where the timing of the request's fetch is kept; NULL: nothing is measured */
	struct fetch_timing **timing;
	struct trace *trace;               /* of the request */
	bool secure;                       /* the client came over TLS: a Host without a port means 443 */
};

/* Puts these settings in force for the context and takes a reference to them; NULL: none are in force. */
void request_context_set(struct request_context *, struct settings *);

#endif
