/* Owns the table of types whose kind their class does not tell; see media_kind.h. */
#include "core/evidence/media_kind.h"

#include <stdbool.h>
#include <string.h>

static const enum media_kind by_class[] = {
	[MIME_NONE] = MEDIA_KIND_VAGUE, [MIME_APP_XML] = MEDIA_KIND_DOCUMENT, [MIME_TEXT_XML] = MEDIA_KIND_DOCUMENT,
	[MIME_OTHER_XML] = MEDIA_KIND_DOCUMENT, [MIME_TEXT_HTML] = MEDIA_KIND_PAGE,
	[MIME_TEXT_OTHER] = MEDIA_KIND_OTHER, [MIME_JSON] = MEDIA_KIND_JSON, [MIME_MEDIA] = MEDIA_KIND_MEDIA,
	[MIME_OTHER] = MEDIA_KIND_OTHER,
};

/* Sources: RFC 7303 (xml), RFC 4287 (atom), RFC 3870 (rdf), the RSS Advisory Board and the OPML specification, none of
 * which IANA has registered; what servers send in their place. */
static const struct {
	const char *mime;
	enum media_kind kind;
} by_name[] = {
	{ "application/xml", MEDIA_KIND_XML }, { "text/xml", MEDIA_KIND_XML },
	{ "application/rss+xml", MEDIA_KIND_XML }, { "application/x-rss+xml", MEDIA_KIND_XML },
	{ "text/rss+xml", MEDIA_KIND_XML }, { "text/x-rss+xml", MEDIA_KIND_XML },
	{ "application/atom+xml", MEDIA_KIND_XML }, { "application/x-atom+xml", MEDIA_KIND_XML },
	{ "text/atom+xml", MEDIA_KIND_XML }, { "text/x-atom+xml", MEDIA_KIND_XML },
	{ "application/rdf+xml", MEDIA_KIND_XML }, { "application/x-rdf+xml", MEDIA_KIND_XML },
	{ "text/rdf+xml", MEDIA_KIND_XML }, { "text/x-rdf+xml", MEDIA_KIND_XML },
	{ "application/opml+xml", MEDIA_KIND_XML }, { "application/x-opml+xml", MEDIA_KIND_XML },
	{ "text/opml+xml", MEDIA_KIND_XML }, { "text/x-opml+xml", MEDIA_KIND_XML },
	{ "application/rss", MEDIA_KIND_FEED }, { "application/x-rss", MEDIA_KIND_FEED },
	{ "text/rss", MEDIA_KIND_FEED }, { "text/x-rss", MEDIA_KIND_FEED },
	{ "application/atom", MEDIA_KIND_FEED }, { "application/x-atom", MEDIA_KIND_FEED },
	{ "text/atom", MEDIA_KIND_FEED }, { "application/rdf", MEDIA_KIND_FEED }, { "text/rdf", MEDIA_KIND_FEED },
	{ "application/opml", MEDIA_KIND_FEED }, { "text/opml", MEDIA_KIND_FEED }, { "text/x-opml", MEDIA_KIND_FEED },
	{ "text/plain", MEDIA_KIND_VAGUE }, { "application/octet-stream", MEDIA_KIND_VAGUE },
	{ "binary/octet-stream", MEDIA_KIND_VAGUE }, { "application/unknown", MEDIA_KIND_VAGUE },
	{ "application/x-unknown", MEDIA_KIND_VAGUE }, { "unknown/unknown", MEDIA_KIND_VAGUE },
	{ "content/unknown", MEDIA_KIND_VAGUE }, { "application/download", MEDIA_KIND_VAGUE },
	{ "application/x-download", MEDIA_KIND_VAGUE }, { "application/force-download", MEDIA_KIND_VAGUE },
	{ "image/svg+xml", MEDIA_KIND_DRAWING }, { "application/xhtml+xml", MEDIA_KIND_MEDIA },
};

/* Types of pictures and the like that are XML by their class. */
static bool is_media(const struct media_type *m)
{
	static const char *const tops[] = { "image/", "audio/", "video/", "font/" };

	for (size_t i = 0; m->CTMime == MIME_OTHER_XML && i < sizeof tops / sizeof tops[0]; i++)
		if (strncmp(m->mime, tops[i], strlen(tops[i])) == 0)
			return true;
	return false;
}

enum media_kind media_kind(const struct media_type *m)
{
	for (size_t i = 0; i < sizeof by_name / sizeof by_name[0]; i++)
		if (strcmp(m->mime, by_name[i].mime) == 0)
			return by_name[i].kind;
	return is_media(m) ? MEDIA_KIND_MEDIA : by_class[m->CTMime];
}
