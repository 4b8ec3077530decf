/* Owns the look-in: whether a body is a feed, whatever its Content-Type says.
 * Must not know: charsets beyond families. */
#include "core/evidence/sniff.h"

#include "core/evidence/container.h"
#include "core/evidence/markup.h"
#include "core/evidence/media_kind.h"

/* True if the type is right for a body with a declaration and a root that feeds do not have. */
static bool is_as_typed(const struct scan *root, enum media_kind kind)
{
	return kind == MEDIA_KIND_OTHER || (kind == MEDIA_KIND_DRAWING && root_is_named(root, "svg"));
}

static enum sniff behind_declaration(const struct evidence *e, const struct xmldecl *decl, enum media_kind kind)
{
	struct scan s = { evidence_family(e), e->bytes, e->len, decl->end };

	switch (markup_root(&s)) {
	case ROOT_FEED:
		return SNIFF_FEED;
	case ROOT_OTHER:
		return is_as_typed(&s, kind) ? SNIFF_NOT_XML : SNIFF_FEED;
	case ROOT_SHORT:
		return SNIFF_MORE;
	default:
		return SNIFF_NOT_XML;
	}
}

static enum sniff sniff_look(const struct evidence *e, enum media_kind kind)
{
	const struct xmldecl *decl = e->hidden.state != XMLDECL_ABSENT ? &e->hidden : &e->decl;

	switch (decl->state) {
	case XMLDECL_PRESENT:
		return behind_declaration(e, decl, kind);
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
	return e->decl.state == XMLDECL_BROKEN ? SNIFF_FEED : sniff_look(e, MEDIA_KIND_VAGUE);
}

/* The type names another kind of document. The roots of RSS and Atom say more than the type. The other roots of feeds
 * do not, because metadata and lists have them, too. */
static enum sniff sniff_document(const struct evidence *e)
{
	struct scan s = { evidence_family(e), e->bytes, e->len, e->bom_len };

	switch (markup_root(&s)) {
	case ROOT_FEED:
		return root_is_named(&s, "rss") || root_is_named(&s, "feed") ? SNIFF_FEED : SNIFF_DOCUMENT;
	case ROOT_OTHER:
		return SNIFF_DOCUMENT;
	case ROOT_SHORT:
		return SNIFF_MORE;
	default:
		return SNIFF_NOT_XML;
	}
}

enum {
	SNIFF_BINARY_WINDOW = CONTAINER_WINDOW,
	SNIFF_CONTROLS = 16     /* bytes are not text if at least one in 16 is a control character */
};

/* White space, and the escapes of ISO 2022, are text. */
static bool is_control(uint8_t c)
{
	return c < 0x20 && c != '\t' && c != '\n' && c != '\f' && c != '\r' && c != 0x1b && c != 0x0e && c != 0x0f;
}

/* Whether the bytes are markup or text by their beginning: then control characters in them are faults. */
static bool sniff_begins_text(const struct evidence *e)
{
	struct scan s = { evidence_family(e), e->bytes, e->len, e->bom_len };

	return e->bom_len > 0 || s.family.family != FAMILY_ASCII || scan_peek(&s, 0) == '<';
}

/* Likewise by what follows. SNIFF_MORE: that is not known yet. */
static enum sniff sniff_markup(const struct evidence *e)
{
	if (e->decl.state == XMLDECL_INCOMPLETE || e->hidden.state == XMLDECL_INCOMPLETE ||
	    e->preamble.state == PREAMBLE_MORE)
		return SNIFF_MORE;
	return e->decl.state != XMLDECL_ABSENT || e->hidden.state != XMLDECL_ABSENT ||
	    e->preamble.state == PREAMBLE_FEED ? SNIFF_FEED : SNIFF_NOT_XML;
}

/* Under a type of XML nearly all that is text counts as a feed, but not the bytes of an unknown file format. */
static enum sniff sniff_xml(const struct evidence *e)
{
	size_t window = e->len < SNIFF_BINARY_WINDOW ? e->len : SNIFF_BINARY_WINDOW, controls = 0;
	enum sniff markup;

	if (sniff_begins_text(e) || (markup = sniff_markup(e)) == SNIFF_FEED)
		return SNIFF_FEED;
	if (!e->complete && (markup == SNIFF_MORE || window < SNIFF_BINARY_WINDOW))
		return SNIFF_MORE;
	for (size_t i = 0; i < window; i++)
		controls += is_control(e->bytes[i]);
	return controls * SNIFF_CONTROLS > window ? SNIFF_NOT_XML : SNIFF_FEED;
}

static enum sniff by_type(const struct evidence *e)
{
	switch (e->kind) {
	case MEDIA_KIND_XML:
		return sniff_xml(e);
	case MEDIA_KIND_DOCUMENT:
		return sniff_document(e);
	case MEDIA_KIND_MEDIA:
		return SNIFF_NOT_XML;
	default:
		return sniff_look(e, e->kind);
	}
}

/* The type was given to the gzip, so only a root of a feed makes its content a feed. */
static enum sniff sniff_unpacked(const struct evidence *e)
{
	struct scan s = { evidence_family(e), e->bytes, e->len, e->bom_len };
	enum root root = markup_root(&s);

	return root == ROOT_FEED ? SNIFF_FEED : root == ROOT_SHORT ? SNIFF_MORE : SNIFF_NOT_XML;
}

static enum sniff sniff_body(const struct evidence *e)
{
	if (container_name(e->bytes, e->len))
		return SNIFF_NOT_XML;
	if (e->unpacked)
		return sniff_unpacked(e);
	return e->http ? by_type(e) : sniff_file(e);
}

/* True while further bytes may still change the answer: they may complete a mark or tell another family, and the magic
 * of a known file makes any answer SNIFF_NOT_XML. Types of media decide alone. */
static bool sniff_may_change(const struct evidence *e, enum sniff answer)
{
	if (answer == SNIFF_NOT_XML)
		return e->len < e->bom_len + BOM_WINDOW && !(e->http && e->kind == MEDIA_KIND_MEDIA);
	return e->len < e->bom_len + BOM_WINDOW || container_may_come(e->bytes, e->len);
}

enum sniff sniff_decide(const struct evidence *e)
{
	enum sniff answer = sniff_body(e);

	if (e->complete)
		return answer == SNIFF_MORE ? SNIFF_NOT_XML : answer;
	return sniff_may_change(e, answer) ? SNIFF_MORE : answer;
}

bool sniff_is_feed(const struct evidence *e)
{
	struct scan s = { evidence_family(e), e->bytes, e->len, e->bom_len };

	if (container_name(e->bytes, e->len))
		return false;
	if (sniff_look(e, MEDIA_KIND_OTHER) == SNIFF_FEED)
		return true;
	switch (markup_root(&s)) {
	case ROOT_FEED:
		return true;
	case ROOT_SHORT:
		return !e->complete;
	case ROOT_NONE:
		return e->decl.state == XMLDECL_BROKEN;
	default:
		return false;
	}
}

bool sniff_expects_feed(const struct evidence *e)
{
	return e->http && !e->unpacked && e->kind == MEDIA_KIND_XML;
}

bool sniff_unpacks(bool http, const struct media_type *m)
{
	enum media_kind kind = media_kind(m);

	return !http || kind == MEDIA_KIND_XML || kind == MEDIA_KIND_FEED || kind == MEDIA_KIND_PAGE;
}
