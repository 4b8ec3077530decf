/* Owns following redirects: which statuses, how often, loops, no way down from https. Pure.
 * Must not know: connections. Source: RFC 9110 section 15.4. */
#ifndef UTFEED_PROXY_HTTP_REDIRECT_H
#define UTFEED_PROXY_HTTP_REDIRECT_H

#include "conf/conf.h"
#include "proxy/base/failure.h"
#include "proxy/http/destination.h"

struct redirect_rules {
	int hops;                      /* 0: not followed */
	bool allow_downgrade;          /* https to http */
	bool upgrade_https;            /* http destinations are fetched over https */
};

struct redirect_trail {
	int n;
	char *urls[CONF_REDIRECTS_MAX + 1];     /* asked for so far; owned */
};

enum redirect_step { REDIRECT_NOT, REDIRECT_FOLLOW, REDIRECT_REFUSED, REDIRECT_NO_MEMORY };

/* Port 80 becomes 443; other ports stay. */
void redirect_upgrade(struct destination *, const struct redirect_rules *);
/* What a response with this status and Location means for a request to `at`. FOLLOW: *at is the new destination (its
 * old path was freed). REFUSED: failure says why. An unreadable Location is passed on: NOT. */
enum redirect_step redirect_next(struct redirect_trail *, const struct redirect_rules *, int status,
    struct slice location,
    struct destination *at, struct failure *);
void redirect_trail_free(struct redirect_trail *);

#endif
