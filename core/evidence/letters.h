/* Owns what a character is to the statistics of languages: a letter, a sign, a break between words.
 * Must not know: charsets, languages. Pure functions.
 * Invariant: a small letter and its capital are one token with different flags. */
#ifndef UTFEED_CORE_EVIDENCE_LETTERS_H
#define UTFEED_CORE_EVIDENCE_LETTERS_H

#include <stdint.h>

enum letter_script {
	SCRIPT_LATIN, SCRIPT_CYRILLIC, SCRIPT_GREEK, SCRIPT_HEBREW, SCRIPT_ARABIC, SCRIPT_THAI, SCRIPT_COUNT
};

/* The low bits of a token. The class strings of languages.def have one character for each, in this order. */
enum {
	TOKEN_BREAK,                /* between words: space, digits, ASCII punctuation */
	TOKEN_A,                    /* "a" to "z" are consecutive */
	TOKEN_OPEN = TOKEN_A + 26,  /* opening quotes */
	TOKEN_CLOSE,                /* closing quotes, the apostrophe, the ellipsis */
	TOKEN_SIGN,                 /* dashes, (c), degrees and what else is common */
	TOKEN_SIGN_FEW, TOKEN_SIGN_RARE, TOKEN_CONTROL,
	TOKEN_HAN,                  /* Ideographs, kana, hangul. */
	TOKEN_STRANGER,             /* A letter of an alphabet that letters.def does not have. */
	TOKEN_BAD,                  /* U+FFFD. */
	TOKEN_NO_BREAK,             /* A break that is rarer than a letter in the same place of another charset. */
	TOKEN_LETTER = 40,          /* The letters of letters.def, from its first row on. */
	TOKEN_BEFORE_LETTERS = TOKEN_LETTER - 1,
#define LETTER(script, code, cost) TOKEN_LETTER_##code,
#include "core/evidence/letters.def"
#undef LETTER
	TOKEN_COUNT,
	TOKEN_MASK = 0x3FFF, TOKEN_SMALL = 0x4000, TOKEN_CAPITAL = 0x8000
};

/* The token of a character, with TOKEN_SMALL or TOKEN_CAPITAL where it is a letter that has case. */
uint16_t letters_token(uint32_t character);

/* For tokens of TOKEN_LETTER and up. */
enum letter_script letters_script(unsigned token);

#endif
