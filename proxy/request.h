/* Owns turning a client's request into a response object: which origin it is for, under what settings, or which answer of our own.
 * Must not know: connections, how responses are written.
 * Invariant: nothing of a client's request reaches an origin but what headers.def lets through, written anew. */
#ifndef UTFEED_PROXY_REQUEST_H
#define UTFEED_PROXY_REQUEST_H

#include "answer.h"
#include "http_msg.h"
#include "object.h"
#include "parent.h"

struct cache;
struct conf;
struct conf_route;
struct fetch_pool;
struct guard;
struct loop;
struct polite;
struct requester;
struct resolver;
struct settings;
struct tls_set;

/* conf, tls and the guards are those of settings. */
struct request_context {
	struct loop *loop;
	const struct conf *conf;
	struct fetch_pool *fetches;
	struct polite *polite;
	struct cache *cache;           /* shared by all workers */
	struct tls_set *tls;
	const struct guard *guard;         /* for destinations that clients choose */
	const struct guard *tunnel_guard;  /* the same, for those of CONNECT */
	struct resolver *resolver;         /* for tunnels */
	struct settings *settings;         /* a reference; NULL: none yet */
	bool secure;                       /* the client came over TLS: its https is 443 where it names no port */
};

/* From now on under these, of which a reference is taken; NULL: under none. */
void request_context_set(struct request_context *, struct settings *);

/* The parent proxies of a route; of conf->direct: of whatever clients name. Borrowed from conf. */
struct parent_rules request_parents(const struct conf *, const struct conf_route *);

/* What fetching the target for this request means, ranged: for the part it asks for; r's strings are the caller's (fetch_request_free()) until a fetch takes them.
 * -1: out of memory. */
int request_spec(const struct request_context *, const struct http_msg *, const struct target *, enum policy, struct object *body,
    bool ranged, struct fetch_request *r);

/* Whether a body may come with it: GET and HEAD have none here. */
bool request_takes_body(const struct http_msg *);

/* Starts a (answer_clear()): afterwards it has its object, or waits for it, or neither: out of memory. The message must live
 * as long. body: filled by the caller as it arrives, NULL: there is none; where nobody reads it, the answer says why. */
void request_start(const struct request_context *, struct answer *, const struct http_msg *, const struct requester *, struct object *body);

/* Where a CONNECT wants to go: host and port of to. -1: nowhere; *refusal is what the client gets instead, NULL: out of memory. */
int request_tunnel(const struct request_context *, const struct http_msg *, struct destination *to, struct object **refusal);

/* An answer of our own to a head that could not be parsed or read in time. NULL: out of memory. */
struct object *request_refuse(const struct request_context *, int status, const char *text);
/* What a client gets whose request ended before it began. NULL: out of memory. */
struct object *request_fail(const struct request_context *, const struct proxy_failure *);
/* What a client gets whose object failed before it had a head. */
struct object *request_failure(const struct request_context *, const struct object *failed);

#endif
