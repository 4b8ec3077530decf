/* Owns reading a Content-Type field value into CTMime and CTEnc.
 * Must not know: what a charset means (the label is only text here), or bytes of the body.
 * Grammar: RFC 9110 sections 5.6.6 and 8.3.1. */
#ifndef UTFEED_CORE_EVIDENCE_MEDIA_TYPE_H
#define UTFEED_CORE_EVIDENCE_MEDIA_TYPE_H

#include <stddef.h>

/* The classes that the published rules tell apart. */
enum mime_class {
	MIME_NONE,        /* no field, empty, or not a media type at all */
	MIME_APP_XML,     /* application/xml, -dtd, -external-parsed-entity, application/ *+xml */
	MIME_TEXT_XML,    /* text/xml, text/xml-external-parsed-entity, text/ *+xml */
	MIME_OTHER_XML,   /* any other top-level type with +xml (RFC 7303 section 8): image/svg+xml */
	MIME_TEXT_HTML,
	MIME_TEXT_OTHER,
	MIME_JSON,        /* application/json, +json */
	MIME_MEDIA,       /* image, audio, video, font: never looked into */
	MIME_OTHER
};

enum { MEDIA_TYPE_MAX = 128, MEDIA_TYPE_CHARSET_MAX = 64 };

struct media_type {
	enum mime_class CTMime;
	char mime[MEDIA_TYPE_MAX];                 /* lower case, "" for MIME_NONE */
	char charset[MEDIA_TYPE_CHARSET_MAX];      /* as written, unquoted; "" = no charset parameter (CTEnc NULL) */
};

/* value NULL: there is no such field. Never fails: a value that cannot be read is MIME_NONE without charset. */
void media_type_read(struct media_type *, const char *value, size_t len);
/* The value with that charset in the place of its own; other parameters stay. The caller frees it. NULL: out of
 * memory. */
char *media_type_relabel(const char *value, size_t len, const char *charset);
const char *mime_class_name(enum mime_class);  /* "APP-XML", "TEXT-XML", ...; published names where there are any */

#endif
