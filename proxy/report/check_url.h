/* Owns getting one body from a URL, to be checked, by the same means as the proxy gets it: a loop, a resolver and
 * connections of its own.
 * Must not know: what a report is made of, how it is shown, its callers.
 * Invariant: time and bytes are bounded; nothing is sent but what the proxy would send. */
#ifndef UTFEED_PROXY_REPORT_CHECK_URL_H
#define UTFEED_PROXY_REPORT_CHECK_URL_H

#include "proxy/report/check.h"

struct check_url;
struct guard;
struct settings;

/* The URL is copied, a reference to the settings taken; what the options point to is borrowed. guard: the destinations
 * that may be asked; NULL: any. NULL: out of memory or descriptors. */
struct check_url *check_url_new(const char *url, const struct check_options *, struct settings *, const struct guard *);
/* Fetches the URL and checks what came; blocks until that is done. The Content-Type, Content-Language and URL of the
 * response take the place of those options that are absent. -1: it failed, as check_url_why() says. */
int check_url_run(struct check_url *) __attribute__((warn_unused_result));
/* Ends check_url_run() soon, from any thread. */
void check_url_cancel(struct check_url *);
/* A sentence in printable ASCII. */
const char *check_url_why(const struct check_url *);
/* The redirects so far, also where the fetch failed. */
const struct check_response *check_url_response(const struct check_url *);
/* The report; valid until check_url_free(). */
struct check_report *check_url_report(struct check_url *);
void check_url_free(struct check_url **);

#endif
