/* Owns reading one reference: whether "&" starts one, what it stands for, and what is written instead.
 * Must not know: where in a document it stands, streams. Private to repair_*.c.
 * Invariant: the answer for a text is the answer for every longer one, too, but where it says that the text was cut.
 * Source: XML 1.0 [66] CharRef, [68] EntityRef. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_REFERENCE_H
#define UTFEED_CORE_REPAIR_REPAIR_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/repair/repair.h"
#include "core/repair/repair_entities.h"

enum {
	REFERENCE_DIGITS = 7,           /* significant digits of the largest scalar value, 1114111 or 10FFFF */
	REFERENCE_TEXT_MAX = 24,        /* two references to characters */
	REFERENCE_PAIR_MAX = 16         /* bytes of each reference of a surrogate pair */
};

/* A numeric reference, kept by its digits so that it can be written as it came however long it is. */
struct reference_number {
	bool open;                      /* "&#" was seen, its end was not */
	bool hex;
	bool overflow;                  /* more digits than any character has: forbidden however it ends */
	uint64_t zeros;                 /* leading zeros */
	uint32_t value;
	size_t digits;                  /* significant digits */
	char digit[REFERENCE_DIGITS];
};

enum reference_kind {
	REFERENCE_KEEP,                 /* It is well-formed, or no repair is wanted. */
	REFERENCE_FORBIDDEN,            /* It stands for a character that XML forbids. */
	REFERENCE_PAIR,                 /* Two references, to the two surrogates of a character. */
	REFERENCE_NAME,                 /* HTML's name of a character, which nothing declares. */
	REFERENCE_BARE,                 /* Not a reference: its "&" means itself. */
	REFERENCE_CUT,                  /* By the end of the text. */
	REFERENCE_CUT_NUMBER            /* The same behind "&#"; number has what there was. */
};

struct reference {
	enum reference_kind kind;
	size_t len;                     /* bytes to keep or to replace; of a cut number, those that it has taken */
	/* the characters that it means, if it is a _PAIR, a _NAME or _FORBIDDEN; UINT32_MAX: beyond all characters */
	struct entity_text text;
};

/* What a document makes of references. */
struct reference_rules {
	unsigned flags;
	bool content;                   /* between the root's tags; else in a value of a document type */
	struct declared_names declared;
};

/* in[0] is "&". final: the text ends with its len bytes. */
struct reference reference_read(const struct reference_rules *, struct reference_number *, const uint8_t *in,
    size_t len, bool final);
/* Goes on with an open number: len is what it takes of these bytes. Where it is not to be replaced, what was taken
 * before must be written by reference_number_emit() first. */
struct reference reference_go_on(const struct reference_rules *, struct reference_number *, const uint8_t *in,
    size_t len, bool final);
/* Writes the number as it came, except its end; bare: its "&" escaped. */
int reference_number_emit(const struct reference_number *, bool bare, struct sink);
/* The text that stands for a reference which is not kept; its length. */
size_t reference_text(const struct reference_rules *, const struct reference *, char text[REFERENCE_TEXT_MAX]);
/* The repair that a reference which is not kept counts as. */
enum repair_index reference_repair(enum reference_kind);

#endif
