/* Owns one connection to a Redis server: hiredis on a loop, TLS, login, greeting, connecting again, and the limit for
 * an answer. It also finds the server: by Sentinel or by a cluster's nodes, and by its name. All links of a store share
 * a struct redis_access.
 * Must not know: what is asked there.
 * Invariants: commands are sent only between connecting and the loss of the connection. Everything but the login
 * belongs to the thread of the loop. A server is known to be away only once each address of each server was tried, or
 * cache-redis-timeout is over. Only store_redis*.c include this file. */
#ifndef UTFEED_PROXY_STORE_STORE_REDIS_LINK_H
#define UTFEED_PROXY_STORE_STORE_REDIS_LINK_H

#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#ifdef HAVE_HIREDIS_SSL
#include <hiredis/hiredis_ssl.h>
#endif
#include <netinet/in.h>
#include <pthread.h>

#include "proxy/base/slice.h"
#include "proxy/dns/resolve.h"
#include "proxy/net/loop.h"
#include "proxy/net/tls_context.h"
#include "proxy/store/store_redis.h"

/* Where the server is, and as whom to log in. It has counted references; those who hold them live and end together. */
struct redis_access {
	struct redis_settings settings;        /* user, password and prefix are NULL here */
	struct tls_context *tls;               /* NULL: no TLS */
	pthread_mutex_t lock;                  /* guards the next two */
	char *user, *password;                 /* NULL: none */

	/* of the links' thread */
	size_t links, complaining;             /* links that are not closed; those whose server is away */
	bool alone;                            /* a server outside of any cluster was logged */
	struct resolver *resolver;             /* looks up names; NULL: none was needed yet */

	size_t refs;
};
/* One reference. NULL: a connection cannot be made; why tells the reason. */
struct redis_access *redis_access_new(const struct redis_settings *, struct store_redis_why *why);
struct redis_access *redis_access_ref(struct redis_access *);
void redis_access_unref(struct redis_access **);
/* Copied; they count from the next connection on. -1: out of memory, and nothing was done. */
int redis_access_login(struct redis_access *, const char *user, const char *password)
    __attribute__((warn_unused_result));

/* Where a server is, by name or address. */
struct redis_place { char host[256]; uint16_t port; };
/* A node of a cluster may send its client away (store_redis_place.c). MOVED names the place of another node; if it
 * names no host, that is the given one. ASK, TRYAGAIN and CLUSTERDOWN mean later, as do READONLY and MASTERDOWN of a
 * replica. ASK is not followed: while keys of the slot are on two nodes, both answer TRYAGAIN to a script that needs
 * several keys. Without the purges of others nothing is looked up. */
enum redis_turning { REDIS_STAYS, REDIS_MOVED, REDIS_LATER };
enum redis_turning redis_turning(struct slice error, const char *host, struct redis_place *to);
/* Whether HELLO says that the server is not a node of a cluster. */
bool redis_is_alone(const redisReply *);
/* What Sentinel says of a master. False: it does not know it. */
bool redis_master_read(const redisReply *, struct redis_place *);

struct redis_link;
struct redis_link_work {
	void (*greeted)(struct redis_link *);  /* connected and logged in */
	/* The connection is lost, and another is made unless the link is closed now. Then the commands that
	 * have no answer get NULL. */
	void (*lost)(struct redis_link *);
};

struct redis_link {
	struct redis_access *access;
	struct loop *loop;
	const struct redis_link_work *work;
	struct resolve *lookup;                /* of the server's name; NULL: none */
	char address[INET6_ADDRSTRLEN];        /* that was found; "": none */
	redisAsyncContext *connection;         /* NULL: none */
	struct event *readable, *writable;     /* of the connection */
	struct ssl_st *ssl;                    /* of the connection; NULL: no TLS */

	struct redis_place place;              /* of the connection; told: of the next one */
	bool told;                             /* by a Sentinel, or by a node of the cluster */

	bool asks;                             /* the connection is to a Sentinel */
	unsigned turn, round;                  /* which of the servers comes next; how often all of them came */
	unsigned hops;                         /* how often it was told since the server last worked */

	bool known;                            /* whether a server is there, since the start; until then none is away */
	unsigned failures, addresses;          /* tries that failed while it was not known; the most of one name */

	bool complained;                       /* the server's absence was logged */
	bool closed;                           /* for good */
	bool hurries;                          /* tries again at short intervals */
	bool subscribed;                       /* it takes messages, and nothing else */
	uint64_t retry_ms;
	struct timer retry, watch;             /* watch: limit for the next answer */
	redisReplyObjectFunctions functions;   /* our functions, which call those of hiredis (theirs) */
	const redisReplyObjectFunctions *theirs;
	size_t expected, elements;             /* replies still expected; elements of the present one */
	const char *odd;                       /* why a reply was refused; NULL: none was */
};

/* Connects, first to place if told is set. The other members are zero. */
void redis_link_open(struct redis_link *, struct redis_access *, struct loop *, const struct redis_link_work *);
void redis_link_connect(struct redis_link *);          /* at once, even if it waits to try again */
void redis_link_close(struct redis_link *);            /* for good; lost() is called if there is a connection */
void redis_link_drop(struct redis_link *, const char *why);    /* there is a connection; another is made */

/* done gets NULL for a reply if the command could not be sent or the connection was lost. */
enum { REDIS_ARGS_MAX = 24 };
void redis_link_send(struct redis_link *, redisCallbackFn *done, void *arg, int argc, const struct slice *args);
/* heard() gets each message of the channel, and first the reply that it is subscribed: an array of "message" or
 * "subscribe", the channel, and the text or a number. After that nothing but this function may be called, again for the
 * same channel: its reply shows that the server still answers. */
void redis_link_subscribe(struct redis_link *, redisCallbackFn *heard, void *arg, struct slice channel);
void redis_link_watch(struct redis_link *, bool);      /* an answer is due in time from now on, or none is */
void redis_link_works(struct redis_link *);            /* the server does what is asked of it */

/* Logs why, which may come from the server, so only printable ASCII is kept, and what follows from it. */
void redis_warn(const char *what, const char *why);

#define REDIS_WORD(literal) { (literal), sizeof (literal) - 1 }
#define REDIS_TEXT(text) { (text).bytes, (text).len }

/* Replies (store_redis_reply.c). From now on those of this connection are refused where nobody asked for them or they
 * are larger than an entry needs. */
void redis_guard(struct redis_link *, redisAsyncContext *);
bool redis_is_too_much(const redisAsyncContext *);

#endif
