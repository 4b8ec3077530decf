/* Owns reading an XML declaration in any family of Appendix F.1: its place and its attributes.
 * Must not know: which charset wins, or how bodies are decoded.
 * Source: XML 1.0 productions [23]-[26], [32], [80], [81]; read loosely where feeds are loose. */
#ifndef UTFEED_CORE_EVIDENCE_XMLDECL_H
#define UTFEED_CORE_EVIDENCE_XMLDECL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/evidence/bom.h"

enum {
	XMLDECL_MAX_CHARS = 1024,   /* it must end within this many characters, "?>" included */
	XMLDECL_LABEL_MAX = 64
};

enum xmldecl_state {
	XMLDECL_ABSENT,
	XMLDECL_PRESENT,
	XMLDECL_INCOMPLETE,         /* starts like a declaration; needs more bytes (never when the input is complete) */
	XMLDECL_BROKEN              /* starts like a declaration, but does not end within XMLDECL_MAX_CHARS */
};

struct xmldecl {
	enum xmldecl_state state;
	size_t start;               /* byte offset of "<?xml" from the start of the buffer given */
	size_t end;                 /* byte offset past "?>" */
	char encoding[XMLDECL_LABEL_MAX];   /* as written, ASCII; "" = none (XMLEnc NULL) */
	char version[8];            /* "1.0", "" when absent */
	int standalone;             /* -1 absent, 0 no, 1 yes */
};

/* Reads a declaration that starts at `at` in code units of the family. */
void xmldecl_read(struct xmldecl *, struct bom_family, const uint8_t *, size_t len, size_t at, bool complete);

#endif
