/* Owns the look-in: whether a body is a feed, whatever its Content-Type says.
 * Must not know: charsets beyond families. Source: utfeed-rules(7), "What is a feed". */
#ifndef UTFEED_CORE_EVIDENCE_SNIFF_H
#define UTFEED_CORE_EVIDENCE_SNIFF_H

#include "core/evidence/evidence.h"

enum sniff { SNIFF_FEED, SNIFF_NOT_XML, SNIFF_MORE };

/* A file (no HTTP) is a feed where it starts with any root but HTML's, for somebody named it; behind other text as a
 * body of an XML type. A body of an XML type (APP-XML, TEXT-XML, +xml) is a feed
 * whatever its root, but for application/xhtml+xml; image, audio, video and font never are. A body of any other type is
 * a feed when it starts, in any family, with an XML declaration and a root that is not HTML, or with a feed's root.
 * Behind other text, as much of it as the type allows as junk (junk.h), only a feed's root counts, with a declaration
 * or without.
 * SNIFF_MORE only when the window is not complete and the answer may still change. */
enum sniff sniff_decide(const struct evidence *);

#endif
