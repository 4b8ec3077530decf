/* Owns what the files of the Redis store share: operations (store_redis.c) and the connection they travel on
 * (store_redis_connection.c), which alone make and lose it. Only store_redis*.c include it. */
#ifndef UTFEED_PROXY_STORE_REDIS_INTERNAL_H
#define UTFEED_PROXY_STORE_REDIS_INTERNAL_H

#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#ifdef HAVE_HIREDIS_SSL
#include <hiredis/hiredis_ssl.h>
#endif

#include "tls_context.h"
#include "store_thread.h"

struct store_redis {
	struct store_thread thread;
	struct redis_settings settings;
	redisAsyncContext *connection;         /* NULL: none */
	struct event *readable, *writable;     /* of the connection */
	bool up;                               /* it has said who we are and got an answer */
	bool complained, ending;
	bool scanning;                         /* a purge looks through all keys: what was asked for after it waits */
	size_t flying, flying_bytes;           /* operations without an answer yet */
	uint64_t retry_ms;
	struct timer retry, watch;             /* watch: the answer that must come next */
	struct tls_context *tls;               /* NULL: in the clear */
	struct ssl_st *ssl;                    /* the connection's own, while there is one */
};

static inline struct store_redis *redis_of(struct store_thread *t)
{
	return (struct store_redis *)(void *)t;
}

/* Operations. */
void redis_pump(struct store_redis *);         /* sends what waits, as long as the connection is up */
void redis_count_error(struct store_redis *);

/* The connection. */
/* settings are set. NULL: all is well, else why not, maybe in why */
const char *redis_connection_init(struct store_redis *, struct tls_why *);
void redis_connection_free(struct store_redis *);
void redis_connect(struct store_redis *);
void redis_disconnect(struct store_redis *);   /* for good: once what has been sent is answered, if that comes in time */
void redis_drop(struct store_redis *, const char *why);

#endif
