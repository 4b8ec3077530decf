/* Owns the cursor that reads ASCII characters one by one out of any family's code units; the readers of declarations,
 * markup and roots share it. Private to core.
 * Must not know: what the characters mean. */
#ifndef UTFEED_CORE_EVIDENCE_SCAN_H
#define UTFEED_CORE_EVIDENCE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/evidence/bom.h"

/* The values of scan_peek() that are no ASCII character: another code unit, the end of the bytes. */
enum { SCAN_OTHER = -1, SCAN_END = -2 };

struct scan {
	struct bom_family family;
	const uint8_t *bytes;
	size_t len;
	size_t at;                  /* byte offset of the next unit */
};

/* scan_peek() where the units are not bytes of ASCII. */
int scan_peek_unit(const struct scan *, size_t ahead);

/* The ASCII character `ahead` units on, SCAN_OTHER, or SCAN_END. EBCDIC's next line reads as '\n'. */
static inline int scan_peek(const struct scan *s, size_t ahead)
{
	if (s->family.unit != 1 || s->family.family == FAMILY_EBCDIC)
		return scan_peek_unit(s, ahead);
	if (s->len - s->at <= ahead)
		return SCAN_END;
	return s->bytes[s->at + ahead] < 0x80 ? s->bytes[s->at + ahead] : SCAN_OTHER;
}

static inline bool scan_is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static inline bool scan_is_letter(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Characters of names that matter here: letters, digits, '.', '-', '_', ':'. */
static inline bool scan_is_name(int c)
{
	return scan_is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' || c == ':';
}
void scan_skip_space(struct scan *);

/* Whether text stands at the cursor. SCAN_SHORT: it does as far as the bytes go. */
enum scan_match { SCAN_NO, SCAN_YES, SCAN_SHORT };
enum scan_match scan_match(const struct scan *, const char *text, bool ignore_case);
/* Moves past a byte order mark, U+FEFF in the family's units; EBCDIC has none. SCAN_SHORT: the bytes may end in one. */
enum scan_match scan_skip_mark(struct scan *);
/* Moves past the next occurrence of text. False: there is none, and the cursor has not moved. */
bool scan_past(struct scan *, const char *text);

#endif
