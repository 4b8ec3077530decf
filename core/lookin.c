/* Owns the type look-in: is this body a feed, whatever its Content-Type says?
 * Must not know: charsets beyond families. */
#include "lookin.h"

#include <string.h>

#include "roots.h"
#include "scan.h"

/* Past a DOCTYPE and its internal subset (XML 1.0 [28]), over quoted literals and comments. */
static bool skip_doctype(struct scan *s)
{
	struct scan look = *s;
	int depth = 0, quote = 0, c;

	for (; (c = scan_peek(&look, 0)) != SCAN_END; look.at += look.family.unit) {
		if (quote != 0) {
			quote = c == quote ? 0 : quote;
		} else if (scan_match(&look, "<!--", false) == SCAN_YES) {
			if (!scan_past(&look, "-->"))
				return false;
			look.at -= look.family.unit;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (c == '<' || c == '[') {
			depth++;
		} else if (c == ']') {
			depth--;
		} else if (c == '>' && --depth == 0) {
			s->at = look.at + look.family.unit;
			return true;
		}
	}
	return false;
}

/* "<!DOCTYPE" S "html": HTML's and XHTML's alike. */
static enum scan_match doctype_html(const struct scan *s)
{
	struct scan look = *s;
	enum scan_match m;

	look.at += 9 * look.family.unit;
	scan_skip_space(&look);
	m = scan_match(&look, "html", true);
	if (m != SCAN_YES)
		return m;
	return scan_peek(&look, 4) == SCAN_END ? SCAN_SHORT : scan_is_name(scan_peek(&look, 4)) ? SCAN_NO : SCAN_YES;
}

/* What follows at the cursor: comments, processing instructions and a DOCTYPE are stepped over. declared: an XML declaration
 * stood before, so any root but HTML's will do. */
static enum lookin walk(struct scan *s, bool declared)
{
	enum scan_match comment, doctype, html;

	for (;;) {
		scan_skip_space(s);
		comment = scan_match(s, "<!--", false);
		doctype = scan_match(s, "<!doctype", true);
		if (scan_peek(s, 0) == SCAN_END || comment == SCAN_SHORT || doctype == SCAN_SHORT)
			return LOOKIN_MORE;
		if (comment == SCAN_YES) {
			if (!scan_past(s, "-->"))
				return LOOKIN_MORE;
		} else if (doctype == SCAN_YES) {
			html = doctype_html(s);
			if (html == SCAN_YES)
				return LOOKIN_NOT_XML;
			if (html == SCAN_SHORT || !skip_doctype(s))
				return LOOKIN_MORE;
		} else if (scan_match(s, "<?", false) == SCAN_YES) {
			if (!scan_past(s, "?>"))
				return LOOKIN_MORE;
		} else {
			switch (root_at(s)) {
			case ROOT_FEED: return LOOKIN_FEED;
			case ROOT_OTHER: return declared ? LOOKIN_FEED : LOOKIN_NOT_XML;
			case ROOT_SHORT: return LOOKIN_MORE;
			default: return LOOKIN_NOT_XML;
			}
		}
	}
}

/* Over at most XMLDECL_JUNK_MAX bytes that are not markup, to the first "<" of markup. */
static enum lookin skip_junk(struct scan *s)
{
	size_t junk = 0;
	int c, next;

	for (;;) {
		scan_skip_space(s);
		c = scan_peek(s, 0), next = scan_peek(s, 1);
		if (c == SCAN_END || (c == '<' && next == SCAN_END))
			return LOOKIN_MORE;
		if (c == '<' && (scan_is_letter(next) || next == '!' || next == '?'))
			return LOOKIN_FEED;
		junk += s->family.unit;
		if (junk > XMLDECL_JUNK_MAX)
			return LOOKIN_NOT_XML;
		s->at += s->family.unit;
	}
}

static enum lookin look(const struct evidence *e)
{
	struct scan s = { evidence_family(e), e->bytes, e->len, e->bom_len };
	const struct xmldecl *decl = e->hidden.state != XMLDECL_ABSENT ? &e->hidden : &e->decl;
	enum lookin found;

	if (decl->state == XMLDECL_INCOMPLETE)
		return LOOKIN_MORE;
	if (decl->state == XMLDECL_BROKEN)
		return LOOKIN_NOT_XML;
	if (decl->state == XMLDECL_PRESENT) {
		s.at = decl->end;
		return walk(&s, true);
	}
	found = skip_junk(&s);
	return found == LOOKIN_FEED ? walk(&s, false) : found;
}

/* JSON text starts with '{' or '[' where it is an object or an array (RFC 8259 section 2); nothing else feeds are. */
static bool looks_like_json(const struct evidence *e)
{
	struct scan s = { evidence_family(e), e->bytes, e->len, e->bom_len };

	scan_skip_space(&s);
	return scan_peek(&s, 0) == '{' || scan_peek(&s, 0) == '[';
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
		answer = e->type.CTMime == MIME_JSON && looks_like_json(e) ? LOOKIN_NOT_XML : look(e);
	return answer == LOOKIN_MORE && e->complete ? LOOKIN_NOT_XML : answer;
}
