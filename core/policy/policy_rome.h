/* ROME's published tables, shared by the policies made of them. Private to core/policy*.c. */
#ifndef UTFEED_CORE_POLICY_POLICY_ROME_H
#define UTFEED_CORE_POLICY_POLICY_ROME_H

#include "core/policy/policy_rules.h"

extern const struct rule rome_http_rules[];     /* [2.0]-[2.6] */

/* ROME strict as a step of something longer. Returns the row that decided. */
const struct rule *rome_strict_order(struct verdict *, const struct rule_view *);

/* The same where ROME's page says to extend it: false, and nothing done, where these rows do not speak: they do for
 * files and after [2.0]. */
bool rome_extended_order(struct verdict *, const struct rule_view *);
/* Only what the bytes are decoded as; the rule stays as published. */
void rome_extended_decoder(struct verdict *, const struct rule_view *);

#endif
