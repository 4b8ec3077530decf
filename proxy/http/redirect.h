/* Owns following redirects: which statuses are followed, how often, loops, and no redirect from https to http. Pure.
 * Must not know: connections. Source: RFC 9110 section 15.4. */
#ifndef UTFEED_PROXY_HTTP_REDIRECT_H
#define UTFEED_PROXY_HTTP_REDIRECT_H

#include "conf/conf.h"
#include "proxy/base/failure.h"
#include "proxy/http/destination.h"

struct redirect_rules {
	int hops;                      /* the most redirects in a row; 0: none is followed */
	bool allow_downgrade;          /* redirects from https to http are followed */
	bool upgrade_https;            /* http destinations are fetched over https */
};

struct redirect_trail {
	int n;
	char *urls[CONF_REDIRECTS_MAX + 1];     /* the URLs requested so far; owned */
	/* the response has set a cookie, so that a URL requested already may answer otherwise */
	bool anew;
};

enum redirect_step { REDIRECT_NOT, REDIRECT_FOLLOW, REDIRECT_REFUSED, REDIRECT_NO_MEMORY };

/* Makes an http destination https where upgrade_https says so. Port 80 becomes 443; other ports stay. */
void redirect_upgrade(struct destination *, const struct redirect_rules *);
/* Whether a response with that status and Location leads elsewhere. */
bool redirect_is_asked(int status, struct slice location);
/* Decides about a response to a request to `at`, by its status and Location. FOLLOW: *at is the new destination (its
 * old path was freed). REFUSED: failure says why. NOT: the response is passed on, also because its Location cannot be
 * read. */
enum redirect_step redirect_next(struct redirect_trail *, const struct redirect_rules *, int status,
    struct slice location,
    struct destination *at, struct failure *);
void redirect_trail_free(struct redirect_trail *);

#endif
