/* Owns looking at the start of decoded text. See repair_prolog.h.
 * What counts as junk: RULES.md, "Reading Content-Type and the declaration" and "Type look-in". Before a declaration anything is
 * junk, since nothing may stand there (XML 1.0 [22] prolog); before a root only text is, never markup: it may be the root. */
#include "repair_prolog.h"

#include <string.h>

#include "roots.h"

static const struct bom_family utf_8 = { CS_UTF_8, FAMILY_ASCII, 1 };

static enum prolog_state look_declaration(struct prolog *p, const uint8_t *text, size_t len, bool complete)
{
	size_t at = p->mark;
	enum xmldecl_state found = xmldecl_seek(utf_8, text, len, &at, complete);
	struct xmldecl decl;

	if (found == XMLDECL_PRESENT) {
		xmldecl_read_text(&decl, text, len, at, complete, &p->enc_start, &p->enc_end);
		found = decl.state;
	}
	switch (found) {
	case XMLDECL_INCOMPLETE:
		return PROLOG_MORE;
	case XMLDECL_PRESENT:
		p->start = at;
		memcpy(p->encoding, decl.encoding, sizeof p->encoding);
		return PROLOG_DECLARATION;
	case XMLDECL_ABSENT:
	case XMLDECL_BROKEN:
		break;
	}
	p->enc_start = p->enc_end = 0;
	return PROLOG_PLAIN;
}

/* Skips comments and instructions. SCAN_YES: a document type or a feed's root follows. */
static enum scan_match skip_to_document(struct scan *s)
{
	static const char *const misc[][2] = { { "<!--", "-->" }, { "<?", "?>" } };
	enum scan_match found;
	size_t i;

	for (;;) {
		scan_skip_space(s);
		found = scan_match(s, "<!DOCTYPE", false);
		if (found != SCAN_NO)
			return found;
		for (i = 0; i < 2 && found == SCAN_NO; i++) {
			found = scan_match(s, misc[i][0], false);
			if (found == SCAN_YES && !scan_past(s, misc[i][1]))
				found = SCAN_SHORT;
		}
		if (found == SCAN_SHORT)
			return found;
		if (found == SCAN_NO)
			break;
	}
	switch (root_at(s)) {
	case ROOT_FEED:
		return SCAN_YES;
	case ROOT_SHORT:
		return SCAN_SHORT;
	case ROOT_NONE:
	case ROOT_HTML:
	case ROOT_OTHER:
		break;
	}
	return SCAN_NO;
}

/* Text before a feed's first markup, where no declaration is. */
static enum prolog_state look_junk(struct prolog *p, const uint8_t *text, size_t len, bool complete)
{
	struct scan s = { utf_8, text, len, p->mark };
	size_t junk = 0, markup;
	enum scan_match found;
	int c;

	while ((c = scan_peek(&s, 0)) != '<' && c != SCAN_END && junk <= XMLDECL_JUNK_MAX) {
		junk += !scan_is_space(c);
		s.at++;
	}
	if (c == SCAN_END)
		return complete ? PROLOG_PLAIN : PROLOG_MORE;
	if (junk == 0 || junk > XMLDECL_JUNK_MAX)
		return PROLOG_PLAIN;
	markup = s.at;
	found = skip_to_document(&s);
	if (found == SCAN_SHORT && !complete)
		return PROLOG_MORE;
	if (found != SCAN_YES)
		return PROLOG_PLAIN;
	p->start = markup;
	return PROLOG_JUNK;
}

void prolog_look(struct prolog *p, const uint8_t *text, size_t len, bool complete)
{
	static const char mark[] = "\xef\xbb\xbf";
	size_t seen = len < strlen(mark) ? len : strlen(mark);

	memset(p, 0, sizeof(*p));
	if (memcmp(text, mark, seen) == 0) {
		if (seen < strlen(mark) && !complete)
			return;
		p->mark = p->start = seen == strlen(mark) ? seen : 0;
	}
	p->state = look_declaration(p, text, len, complete);
	if (p->state == PROLOG_PLAIN)
		p->state = look_junk(p, text, len, complete);
}
