/* Owns forbidden characters and references to them, found by a lexer that knows where in a document it is.
 * Must not know: marks, junk, declarations, line ends. Private to repair.c.
 * Invariant: that of repair.h; text that needs no repair is written in runs from the caller's buffer, and only a token
 * that the end of a call cuts is copied. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_LEX_H
#define UTFEED_CORE_REPAIR_REPAIR_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/repair/repair.h"

enum {
	LEX_CARRY_MAX = 16,             /* room for an unfinished token (at most 8 bytes) and its end */
	LEX_DIGITS = 7                  /* significant digits of the largest scalar value, 1114111 or 10FFFF */
};

/* A document starts in its prolog. The literals of a document type may contain text that looks like markup and is none
 * (XML 1.0 [9], [11], [12]), so each declaration of a document type is read to its end. */
enum lex_mode {
	LEX_PROLOG,
	LEX_DOCTYPE,                    /* "<!DOCTYPE" to its "[" or ">" */
	LEX_SUBSET,                     /* between "[" and "]", beside declarations */
	LEX_DECLARATION,                /* "<!ENTITY" and its like */
	LEX_LITERAL,                    /* in quotes, in a declaration or in the document type itself */
	LEX_SLOW_MODES,
	LEX_TEXT = LEX_SLOW_MODES,      /* from the root on */
	LEX_COMMENT,
	LEX_INSTRUCTION,
	LEX_CDATA
};

/* A numeric reference that the end of a call has cut, kept so that it can be written as it came. */
struct lex_reference {
	bool open;                      /* "&#" was seen, its end was not */
	bool hex;
	bool overflow;                  /* more digits than any character has: forbidden however it ends */
	uint64_t zeros;                 /* leading zeros */
	uint32_t value;
	size_t digits;                  /* significant digits */
	char digit[LEX_DIGITS];
};

/* Set flags, sink and counts; all else starts as zero. */
struct repair_lex {
	unsigned flags;
	struct sink sink;
	uint64_t *counts;               /* REPAIR_COUNT of them */
	enum lex_mode mode;
	enum lex_mode back;             /* the mode after LEX_LITERAL, LEX_COMMENT and the modes behind that */
	uint8_t quote;                  /* LEX_LITERAL: the quote that ends it */
	bool external;                  /* the literals hold names of other entities, in which nothing is a reference */
	struct lex_reference ref;
	uint8_t carry[LEX_CARRY_MAX];
	size_t carry_len;
};

/* final: the text ends with this call. 0, or what the sink returned. */
int repair_lex(struct repair_lex *, const uint8_t *, size_t len, bool final) __attribute__((warn_unused_result));

#endif
