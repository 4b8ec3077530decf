/* Owns the sentence that says at a glance what a feed is: whether it can be read, what its labels say, what it is.
 * Must not know: how it is shown.
 * Invariant: one line; it quotes peers' bytes as they came, and whoever shows it escapes it. */
#ifndef UTFEED_PROXY_REPORT_SUMMARY_H
#define UTFEED_PROXY_REPORT_SUMMARY_H

#include "proxy/report/check_report.h"

void summary_text(struct text *, const struct check_report *);

#endif
