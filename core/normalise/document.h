/* Owns what is done about XML of another kind than feeds (SNIFF_DOCUMENT): its type stays, and so do its bytes, unless
 * a label names another charset than UTF-8 and the bytes are text of it.
 * Must not know: streams, repairs.
 * Invariant: a document is decoded only as a label says, never as the text suggests. */
#ifndef UTFEED_CORE_NORMALISE_DOCUMENT_H
#define UTFEED_CORE_NORMALISE_DOCUMENT_H

#include "core/policy/policy.h"

/* Whether a label may give reason to decode the document; the first bytes tell. */
bool document_is_labelled(const struct evidence *);
/* Decides over the window, and finishes the evidence. -1: out of memory. */
int document_decide(enum policy, struct evidence *, struct verdict *) __attribute__((warn_unused_result));

#endif
