/* Owns UTF-8 that was read as windows-1252 and encoded as UTF-8 once more: where it is undone, and where it stays.
 * Must not know: markup beyond where a node of text ends, other repairs. Private to repair.c.
 * Invariant: that of repair.h, except that well-formed documents change; what is undone becomes characters beyond ASCII
 * only, so that markup stays what it was. At most DOUBLE_HOLD bytes of text are held.
 * Source: WHATWG Encoding, index windows-1252; Unicode chapter 3, table 3-7.
 *
 * A sequence is characters whose bytes in windows-1252 are one character of UTF-8. A node is the text between two marks
 * of markup, or a CDATA section with all the markup that it quotes. A node is right text, and stays, where it has a
 * character beyond ASCII that is in no sequence. Right text has sequences, too, by accident, so enough must be found.
 * That is three, of which two tell: they stand where right text has none (sequence_tells() in the source). They are in
 * nodes that are not right text, and within DOUBLE_HOLD bytes or without right text between. All that time the text is
 * held. From then on each node of nothing but sequences is undone by itself; but one where none of them tells stays
 * if the last node beyond ASCII before it was right text. A node longer than what is held is judged in pieces. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_DOUBLE_H
#define UTFEED_CORE_REPAIR_REPAIR_DOUBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/repair/repair.h"

enum {
	DOUBLE_HOLD = 16384,
	DOUBLE_SEQUENCES = 3,           /* that must be found, */
	DOUBLE_TELLS = 2                /* and so many that tell among them */
};

/* FRESH: nothing beyond ASCII so far. HELD: nothing but sequences. RIGHT: something else. */
enum double_node { DOUBLE_FRESH, DOUBLE_HELD, DOUBLE_RIGHT };

/* Where a text stands in the markup, and what stood before. */
struct double_place {
	bool cdata;
	unsigned matched;               /* characters of what opens a section, or of what closes it */
	uint8_t last;                   /* the character before, ASCII or what stands for a sequence */
	bool right;                     /* the last node with characters beyond ASCII was right text */
};

/* Set sink, counts and next; all else starts as zero. */
struct repair_double {
	struct sink sink;
	uint64_t *counts;               /* REPAIR_COUNT of them */
	/* what is undone goes through it, since it may have been encoded more often; NULL: it does not */
	struct repair_double *next;
	const uint8_t *in;              /* of this call; from `run` on it is neither written nor kept */
	size_t run;

	struct double_place place;
	enum double_node node;
	unsigned node_sequences, node_tells;    /* of a held node: its sequences, and those that tell */

	/* a character in the making, and a sequence of such characters in the making */
	uint32_t character;
	unsigned character_more;
	uint32_t sequence;              /* its bytes in windows-1252, the last one lowest */
	uint8_t lower, upper;           /* what its next byte may be */
	unsigned sequence_more;
	bool complete;                  /* the sequence is, but what follows it is not known yet */
	uint8_t before;                 /* what stands before it */

	bool proven;                    /* enough was found */
	unsigned sequences, tells;      /* found so far, in nodes that have ended */
	bool right_since;               /* right text was seen since the hold began */

	bool holding, waiting;          /* waiting: the hold has nodes that have ended */
	struct double_place began;      /* where the hold began */
	uint8_t *held;
	size_t held_len;
};

/* final: the text ends with this call. 0, what the sink returned, or -1 (out of memory). */
int repair_double(struct repair_double *, const uint8_t *, size_t len, bool final)
    __attribute__((warn_unused_result));
void repair_double_free(struct repair_double *);

#endif
