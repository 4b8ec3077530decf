/* Owns looking at the start of decoded text; see repair_prolog.h.
 * The text was judged to be XML, so everything that the rules of the preamble allow as junk is junk. Before a
 * declaration that includes markup, since nothing may stand there (XML 1.0 [22] prolog); before a root it is text only,
 * because markup may be the root. */
#include "core/repair/repair_prolog.h"

#include <string.h>

#include "core/evidence/preamble.h"

static const struct bom_family utf_8 = { CS_UTF_8, FAMILY_ASCII, 1 };

static void look_declaration(struct prolog *p, const uint8_t *text, size_t len, size_t at, bool complete)
{
	const struct scan s = { utf_8, text, len, at };

	declaration_read(&p->declared, &s, complete);
	switch (p->declared.said.state) {
	case XMLDECL_INCOMPLETE:
		return;
	case XMLDECL_PRESENT:
		p->start = at;
		p->state = PROLOG_DECLARATION;
		return;
	case XMLDECL_ABSENT:
	case XMLDECL_BROKEN:
		p->state = PROLOG_PLAIN;
	}
}

static void look_behind_mark(struct prolog *p, const uint8_t *text, size_t len, bool complete)
{
	const struct scan s = { utf_8, text, len, p->mark };
	struct preamble found;

	preamble_look(&found, &s, JUNK_TEXT, complete);
	switch (found.state) {
	case PREAMBLE_MORE:
		return;
	case PREAMBLE_DECLARATION:
		look_declaration(p, text, len, found.at, complete);
		return;
	case PREAMBLE_FEED:
		p->state = found.junk ? PROLOG_JUNK : PROLOG_PLAIN;
		p->start = found.junk ? found.at : p->mark;
		return;
	case PREAMBLE_NONE:
		p->state = PROLOG_PLAIN;
	}
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
	look_behind_mark(p, text, len, complete);
}
