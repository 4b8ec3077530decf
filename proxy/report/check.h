/* Owns finding out what a body is: it is read once, as a stream, and the report is made of it.
 * Must not know: files, sockets, how the report is shown.
 * Invariant: memory is bounded whatever the body's length, except the longest token of XML, which the parser holds.
 * The report does not depend on how the body was cut. */
#ifndef UTFEED_PROXY_REPORT_CHECK_H
#define UTFEED_PROXY_REPORT_CHECK_H

#include "proxy/report/check_report.h"

struct check;

struct check_options {
	struct normalise_options normalise;     /* as the proxy would use; its policy is auto */
	/* why the proxy would leave the body alone whatever it is (response_untouched()); VREASON_NONE: nothing */
	enum verdict_reason untouched;
	bool misnamed;                 /* the response names a content coding that utfeed does not know */
	bool explain;
};

/* Texts that the options point to are borrowed. NULL: out of memory. */
struct check *check_new(const struct check_options *);
void check_free(struct check **);
/* -1: out of memory. */
int check_feed(struct check *, const uint8_t *, size_t len) __attribute__((warn_unused_result));
/* Called when the body is complete: makes the report. -1: out of memory. */
int check_finish(struct check *) __attribute__((warn_unused_result));
/* The report, after check_finish(); the caller fills in file and response. Valid until check_free(). */
struct check_report *check_report_of(struct check *);
/* Whether the body is a feed that arrives as well-formed XML. */
bool check_is_fine(const struct check_report *);

#endif
