/* Owns strings of JSON (RFC 8259 section 7) in a struct text, for lines that are written by the thousand; json.h writes
 * whole documents to a stream.
 * Must not know: what is written.
 * Invariant: the string is valid JSON in UTF-8 whatever the bytes are. Bytes that are not UTF-8 become U+FFFD. Control
 * characters (C0, DEL, C1) and those of unseen.h are escaped, so that a reader of lines sees one line. */
#ifndef UTFEED_PROXY_BASE_JSON_TEXT_H
#define UTFEED_PROXY_BASE_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "proxy/base/slice.h"
#include "proxy/base/text.h"

/* the longest that a character becomes: a pair of surrogates */
enum { JSON_CHARACTER_MAX = 12 };
/* for bytes that are not UTF-8 */
#define JSON_REPLACEMENT "\\ufffd"

/* Writes the character at the start of well-formed text as a string has it. *width: the bytes it takes there. Returns
 * the bytes it takes here. */
size_t json_text_character(char out[JSON_CHARACTER_MAX], const uint8_t *at, size_t *width);

/* Adds the bytes as a string with its quotes, of at most max bytes between them: the text ends before the character
 * that would exceed it. */
void json_text_bytes(struct text *, struct slice bytes, size_t max);

#endif
