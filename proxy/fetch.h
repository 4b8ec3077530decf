/* Owns one request to an origin, from connection to the object's end: the only writer of its object.
 * Must not know: who reads the object, clients, routing.
 *
 * Phases: CONNECT -> HEAD -> BODY -> ended. Every way out ends the object (done or failed) and then the fetch.
 * Invariant: the object is ended exactly once, unless its last reader left before. */
#ifndef UTFEED_PROXY_FETCH_H
#define UTFEED_PROXY_FETCH_H

#include "object.h"
#include "stage_normalise.h"

struct loop;
struct resolver;

/* What fetches of one worker share. */
struct fetch_pool;

struct fetch_limits {
	uint64_t connect_timeout_ms, first_byte_timeout_ms, between_bytes_timeout_ms;
	size_t max_header_bytes, max_header_fields;
};

struct fetch_request {
	const char *host;              /* where to connect; copied */
	uint16_t port;
	bool tls;
	char *head;                    /* the request head to send; the fetch's from then on */
	size_t head_len;
	const char *url;               /* for logs, escaped; copied */
	struct stage_options stage;
	struct fetch_limits limits;
};

struct fetch_pool *fetch_pool_new(struct loop *, struct resolver *);
/* Ends every fetch. */
void fetch_pool_free(struct fetch_pool **);

/* Starts filling o (WAITING), and ends it in the end. -1: out of memory; o is as it was and head is still the caller's. */
int fetch_start(struct fetch_pool *, const struct fetch_request *, struct object *o);

#endif
