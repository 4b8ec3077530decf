/* Owns which token each byte of a single-byte charset is (letters.h).
 * Must not know: languages. Invariant: a table is built once, published by compare-and-swap, and lives as long as the
 * process (as decoder_table.c does it). */
#ifndef UTFEED_CORE_EVIDENCE_CHARSET_LETTERS_H
#define UTFEED_CORE_EVIDENCE_CHARSET_LETTERS_H

#include <stdint.h>

#include "core/decode/charset.h"

/* 256 tokens; NULL with errno set: out of memory (ENOMEM), or iconv has no such converter (EINVAL). */
const uint16_t *charset_letters(enum charset);

#endif
