/* Owns the type look-in: is this body a feed, whatever its Content-Type says?
 * Must not know: charsets beyond families. */
#include "core/evidence/sniff.h"

#include <string.h>

#include "core/evidence/markup.h"

/* Behind a declaration any root will do but HTML's. */
static enum lookin behind_declaration(const struct evidence *e, const struct xmldecl *decl)
{
	struct scan s = { evidence_family(e), e->bytes, e->len, decl->end };

	switch (markup_root(&s)) {
	case ROOT_FEED:
	case ROOT_OTHER:
		return LOOKIN_FEED;
	case ROOT_SHORT:
		return LOOKIN_MORE;
	default:
		return LOOKIN_NOT_XML;
	}
}

static enum lookin look(const struct evidence *e)
{
	const struct xmldecl *decl = e->hidden.state != XMLDECL_ABSENT ? &e->hidden : &e->decl;

	switch (decl->state) {
	case XMLDECL_PRESENT:
		return behind_declaration(e, decl);
	case XMLDECL_INCOMPLETE:
		return LOOKIN_MORE;
	case XMLDECL_ABSENT:
	case XMLDECL_BROKEN:
		break;
	}
	return e->preamble.state == PREAMBLE_FEED ? LOOKIN_FEED : LOOKIN_NOT_XML;
}

static enum lookin by_type(const struct evidence *e)
{
	if (!e->http)
		return LOOKIN_FEED;
	switch (e->type.CTMime) {
	case MIME_APP_XML:
		if (strcmp(e->type.mime, "application/xhtml+xml") == 0)
			return LOOKIN_NOT_XML;
		return LOOKIN_FEED;
	case MIME_TEXT_XML:
	case MIME_OTHER_XML:
		return LOOKIN_FEED;
	case MIME_MEDIA:
		return LOOKIN_NOT_XML;
	default:
		return LOOKIN_MORE;
	}
}

enum lookin lookin_decide(const struct evidence *e)
{
	enum lookin answer = by_type(e);

	if (answer == LOOKIN_MORE)
		answer = look(e);
	return answer == LOOKIN_MORE && e->complete ? LOOKIN_NOT_XML : answer;
}
