/* ROME's published tables, shared by the policies that are made of them. Private to core/policy*.c. */
#ifndef UTFEED_CORE_POLICY_POLICY_ROME_H
#define UTFEED_CORE_POLICY_POLICY_ROME_H

#include "core/policy/policy_rules.h"

extern const struct rule rome_http_rules[];     /* [2.0]-[2.6] */

/* Runs ROME strict as a step of another policy. Returns the row that decided. */
const struct rule *rome_strict_order(struct verdict *, const struct rule_view *);

/* Runs the extension of ROME strict, where ROME's page says to extend it: for files and after [2.0]. False: none of its
 * rows applies, and nothing was done. */
bool rome_extended_order(struct verdict *, const struct rule_view *);
/* Takes only the charset for decoding from the extension; the rule stays as published. */
void rome_extended_decoder(struct verdict *, const struct rule_view *);

#endif
