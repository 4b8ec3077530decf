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

/* A body of a known file format (container.h) is never a feed.
 * A file (no HTTP) is a feed where it starts with any root but HTML's, for somebody named it; behind other text as a
 * body of an XML type. The type of a body says how little makes it a feed (media_kind.h). Under the types of feeds and
 * of any XML every root will do. Under the type of another kind of document only the roots of RSS and Atom will do.
 * Under types of media none will do. A body of any other type is a feed when it starts, in any family, with a feed's
 * root. If the type is vague or cannot be right, an XML declaration and a root that is not HTML will do, too. Behind
 * other text, as much of it as the type allows as junk (junk.h), only a feed's root counts, with a declaration or
 * without.
 * SNIFF_MORE only when the window is not complete and the answer may still change. */
enum sniff sniff_decide(const struct evidence *);

/* True if the body is a feed by its own first markup, whatever the type promises: it has a feed's root, or the window
 * ends before any root. */
bool sniff_is_feed(const struct evidence *);

/* True if under this type any body is a feed that does not prove to be another file. */
bool sniff_expects_feed(const struct evidence *);

/* True if gzip under this type may be unpacked to look for a feed, because the type promises text. A download stays
 * gzip. */
bool sniff_unpacks(bool http, const struct media_type *);

#endif
