/* Owns the type look-in: is this body a feed, whatever its Content-Type says?
 * Must not know: charsets beyond families. Source: utfeed-rules(7), "What is a feed". */
#ifndef UTFEED_CORE_EVIDENCE_SNIFF_H
#define UTFEED_CORE_EVIDENCE_SNIFF_H

#include "core/evidence/evidence.h"

enum sniff { SNIFF_FEED, SNIFF_NOT_XML, SNIFF_MORE };

/* A file (no HTTP) always is one: somebody named it. XML types (APP-XML, TEXT-XML, +xml) are feeds whatever their root,
 * except application/xhtml+xml; image, audio, video, font never are; every other type is one when the body starts, in
 * any family, with an XML declaration whose root is not HTML, or with a feed's root. Behind other text, as much of it
 * as the type lets pass for junk (junk.h), only a feed's root counts, declared or not.
 * SNIFF_MORE only when the window is not complete and the answer may still change. */
enum sniff sniff_decide(const struct evidence *);

#endif
