/* What counts as junk before a document; see junk.h. */
#include "core/evidence/junk.h"

#include <string.h>

enum { MESSAGE_MAX = 1024 };    /* characters of one message */

/* What a class of types allows; the types of the table below are looked up first. */
static const enum junk by_class[] = {
	[MIME_NONE] = JUNK_MESSAGES, [MIME_APP_XML] = JUNK_TEXT, [MIME_TEXT_XML] = JUNK_TEXT,
	[MIME_OTHER_XML] = JUNK_TEXT,
	[MIME_TEXT_HTML] = JUNK_WORDS, [MIME_TEXT_OTHER] = JUNK_NONE, [MIME_JSON] = JUNK_NONE, [MIME_MEDIA] = JUNK_NONE,
	[MIME_OTHER] = JUNK_NONE,
};

/* Types that say nothing of the body, and types of feeds from before "+xml"; all are of class MIME_OTHER or
 * MIME_TEXT_OTHER. */
static const struct {
	const char *mime;
	enum junk junk;
} by_name[] = {
	{ "text/plain", JUNK_MESSAGES }, { "application/octet-stream", JUNK_MESSAGES },
	{ "binary/octet-stream", JUNK_MESSAGES },
	{ "application/unknown", JUNK_MESSAGES }, { "application/x-unknown", JUNK_MESSAGES },
	{ "unknown/unknown", JUNK_MESSAGES },
	{ "content/unknown", JUNK_MESSAGES }, { "application/download", JUNK_MESSAGES },
	{ "application/x-download", JUNK_MESSAGES }, { "application/force-download", JUNK_MESSAGES },
	{ "application/rss", JUNK_TEXT }, { "application/x-rss", JUNK_TEXT }, { "text/rss", JUNK_TEXT },
	{ "text/x-rss", JUNK_TEXT },
	{ "application/atom", JUNK_TEXT }, { "application/x-atom", JUNK_TEXT }, { "text/atom", JUNK_TEXT },
	{ "application/rdf", JUNK_TEXT }, { "text/rdf", JUNK_TEXT }, { "application/opml", JUNK_TEXT },
	{ "text/opml", JUNK_TEXT },
	{ "text/x-opml", JUNK_TEXT },
};

enum junk junk_allowed(bool http, const struct media_type *m)
{
	bool named = m->CTMime == MIME_OTHER || m->CTMime == MIME_TEXT_OTHER;
	size_t i;

	if (!http)
		return JUNK_TEXT;
	for (i = 0; named && i < sizeof by_name / sizeof by_name[0]; i++)
		if (strcmp(m->mime, by_name[i].mime) == 0)
			return by_name[i].junk;
	return by_class[m->CTMime];
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
	for (; *words != NULL; words++) {
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
	size_t i;

	for (i = 0; m == SCAN_NO && i < sizeof names / sizeof names[0]; i++)
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
	return (c >= 0 && c < ' ') || c == 0x7f || strchr("\"'`<>(){}[]=\\*$%&@|", c) != NULL;
}

bool junk_may_be(enum junk allowed, int c)
{
	return allowed == JUNK_TEXT || (allowed == JUNK_WORDS && c != SCAN_OTHER && !is_code(c));
}
