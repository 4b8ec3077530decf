/* Owns a report as a document of HTML that needs nothing from elsewhere: no script, no resource, and a style of its own
 * that its Content-Security-Policy names by hash.
 * Must not know: how it was found, who serves it.
 * Invariant: no byte of a peer is markup (visible.h), and nothing in the document can be fetched or run. */
#ifndef UTFEED_PROXY_REPORT_CHECK_HTML_H
#define UTFEED_PROXY_REPORT_CHECK_HTML_H

#include <stdio.h>

#include "proxy/report/check_report.h"

void check_html_begin(FILE *);
/* Writes one report as an article; number: counts them in one document from 1. */
void check_html_report(FILE *, const struct check_report *, unsigned number);
void check_html_end(FILE *);

#endif
