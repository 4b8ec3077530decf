/* What counts as junk before a document; see junk.h. */
#include "core/evidence/junk.h"

#include <string.h>

enum { MESSAGE_MAX = 1024 };    /* characters of one message */

static const enum junk by_kind[] = {
	[MEDIA_KIND_XML] = JUNK_TEXT, [MEDIA_KIND_FEED] = JUNK_TEXT, [MEDIA_KIND_PAGE] = JUNK_WORDS,
	[MEDIA_KIND_VAGUE] = JUNK_MESSAGES, [MEDIA_KIND_DOCUMENT] = JUNK_NONE, [MEDIA_KIND_DRAWING] = JUNK_NONE,
	[MEDIA_KIND_JSON] = JUNK_NONE, [MEDIA_KIND_OTHER] = JUNK_NONE, [MEDIA_KIND_MEDIA] = JUNK_NONE,
};

enum junk junk_allowed(bool http, enum media_kind kind)
{
	return http ? by_kind[kind] : JUNK_TEXT;
}

/* Moves past the word; SCAN_NO: it does not stand at the cursor. */
static enum scan_match junk_take(struct scan *s, const char *word)
{
	enum scan_match m = scan_match(s, word, false);

	if (m == SCAN_YES)
		s->at += strlen(word) * s->family.unit;
	return m;
}

/* Moves past each of the words that is there, in this order. SCAN_SHORT: the bytes end within one; else SCAN_YES. */
static enum scan_match take_any(struct scan *s, const char *const *words)
{
	for (; *words; words++) {
		if (junk_take(s, *words) == SCAN_SHORT)
			return SCAN_SHORT;
		scan_skip_space(s);
	}
	return SCAN_YES;
}

static enum scan_match take_name(struct scan *s)
{
	static const char *const names[] = { "Notice", "Warning", "Deprecated", "Strict Standards", "Strict standards",
		"Parse error", "Fatal error", "Catchable fatal error", "Recoverable fatal error" };
	enum scan_match m = SCAN_NO;

	for (size_t i = 0; m == SCAN_NO && i < sizeof names / sizeof names[0]; i++)
		m = junk_take(s, names[i]);
	return m;
}

/* Moves past " on line NUMBER", which ends a message of PHP. */
static enum scan_match take_place(struct scan *s)
{
	static const char *const before[] = { "<b>", NULL }, *const after[] = { "</b>", "<br />", NULL };
	enum scan_match m;
	size_t n;
	int c;

	for (n = 0; (m = junk_take(s, " on line ")) == SCAN_NO; n++) {
		c = scan_peek(s, 0);
		if (c == '\n' || n == MESSAGE_MAX || scan_match(s, "<?", false) == SCAN_YES)
			return SCAN_NO;
		s->at += s->family.unit;
	}
	if (m == SCAN_SHORT || take_any(s, before) == SCAN_SHORT)
		return SCAN_SHORT;
	for (n = 0; (c = scan_peek(s, 0)) >= '0' && c <= '9'; n++)
		s->at += s->family.unit;
	if (c == SCAN_END)
		return SCAN_SHORT;
	return n == 0 ? SCAN_NO : take_any(s, after);
}

enum scan_match junk_message(struct scan *s)
{
	static const char *const before[] = { "<br />", "<b>", "PHP ", NULL }, *const after[] = { "</b>", NULL };
	struct scan look = *s;
	enum scan_match m = take_any(&look, before);

	if (m == SCAN_YES)
		m = take_name(&look);
	if (m == SCAN_YES)
		m = take_any(&look, after);
	if (m == SCAN_YES)
		m = junk_take(&look, ":");
	if (m == SCAN_YES)
		m = take_place(&look);
	if (m == SCAN_YES)
		*s = look;
	return m;
}

/* Whether c is a character of code, data or quotations, which words that a script printed by mistake do not have. */
static bool is_code(int c)
{
	return (c >= 0 && c < ' ') || c == 0x7f || strchr("\"'`<>(){}[]=\\*$%&@|", c);
}

bool junk_may_be(enum junk allowed, int c)
{
	return allowed == JUNK_TEXT || (allowed == JUNK_WORDS && c != SCAN_OTHER && !is_code(c));
}
