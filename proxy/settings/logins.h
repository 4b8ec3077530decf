/* Owns the answer to whether a name and a password may pass: which of them were right lately, and who has guessed
 * wrong how often. One for all workers, under locks of its own; it outlasts a reload.
 * Must not know: requests, how credentials came.
 * Invariants: no password is kept, only keyed hashes of right ones, for LOGINS_REMEMBERED_MS. Unknown names take as
 * long as known ones. Wrong guesses are bounded for each address. While a name is guessed at from many, each address
 * has one guess at it in ten minutes. So nobody can lock its user out: the user comes from another address, or is
 * remembered. Addresses take turns while they wait. */
#ifndef UTFEED_PROXY_SETTINGS_LOGINS_H
#define UTFEED_PROXY_SETTINGS_LOGINS_H

#include "conf/conf.h"
#include "proxy/http/credentials.h"
#include "proxy/net/verifier.h"

enum { LOGINS_REMEMBERED_MS = 5 * 60 * 1000 };

struct client_rate_limit;
struct logins;

/* A client whose password is being compared. */
struct login_waiter {
	struct verifier_waiter at;     /* its loop and task are the caller's to set */
	uint64_t key[2];
	const struct conf_user *user;  /* NULL: nobody has the name */
	uint64_t address, name;        /* the keys of their buckets */
	const struct client_rate_limit *paid;  /* the guess counts under this limit; NULL: another client's counts */
};

struct login {
	const struct conf_users *users;        /* at least one */
	const struct credentials *given;
	const struct ip *client;
	uint64_t now_ms;               /* of a monotonic clock */
};

enum login_answer {
	LOGIN_RIGHT,                   /* the request is that of waiter->user */
	LOGIN_WRONG,
	LOGIN_WAITS,                   /* logins_told() tells; logins_leave() before the waiter is freed */
	LOGIN_HURRIED,                 /* too many wrong guesses, for *wait_s seconds */
	LOGIN_BUSY,                    /* too many wait */
	LOGIN_NO_MEMORY
};

/* One reference. NULL: out of memory. */
struct logins *logins_new(void);
struct logins *logins_ref(struct logins *);
void logins_unref(struct logins **);           /* sets it to NULL; it may be NULL already */

/* The user, if the password was found right lately. NULL: logins_ask() finds out. */
const struct conf_user *logins_known(struct logins *, const struct login *);
enum login_answer logins_ask(struct logins *, const struct login *, struct login_waiter *, unsigned *wait_s)
    __attribute__((warn_unused_result));
/* RIGHT, WRONG, BUSY (its place went to another address), or WAITS as long as it is not known. The first other answer
 * is the last. */
enum login_answer logins_told(struct logins *, struct login_waiter *, uint64_t now_ms);
void logins_leave(struct logins *, struct login_waiter *);

#endif
