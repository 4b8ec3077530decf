/* Owns one request to an origin, from the connection to the end of the object; a fetch is the only writer of its
 * object.
 * Must not know: who reads the object, clients, routing.
 *
 * Phases: CONNECT -> HEAD -> BODY -> REST -> ended; a redirect or a retry goes back to CONNECT. REST is for bytes that
 * wait for the object once the message is complete. Every way out ends the object (done or failed), then the fetch.
 * Invariant: the object is ended exactly once, unless its last reader left before. */
#ifndef UTFEED_PROXY_ORIGIN_FETCH_H
#define UTFEED_PROXY_ORIGIN_FETCH_H

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/http/destination.h"
#include "proxy/http/redirect.h"
#include "proxy/object/object.h"
#include "proxy/object/transform.h"
#include "proxy/origin/backoff.h"
#include "proxy/settings/parent.h"

struct fetch;
struct fetch_timing;
struct fleet;
struct guard;
struct loop;
struct pool;
struct settings;
struct signer;
struct tls_context;

/* What fetches of one worker share. */
struct fetch_pool;

/* The longest wait for one of max_connections. */
enum { FETCH_QUEUE_MS = 30 * 1000 };

struct fetch_limits {
	uint64_t connect_timeout_ms, first_byte_timeout_ms, between_bytes_timeout_ms, total_timeout_ms;
	size_t max_header_bytes, max_header_fields;
	size_t max_connections;        /* to this origin at a time; 0: no limit */
};

enum fetch_choice {
	FETCH_GO_ON,           /* The response fills the object. */
	FETCH_NEEDS_FEED,      /* Likewise, if its body is a feed; else the fetch fails. */
	FETCH_ANSWERED,        /* The object was substituted: the response is not needed any more. */
	FETCH_UNCONDITIONAL,   /* The response does not answer: ask again, without validators. */
	FETCH_NO_MEMORY
};

/* The head of a final response, as the hooks get it. */
struct fetch_answer {
	const struct http_msg *msg;
	struct slice upstream;         /* Its bytes; of a response over HTTP/2, those of the head made of it. */
	bool h2;                       /* It came over HTTP/2. */
	bool conditional;              /* The request carried the validators. */
	bool cookies;                  /* A request carried cookies that a redirect had set: nobody else's answer. */
	const char *url;               /* At which the response was found. */
	bool redirected;               /* Redirects led there. */
	bool foreign;                  /* One led to another origin, or the client chose it (response_head.h). */
	bool astray;                   /* A redirect that leads nowhere, where redirects are followed. */
};

/* A redirect that is followed. The URLs last as long as the fetch. */
struct fetch_hop {
	const char *from, *to;
	const struct http_msg *msg;    /* the response; NULL: it was known where the URL leads, and nobody was asked */
	bool cookies;                  /* the request carried cookies that a redirect had set */
};

/* Calls to the cache, which stands between a fetch and its object. All come on the fetch's own thread; any but head and
 * end may be NULL. */
struct fetch_hooks {
	/* Before the fetch asks anybody. True: it waits for fetch_begin() or fetch_spare(). */
	bool (*waits)(void *arg, struct fetch *);
	/* Whether the response must be a feed, because one is kept. */
	bool (*expects)(void *arg);
	/* Whether it is known where a URL leads, so that it need not be asked: the status of the redirect, with the
	 * URL to which it leads in *to. 0: it is not known. */
	int (*known)(void *arg, const char *url, struct text *to);
	/* A redirect is followed; one that was known, right after known(). -1: out of memory. */
	int (*hop)(void *arg, const struct fetch_hop *);
	/* The final head is there, and the object is WAITING. */
	enum fetch_choice (*head)(void *arg, const struct fetch_answer *, struct object *);
	/* The body in the making may have grown. */
	void (*grew)(void *arg, struct object *);
	/* The fetch failed while the object is WAITING. status: of the response that was refused; 0: none came.
	 * True: the object was substituted. */
	bool (*failed)(void *arg, const struct failure *, int status, struct object *);
	void (*done)(void *arg, struct object *);      /* the object is DONE, and of the length that the origin meant */
	void (*end)(void *arg);                        /* called in any case, and last */
	void *arg;
};

struct fetch_request {
	struct log_id id;              /* of the request that began the fetch */
	struct fetch_timing *timing;   /* a reference, which the fetch takes over; NULL: nothing is measured */
	/* a reference, which the fetch takes over: the pointers below point into the settings */
	struct settings *settings;
	struct tls_context *tls;       /* For https. */
	struct tls_context *hop_tls;   /* For https of other origins that redirects lead to. */
	enum conf_http2 http2, hop_http2;      /* likewise */
	bool accepts_feeds;            /* The client asks for a feed first of all. */
	struct destination to;         /* The fetch takes over its path. */
	const struct guard *guard;     /* For `to`; as in struct dial_target. */
	const struct guard *hop_guard; /* For other origins that redirects lead to. */
	struct parent_rules parents;   /* For `to`. */
	struct parent_rules hop_parents;       /* For other origins that redirects lead to. */
	/* Signs each request, also behind a redirect; NULL: they are not signed. */
	const struct signer *signer;
	bool ranged;                   /* The client's Range goes along: the fetch asks for a part. */
	bool lasting;                  /* It goes on until its head is there though nobody reads: a feed is kept. */
	bool preconditions;            /* The client's own go along: a 304 is for the client. */
	char method[32];
	char *fields;                  /* field lines; the fetch takes them over */
	size_t fields_len;
	/* lines that only the first origin may see (credentials); likewise; may be NULL */
	char *private_fields;
	size_t private_len;
	char *conditional;             /* lines of validators (RFC 9111 section 4.3.1); likewise; may be NULL */
	size_t conditional_len;
	char *gateway;                 /* transform.encoding.gateway; likewise; NULL: URLs stay. */
	char *conditional_url;         /* They go to this URL alone; likewise; NULL: the URL where the fetch begins. */
	struct object *body;           /* The request's body; a reference of its own is taken; NULL: none. */
	int64_t body_length;           /* -1: not known, chunked. */
	/* copied; NULL: none. Where done() is set, the fetch may go on for a while though nobody reads the object. */
	const struct fetch_hooks *hooks;
	struct redirect_rules redirects;
	/* statuses that speak of the connection (408, 421) are tried once more on another one */
	bool elsewhere;
	/* its interval counts for the URL where the fetch begins, and not for those that redirects lead to */
	struct backoff_terms terms;
	bool credentials;              /* the client's own go along: a refusal is meant for that client */
	bool jar;                      /* cookies that redirects set go along with the requests that follow */
	struct transform_options transform;
	struct fetch_limits limits;
};

/* fleet NULL: there is none. */
struct fetch_pool *fetch_pool_new(struct loop *, struct pool *, struct backoff *, struct fleet *);
struct pool *fetch_pool_connections(struct fetch_pool *);
/* Ends every fetch. */
void fetch_pool_free(struct fetch_pool **);
/* Frees what is kept for fetches to come. */
void fetch_pool_rest(struct fetch_pool *);

/* Frees the strings of a request that no fetch took. */
void fetch_request_free(struct fetch_request *);

/* Starts a fetch that fills o, which is WAITING, and always ends o. -1: out of memory; o is unchanged, and the
 * request's strings are still the caller's. */
int fetch_start(struct fetch_pool *, const struct fetch_request *, struct object *o)
    __attribute__((warn_unused_result));
/* Of a fetch that waits: it goes on. */
void fetch_begin(struct fetch *);
/* It ends, since the cache has the response meanwhile: who reads the object looks there again. */
void fetch_spare(struct fetch *);
/* It ends, since the hooks have substituted the object. */
void fetch_answered(struct fetch *);

#endif
