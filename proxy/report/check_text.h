/* Owns showing a report to people as text, on a terminal or in a file.
 * Must not know: how it was found. Invariant: no control character of a feed or a name is written (visible.h). */
#ifndef UTFEED_PROXY_REPORT_CHECK_TEXT_H
#define UTFEED_PROXY_REPORT_CHECK_TEXT_H

#include <stdio.h>

#include "proxy/report/check_report.h"

struct check_style {
	bool colours;               /* the terminal knows those of ECMA-48 section 8.3.117 (SGR) */
	bool unicode;               /* what is written to takes UTF-8 */
};

void check_report_text(FILE *, const struct check_report *, const struct check_style *);

#endif
