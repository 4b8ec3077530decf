/* Owns stepping over markup other than elements: comments, instructions, CDATA sections, document types. Private to
 * core.
 * Must not know: declarations' meaning, junk, Content-Type. Source: XML 1.0 [15], [16], [18]-[21], [28]. */
#ifndef UTFEED_CORE_EVIDENCE_MARKUP_H
#define UTFEED_CORE_EVIDENCE_MARKUP_H

#include "core/evidence/roots.h"
#include "core/evidence/scan.h"

enum markup {
	MARKUP_NONE,                /* no such markup starts at the cursor, which stays */
	MARKUP_MISC,                /* a comment, an instruction or an XML declaration */
	MARKUP_CDATA,
	MARKUP_DOCTYPE,
	MARKUP_HTML,                /* a document type that names html */
	MARKUP_SHORT                /* the bytes end before the markup does; the cursor stays */
};

/* Moves the cursor past the construct that starts there. */
enum markup markup_skip(struct scan *);

/* Finds the root behind white space, comments, instructions and a document type, and moves the cursor to its tag.
 * ROOT_HTML also for a document type that names html. ROOT_SHORT: the bytes end before the root is known. */
enum root markup_root(struct scan *);

#endif
