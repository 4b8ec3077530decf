/* Owns checking a feed in a thread of its own, so that the admin listener goes on meanwhile: that of a URL, which is
 * fetched, or one that was sent.
 * Must not know: how the report is shown. The destinations are those that clients may name (the guard).
 * Invariant: at most CHECK_JOBS_MAX URLs are fetched at a time. One feed that was sent is checked at a time, and others
 * wait in their order. An exchange gets one answer, or is dropped. */
#ifndef UTFEED_PROXY_ADMIN_CHECK_JOB_H
#define UTFEED_PROXY_ADMIN_CHECK_JOB_H

#include <stdbool.h>

#include "proxy/base/slice.h"

struct admin;
struct admin_exchange;
struct check_job;
struct check_report;

enum { CHECK_JOBS_MAX = 4 };

struct check_order {
	const char *url;   /* NULL: the feed was sent */
	struct slice feed; /* a part of the request's body, or all of it */
	const char *name;  /* of the feed's file */
	const char *type;  /* the feed's Content-Type; "": none was seen */
	bool explain;      /* the report says why auto decided so */
};

/* Called on the admin thread when the check has ended. report NULL: there is none, as why says; why NULL: out of
 * memory. Both are borrowed for the call. */
typedef void check_job_done_f(struct admin_exchange *, const struct check_report *report, const char *why);

/* The exchange waits (admin_exchange.job) until done() is called; its body belongs to the job from now on. -1: out of
 * memory, or too many URLs are fetched already. */
int check_job_start(struct admin_exchange *, const struct check_order *, check_job_done_f *done)
    __attribute__((warn_unused_result));
/* The exchange is gone: the check ends soon, and done() is not called. */
void check_job_drop(struct check_job *);
/* Ends and waits for all that are left. */
void check_jobs_end(struct admin *);

#endif
