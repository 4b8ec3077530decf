/* Owns choosing the pieces of a text by which its charset is judged: words with bytes beyond ASCII and what stands
 * around them, from all over the held bytes. Repetitions of a word are left out.
 * Must not know: charsets, languages. Pure function.
 * Invariant: a piece starts where a character starts in every charset whose ASCII bytes below 0x30 stand alone. */
#ifndef UTFEED_CORE_EVIDENCE_SAMPLE_H
#define UTFEED_CORE_EVIDENCE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAMPLE_BYTES = 2048 };

struct sample {
	uint8_t bytes[SAMPLE_BYTES];    /* pieces, with a line feed behind each */
	size_t len;
	size_t beyond;                  /* bytes beyond ASCII in them */
	bool has[256];                  /* which bytes these are */
	bool whole;                     /* nothing that was looked for has been left out but repetitions */
};

/* wanted[byte]: pieces are taken around these; NULL: around every byte beyond ASCII. */
void sample_take(struct sample *, const uint8_t *bytes, size_t len, const bool wanted[256]);

#endif
