/* Owns the definition of junk before a document: how much of it each media type allows, and the forms of junk that are
 * allowed with any type. Private to core.
 * Must not know: declarations, roots, what is done about junk.
 * Source: utfeed-rules(7), "What is a feed": with a type that is not XML other text is not junk but the body. */
#ifndef UTFEED_CORE_EVIDENCE_JUNK_H
#define UTFEED_CORE_EVIDENCE_JUNK_H

#include <stdbool.h>

#include "core/evidence/media_kind.h"
#include "core/evidence/scan.h"

/* What may stand before a document; each includes those before it. White space and byte order marks always may, and
 * comments with a feed behind them. */
enum junk {
	/* a type that says what the body is, and that it is not XML: JSON, scripts, CSV ... */
	JUNK_NONE,
	JUNK_MESSAGES,              /* a type that says nothing of the body: error messages of PHP */
	/* text/html, the type of a script that sets none: JUNK_MAX bytes of plain ASCII words */
	JUNK_WORDS,
	JUNK_TEXT                   /* a type of XML, and files: JUNK_MAX bytes of any text */
};

enum { JUNK_MAX = 64 };

enum junk junk_allowed(bool http, enum media_kind);
/* Moves past an error message of PHP ("Warning: ... on line 3", as text or as HTML) that starts at the cursor. */
enum scan_match junk_message(struct scan *);
/* Whether the character (of scan_peek()) may be part of junk text. */
bool junk_may_be(enum junk allowed, int c);

#endif
