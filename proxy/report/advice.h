/* Owns what the publisher of a feed should fix: which findings a report has, a sentence for each, and the mail.
 * Must not know: how it is shown.
 * Invariant: a sentence quotes peers' bytes as they came; whoever shows one escapes it. A right feed has no finding,
 * and a report that is not fine (check.h) has one. */
#ifndef UTFEED_PROXY_REPORT_ADVICE_H
#define UTFEED_PROXY_REPORT_ADVICE_H

#include "proxy/base/text.h"
#include "proxy/report/check_report.h"

enum advice {
#define ADVICE(id, name, applies, counted, text) ADVICE_##id,
#include "proxy/report/advice.def"
#undef ADVICE
	ADVICE_COUNT
};

const char *advice_name(enum advice);
bool advice_applies(enum advice, const struct check_report *);
/* Whether nothing is to be fixed. */
bool advice_is_none(const struct check_report *);
/* Appends the sentence, which quotes peers' bytes. */
void advice_text(struct text *, enum advice, const struct check_report *);
/* Appends a mail to the publisher with all of it, lines ended by LF; nothing where there is nothing to fix. */
void advice_mail(struct text *, const struct check_report *);

#endif
