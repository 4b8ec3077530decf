/* Owns what the files of the Redis store share: operations (store_redis.c), the connection they travel on
 * (store_redis_connection.c), which alone makes and loses it, and what of its bytes becomes a reply
 * (store_redis_reply.c). Only store_redis*.c include it. */
#ifndef UTFEED_PROXY_STORE_STORE_REDIS_INTERNAL_H
#define UTFEED_PROXY_STORE_STORE_REDIS_INTERNAL_H

#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#ifdef HAVE_HIREDIS_SSL
#include <hiredis/hiredis_ssl.h>
#endif

#include "proxy/net/tls_context.h"
#include "proxy/store/store_thread.h"

struct store_redis {
	struct store_thread thread;
	struct redis_settings settings;
	redisAsyncContext *connection;         /* NULL: none */
	struct event *readable, *writable;     /* of the connection */
	bool up;                               /* it has said who we are and got an answer */
	bool complained;
	bool ending, over;                     /* what waits is still done; no more */
	size_t debt;                           /* removals from before it was up, that come before any lookup */
	struct store_op *scan;                 /* a purge that looks through all keys; NULL: none */
	/* until it is through: other such purges, settlements, changes of what they mean */
	struct store_op_list held;
	size_t n_held, held_bytes;
	bool slow;                             /* lookups are no longer held */
	bool scan_over, scan_failed;           /* all keys were told; not all of them went */
	size_t scanned, scan_pages;            /* keys that are on their way out; pages so far */
	size_t flying, flying_bytes;           /* operations without an answer yet */
	size_t amends;                         /* of them, such that are tried another way */
	uint64_t retry_ms;
	struct timer retry, watch, last;       /* watch: the answer that must come next; last: the end of ending */
	struct timer patience;                 /* of lookups that are held */
	redisReplyObjectFunctions functions;   /* hiredis's own, behind ours */
	const redisReplyObjectFunctions *theirs;
	size_t expected, elements;             /* replies that were asked for; what the current one consists of */
	const char *odd;                       /* why a reply was refused; NULL: none was */
	struct tls_context *tls;               /* NULL: in the clear */
	struct ssl_st *ssl;                    /* the connection's own, while there is one */
};

static inline struct store_redis *redis_of(struct store_thread *t)
{
	return (struct store_redis *)(void *)t;
}

/* Operations. */
void redis_pump(struct store_redis *);         /* sends what waits, as long as the connection is up */
void redis_give_up_lookups(struct store_redis *);      /* that wait for a purge */
bool redis_is_idle(struct store_redis *);      /* nothing waits, and nothing is on its way */
void redis_count_error(struct store_redis *);

/* The connection. */
/* settings are set. NULL: all is well, else why not, maybe in why */
const char *redis_connection_init(struct store_redis *, struct tls_why *);
void redis_connection_free(struct store_redis *);
void redis_connect(struct store_redis *);
void redis_settled(struct store_redis *);      /* it is up and nothing is owed: the store serves */
void redis_disconnect(struct store_redis *);   /* for good: once nothing waits any more, if that comes in time */
void redis_check_end(struct store_redis *);    /* after every operation */
void redis_drop(struct store_redis *, const char *why);

/* Replies. */
/* Of this connection from now on only what was asked for, and no more of it than a record needs. */
void redis_guard(struct store_redis *, redisAsyncContext *);
bool redis_is_too_much(const redisAsyncContext *);

#endif
