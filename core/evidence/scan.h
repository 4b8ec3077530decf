/* Owns reading ASCII characters one by one out of any family's code units: the cursor that declaration reader and
 * look-in share. Private to core.
 * Must not know: what the characters mean. */
#ifndef UTFEED_CORE_EVIDENCE_SCAN_H
#define UTFEED_CORE_EVIDENCE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/evidence/bom.h"

/* What a code unit is where it is not an ASCII character. */
enum { SCAN_OTHER = -1, SCAN_END = -2 };

struct scan {
	struct bom_family family;
	const uint8_t *bytes;
	size_t len;
	size_t at;                  /* byte offset of the next unit */
};

/* The ASCII character `ahead` units on, SCAN_OTHER, or SCAN_END. EBCDIC's next line reads as '\n'. */
int scan_peek(const struct scan *, size_t ahead);
bool scan_is_space(int c);
bool scan_is_letter(int c);
/* Characters of names that matter here: letters, digits, '.', '-', '_', ':'. */
bool scan_is_name(int c);
void scan_skip_space(struct scan *);

/* Does text follow? SCAN_NO, SCAN_YES, or SCAN_SHORT: so far, but the bytes end. */
enum scan_match { SCAN_NO, SCAN_YES, SCAN_SHORT };
enum scan_match scan_match(const struct scan *, const char *text, bool ignore_case);
/* Past a byte order mark, U+FEFF in the family's units; EBCDIC has none. SCAN_SHORT: the bytes may end in one. */
enum scan_match scan_skip_mark(struct scan *);
/* Moves past the next occurrence of text. False: not before the end (nothing moved). */
bool scan_past(struct scan *, const char *text);

#endif
