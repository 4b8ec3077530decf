/* Owns the names of root elements by which a feed is known, and HTML's. Private to core. */
#ifndef UTFEED_CORE_EVIDENCE_ROOTS_H
#define UTFEED_CORE_EVIDENCE_ROOTS_H

#include "core/evidence/scan.h"

enum root { ROOT_NONE, ROOT_FEED, ROOT_HTML, ROOT_OTHER, ROOT_SHORT };

/* The element whose start tag stands at the cursor ("<" and a name, which may have a namespace prefix). ROOT_NONE:
 * not a start tag. ROOT_SHORT: the bytes end before the name does. */
enum root root_at(const struct scan *);
/* Whether that element has this local name, in any case of letters. */
bool root_is_named(const struct scan *, const char *local);

#endif
