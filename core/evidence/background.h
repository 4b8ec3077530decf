/* Owns what a text costs as one in a language that nobody has modelled: which kinds of characters follow each other in
 * any language that is written.
 * Must not know: charsets, languages, labels. Pure functions.
 * Costs are negative logarithms of probabilities in LANGUAGE_NAT-ths of a nat (language.h). ASCII behind ASCII is the
 * same in every reading of the same bytes and costs nothing. */
#ifndef UTFEED_CORE_EVIDENCE_BACKGROUND_H
#define UTFEED_CORE_EVIDENCE_BACKGROUND_H

#include <stddef.h>
#include <stdint.h>

/* A text that is read piece by piece. All zero: nothing of it has been read. */
struct background {
	unsigned cost;
	uint8_t last;               /* the kind of the last character */
	uint8_t last_case;
};

/* Reads the next piece, whole characters of well-formed UTF-8. */
void background_read(struct background *, const uint8_t *text, size_t len);

#endif
