/* Owns the models of languages (languages.def): what a text costs as one of a language.
 * Must not know: charsets, labels, where a text comes from. Pure functions.
 * Costs are negative logarithms of probabilities in LANGUAGE_NAT-ths of a nat, so that differences between two readings
 * of the same bytes are the logarithm of how much likelier one is. The models are made by train/languages.py. */
#ifndef UTFEED_CORE_EVIDENCE_LANGUAGE_H
#define UTFEED_CORE_EVIDENCE_LANGUAGE_H

#include <stddef.h>
#include <stdint.h>

#include "core/evidence/letters.h"

enum { LANGUAGE_NAT = 6 };

enum language {
#define LANGUAGE(id, ...) LANGUAGE_##id,
#include "core/evidence/languages.def"
#undef LANGUAGE
	/* written in ideographs or syllables from here on */
	LANGUAGE_HAN,
	LANGUAGE_BEFORE_HAN = LANGUAGE_HAN - 1,
#define HAN(id, ...) LANGUAGE_##id,
#include "core/evidence/han.def"
#undef HAN
	LANGUAGE_COUNT,
	LANGUAGE_NONE = -1
};

/* The language tag (BCP 47), "pl"; "" for LANGUAGE_NONE. */
const char *language_tag(enum language);
/* The language of a tag with or without subtags behind it, in any case: "pt-BR"; LANGUAGE_NONE: a model is missing. No
 * tag names a background model ("mul-..."), which stands for the languages of a script that have none of their own. */
enum language language_of_tag(const char *tag, size_t len);
/* For languages before LANGUAGE_HAN. */
enum letter_script language_script(enum language);
/* The cost of a language before any text is read: few feeds are in a rare one. */
int language_rarity(enum language);

/* The cost of a text, and the part of it that pairs of ASCII characters cost, which are the same in every charset. */
struct language_cost {
	unsigned all, ascii;
};

/* What tokens cost as text of a language before LANGUAGE_HAN; LANGUAGE_NONE: as text in an alphabet without a model. A
 * pair of ASCII letters says something of the language but nothing of the charset, so it counts half. The beginning of
 * an ASCII word in a text of another script counts whole. */
struct language_cost language_cost(enum language, const uint16_t *tokens, size_t n);
/* The cost of the cases of the letters: a capital inside a word is dear. It is the same for all languages. */
unsigned language_case_cost(const uint16_t *tokens, size_t n);
/* What a text in UTF-8 costs as one of a language from LANGUAGE_HAN on. */
struct language_cost language_han_cost(enum language, const uint8_t *text, size_t len);

#endif
