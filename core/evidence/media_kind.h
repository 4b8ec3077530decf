/* Owns what a media type says of the kind of its body: a feed, XML that may be one, another document, a picture.
 * Must not know: bytes of the body. Source: utfeed-rules(7), "What is a feed". */
#ifndef UTFEED_CORE_EVIDENCE_MEDIA_KIND_H
#define UTFEED_CORE_EVIDENCE_MEDIA_KIND_H

#include "core/evidence/media_type.h"

enum media_kind {
	MEDIA_KIND_XML,         /* A feed or XML of any kind: the type of a feed, application/xml, text/xml. */
	MEDIA_KIND_FEED,        /* A feed, by a name from before "+xml". */
	MEDIA_KIND_PAGE,        /* text/html, the type of a script that sets none. */
	MEDIA_KIND_VAGUE,       /* It says nothing of the body, or there is none. */
	MEDIA_KIND_DOCUMENT,    /* Another kind of document in XML, which its type has to go on naming. */
	MEDIA_KIND_DRAWING,     /* image/svg+xml. */
	MEDIA_KIND_JSON,        /* JSON, and so not XML, whatever the root. */
	MEDIA_KIND_OTHER,       /* Something else, XML or not: scripts, CSV, office documents ... */
	MEDIA_KIND_MEDIA        /* Pictures, sound and fonts; XHTML, whose pages send forms in their own charset. */
};

enum media_kind media_kind(const struct media_type *);

#endif
