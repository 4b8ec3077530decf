/* Owns getting one body from a URL for `utfeed check`: by the same means as the proxy gets it, without a guard, because
 * it is the user's own machine and choice.
 * Must not know: what a report is made of, how it is shown.
 * Invariant: time and bytes are bounded; nothing is sent but what the proxy would send. */
#ifndef UTFEED_PROXY_COMMAND_CHECK_URL_H
#define UTFEED_PROXY_COMMAND_CHECK_URL_H

#include "proxy/report/check.h"

struct check_url;

/* Whether the word on the command line is a URL rather than a file's name. */
bool check_url_is(const char *word);
/* Fetches the URL and checks what came. The Content-Type, Content-Language and URL of the response take the place of
 * those options that are absent. NULL: it failed; the reason is on standard error. */
struct check_url *check_url_fetch(const char *url, const struct check_options *);
/* The report; valid until check_url_free(). */
struct check_report *check_url_report(struct check_url *);
void check_url_free(struct check_url **);

#endif
