/* Owns what the files of a client connection share. Its life is in client.c, admission in client_door.c, HTTP/2 in
 * client_streams.c. Requests are in client_read.c (heads), client_auth.c (names and passwords) and client_body.c.
 * Responses are in client_answer.c, CONNECT in client_tunnel.c and, if it is opened, client_intercept.c. Must not know:
 * what client.h must not.
 * Invariant: client_close() is the one way out of a connection; after it only its memory is left. */
#ifndef UTFEED_PROXY_CLIENT_CLIENT_INTERNAL_H
#define UTFEED_PROXY_CLIENT_CLIENT_INTERNAL_H

#include <string.h>
#include <sys/queue.h>

#include "conf/conf.h"
#include "proxy/answer/answer.h"
#include "proxy/cache/gzip_form.h"
#include "proxy/cache/sweeper.h"
#include "proxy/client/client.h"
#include "proxy/http/raw_target.h"
#include "proxy/http/traceparent.h"
#include "proxy/net/conn.h"
#include "proxy/net/loop.h"
#include "proxy/net/tls_hello.h"
#include "proxy/object/sender.h"

struct login_waiter;

enum client_state {
	CL_IDLE,
	CL_HEAD,
	CL_WAIT,
	CL_SEND,
	CL_AUTH,
	CL_CONNECT,
	CL_HELLO,
	CL_TUNNEL,
	CL_STREAMS,
	CL_FLUSH,
	CL_LINGER,
	CL_CLOSED
};

/* What the connection does behind the response; in a request's course it only moves down. */
enum client_after {
	AFTER_STAYS,
	AFTER_CLOSES,
	AFTER_LINGERS                  /* request bytes may be left unread: it lingers before it closes */
};

enum client_channel {
	CHANNEL_PLAIN,
	CHANNEL_HANDSHAKE,             /* of TLS: neither done, nor was said what went wrong with it */
	CHANNEL_TLS
};

/* What a request needs from its first byte to the last byte of its response. An idle connection has no exchange: the
 * exchange is spare then, and serves whichever connection of the worker needs one next. */
struct exchange {
	SLIST_ENTRY(exchange) spare;
	struct http_msg msg;
	struct http_parser *parser;
	char *in;                      /* the head of the current request, then what was pipelined behind it */
	size_t in_len, in_cap;
	size_t parsed;                 /* bytes of `in` that the parser has seen */
	struct raw_target target;      /* how far it was read before the parser */
	struct requester who;          /* the client that asks */
	struct log_id id;
	uint64_t start_us;             /* client_begin_us() */
	/* when bytes of the answer were handed over first, its head among them, and last; 0: not yet, or nobody
	 * measures */
	uint64_t first_us, sent_us;
	const char *user;              /* the user of the request, by ctx's settings; NULL: none is known */
	int status;                    /* sent; 0: nothing yet */
	struct trace trace;
	struct fetch_timing *timing;   /* one reference; NULL: nothing was fetched, or nobody measures */
	struct object *body;           /* the request's body, which the fetch reads; NULL: none, or complete */
	uint64_t upload_bytes;         /* of the body, received */
	bool body_starved;             /* the body's object is full: reading has stopped */

	struct request_context ctx;    /* as of the request's complete head; settings NULL: no request yet */
	struct request request;        /* what the request head says, once complete */
	struct answer answer;          /* NEW also for bytes that are not a request: the client refuses them itself */

	struct object_head *head;      /* the head that goes out; one reference */
	uint64_t offset;               /* where in the body this response begins */
	size_t interim;                /* bytes of interim responses passed on */
	struct sender sender;
};

struct client {
	LIST_ENTRY(client) link;
	struct client_pool *pool;
	struct conn *conn;
	enum client_state state;
	enum client_after after;       /* client_ends() */
	enum client_channel channel;
	bool eof;                      /* the client will send no more */
	/* the socket takes no more bytes, of this response or of those gathered before it */
	bool blocked;
	struct log_id id;              /* of its latest request */
	/* the sender of the requests: a client, or a proxy that is trusted to name its clients */
	struct requester who;
	struct exchange *exchange;     /* NULL: idle */
	struct login_waiter *login;    /* CL_AUTH: the password is being compared */
	struct dial *opening;          /* CL_CONNECT: the origin's connection, being opened */
	/* the CONNECT that was opened: requests come inside it, or will; NULL: none was */
	struct opened *opened;
	struct tunnel *tunnel;         /* CL_TUNNEL: the connection's events go there */
	struct h2 *h2;                 /* CL_STREAMS: likewise */
	bool stream;                   /* its connection is a stream of another client's */
	struct crowd *crowd;           /* of the client's address; NULL: not counted */
	struct object_reader reader;
	struct object_writer body_writer;
	/* in the pool's list of idle clients; next to the timer, which links the same clients then */
	TAILQ_ENTRY(client) idle;
	bool listed;                   /* in the list of idle clients */
	struct timer timer;
	struct timer upload;           /* runs while the request's body is waited for */
	struct task task;
};

struct client_pool {
	struct request_context ctx;
	void (*changed)(void *arg);
	void *arg;
	bool leaving;                  /* every response is its connection's last */
	bool draining;                 /* closes idle connections once no request can be on its way */
	size_t count, closed;          /* with the closed ones, which their tasks free */
	size_t streams;                /* clients whose connection is a stream; not in count */
	LIST_HEAD(, client) clients;
	TAILQ_HEAD(client_list, client) idle;          /* the one idle for longest first */
	struct crowds *crowds;
	uint64_t told_ms;              /* when the log last heard of one who was turned away */
	uint64_t looked_ms;            /* when streams that take nothing were last looked for */
	struct gzip_forms forms;
	struct sweeper sweeper;
	SLIST_HEAD(, exchange) spares;
	size_t n_spares;
};

static inline struct loop *client_loop(struct client *c)
{
	return c->pool->ctx.loop;
}

/* A request is carried out to its end under the settings that were in force when its head was complete; until then the
 * newest settings count. */
static inline const struct request_context *client_context(const struct client *c)
{
	return c->exchange && c->exchange->ctx.settings ? &c->exchange->ctx : &c->pool->ctx;
}

static inline const struct conf *client_conf(const struct client *c)
{
	return client_context(c)->conf;
}

/* Whether the access log tells the stages of a request. */
static inline bool client_times(const struct client *c)
{
	return client_conf(c)->access_log && client_conf(c)->log_format == CONF_LOG_JSON;
}

/* Whether there is an admin listener, which shows histograms, counts by label and the list of feeds. Its socket may be
 * given by a service manager, so the configuration alone does not tell. */
static inline bool client_measures(const struct client *c)
{
	return c->pool->ctx.feeds;
}

/* The most bytes that are read ahead of what is done with them. */
static inline size_t client_in_max(const struct client *c)
{
	return client_conf(c)->max_header_bytes + (c->state == CL_HELLO ? TLS_HELLO_BYTES_MAX : 0);
}

/* When a request begins. The access log looks at the clock; histograms take the beginning of the loop's turn, which is
 * known: what a client waits for others of its turn counts, too. Without either the coarse clock does, for a reload may
 * bring a log. */
static inline uint64_t client_begin_us(struct client *c)
{
	if (client_conf(c)->access_log)
		return loop_now_us(client_loop(c));
	return client_measures(c) ? loop_turn_us(client_loop(c)) : loop_now_ms(client_loop(c)) * 1000;
}

/* The response is the connection's last, at least. */
static inline void client_ends(struct client *c, enum client_after after)
{
	if (after > c->after)
		c->after = after;
}

/* Whether a request is under way. */
static inline bool client_is_busy(const struct client *c)
{
	return c->state >= CL_WAIT && c->state <= CL_TUNNEL;
}

/* Whether the connection is ending: nothing is read, asked for or answered any more. */
static inline bool client_is_over(const struct client *c)
{
	return c->state >= CL_FLUSH;
}

/* client_pool.c */
/* A spare exchange or a new one; NULL: out of memory. max_fields: of the settings in force, like a spare's. */
struct exchange *exchange_take(struct client_pool *, size_t max_fields);
void exchange_give(struct client_pool *, struct exchange *);   /* it has let go of its client */

/* client.c */
void client_enter(struct client *, enum client_state);         /* the one way from state to state */
int client_open_exchange(struct client *) __attribute__((warn_unused_result));  /* -1: out of memory; closed */
void client_start(struct client *);            /* begins a request: notes its id and time */

/* Ends whatever is under way; answers gathered before still go out, unless reset is set. The memory is freed by the
 * client's task. */
void client_close(struct client *, bool reset);
/* Closes once the client has stopped sending: closing now would reset the connection and could destroy our answer on
 * its way. */
void client_linger(struct client *);
void client_idle(struct client *);
void client_list_idle(struct client *);
void client_unlist(struct client *);           /* the client is no longer idle */
void client_release(struct client *);          /* takes its exchange away */
void client_pump(struct client *);             /* does every step that can be done now */
void client_on_conn(void *client, enum conn_event);
void client_free(struct client *);             /* one that is closed */
void client_listen(struct client *);           /* chooses the events of its connection */
void client_on_wake(struct object_reader *);
void client_on_task(struct task *);
void client_on_timeout(struct timer *);

/* client_door.c. Whether the client keeps to client-rate with one more request or handshake, which counts then; if not,
 * *wait_s is as of client_rate_ask(). A trusted proxy asks for many clients: each client that it names has a rate of
 * its own. All clients that it does not know count as one. */
bool client_within_rate(const struct request_context *, const struct requester *, unsigned *wait_s);

/* client_read.c */
void client_read(struct client *);             /* into exchange->in */
bool client_parse(struct client *);            /* true: a request is there or the state changed otherwise */
void client_find_method(struct exchange *);
/* Notes what is known of a request that has no head, as far as there is room. */
void client_note_line(struct exchange *, struct slice method, struct slice target);
void client_refuse(struct client *, int status, const char *text);
/* Refuses a request of somebody whom client-allow does not name. */
void client_refuse_stranger(struct client *, const struct requester *);

/* Carries out a request that may be carried out. */
void client_carry_out(struct client *);
static inline bool client_has_body(const struct exchange *exchange)
{
	return exchange->msg.chunked || exchange->msg.content_length;
}
/* Whether what follows the request's head on its connection cannot be a request. */
static inline bool client_has_more(const struct exchange *exchange)
{
	return client_has_body(exchange) || exchange->msg.method == METHOD_CONNECT;
}

/* client_auth.c, of which nothing is called where nobody is asked for a name: a hit pays one look for it. */
static inline bool client_has_users(const struct client *c)
{
	return client_conf(c)->users.count;
}
/* Takes what may be a name and a password off the target, before anybody sees it. */
void client_hide_token(struct client *);
/* Drops a Referer with a name and a password in it, whatever client-auth says: the page may be older than a reload. */
void client_hide_referer(struct http_msg *);
/* Whether a tunnel's user may not use utfeed any more. */
bool client_is_out(const struct client *);
/* Whether the request does not go on now: it was refused, or its password is being compared. */
bool client_must_log_in(struct client *);
/* Does the next step in CL_AUTH. False: there is none to do now. */
bool client_log_in(struct client *);
void client_leave_login(struct client *);      /* the password is not waited for any more */

/* client_body.c */
int client_open_body(struct client *) __attribute__((warn_unused_result));  /* -1: out of memory */
void client_say_continue(struct client *);
int client_on_body(void *exchange, const char *at, size_t len);
/* Feeds what has arrived to the request's body, which must be there; -1: the connection is closed. */
int client_feed_body(struct client *) __attribute__((warn_unused_result));
/* The body will not be read any further: a fetch that waits for the rest must not take it for complete. */
void client_drop_body(struct client *);
void client_on_upload_timeout(struct timer *);

/* client_answer.c */
void client_on_answer(void *client);
void client_take_answer(struct client *);      /* the answer has its object, waits, or has none */
void client_take_object(struct client *, struct object *);     /* NULL: closes, out of memory */
void client_drop_answer(struct exchange *);
bool client_begin(struct client *);            /* true: the head is on its way, or the connection is closed */
bool client_send(struct client *);             /* true: the response is out, or the connection is closed */
void client_log_malformed(struct client *);    /* counts and logs a malformed request, whose stream was reset */

void client_cut(struct client *);              /* ends the response early, so that the client can tell */
void client_log_line(struct client *, const char *end);        /* client_log.c */
/* Adds the answer, as it ended, to what the admin listener shows. cut: it is not whole. */
void client_measure(struct client *, bool cut);
static inline void client_log(struct client *c, const char *end)
{
	log_step(&c->exchange->id, "answer: status %d, %s after %llu bytes of body", c->exchange->status, end,
	    (unsigned long long)c->exchange->sender.body_bytes);
	if (client_conf(c)->access_log)
		client_log_line(c, end);
	if (client_measures(c))
		client_measure(c, strcmp(end, "cut") == 0);
}

/* client_measure.c. The way by which the request came in; WAY_NONE: it was refused before a way was found. */
enum answer_way client_way(const struct client *);

/* client_streams.c. Whether the connection, whose handshake is done, speaks HTTP/2 from now on, or is closed. */
bool client_begins_http2(struct client *);
/* Whether the first bytes of a plain connection are those of HTTP/2 (option h2c). */
enum client_preface {
	PREFACE_NONE,
	PREFACE_BEGUN,                 /* as far as they came */
	PREFACE_TAKEN                  /* it speaks HTTP/2 from now on, or is closed */
};
enum client_preface client_prefaces(struct client *);
/* The connection was idle for long, or does not take its end. */
void client_end_streams(struct client *);
/* A further stream finds no place: streams that have taken nothing for a while give theirs. of: those of that address
 * alone; NULL: all. */
void client_end_stalled(struct client_pool *, const struct ip *of);

/* client_door.c. A client for a stream of that one's connection. NULL: there are too many, or out of memory. */
struct client *client_new_stream(struct client *, struct conn *);

/* client_tunnel.c */
void client_connect(struct client *);          /* carries out a CONNECT */
/* Goes on with it as a tunnel, whether it was answered already (opened) or not. */
void client_open_tunnel(struct client *, const char *host, uint16_t port);
/* Ends a tunnel whose user may not use utfeed any more. */
void client_judge_tunnel(struct client *);

#endif
