/* Owns stepping over markup other than elements; see markup.h.
 * Invariant: the content of a construct is never read as markup, whatever it looks like. */
#include "core/evidence/markup.h"

#include <string.h>

static const struct {
	const char *open, *close;
	enum markup kind;
} spans[] = {
	{ "<!--", "-->", MARKUP_MISC }, { "<?", "?>", MARKUP_MISC }, { "<![CDATA[", "]]>", MARKUP_CDATA },
};

static enum markup skip_span(struct scan *s)
{
	struct scan look;

	for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
		switch (scan_match(s, spans[i].open, false)) {
		case SCAN_NO:
			break;
		case SCAN_SHORT:
			return MARKUP_SHORT;
		case SCAN_YES:
			look = *s;
			look.at += strlen(spans[i].open) * look.family.unit;
			if (!scan_past(&look, spans[i].close))
				return MARKUP_SHORT;
			s->at = look.at;
			return spans[i].kind;
		}
	}
	return MARKUP_NONE;
}

/* Whether "<!DOCTYPE" S "html" stands at the cursor, of HTML or of XHTML. */
static enum scan_match names_html(const struct scan *s)
{
	struct scan look = *s;

	scan_skip_space(&look);
	enum scan_match m = scan_match(&look, "html", true);
	if (m != SCAN_YES)
		return m;
	int c = scan_peek(&look, strlen("html"));
	return c == SCAN_END ? SCAN_SHORT : scan_is_name(c) ? SCAN_NO : SCAN_YES;
}

/* Moves to the ">" of a document type, over its literals, its internal subset, and comments and instructions in it. */
static bool skip_doctype(struct scan *s)
{
	struct scan look = *s;
	int depth = 1, quote = 0, c;
	enum markup span;

	while ((c = scan_peek(&look, 0)) != SCAN_END) {
		span = quote == 0 && c == '<' ? skip_span(&look) : MARKUP_NONE;
		if (span == MARKUP_SHORT)
			return false;
		if (span != MARKUP_NONE)
			continue;
		look.at += look.family.unit;
		if (quote != 0) {
			quote = c == quote ? 0 : quote;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (c == '<' || c == '[') {
			depth++;
		} else if (c == ']') {
			depth--;
		} else if (c == '>' && --depth == 0) {
			s->at = look.at;
			return true;
		}
	}
	return false;
}

static enum markup skip_doctype_or_html(struct scan *s)
{
	static const char word[] = "<!doctype";
	enum scan_match m = scan_match(s, word, true);
	struct scan look = *s;

	if (m != SCAN_YES)
		return m == SCAN_NO ? MARKUP_NONE : MARKUP_SHORT;
	look.at += strlen(word) * look.family.unit;
	m = names_html(&look);
	if (m == SCAN_YES)
		return MARKUP_HTML;
	if (m == SCAN_SHORT || !skip_doctype(&look))
		return MARKUP_SHORT;
	s->at = look.at;
	return MARKUP_DOCTYPE;
}

enum markup markup_skip(struct scan *s)
{
	enum markup kind = skip_span(s);

	return kind == MARKUP_NONE ? skip_doctype_or_html(s) : kind;
}

enum root markup_root(struct scan *s)
{
	for (;;) {
		scan_skip_space(s);
		switch (markup_skip(s)) {
		case MARKUP_MISC:
		case MARKUP_DOCTYPE:
			continue;
		case MARKUP_NONE:
			return scan_peek(s, 0) == SCAN_END ? ROOT_SHORT : root_at(s);
		case MARKUP_HTML:
			return ROOT_HTML;
		case MARKUP_CDATA:
			return ROOT_NONE;
		case MARKUP_SHORT:
			return ROOT_SHORT;
		}
	}
}
