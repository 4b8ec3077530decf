/* Owns the names of root elements by which a feed is known, and HTML's. Private to core. */
#ifndef UTFEED_CORE_EVIDENCE_ROOTS_H
#define UTFEED_CORE_EVIDENCE_ROOTS_H

#include "core/evidence/scan.h"

enum root { ROOT_NONE, ROOT_FEED, ROOT_HTML, ROOT_OTHER, ROOT_SHORT };

/* What element starts at the cursor ("<" and a name, a namespace prefix before a feed's name allowed)? ROOT_NONE: no
 * start tag there. ROOT_SHORT: the bytes end before the name does. */
enum root root_at(const struct scan *);

#endif
