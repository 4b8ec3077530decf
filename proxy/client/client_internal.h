/* Owns what the parts of a client connection share: client.c (its life), client_read.c (request heads), client_body.c
 * (a request's body), client_answer.c (responses), client_tunnel.c (CONNECT). Must not know: what client.h must not.
 * Invariant: client_close() is the one way out of a connection; after it only its memory is left. */
#ifndef UTFEED_PROXY_CLIENT_CLIENT_INTERNAL_H
#define UTFEED_PROXY_CLIENT_CLIENT_INTERNAL_H

#include <sys/queue.h>

#include "conf/conf.h"
#include "proxy/cache/gzip_form.h"
#include "proxy/cache/lookup.h"
#include "proxy/client/client.h"
#include "proxy/net/loop.h"
#include "proxy/object/sender.h"

#define CLIENT_FORBIDDEN "This address may not use this proxy (client-allow)."

enum client_state { CL_IDLE, CL_HEAD, CL_WAIT, CL_SEND, CL_CONNECT, CL_TUNNEL, CL_FLUSH, CL_LINGER, CL_CLOSED };

/* What a request needs from its first byte to its response's last; an idle connection has none: it is spare then, for
 * whichever connection of the worker is next. */
struct exchange {
	SLIST_ENTRY(exchange) spare;
	struct http_msg msg;
	struct http_parser *parser;
	char *in;                      /* request heads: the current one at its start, what was pipelined behind it */
	size_t in_len, in_cap;
	size_t parsed;                 /* bytes of in the parser has seen */
	struct requester who;          /* asks */
	struct log_id id;
	/* for the access log; where there is none, by the coarse clock, for one may come with a reload */
	uint64_t start_us;
	int status;                    /* sent; 0: nothing yet */
	struct object *body;           /* of the request, for whoever fetches; NULL: none, or complete */
	bool body_starved;             /* it has no room: reading stopped */
	struct request_context ctx;    /* as it was when the request was there; its settings NULL: no request yet */
	struct request request;        /* what the head says, once it is there */
	struct lookup lookup;
	struct lookup_memory memory;
	struct object_head *head;      /* what goes out; its own reference */
	uint64_t offset;               /* of the body, where this response begins */
	size_t interim;                /* bytes of interim responses passed on */
	struct sender sender;
};

struct client {
	LIST_ENTRY(client) link;
	struct client_pool *pool;
	struct conn *conn;
	enum client_state state;
	bool eof;                      /* the client will send no more */
	bool keep;                     /* the connection outlives this response */
	bool refused;                  /* there may be request bytes we will not read: linger before closing */
	bool blocked;                  /* the socket took no more: of this response, or of those gathered before it */
	bool forbidden;                /* client-allow does not name it */
	bool secure;                   /* it came over TLS */
	struct log_id id;              /* of its latest request */
	struct requester who;          /* sends the requests: the client, or a proxy that is believed whose they are */
	struct exchange *x;            /* NULL: idle */
	struct origin *opening;        /* CL_CONNECT: the connection of a tunnel to be */
	struct tunnel *tunnel;         /* CL_TUNNEL: it has the connection's events */
	struct crowd *crowd;           /* of its address; NULL: not counted */
	struct object_reader reader;
	struct object_writer body_writer;
	TAILQ_ENTRY(client) idle;      /* beside the timer, whose neighbours are the same clients then */
	bool listed;                   /* as idle */
	struct timer timer;
	struct timer upload;           /* runs while the request's body is waited for */
	struct task task;
};

struct client_pool {
	struct request_context ctx;
	void (*changed)(void *arg);
	void *arg;
	bool leaving;                  /* no response keeps its connection any more */
	bool draining;                 /* nor is an idle one kept for longer than a request on its way may take */
	size_t count, closed;          /* those whose memory goes at the end of the turn among them */
	LIST_HEAD(, client) clients;
	TAILQ_HEAD(client_list, client) idle;          /* the one idle for longest first */
	struct crowds *crowds;
	struct gzip_forms forms;
	SLIST_HEAD(, exchange) spares;
	size_t n_spares;
	size_t freed;                  /* exchanges since memory went back to the system */
};

static inline struct loop *client_loop(struct client *c)
{
	return c->pool->ctx.loop;
}

/* A request is carried out to its end under the settings that were in force when its head was complete; until then the
 * newest settings count. */
static inline const struct request_context *client_context(const struct client *c)
{
	return c->x && c->x->ctx.settings ? &c->x->ctx : &c->pool->ctx;
}

static inline const struct conf *client_conf(const struct client *c)
{
	return client_context(c)->conf;
}

/* A request is under way. */
static inline bool client_is_busy(const struct client *c)
{
	return c->state == CL_WAIT || c->state == CL_SEND || c->state == CL_CONNECT || c->state == CL_TUNNEL;
}

/* Nothing is read, asked for or answered any more. */
static inline bool client_is_over(const struct client *c)
{
	return c->state >= CL_FLUSH;
}

/* client.c */
void client_enter(struct client *, enum client_state);         /* the one way from state to state */
int client_open_exchange(struct client *) __attribute__((warn_unused_result));  /* -1: closed, out of memory */
void client_start(struct client *);            /* of a request: notes the time */
/* Whatever was under way ends; answers gathered before still go out, but for a reset. The memory goes at the end of the
 * turn. */
void client_close(struct client *, bool reset);
/* Closes once the client has stopped sending: closing now would reset the connection and could destroy our answer on
 * its way. */
void client_linger(struct client *);
void client_idle(struct client *);
void client_unlist(struct client *);           /* it is idle no more */
void client_pump(struct client *);             /* goes on with whatever can go on */

/* client_read.c */
void client_read(struct client *);             /* into x->in */
bool client_parse(struct client *);            /* true: a request is there or the state changed otherwise */
void client_find_method(struct exchange *);
void client_refuse(struct client *, int status, const char *text);

/* client_body.c */
int client_open_body(struct client *) __attribute__((warn_unused_result));  /* -1: out of memory */
void client_say_continue(struct client *);
int client_on_body(void *exchange, const char *at, size_t len);
/* there is one: moves on what has arrived; -1: the connection is gone */
int client_feed_body(struct client *) __attribute__((warn_unused_result));
/* It will not be read any further: whoever waits for it must not take it for complete. */
void client_drop_body(struct client *);
void client_on_upload_timeout(struct timer *);

/* client_answer.c */
void client_on_answer(struct lookup *);
void client_take_answer(struct client *);      /* it has its object, waits for it, or there is none */
void client_take_object(struct client *, struct object *);     /* NULL: closes, out of memory */
void client_drop_answer(struct exchange *);
bool client_begin(struct client *);            /* true: the head is on its way, or the connection is gone */
bool client_send(struct client *);             /* true: the response is out, or the connection is gone */
void client_cut(struct client *);              /* the response ends too early, and is seen to */
void client_log_line(struct client *, const char *end);
static inline void client_log(struct client *c, const char *end)
{
	log_step(&c->x->id, "answer: status %d, %s after %llu bytes of body", c->x->status, end,
	    (unsigned long long)c->x->sender.body_bytes);
	if (client_conf(c)->access_log)
		client_log_line(c, end);
}

/* client_tunnel.c */
void client_connect(struct client *);          /* carries out a CONNECT */

#endif
