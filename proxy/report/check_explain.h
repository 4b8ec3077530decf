/* Owns how `utfeed check --explain` shows why policy auto decided as it did.
 * Must not know: how that was found. Every word that it prints is utfeed's own, none a peer's. */
#ifndef UTFEED_PROXY_REPORT_CHECK_EXPLAIN_H
#define UTFEED_PROXY_REPORT_CHECK_EXPLAIN_H

#include <stdio.h>

#include "core/policy/policy_explain.h"
#include "proxy/base/json.h"

/* held: how many bytes the decision was made on. */
void check_explain_text(FILE *, const struct policy_explanation *, size_t held);
/* number: counts the reports of a document. */
void check_explain_html(FILE *, const struct policy_explanation *, size_t held, unsigned number);
/* Writes the member "explain". */
void check_explain_json(struct json *, const struct policy_explanation *, size_t held);

#endif
