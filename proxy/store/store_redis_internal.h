/* Owns what the files of the Redis store share. The store's life is in store_redis.c, and the operations on their way
 * are in store_redis_flight.c. As commands and replies they are in store_redis_operations.c, store_redis_scan.c,
 * store_redis_command.c and store_redis_script.c. The purges that the instances know of are in store_redis_marks.c.
 * The store's part in its connection is in store_redis_connection.c; the connection itself is a struct redis_link.
 * Only store_redis*.c include this file. */
#ifndef UTFEED_PROXY_STORE_STORE_REDIS_INTERNAL_H
#define UTFEED_PROXY_STORE_STORE_REDIS_INTERNAL_H

#include "proxy/base/text.h"
#include "proxy/store/store_redis_link.h"
#include "proxy/store/store_thread.h"

enum { REDIS_MARKS_KEPT = 4096, REDIS_MARK_URL = 255, REDIS_NEWS = 256 };
/* Which purges are known here and to the others; of store_redis_marks.c alone. */
struct redis_marks {
	uint64_t known;                        /* latest known here; 0: none */
	bool learning;                         /* the server was asked for later ones */
	struct timer timer;                    /* to ask again */
	struct store_op_list awaiting;         /* settlements whose purges not all processes know */

	/* all purges after base, oldest first, if the server loses them; the lock guards them for redis_marks_each() */
	pthread_mutex_t lock;
	STAILQ_HEAD(, redis_remembered) remembered;
	size_t n;
	uint64_t base;
};

/* Of store_redis_hear.c alone. */
struct redis_hearing {
	struct redis_link link;                /* it is subscribed to the channel of this process */
	struct timer ping;
	bool begun;                            /* it is subscribed */
	uint64_t last;                         /* the latest news that were heard; 0: none */
	/* calls that wait until the news are heard that were told by now; of the second, they are being learnt */
	struct store_op_list asked, due;
};

struct store_redis {
	struct store_thread thread;
	char *prefix;                          /* what all keys begin with */
	char *own;                             /* what the keys of URLs of this format begin with */
	struct redis_access *access;
	struct redis_link link;
	bool up;                               /* the greeting was answered, and what others purged is known */
	bool refuses;                          /* it refused the last entry, which was logged */
	bool mute;                             /* the same of the last script of store_redis_call.c */

	bool ending, over;                     /* ending: queued operations are still done; over: no more are */
	size_t debt;                           /* removals from before the connection was up; due before any lookup */
	struct store_op *scan;                 /* a purge that looks through all keys; NULL: none */

	/* operations that wait for the end of scan: other such purges, settlements, operations on what they cover */
	struct store_op_list held;
	size_t n_held, held_bytes;
	bool slow;                             /* the scan takes long: lookups miss instead of waiting */
	bool scan_over, scan_failed;           /* SCAN has named all keys; removing or marking one was refused */
	size_t scanned, scan_pages;            /* keys being removed or marked; pages of SCAN so far */

	size_t flying, flying_bytes;           /* operations sent and not answered yet */
	size_t amends;                         /* the removals among them that are tried again by UNLINK */
	uint64_t process;                      /* this process, as marks name it */
	struct redis_marks marks;
	struct redis_hearing hearing;
	bool parted;                           /* the server was told that this process ends */
	struct timer last;                     /* limit for ending */
	struct timer patience;                 /* how long lookups wait for scan */
	struct timer doubt;                    /* limit for link.known */
};

static inline struct store_redis *redis_of(struct store_thread *thread)
{
	return (struct store_redis *)(void *)thread;
}

/* Operations on their way. */
void redis_pump(struct store_redis *);         /* sends queued operations, as long as the connection is up */
void redis_give_up_lookups(struct store_redis *);      /* answers those that wait for a purge */
bool redis_is_idle(struct store_redis *);      /* no operation is queued or on its way */
void redis_count_error(struct store_redis *);
/* How an operation ends. reply NULL: the connection is being closed, and it is not known whether the operation was
 * done. The answer to a lookup is taken over. */
void redis_landed(struct store_redis *, struct store_op *, const redisReply *, struct entry *answer);
/* The server refused a removal, which is owed now: the connection is dropped and made anew for it. */
void redis_refused(struct store_redis *, struct store_op *, const char *why);
/* A settlement is done here; it is kept until all processes know the purges before it. */
void redis_settled_here(struct store_redis *, struct store_op *);
void redis_failed(struct store_redis *, struct store_op *);    /* it could not be sent: out of memory */
/* An entry's storing becomes the removal of what it would have replaced. */
void redis_make_removal(struct store_redis *, struct store_op *);

/* What operations are. */
/* The entry in three fields of a hash ("=" rest, "!", "!0"), made stale where a soft purge came later. NULL: it is
 * damaged, or not of op's key. */
struct entry *redis_read(redisReply *const *fields, const struct store_op *op);
void redis_do(struct store_redis *, struct store_op *);
/* Runs a script for others (store_redis_call.c); and whether it reads an entry, so that a purge in progress may cover
 * what it answers. */
void redis_call(struct store_redis *, struct store_op *);
bool redis_call_sees(const struct store_op *);
/* False: it would have this process wait for a message, and those do not reach it now. */
bool redis_call_may_be(const struct store_redis *, const struct store_op *);
/* Begins a purge of more than a URL. */
void redis_scan(struct store_redis *, struct store_op *);

/* Commands, as redis_link_send() sends them. */
struct redis_name { struct text key, field, ends; };
/* Of an entry's key. False: out of memory. */
bool redis_name_make(struct redis_name *, const struct store_redis *, const char *key, size_t len);
void redis_name_free(struct redis_name *);
/* Notes that the URL was purged softly by op, whose number is known. */
void redis_send_mark(struct store_redis *, redisCallbackFn *done, void *arg, struct slice key,
    const struct store_op *op);
void redis_send_unlink(struct store_redis *, redisCallbackFn *done, void *arg, struct slice key);
enum { REDIS_EXPIRE_S = 7 * 24 * 3600 };        /* what is stored ends by then */

/* Scripts (store_redis_script.c). */
/* The name of a key that is no URL's. */
void redis_own_key(struct store_redis *, struct text *key, const char *name, size_t len);
/* Purges are numbered as the server's stream numbers them; 0: none, or it is none of ours. */
uint64_t redis_number_read(const char *text);
struct slice redis_number_write(char *to, size_t cap, uint64_t number);
/* Removes that key and remembers the purge; softly: marks the key if the purge is of one URL. The reply is its
 * number. */
void redis_send_purge(struct store_redis *, redisCallbackFn *done, struct store_op *, struct slice key);
/* Stores the entry until it ends, unless a purge that came after the beginning of its fetch covers it. */
void redis_send_put(struct store_redis *, redisCallbackFn *done, struct store_op *, const struct redis_name *,
    struct slice packed);
/* Asks what was purged after the one of that number, and told after the other one; tells that this process knows so
 * many purges. */
void redis_send_learn(struct store_redis *, redisCallbackFn *done, void *arg, uint64_t known, uint64_t heard);
void redis_send_part(struct store_redis *, redisCallbackFn *done, void *arg);  /* this process ends */
enum { REDIS_MARK_BEGIN = PURGE_ALL + 1 };             /* not a purge: the server remembers those behind it */
struct redis_news_mark { struct store_mark mark; unsigned kind; };
struct redis_news {
	uint64_t last_known;                   /* the latest the server has, up to that which was named */
	uint64_t length;                       /* how many purges it remembers */
	const redisReply *others;              /* the latest purge that each other process knows */
	size_t n;
	struct redis_news_mark marks[REDIS_NEWS];      /* texts are the reply's */
	const redisReply *told;                /* what processes tell each other; REDIS_NEWS at most */
	uint64_t now_ms;                       /* by the server's clock */
};
bool redis_news_read(struct redis_news *, const redisReply *);
size_t redis_news_unaware(const struct redis_news *, uint64_t number); /* how many others do not know that purge */
bool redis_reply_is_texts(const redisReply *, size_t elements);

/* Purges and who knows of them (store_redis_marks.c). */
void redis_marks_init(struct redis_marks *);
void redis_marks_free(struct redis_marks *);
void redis_learn(struct store_redis *);
void redis_marks_each(struct store *, void (*each)(void *arg, const struct store_mark *), void *arg);
void redis_await(struct store_redis *, struct store_op *);
void redis_marks_lost(struct store_redis *);           /* the connection is lost */

/* What other processes say (store_redis_hear.c). */
void redis_hear_begin(struct store_redis *);           /* the store's connection is there */
void redis_hear_asked(struct store_redis *);           /* redis_send_learn() is next */
/* The reply came. False: there is more. */
bool redis_hear_news(struct store_redis *, const struct redis_news *);
void redis_heard(struct store_redis *);                /* all was heard that there was */
/* Answers a call once all was heard that others have told by now. */
void redis_hear_await(struct store_redis *, struct store_op *);
void redis_hear_lost(struct store_redis *);            /* it is lost */
/* The channel of this process. */
void redis_channel(struct store_redis *, struct text *);

/* The connection. */
void redis_connect(struct store_redis *);      /* once, on the store's thread */
void redis_joined(struct store_redis *);       /* others' purges are known: operations begin */
void redis_settled(struct store_redis *);      /* the debt is paid: the store answers */
void redis_disconnect(struct store_redis *);   /* for good; first does queued operations, if time allows */
void redis_check_end(struct store_redis *);    /* called after every operation */

#endif
