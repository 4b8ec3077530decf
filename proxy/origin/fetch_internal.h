/* Owns what the files of a fetch share. fetch.c has its life (states, timers, ends), fetch_pool.c its memory,
 * fetch_request.c the request, fetch_protocol.c the choice between HTTP/2 and HTTP/1.1. Of the response fetch_head.c
 * has the head, fetch_body.c the body; fetch_alone.c has fetches without readers, fetch_redirect.c redirects,
 * fetch_pause.c pauses, fetch_pace.c the fleet's intervals.
 * Must not know: who else runs fetches. Invariant: once a function says that the fetch has ended, nothing of the fetch
 * is touched. */
#ifndef UTFEED_PROXY_ORIGIN_FETCH_INTERNAL_H
#define UTFEED_PROXY_ORIGIN_FETCH_INTERNAL_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "core/memory/spares.h"
#include "proxy/http/cookie_jar.h"
#include "proxy/http/http_parse.h"
#include "proxy/net/conn.h"
#include "proxy/net/loop.h"
#include "proxy/object/sender.h"
#include "proxy/origin/fetch.h"
#include "proxy/origin/pool.h"

enum fetch_phase {
	FETCH_CONNECT, FETCH_HEAD, FETCH_BODY,
	FETCH_REST,            /* the message has ended; pending bytes still go through the transform */
	FETCH_ENDED
};

enum fetch_sending {
	SENDING_OPEN,          /* there is more of the request, now or when the client has sent it */
	SENDING_BLOCKED,       /* the socket took no more of it */
	SENDING_DONE
};

/* Whether the body comes in, or what the pending bytes and the transform's output wait for. */
enum fetch_flow { FLOW_READS, FLOW_WAITS_FOR_ROOM, FLOW_WAITS_FOR_TURN };

/* What sends a request out again, once each. */
enum fetch_again {
	AGAIN_DEAD = 1,                /* the connection that was idle is dead */
	AGAIN_ELSEWHERE = 2,           /* status 408 or 421 */
	AGAIN_UNCONDITIONALLY = 4,     /* the response to a request with validators does not answer */
	AGAIN_BY_HTTP_1 = 8,           /* the origin wants it by HTTP/1.1 */
	AGAIN_UNDONE = 16, AGAIN_UNDONE_TWICE = 32     /* HTTP/2 left it undone; twice */
};

/* Others note for the fetch's task: the object has room; the last reader left; the request's body has grown; the answer
 * that is held counts. */
enum fetch_note { NOTE_ROOM = 1, NOTE_LEFT = 2, NOTE_MORE = 4, NOTE_HELD = 8 };

struct fetch_held;
struct fetch_pace;

/* Before `parser` all is cleared when a fetch begins; from there on memory stays with the fetch while it is a spare
 * (fetch_pool), and what is in it is set before it is read. */
struct fetch {
	LIST_ENTRY(fetch) link;        /* of its pool's fetches, or of its spares */
	struct fetch_pool *pool;
	enum fetch_phase phase;
	enum fetch_sending sending;
	enum fetch_flow flow;
	unsigned tried;                /* Of enum fetch_again. */
	atomic_uint notes;             /* Of enum fetch_note. */
	bool reused;                   /* The connection was idle before, so it may be dead. */
	bool judged;                   /* Backoff knows what came of it. */
	bool cookies;                  /* This request or one before it carries cookies of the jar. */
	/* Nobody reads, and the fetch goes on for the store: the count of its pool that it stands in; NULL: it does
	 * not. */
	size_t *alone;
	uint64_t begun_ms;             /* when the request was made that a redirect answered first; 0: none was */
	struct object *object;
	struct object_writer writer;
	struct object_reader body;     /* of the request's body; its object NULL: none */
	struct lease *lease;
	struct conn *conn;
	struct fetch_held *held;     /* An answer that is held while the other protocol is asked; NULL: none. */
	struct fetch_pace *pace;       /* It waits for its turn in the fleet; NULL: it does not. */
	struct transform *transform;
	struct fetch_hooks hooks;
	struct cookie_jar *jar;        /* What the redirects have set; NULL: nothing. */
	const struct conf_parent *parent;      /* The parent proxy that the request goes through; NULL: none. */
	int interims;                  /* 1xx responses so far. */
	struct slice behind;           /* Bytes that were read with the head and follow it. */
	struct slice piece;            /* Of the body: parsed, and not passed on; valid within fetch_parse_body(). */
	uint8_t *pending;              /* Body bytes that the transform has not taken. */
	size_t pending_len, pending_at;
	uint64_t received;             /* bytes of the response's body, as received */
	struct timer timer, total, alone_timer;
	struct task task;
	struct failure failure;
	struct http_parser *parser;
	struct http_msg msg;
	struct text url;               /* of the current request, with a NUL behind it that counts */
	struct text request_head;
	struct text head;              /* the response head as read */
	struct redirect_trail trail;
	struct fetch_request request;
	struct backoff_request asked;  /* the current request */
	struct sender sender;
};

struct fetch_pool {
	struct loop *loop;
	struct pool *connections;
	struct backoff *backoff;
	struct fleet *fleet;           /* NULL: there is none */
	LIST_HEAD(, fetch) fetches, spares;
	size_t n_spares;
	struct spares memory;          /* of transforms */
	/* how many of the fetches go on though nobody reads: with their bodies, and before their heads are there */
	size_t n_alone, n_waiting;
};

/* fetch_pool.c */
struct loop *fetch_loop(struct fetch *);
/* A fetch of the pool, or a spare one; NULL: out of memory. */
struct fetch *fetch_new(struct fetch_pool *, size_t max_fields);
void fetch_free(struct fetch *);
/* Called before the reference to the object is dropped: the hooks may still have to take the object out of those in
 * flight. */
void fetch_end_hooks(struct fetch *);

/* fetch.c */
/* Each is the one way from state to state. fetch_end() is the one way out: no more events come, and the memory is freed
 * at the end of the turn. */
void fetch_enter(struct fetch *, enum fetch_phase);
void fetch_set_sending(struct fetch *, enum fetch_sending);
void fetch_set_flow(struct fetch *, enum fetch_flow);
void fetch_end(struct fetch *);
void fetch_fail(struct fetch *);               /* f->failure says why */
#define fetch_fail_as(f, ...) (failure_set(&(f)->failure, __VA_ARGS__), fetch_fail(f))
/* The connection failed: fails as TLS explains it, else with error. */
void fetch_fail_lost(struct fetch *, enum failure_kind);
void fetch_no_memory(struct fetch *);
void fetch_protocol_error(struct fetch *);     /* the parser says why */
void fetch_listen(struct fetch *);             /* wants the events and arms the timer that the phase calls for */
void fetch_on_abandoned(struct object_writer *);
/* Notes for the task what it is to do in a later turn of the loop; by the fetch's own thread. */
void fetch_defer(struct fetch *, enum fetch_note);
/* Ends a fetch whose response nobody waits for. */
void fetch_abandon(struct fetch *);
enum { FETCH_LOG_URL_MAX = 512 };
void fetch_show_url(const struct fetch *, char url[FETCH_LOG_URL_MAX]);        /* the current one, for logs */

/* fetch_request.c */
void fetch_make_url(struct fetch *);           /* of request.to */
/* Begins the request to request.to, or to where that is known to lead. If that fails, the fetch ends in a later turn of
 * the loop. */
void fetch_connect(struct fetch *);
void fetch_ask(struct fetch *);                /* the same, to request.to itself */
void fetch_lease(struct fetch *);              /* gets the connection for it */
void fetch_own_conn(struct fetch *);           /* its events are the fetch's */
void fetch_tell_connection(const struct fetch *);      /* the access log shows it */
/* Sends the request, as far as the socket takes it. False: the fetch has ended. */
bool fetch_send(struct fetch *) __attribute__((warn_unused_result));
void fetch_start_parser(struct fetch *);       /* for the next response head */

/* Sends the request once more if its connection was there before and is lost, if nothing was done about it, or if the
 * origin wants it over HTTP/1.1. False: it may not, or has done so. */
bool fetch_asks_again(struct fetch *);
/* Likewise, after a status that speaks of the connection alone (RFC 9110 sections 15.5.9 and 15.5.20). */
bool fetch_asks_elsewhere(struct fetch *);
/* Whether the current request carries the validators. */
bool fetch_is_conditional(const struct fetch *);
/* Whether the request is for the parent proxy to read, not for the origin: it is in absolute-form then (RFC 9112
 * section 3.2.2), and what the parent says of itself is meant for utfeed. */
bool fetch_asks_parent(const struct fetch *);

/* fetch_protocol.c */
bool fetch_wants_h2(struct fetch *);           /* Whether the request goes over HTTP/2, if the origin speaks it. */
void fetch_learn_required(struct fetch *);     /* The origin requires HTTP/1.1. */
/* Whether the request is one over HTTP/2 that goes over HTTP/1.1 if it fails. */
bool fetch_may_fall_back(const struct fetch *);
void fetch_learn_failed(struct fetch *);       /* It has failed so. */
/* Over TLS: holds the answer in f->msg and asks over the other protocol. If that is done already, goes back to the held
 * answer. False: the answer in f->msg counts. */
bool fetch_asks_twice(struct fetch *) __attribute__((warn_unused_result));
/* Of a fetch that holds an answer: whether the connection speaks the protocol that gave it. */
bool fetch_is_same_protocol(const struct fetch *);
/* The request failed: whether the fetch goes back to an answer that is held. */
bool fetch_has_held(struct fetch *);
void fetch_take_held(struct fetch *);         /* Goes on with it. */
void fetch_drop_held(struct fetch *);         /* It does not count. */

/* fetch_pause.c: what a fetch asks and tells backoff */
/* Whether the response in f->msg is meant for the client whose credentials went along. */
bool fetch_is_refusal(const struct fetch *);
/* Whether the request may be made now; WAIT: f->failure says why not. */
enum backoff_answer fetch_may_ask(struct fetch *);
void fetch_tell_head(struct fetch *);          /* A response's head is there, perhaps a redirect's. */
void fetch_tell_moved(struct fetch *);         /* The redirect is followed. */
void fetch_tell_kept(struct fetch *);          /* A stored response answers in the place of this one. */
void fetch_tell_failed(struct fetch *);        /* f->failure says why */
void fetch_tell_done(struct fetch *);          /* the response is complete */
void fetch_tell_left(struct fetch *);          /* the fetch ends */

/* fetch_pace.c */
/* Gets the connection once it is this request's turn: now, or soon. If that is too late, the fetch fails. */
void fetch_go(struct fetch *);
void fetch_leave_pace(struct fetch *);         /* It waits for its turn no more. */

/* fetch_alone.c: fetches that nobody waits for */
/* Called when the last reader has left, and when the body has grown since. False: the fetch is not worth going on
 * with. */
bool fetch_goes_on_alone(struct fetch *);
/* The fetch is no longer alone: somebody reads again, or it ends. */
void fetch_leave_alone(struct fetch *);
void fetch_on_alone_timeout(struct timer *);

/* fetch_head.c. False: the fetch has ended, or makes another request. */
bool fetch_read_head(struct fetch *) __attribute__((warn_unused_result));
/* Goes on with the response in f->msg, whose body begins with f->behind. */
bool fetch_judge_head(struct fetch *) __attribute__((warn_unused_result));

/* fetch_redirect.c */
/* Follows the response in f->msg if it is a redirect to be followed; false: it is not. Else the fetch has ended, or
 * makes another request. */
bool fetch_follows(struct fetch *) __attribute__((warn_unused_result));
/* Goes on to where the current URL is known to lead, without asking there. False: the fetch has ended. */
bool fetch_follow_known(struct fetch *) __attribute__((warn_unused_result));

/* fetch_body.c. False: the fetch has ended. */
bool fetch_read_body(struct fetch *) __attribute__((warn_unused_result));
bool fetch_parse_body(struct fetch *, const char *data, size_t len) __attribute__((warn_unused_result));
int fetch_on_body(void *arg, const char *at, size_t len);      /* what the parser calls */
void fetch_go_on(struct fetch *);                              /* the object has room again */
void fetch_fail_transform(struct fetch *);                     /* the transform says why */
/* Skips the body of a response that is not needed. True: there is none, or all of it is here already, so that the
 * connection can be used again. */
bool fetch_skip_body(struct fetch *);

#endif
