/* Owns asking which verdicts on a body come to the same text.
 * Must not know: policies, how that is shown. */
#ifndef UTFEED_PROXY_REPORT_CHECK_AGREE_H
#define UTFEED_PROXY_REPORT_CHECK_AGREE_H

#include "core/policy/policy.h"

/* For each verdict the first one that comes to the same text of the held bytes, or to the same error. Different names
 * of one charset may be read differently: us-ascii has no character beyond ASCII, iso-8859-1 has controls where
 * windows-1252 has letters. -1: out of memory. */
int check_agree(enum policy leaders[POLICY_COUNT], const struct verdict[POLICY_COUNT], const struct evidence *)
    __attribute__((warn_unused_result));

#endif
