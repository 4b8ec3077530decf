/* Owns how the findings of `utfeed check` are shown: as text for people, as JSON for programs.
 * Must not know: how they were found. Invariant: no byte of a feed or a name reaches a terminal unescaped. */
#ifndef UTFEED_PROXY_REPORT_CHECK_REPORT_H
#define UTFEED_PROXY_REPORT_CHECK_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/normalise/normalise.h"
#include "core/policy/policy_explain.h"

enum { CHECK_FIRST_BYTES = 32 };

struct check_report {
	const char *file;
	const char *content_type;               /* NULL: none, or no HTTP */
	bool http;
	uint8_t first[CHECK_FIRST_BYTES];
	size_t first_len;
	const struct evidence *evidence;
	struct verdict verdicts[POLICY_COUNT];
	const struct verdict *result;           /* the verdict of `auto`, as in the proxy */
	const struct normalise_report *report;
	bool normalised;                        /* false: left untouched, or an error */
	const char *fault;                      /* why the normalised document is not well-formed; NULL: it is */
	unsigned long fault_line;
	const struct policy_explanation *explanation;   /* of auto; NULL: nobody asks */
};

void check_report_text(const struct check_report *);
void check_report_json(const struct check_report *);

#endif
