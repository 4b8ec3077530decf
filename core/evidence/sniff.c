/* Owns the look-in: whether a body is a feed, whatever its Content-Type says.
 * Must not know: charsets beyond families. */
#include "core/evidence/sniff.h"

#include <string.h>

#include "core/evidence/markup.h"

/* Behind a declaration any root but HTML's makes a feed. */
static enum sniff behind_declaration(const struct evidence *e, const struct xmldecl *decl)
{
	struct scan s = { evidence_family(e), e->bytes, e->len, decl->end };

	switch (markup_root(&s)) {
	case ROOT_FEED:
	case ROOT_OTHER:
		return SNIFF_FEED;
	case ROOT_SHORT:
		return SNIFF_MORE;
	default:
		return SNIFF_NOT_XML;
	}
}

static enum sniff sniff_look(const struct evidence *e)
{
	const struct xmldecl *decl = e->hidden.state != XMLDECL_ABSENT ? &e->hidden : &e->decl;

	switch (decl->state) {
	case XMLDECL_PRESENT:
		return behind_declaration(e, decl);
	case XMLDECL_INCOMPLETE:
		return SNIFF_MORE;
	case XMLDECL_ABSENT:
	case XMLDECL_BROKEN:
		break;
	}
	return e->preamble.state == PREAMBLE_FEED ? SNIFF_FEED : SNIFF_NOT_XML;
}

/* A file has no type, but somebody named it: any root but HTML's will do, with a declaration or without, also one that
 * does not end well. Behind other text the rules of a type of XML count. */
static enum sniff sniff_file(const struct evidence *e)
{
	struct scan s = { evidence_family(e), e->bytes, e->len, e->bom_len };

	switch (markup_root(&s)) {
	case ROOT_FEED:
	case ROOT_OTHER:
		return SNIFF_FEED;
	case ROOT_SHORT:
		return scan_peek(&s, 0) == '<' && e->complete ? SNIFF_FEED : SNIFF_MORE;
	case ROOT_HTML:
		return SNIFF_NOT_XML;
	case ROOT_NONE:
		break;
	}
	return e->decl.state == XMLDECL_BROKEN ? SNIFF_FEED : sniff_look(e);
}

static enum sniff by_type(const struct evidence *e)
{
	switch (e->type.CTMime) {
	case MIME_APP_XML:
		if (strcmp(e->type.mime, "application/xhtml+xml") == 0)
			return SNIFF_NOT_XML;
		return SNIFF_FEED;
	case MIME_TEXT_XML:
	case MIME_OTHER_XML:
		return SNIFF_FEED;
	case MIME_MEDIA:
		return SNIFF_NOT_XML;
	default:
		return SNIFF_MORE;
	}
}

enum sniff sniff_decide(const struct evidence *e)
{
	enum sniff answer = e->http ? by_type(e) : SNIFF_MORE;

	if (answer == SNIFF_MORE)
		answer = e->http ? sniff_look(e) : sniff_file(e);
	return answer == SNIFF_MORE && e->complete ? SNIFF_NOT_XML : answer;
}
