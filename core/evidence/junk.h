/* Owns what counts as junk before a document: what a type lets pass for it, and the forms that need no leave. Private
 * to core.
 * Must not know: declarations, roots, what is done about it.
 * Source: utfeed-rules(7), "What is a feed": under a type that is not XML other text is not junk, it is the body. */
#ifndef UTFEED_CORE_EVIDENCE_JUNK_H
#define UTFEED_CORE_EVIDENCE_JUNK_H

#include <stdbool.h>

#include "core/evidence/media_type.h"
#include "core/evidence/scan.h"

/* Each lets pass what those before it do. White space and byte order marks always do, and comments with a feed behind
 * them. */
enum junk {
	/* a type that says what the body is, and that it is not XML: JSON, scripts, CSV ... */
	JUNK_NONE,
	JUNK_MESSAGES,              /* a type that says nothing: what PHP prints of its own faults */
	/* text/html, what a script's output is when it says nothing: JUNK_MAX bytes of plain ASCII words */
	JUNK_WORDS,
	JUNK_TEXT                   /* XML, and files: JUNK_MAX bytes of anything */
};

enum { JUNK_MAX = 64 };

enum junk junk_allowed(bool http, const struct media_type *);
/* Moves past a message of PHP's own ("Warning: ... on line 3", as text or as HTML) that starts at the cursor. */
enum scan_match junk_message(struct scan *);
/* May the character (of scan_peek) be part of it? */
bool junk_may_be(enum junk allowed, int c);

#endif
