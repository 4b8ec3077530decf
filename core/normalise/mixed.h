/* Owns reading a body of UTF-8 that may have nodes in another charset, node by node (nodes.h).
 * Must not know: how it was decided that the body is UTF-8, repairs.
 * Invariant: valid UTF-8 out, and it does not depend on how the input was cut. Well-formed UTF-8 is passed on from the
 * caller's buffer. Only a node that a call's end cuts is held, at most NODE_MAX bytes of it.
 *
 * A node that is not UTF-8 is read as the other charset. Where none is known yet, the first such node that is long
 * enough says which. A planet may have two: a node that the other charset does not fit may be in a second one. Stray
 * bytes in a node of UTF-8 are read as the other charset, too, if it is a single-byte set. While none is known they are
 * read as windows-1252. */
#ifndef UTFEED_CORE_NORMALISE_MIXED_H
#define UTFEED_CORE_NORMALISE_MIXED_H

#include <stddef.h>
#include <stdint.h>

#include "core/decode/charset.h"
#include "core/evidence/hints.h"
#include "core/repair/repair.h"

/* So many bytes from a node's first one beyond ASCII on tell how the node is read to its end. */
enum { NODE_MAX = 16384 };

struct mixed;
/* spares: borrowed; NULL: none. NULL: out of memory */
struct mixed *mixed_new(struct sink, struct spares *spares);
void mixed_free(struct mixed **);
/* Before the first byte: sets the charset of nodes that are not UTF-8 (CS_NONE: not known yet), and hints of their
 * language. It also sets the weight of labels that say UTF-8 (nodes.h). -1: out of memory. */
int mixed_set_other(struct mixed *, enum charset, const struct hints *, int says_utf_8)
    __attribute__((warn_unused_result));
/* 0, what the sink returned, or -1 (out of memory) */
int mixed_feed(struct mixed *, const uint8_t *, size_t len) __attribute__((warn_unused_result));
int mixed_finish(struct mixed *) __attribute__((warn_unused_result));
/* Sequences replaced by U+FFFD, and, in nodes of UTF-8, stray bytes read as another charset. */
uint64_t mixed_malformed(const struct mixed *);
/* Nodes read as another charset than UTF-8. */
uint64_t mixed_others(const struct mixed *);

#endif
