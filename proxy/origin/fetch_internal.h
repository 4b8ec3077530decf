/* Owns what the parts of a fetch share: fetch.c has its life (connection, request, timers, ends), fetch_head.c the
 * response's head, fetch_body.c its body.
 * Must not know: who else runs fetches. Invariant: after a function that says the fetch has ended nothing of it is
 * touched. */
#ifndef UTFEED_PROXY_ORIGIN_FETCH_INTERNAL_H
#define UTFEED_PROXY_ORIGIN_FETCH_INTERNAL_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "proxy/http/http_parse.h"
#include "proxy/net/conn.h"
#include "proxy/net/loop.h"
#include "proxy/object/sender.h"
#include "proxy/origin/fetch.h"
#include "proxy/origin/pool.h"

enum fetch_phase { FETCH_CONNECT, FETCH_HEAD, FETCH_BODY, FETCH_ENDED };

struct fetch {
	LIST_ENTRY(fetch) link;
	struct fetch_pool *pool;
	enum fetch_phase phase;
	bool blocked;                  /* the socket took no more of the request */
	/* the object is full, or others have their turn: reading stopped, held not empty or the decoder has output */
	bool paused;
	bool complete;                 /* the message ended; what is held still has to go through */
	bool sent;                     /* the request is out, all of it */
	bool reusable;                 /* complete, and the connection is between messages */
	bool over_long;                /* bytes came behind the response's end */
	bool reused;                   /* the connection was idle before: it may have been dead */
	bool retried;
	bool private_gone;             /* a redirect led to another origin */
	bool conditional;              /* the request that is out has the validators */
	bool unconditional;            /* it goes out once more without them */
	bool alone;                    /* nobody reads: it goes on for the store, until alone_timer says so */
	/* noted for the task: what is held may go on; the last reader left; request body came */
	atomic_bool room, left, more;
	struct object *object;
	struct object_writer writer;
	struct object_reader body;     /* of the request's body; its object NULL: none */
	struct lease *lease;
	struct conn *conn;
	struct http_parser *parser;
	struct http_msg msg;
	struct transform *stage;
	struct fetch_request request;
	struct fetch_hooks hooks;
	struct redirect_trail trail;
	char *url;                     /* where it goes now */
	const struct conf_parent *parent;      /* through which; NULL: directly */
	char *request_head;
	struct sender sender;
	int interims;                  /* 1xx responses so far */
	char *head;                    /* the response head as read */
	size_t head_len;
	struct slice behind;           /* what came with it */
	uint8_t *held;                 /* body bytes that found no room */
	size_t held_len, held_at;
	uint64_t received;             /* bytes of the response's body, as they come */
	struct timer timer, total, alone_timer;
	struct task task;
	struct failure failure;
};

struct fetch_pool {
	struct loop *loop;
	struct pool *connections;
	struct backoff *backoff;
	LIST_HEAD(, fetch) fetches;
	size_t n_alone;                /* of these, those that go on though nobody reads */
};

/* fetch.c */
struct loop *fetch_loop(struct fetch *);
/* The one way out: no more events, the memory goes at the end of the turn. */
void fetch_enter(struct fetch *, enum fetch_phase);             /* the one way from phase to phase */
void fetch_end(struct fetch *);
void fetch_fail(struct fetch *);               /* as f->failure says */
#define fetch_fail_as(f, ...) (failure_set(&(f)->failure, __VA_ARGS__), fetch_fail(f))
/* The connection failed: as TLS explains it, else as error. */
void fetch_fail_lost(struct fetch *, enum failure_kind);
void fetch_no_memory(struct fetch *);
void fetch_protocol_error(struct fetch *);     /* what came is no response: as the parser says */
/* Towards request.to, from the start. Failing ends the fetch in a turn of its own. */
void fetch_connect(struct fetch *);
void fetch_start_parser(struct fetch *);       /* for the next response head */
/* The request goes out once more where that is allowed; false: it is not. */
bool fetch_retry(struct fetch *);
/* The parent reads the request, not the origin: absolute-form (RFC 9112 section 3.2.2), and what it says of itself is
 * ours to hear. */
bool fetch_asks_parent(const struct fetch *);
void fetch_listen(struct fetch *);             /* wants the events and arms the timer that the phase calls for */
void fetch_on_abandoned(struct object_writer *);

/* Nobody waits, and nobody will: it ends. */
void fetch_abandon(struct fetch *);

/* fetch_alone.c: fetches that nobody waits for */
/* The last reader left, or the body grew since. False: the fetch is not worth going on with. */
bool fetch_goes_on_alone(struct fetch *);
/* Somebody reads again, or the fetch ends. */
void fetch_leave_alone(struct fetch *);
void fetch_on_alone_timeout(struct timer *);

/* fetch_head.c. -1: the fetch has ended, or goes elsewhere. */
int fetch_read_head(struct fetch *) __attribute__((warn_unused_result));

/* fetch_body.c. -1: the fetch has ended. */
int fetch_read_body(struct fetch *) __attribute__((warn_unused_result));
int fetch_parse_body(struct fetch *, const char *data, size_t len) __attribute__((warn_unused_result));
int fetch_on_body(void *arg, const char *at, size_t len);      /* what the parser calls */
void fetch_go_on(struct fetch *);                              /* the object has room again */
/* The body of this response is not wanted; true: there is none, or it is here already, and the connection stays
 * good. */
bool fetch_skip_body(struct fetch *);

#endif
