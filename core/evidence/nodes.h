/* Owns reading bytes of the ASCII family node by node: a node is what stands between two of "<" and ">", and somebody
 * wrote it in one encoding. A feed made of other feeds may have nodes of UTF-8 beside nodes of an older set.
 * Must not know: policies, labels, streams.
 * Invariant: in no charset of the family but ISO-2022 is "<" or ">" a part of a longer character, so a node begins and
 * ends where characters do. */
#ifndef UTFEED_CORE_EVIDENCE_NODES_H
#define UTFEED_CORE_EVIDENCE_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/decode/charset.h"
#include "core/evidence/detector.h"
#include "core/evidence/hints.h"

enum node_kind {
	NODE_UTF_8,                     /* well-formed, or all ASCII */
	NODE_STRAY,                     /* UTF-8 beside bytes that are not */
	NODE_OPEN,                      /* the beginning of a node with nothing but stray bytes so far */
	NODE_OTHER
};

/* Looks at a node that would be in the charset `other` if it were not UTF-8. The weight of labels that say UTF-8 is
 * says_utf_8, in LANGUAGE_NAT-ths of a nat; 0: labels do not agree on it. If it is not complete, that is, it goes on
 * behind these bytes, a character that they cut is not a fault. -1: out of memory. */
int node_look(enum node_kind *, const uint8_t *, size_t len, bool complete, enum charset other, int says_utf_8)
    __attribute__((warn_unused_result));
/* The offset of the edge that ends the node at `at`; len: there is none. */
size_t node_end(const uint8_t *, size_t at, size_t len);
/* The offset behind the last edge in bytes `from` to `at`; from: there is none. */
size_t node_start(const uint8_t *, size_t from, size_t at);

enum { NODES_BYTES = 8192 };

/* The kinds of nodes beyond ASCII in a text. */
struct nodes {
	/* how much likelier, in LANGUAGE_NAT-ths of a nat, the text is with nodes of UTF-8 than without; below zero:
	 * less likely */
	int64_t lead;
	size_t utf_8;                   /* nodes that are likelier UTF-8, in whole or in part */
	size_t others;                  /* nodes of NODE_OTHER */
	size_t len;
	/* the bytes of those with more faults than characters of UTF-8, whole ones as there is room, with a line feed
	 * behind each */
	uint8_t other[NODES_BYTES];
};

/* whole: the charset that all of the text would be in if none of it were UTF-8. says_utf_8 as above; it is not in the
 * lead. -1: out of memory. */
int nodes_read(struct nodes *, const uint8_t *, size_t len, bool complete, enum charset whole, int says_utf_8)
    __attribute__((warn_unused_result));

/* The charset of nodes that are not UTF-8: what the detector makes of them, windows-1252 where it makes nothing. -1:
 * out of memory. */
int nodes_charset(enum charset *, const uint8_t *, size_t len, const struct hints *, const struct proposal *, size_t n)
    __attribute__((warn_unused_result));
/* The same of a node where charsets are known already: the first of these, unless another is far likelier. */
int nodes_second(enum charset *, const uint8_t *, size_t len, const struct hints *, const struct proposal *known,
    size_t n) __attribute__((warn_unused_result));

#endif
