/* Owns the decision on XML of another kind than feeds (SNIFF_DOCUMENT). Its type and its bytes stay. Only if a label
 * names a legacy charset and the bytes are text in it, the document is decoded.
 * Must not know: streams, repairs.
 * Invariant: a document is decoded only as a label says, never as the text suggests. */
#ifndef UTFEED_CORE_NORMALISE_DOCUMENT_H
#define UTFEED_CORE_NORMALISE_DOCUMENT_H

#include "core/policy/policy.h"

/* True if a label names a legacy charset. The first bytes tell. */
bool document_is_labelled(const struct evidence *);
/* Decides. If the document is labelled the evidence has to hold the whole window. -1: out of memory. */
int document_decide(enum policy, struct evidence *, struct verdict *) __attribute__((warn_unused_result));

#endif
