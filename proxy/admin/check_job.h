/* Owns fetching a URL to be checked, in a thread of its own, so that the admin listener goes on meanwhile.
 * Must not know: how the report is shown. The destinations are those that clients may name (the guard).
 * Invariant: at most CHECK_JOBS_MAX fetch at a time; an exchange is answered once, or dropped. */
#ifndef UTFEED_PROXY_ADMIN_CHECK_JOB_H
#define UTFEED_PROXY_ADMIN_CHECK_JOB_H

#include "proxy/report/check_url.h"

struct admin;
struct admin_exchange;
struct check_job;

enum { CHECK_JOBS_MAX = 4 };

/* Called on the admin thread when the fetch has ended. u: borrowed; NULL: out of memory. failed: it has no report, and
 * says why. */
typedef void check_job_done_f(struct admin_exchange *, struct check_url *u, bool failed);

/* The exchange waits (admin_exchange.job) until done() is called. -1: out of memory, or too many fetch already. */
int check_job_start(struct admin_exchange *, const char *url, check_job_done_f *done)
    __attribute__((warn_unused_result));
/* The exchange is gone: the fetch ends soon, and done() is not called. */
void check_job_drop(struct check_job *);
/* Ends and waits for all that still fetch. */
void check_jobs_end(struct admin *);

#endif
