/* Where does a document start, and does anything stand before it? utfeed-rules(7), "What is a feed"; issue 12, faults 9 and 10. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/evidence/preamble.h"
#include "tests/unit/wide.h"

#define SIXTY_FOUR "################################################################"
#define MESSAGE "Warning: fopen(): no file in /srv/feed.php on line 3"
#define HTML_MESSAGE "<br />\n<b>Notice</b>:  Undefined variable: a in <b>/srv/www/feeds/of/ours/feed.php</b> on line <b>12</b><br />"

/* What each level of junk makes of a text. */
static const struct {
	const char *rule, *text;
	enum preamble_state none, messages, words, text_level;
	size_t at;                  /* at JUNK_TEXT */
	bool junk;
} cases[] = {
#define ALL(state) state, state, state, state
#define SINCE_MESSAGES(state) PREAMBLE_NONE, state, state, state
#define SINCE_WORDS(state) PREAMBLE_NONE, PREAMBLE_NONE, state, state
#define SINCE_TEXT(state) PREAMBLE_NONE, PREAMBLE_NONE, PREAMBLE_NONE, state
	{ "at once",            "<?xml version='1.0'?><a>", ALL(PREAMBLE_DECLARATION), 0, false },
	{ "white space",        "\r\n\t <?xml version='1.0'?><a>", ALL(PREAMBLE_DECLARATION), 4, false },
	{ "a feed at once",     "<rss>", ALL(PREAMBLE_FEED), 0, false },
	{ "white space, feed",  "\n <rss>", ALL(PREAMBLE_FEED), 2, false },
	{ "comment first",      " <!-- a --><rss>", ALL(PREAMBLE_FEED), 1, false },
	{ "type first",         "<!DOCTYPE rss SYSTEM '>'><rss>", ALL(PREAMBLE_FEED), 0, false },
	{ "instruction first",  "<?a?><rss>", ALL(PREAMBLE_FEED), 0, false },
	{ "trust 09: a script", "<?php 1 ?><rss>", SINCE_TEXT(PREAMBLE_FEED), 0, false },
	{ "no feed",            "<a>", ALL(PREAMBLE_NONE), 3, true },
	{ "page",               "<HTML><?xml version='1.0'?><rss>", ALL(PREAMBLE_NONE), 0, false },
	{ "page by its type",   "<!DOCTYPE html><?xml version='1.0'?><rss>", ALL(PREAMBLE_NONE), 0, false },
	{ "feed's root first",  " <rss><?xml version='1.0'?>", ALL(PREAMBLE_FEED), 1, false },
	{ "comment as a whole", "<!-- " SIXTY_FOUR SIXTY_FOUR " --><?xml version='1.0'?><rss>", ALL(PREAMBLE_DECLARATION), 137, false },
	{ "trust 09: comment, no feed", "<!-- a --><?xml version='1.0'?><a>", ALL(PREAMBLE_NONE), 10, false },
	{ "words",              "Connected.\n<?xml version='1.0'?><rss>", SINCE_WORDS(PREAMBLE_DECLARATION), 11, true },
	{ "words, bare feed",   "Connected.\n<rss>", SINCE_WORDS(PREAMBLE_FEED), 11, true },
	{ "trust 09: words, no feed", "Connected.\n<?xml version='1.0'?><a>", ALL(PREAMBLE_NONE), 11, true },
	{ "tags",               "<br />\n<?xml version='1.0'?><rss>", SINCE_TEXT(PREAMBLE_DECLARATION), 7, true },
	{ "tags, bare feed",    "<br />\n<rss>", ALL(PREAMBLE_NONE), 7, true },
	{ "code",               "f('<?xml version=\"1.0\"?><rss>", SINCE_TEXT(PREAMBLE_DECLARATION), 3, true },
	{ "64 bytes of junk",   SIXTY_FOUR "<?xml version='1.0'?><rss>", SINCE_WORDS(PREAMBLE_DECLARATION), 64, true },
	{ "65 bytes of junk",   SIXTY_FOUR "#<?xml version='1.0'?><rss>", ALL(PREAMBLE_NONE), 64, true },
	{ "message",            MESSAGE "\n<?xml version='1.0'?><rss>", SINCE_MESSAGES(PREAMBLE_DECLARATION), sizeof MESSAGE, true },
	{ "message as HTML",    HTML_MESSAGE "\n<?xml version='1.0'?><rss>", SINCE_MESSAGES(PREAMBLE_DECLARATION), sizeof HTML_MESSAGE, true },
	{ "messages, bare feed", MESSAGE "\n" MESSAGE "\n" HTML_MESSAGE "<rss>", SINCE_MESSAGES(PREAMBLE_FEED),
	    2 * sizeof MESSAGE + sizeof HTML_MESSAGE - 1, true },
	{ "message, no feed",   MESSAGE "\n<?xml version='1.0'?><a>", ALL(PREAMBLE_NONE), sizeof MESSAGE, true },
	{ "almost a message",   "Warning: on line three\n<?xml version='1.0'?><rss>", SINCE_WORDS(PREAMBLE_DECLARATION), 23, true },
	{ "trust 10: a section", "<a><![CDATA[<?xml version='1.0'?><rss>]]></a>", ALL(PREAMBLE_NONE), 45, true },
	{ "trust 10: an instruction", "<a><?b <?xml version='1.0'?><rss></a>", ALL(PREAMBLE_NONE), 37, true },
	{ "trust 10: a comment", "<a><!-- <?xml version='1.0'?><rss> --></a>", ALL(PREAMBLE_NONE), 42, true },
	{ "trust 10: a value",  "<!DOCTYPE a [<!ENTITY b \"<?xml version='1.0'?><rss>\">]><a>", ALL(PREAMBLE_NONE), 57, true },
	{ "trust 10: a quote in an instruction", "<!DOCTYPE a [<?b '?><!ENTITY c \"'<?xml version='1.0'?><rss>\">]><a>", ALL(PREAMBLE_NONE), 65, true },
	{ "comment open",       "<!-- <?xml version='1.0'?><rss>", ALL(PREAMBLE_NONE), 0, false },
	{ "a declaration of another document", "x<?xml version='1.0'?><?xml version='1.0'?><rss>", SINCE_WORDS(PREAMBLE_DECLARATION), 1, true },
	{ "not closed, behind text", "x<?xml version='1.0' <rss>", SINCE_WORDS(PREAMBLE_DECLARATION), 1, true },
	{ "in capitals",        "<?XML version='1.0'?><a>", ALL(PREAMBLE_DECLARATION), 0, false },
	{ "a blank in it",      " < ? xml version='1.0'?><a>", ALL(PREAMBLE_DECLARATION), 1, false },
	{ "no blank in it",     "<?xmlversion='1.0'?><a>", ALL(PREAMBLE_DECLARATION), 0, false },
	{ "another instruction", "<?xmlversion a?><rss>", ALL(PREAMBLE_FEED), 0, false },
	{ "no bracket",         "?xml version='1.0'?><rss>", ALL(PREAMBLE_DECLARATION), 0, false },
	{ "no bracket, no feed", "?xml version='1.0'?><a>", ALL(PREAMBLE_NONE), 20, true },
	{ "no mark",            "<xml version='1.0'?><rss>", ALL(PREAMBLE_DECLARATION), 0, false },
	{ "an element",         "<xml version='1.0'><rss>", ALL(PREAMBLE_NONE), 19, true },
	{ "escaped",            "&lt;?xml version=&quot;1.0&quot;?&gt;<rss>", ALL(PREAMBLE_DECLARATION), 0, false },
	{ "in a well-formed document's text", "<a>&lt;?xml version='1.0'?> <rss/></a>", ALL(PREAMBLE_NONE), 28, true },
	{ "white space only",   "  ", ALL(PREAMBLE_NONE), 2, false },
	{ "nothing",            "", ALL(PREAMBLE_NONE), 0, false },
};

enum { CASES = sizeof cases / sizeof cases[0] };

static const struct bom_family kinds[] = {
	{ CS_UTF_8, FAMILY_ASCII, 1 }, { CS_UTF_16BE, FAMILY_16BIT, 2 }, { CS_UTF_32LE, FAMILY_32BIT, 4 }, { CS_UCS_4_2143, FAMILY_32BIT, 4 },
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static enum preamble_state wanted(size_t i, enum junk allowed)
{
	const enum preamble_state states[] = { cases[i].none, cases[i].messages, cases[i].words, cases[i].text_level };

	return states[allowed];
}

static void every_level(void)
{
	struct preamble p;
	enum junk junk;
	size_t i, len;
	uint8_t *bytes;

	for (i = 0; i < CASES; i++) {
		bytes = wide_text(kinds[0], cases[i].text, 0, &len);
		for (junk = JUNK_NONE; junk <= JUNK_TEXT; junk++) {
			const struct scan s = { kinds[0], bytes, len, 0 };

			preamble_look(&p, &s, junk, true);
			UNIT_ROW(p.state == wanted(i, junk), "%s, junk %d: %d", cases[i].rule, (int)junk, (int)p.state);
		}
		if (p.state != PREAMBLE_NONE)
			UNIT_ROW(p.at == cases[i].at && p.junk == cases[i].junk, "%s: at %zu, junk %d", cases[i].rule, p.at, (int)p.junk);
		free(bytes);
	}
}

/* What is answered of a beginning is the answer of the whole, in every family. */
static void every_cut(void)
{
	struct preamble whole, part;
	size_t i, k, cut, len;
	enum junk junk;
	uint8_t *bytes;

	for (i = 0; i < CASES * KINDS; i++) {
		k = i % KINDS;
		bytes = wide_text(kinds[k], cases[i / KINDS].text, 0, &len);
		for (junk = JUNK_NONE; junk <= JUNK_TEXT; junk++) {
			const struct scan s = { kinds[k], bytes, len, 0 };

			preamble_look(&whole, &s, junk, true);
			for (cut = 0; cut <= len; cut++) {
				const struct scan beginning = { kinds[k], bytes, cut, 0 };

				preamble_look(&part, &beginning, junk, false);
				if (part.state == PREAMBLE_MORE)
					continue;
				UNIT_ROW(part.state == whole.state && part.at == whole.at && part.junk == whole.junk, "%s, junk %d, cut at %zu: %d, not %d",
				    cases[i / KINDS].rule, (int)junk, cut, (int)part.state, (int)whole.state);
			}
		}
		free(bytes);
	}
}

/* Marks are no text, however many there are, whole or not. */
static void marks(void)
{
	static const struct {
		const char *rule;
		struct bom_family family;
		const char *bytes;
		size_t len;
		enum preamble_state messages, text_level;
		size_t at;
	} rows[] = {
#define M(text) text, sizeof text - 1
		{ "two", { CS_UTF_8, FAMILY_ASCII, 1 }, M("\xef\xbb\xbf\xef\xbb\xbf<?xml?><a>"), PREAMBLE_DECLARATION, PREAMBLE_DECLARATION, 6 },
		{ "behind space", { CS_UTF_8, FAMILY_ASCII, 1 }, M("\n\xef\xbb\xbf\n<?xml?><a>"), PREAMBLE_DECLARATION, PREAMBLE_DECLARATION, 5 },
		{ "before a feed", { CS_UTF_8, FAMILY_ASCII, 1 }, M("\xef\xbb\xbf\n<rss>"), PREAMBLE_FEED, PREAMBLE_FEED, 4 },
		{ "cut", { CS_UTF_8, FAMILY_ASCII, 1 }, M("\xbb\xbf<?xml?><a>"), PREAMBLE_NONE, PREAMBLE_DECLARATION, 2 },
		{ "too many bytes for one", { CS_UTF_8, FAMILY_ASCII, 1 }, M("\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9<?xml?><a>"),
		    PREAMBLE_NONE, PREAMBLE_NONE, 0 },
		{ "16 bits", { CS_UTF_16LE, FAMILY_16BIT, 2 }, M("\xff\xfe\xff\xfe<\0?\0x\0m\0l\0?\0>\0<\0a\0>\0"), PREAMBLE_DECLARATION, PREAMBLE_DECLARATION, 4 },
	};
	struct preamble p;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct scan s = { rows[i].family, (const uint8_t *)rows[i].bytes, rows[i].len, 0 };

		preamble_look(&p, &s, JUNK_MESSAGES, true);
		UNIT_ROW(p.state == rows[i].messages, "%s: %d", rows[i].rule, (int)p.state);
		preamble_look(&p, &s, JUNK_TEXT, true);
		UNIT_ROW(p.state == rows[i].text_level && p.at == rows[i].at, "%s: %d at %zu", rows[i].rule, (int)p.state, p.at);
	}
}

UNIT_SUITE(preamble, { "every level", every_level }, { "every cut", every_cut }, { "marks", marks })
