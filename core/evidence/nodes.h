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
	NODE_STRAY,                     /* UTF-8 but for few bytes, or but for a character that its end cuts */
	NODE_OTHER
};

struct node {
	enum node_kind kind;
	size_t multibyte;               /* well-formed characters beyond ASCII; of NODE_OTHER not all may be counted */
};

/* complete: the node ends behind these bytes; else a character that they cut is no fault. pairs: nodes that are not
 * UTF-8 may be in a two-byte set, in which well-formed characters of UTF-8 are less rare than in others. */
struct node node_look(const uint8_t *, size_t len, bool complete, bool pairs);
/* The offset of the edge that ends the node at `at`; len: there is none. */
size_t node_end(const uint8_t *, size_t at, size_t len);
/* The offset behind the last edge in bytes `from` to `at`; from: there is none. */
size_t node_start(const uint8_t *, size_t from, size_t at);

enum { NODES_BYTES = 8192 };

/* What the nodes beyond ASCII of a text are. */
struct nodes {
	size_t utf_8;                   /* characters of UTF-8 that are more than a node has by accident */
	size_t others;                  /* nodes of NODE_OTHER */
	size_t len;
	uint8_t other[NODES_BYTES];     /* their bytes, whole ones as there is room, with a line feed behind each */
};

/* pairs: as for node_look(). */
void nodes_read(struct nodes *, const uint8_t *, size_t len, bool complete, bool pairs);
/* Whether so much of it is UTF-8 that text of another charset has no such nodes by accident. labelled: a label that
 * somebody chose says otherwise. */
bool nodes_are_mixed(const struct nodes *, bool labelled);

/* The charset of nodes that are not UTF-8: what the detector makes of them, windows-1252 where it makes nothing. -1:
 * out of memory. */
int nodes_charset(enum charset *, const uint8_t *, size_t len, const struct hints *, const struct proposal *, size_t n)
    __attribute__((warn_unused_result));

#endif
