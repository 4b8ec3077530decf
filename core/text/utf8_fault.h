/* Owns telling apart what can stand in text where well-formed UTF-8 ends: a stray byte, a character that was cut, a
 * character in a form that UTF-8 forbids.
 * Must not know: streams, charsets, or what a fault is replaced by. Pure function.
 * Sources: Unicode chapter 3, table 3-7; Unicode Technical Report 26 (CESU-8); Java's "modified UTF-8" (C0 80). */
#ifndef UTFEED_CORE_TEXT_UTF8_FAULT_H
#define UTFEED_CORE_TEXT_UTF8_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum utf8_fault_kind {
	FAULT_STRAY,                /* One byte that neither begins nor continues a sequence. */
	FAULT_CUT,                  /* A lead and some of its trails, two bytes at least. */
	FAULT_FORBIDDEN,            /* A whole sequence: overlong, a lone surrogate, above U+10FFFF. */
	FAULT_PAIR,                 /* CESU-8: a surrogate pair in six bytes, which means one character. */
	FAULT_NUL                   /* C0 80. */
};

struct utf8_fault {
	enum utf8_fault_kind kind;
	size_t len;                 /* 1 to UTF8_FAULT_MAX */
	uint32_t character;         /* FAULT_PAIR: what the pair means */
	bool incomplete;            /* the bytes end before it is certain what this is */
};

enum { UTF8_FAULT_MAX = 6 };

/* The fault at the start of these bytes, at which no well-formed sequence begins. len is 1 at least. */
struct utf8_fault utf8_fault(const uint8_t *, size_t len);

#endif
