/* Owns what is said of a feed's language: by itself (<language>, xml:lang, dc:language, the country of its links), by
 * the response's Content-Language, by the country of its URL.
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

/* What is known of a body beside its bytes; borrowed. */
struct hints_told {
	const char *content_language;   /* NULL: there is no such field */
	size_t content_language_len;
	const char *url;                /* NULL: it has none */
};

/* Reads the elements and attributes at the start of a document in an ASCII charset. */
void hints_read_feed(struct hints *, const uint8_t *bytes, size_t len);
/* Reads what the feed does not say by itself: Content-Language counts if no language is known yet, the URL's country
 * if no country is. */
void hints_read_told(struct hints *, const struct hints_told *);

#endif
