/* Owns the look-in: whether a body is a feed, whatever its Content-Type says.
 * Must not know: charsets beyond families. Source: utfeed-rules(7), "What is a feed". */
#ifndef UTFEED_CORE_EVIDENCE_SNIFF_H
#define UTFEED_CORE_EVIDENCE_SNIFF_H

#include "core/evidence/evidence.h"

enum sniff {
	SNIFF_FEED,
	SNIFF_DOCUMENT,     /* XML of another kind, as its type says: at most it is decoded by its labels */
	SNIFF_NOT_XML,
	SNIFF_MORE
};

/* What opens a known container (container.h) is never a feed.
 * A file (no HTTP) is a feed where it starts with any root but HTML's, for somebody named it; behind other text as a
 * body of an XML type. A body whose type is that of feeds or of any XML (media_kind.h) is a feed whatever its root;
 * under the type of another kind of document one with the root of RSS or Atom is; under types of media none. A body of
 * any other type is a feed when it starts, in any family, with a feed's root, or with an XML declaration and a root
 * that is not HTML, where the type is vague or cannot be right. Behind other text, as much of it as the type allows as
 * junk (junk.h), only a feed's root counts, with a declaration or without.
 * SNIFF_MORE only when the window is not complete and the answer may still change. */
enum sniff sniff_decide(const struct evidence *);

/* Whether gzip under this type may be unpacked to look for a feed in it: the type promises text. What comes as a
 * download keeps its form. */
bool sniff_unpacks(bool http, const struct media_type *);

#endif
