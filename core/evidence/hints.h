/* Owns what a feed says of its language: <language>, xml:lang, dc:language, the country of its links.
 * Must not know: charsets, bytes beyond ASCII. Invariant: hints weigh; they never decide against what the text says.
 * English says nothing: templates write it under every language. */
#ifndef UTFEED_CORE_EVIDENCE_HINTS_H
#define UTFEED_CORE_EVIDENCE_HINTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/evidence/language.h"

/* What a hint for each language weighs, in LANGUAGE_NAT-ths of a nat. All zero: nothing is known. */
struct hints {
	uint8_t weight[LANGUAGE_COUNT];
};

/* Reads the elements and attributes at the start of a document in an ASCII charset. */
void hints_read_feed(struct hints *, const uint8_t *bytes, size_t len);
/* A language tag (BCP 47), or several with commas between them. */
void hints_read_language(struct hints *, const char *value, size_t len);
/* The URL of the feed, or a host. */
void hints_read_url(struct hints *, const char *url, size_t len);

#endif
