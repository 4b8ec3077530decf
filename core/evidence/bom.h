/* Owns the two checks of the first bytes in XML 1.0 Appendix F.1: byte order marks and families.
 * Must not know: declarations, labels, HTTP. Pure functions over the first bytes. */
#ifndef UTFEED_CORE_EVIDENCE_BOM_H
#define UTFEED_CORE_EVIDENCE_BOM_H

#include <stddef.h>
#include <stdint.h>

#include "core/decode/charset.h"

/* Bytes needed before either answer is final. */
enum { BOM_WINDOW = 4 };

/* BOMEnc: UTF-8, UTF-16BE/LE, UTF-32 in four orders (CS_UTF_32BE 1234, CS_UTF_32LE 4321, CS_UCS_4_2143, CS_UCS_4_3412),
 * CS_NONE. *bom_len: its bytes, 0 without one. */
enum charset bom_detect(const uint8_t *, size_t len, size_t *bom_len);

/* The pattern of the code units without a mark, and a charset that reads the ASCII characters in it. */
struct bom_family {
	/* CS_UTF_8 for "<?xm", CS_UTF_16BE/LE, CS_UTF_32*, CS_UCS_4_*, CS_IBM037 for EBCDIC; CS_NONE */
	enum charset charset;
	enum charset_family family;
	unsigned unit;              /* bytes a code unit: 1, 2, 4; 0 for none */
};
/* XMLGuessEnc, strictly by Appendix F.1: "<?xm" in any family (in 32 bits "<" is enough). Give it the bytes after the
 * mark. */
struct bom_family bom_family_strict(const uint8_t *, size_t len);
/* For `auto`: it also accepts "<" before a letter, "!" or "?" in 16 bits, white space before that, and in EBCDIC "<"
 * before letters or the beginning of "<!D" or "<!-". */
struct bom_family bom_family_loose(const uint8_t *, size_t len);

#endif
