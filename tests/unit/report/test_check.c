/* Owns the cases of proxy/report/check.c and of what shows a report. Must not know: files. Invariant: a report does not depend on how the body was
 * cut; each row names what it is about. */
#include "proxy/report/check.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/report/check_html.h"
#include "proxy/report/check_json.h"
#include "proxy/report/check_text.h"
#include "proxy/report/visible.h"

/* The report of a body fed in pieces, as JSON. */
static char *report_of(const char *type, const uint8_t *body, size_t len, size_t piece)
{
	struct check_options o = { .normalise = { .policy = POLICY_AUTO, .repairs = REPAIR_ALL, .http = type != NULL, .content_type = type,
	    .content_type_len = type ? strlen(type) : 0 } };
	struct check *c = check_new(&o);
	char *text = NULL;
	size_t size = 0;
	struct json j = { .out = open_memstream(&text, &size) };

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT_PTR_NOT_NULL_FATAL(j.out);
	for (size_t at = 0; at < len; at += piece)
		CU_ASSERT_EQUAL_FATAL(check_feed(c, body + at, len - at < piece ? len - at : piece), 0);
	CU_ASSERT_EQUAL_FATAL(check_finish(c), 0);
	check_report_of(c)->file = "a";
	CU_ASSERT_EQUAL(check_report_json(&j, NULL, check_report_of(c)), 0);
	fclose(j.out);
	check_free(&c);
	return text;
}

static const struct {
	const char *rule, *type, *before, *body;
	size_t filler;          /* so many x between them */
} bodies[] = {
	{ "nothing", NULL, "", "", 0 },
	{ "ASCII", "text/xml", "<rss>", "</rss>", 100 },
	{ "UTF-8 with a mark", "text/xml", "\xef\xbb\xbf<?xml version='1.0'?><rss>", "\xc3\xa9 \xe2\x82\xac</rss>", 10 },
	{ "windows-1251 under another label", "text/xml; charset=utf-8", "<?xml version='1.0' encoding='windows-1251'?><rss>",
	    "\xef\xf0\xe8\xe2\xe5\xf2</rss>", 300 },
	{ "at the window's end", "text/xml; charset=koi8-r", "<rss>", "\xd0\xd2\xc9\xd7\xc5\xd4</rss>", NORMALISE_SNIFF_BYTES - 6 },
	{ "behind the window", "text/xml; charset=koi8-r", "<rss>", "\n\xd0\xd2\xc9\xd7\xc5\xd4</rss>", NORMALISE_SNIFF_BYTES + 70 },
	{ "an escape that means nothing", "text/xml", "<rss>\x1b", "\xc3\xa9</rss>", 500 },
	{ "ISO-2022-JP", "text/xml; charset=iso-2022-jp", "<rss>", "\x1b$B%K%e!<%9\x1b(B</rss>", 0 },
	{ "a page", "text/html", "<html>", "\xe9</html>", 0 },
	{ "mixed", "text/xml", "<rss><a>\xc3\xa9t\xc3\xa9</a><a>\xc3\xa0 b\xc3\xa9</a>", "<a>\xe9t\xe9</a></rss>", 20 },
	{ "a stray byte at the window's end", "text/xml; charset=utf-8", "<rss>\xc3\xa9", "\x92</rss>", NORMALISE_SNIFF_BYTES - 8 },
	{ "a stray byte behind the window", "text/xml; charset=utf-8", "<rss>", "\xc3\xa9 \xe2\x82</rss>", NORMALISE_SNIFF_BYTES + 70 },
	{ "pairs of surrogates", "text/xml", "<rss>\xed\xa0\xbd\xed\xb8\x80", "\xed\xa0\xbd\xed\xb8\x80\xed\xa0\xbd</rss>", 100 },
};

static void cuts(void)
{
	static const size_t pieces[] = { 1, 7, 96, 65535, 65536, 65537 };

	for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
		size_t before = strlen(bodies[i].before), rest = strlen(bodies[i].body), len = before + bodies[i].filler + rest;
		uint8_t *body = malloc(len + 1);
		char *whole;

		CU_ASSERT_PTR_NOT_NULL_FATAL(body);
		memcpy(body, bodies[i].before, before);
		memset(body + before, 'x', bodies[i].filler);
		memcpy(body + before + bodies[i].filler, bodies[i].body, rest);
		whole = report_of(bodies[i].type, body, len, len + 1);
		for (size_t k = 0; k < sizeof pieces / sizeof pieces[0]; k++) {
			char *cut = report_of(bodies[i].type, body, len, pieces[k]);

			UNIT_ROW(strcmp(whole, cut) == 0, "%s, by %zu: %s", bodies[i].rule, pieces[k], cut);
			free(cut);
		}
		free(whole);
		free(body);
	}
}

static void shown(void)
{
	static const struct {
		const char *rule, *text, *bytes, *ascii, *unicode, *html;
	} cases[] = {
		{ "plain", "a b", "a b", "a b", "a b", "a b" },
		{ "markup", "<a b=\"c\" d='e'>&", "<a b=\"c\" d='e'>&", "<a b=\"c\" d='e'>&", "<a b=\"c\" d='e'>&",
		    "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;" },
		{ "a backslash", "\\", "\\x5c", "\\\\", "\\\\", "\\" },
		{ "controls", "\x01\x1b[2J\x7f", "\\x01\\x1b[2J\\x7f", "\\u{1}\\u{1b}[2J\\u{7f}", "\\u{1}\\u{1b}[2J\\u{7f}", "\\u{1}\\u{1b}[2J\\u{7f}" },
		{ "C1", "\xc2\x9b", "\\xc2\\x9b", "\\u{9b}", "\\u{9b}", "\\u{9b}" },
		{ "direction", "\xe2\x80\xae", "\\xe2\\x80\\xae", "\\u{202e}", "\\u{202e}", "\\u{202e}" },
		{ "letters", "\xc3\xa9\xf0\x9f\x98\x80", "\\xc3\\xa9\\xf0\\x9f\\x98\\x80", "\\u{e9}\\u{1f600}", "\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80" },
		{ "no UTF-8", "\xe9" "a\xc3", "\\xe9" "a\\xc3", "\\xe9" "a\\xc3", "\\xe9" "a\\xc3", "\\xe9" "a\\xc3" },
		{ "lines", "a\r\nb\n", "a\\x0d\\x0ab\\x0a", "a\n>b", "a\n>b", "a\nb\n" },
		{ "a return alone", "a\rb", "a\\x0db", "a\\u{d}b", "a\\u{d}b", "a\\u{d}b" },
		{ "a tab", "a\tb", "a\\x09b", "a b", "a b", "a\tb" },
		{ "noncharacters", "\xef\xbf\xbf\xf0\x9f\xbf\xbf", "\\xef\\xbf\\xbf\\xf0\\x9f\\xbf\\xbf", "\\u{ffff}\\u{1ffff}", "\\u{ffff}\\u{1ffff}", "\\u{ffff}\\u{1ffff}" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		for (int way = 0; way < 4; way++) {
			const char *want = way == 0 ? cases[i].bytes : way == 1 ? cases[i].ascii : way == 2 ? cases[i].unicode : cases[i].html;
			char *text = NULL;
			size_t size = 0;
			FILE *out = open_memstream(&text, &size);

			CU_ASSERT_PTR_NOT_NULL_FATAL(out);
			if (way == 0)
				visible_bytes(out, cases[i].text);
			else if (way == 3)
				visible_html(out, cases[i].text);
			else
				visible_text(out, cases[i].text, way == 2, ">");
			fclose(out);
			UNIT_ROW(strcmp(text, want) == 0, "%s, %d: %s", cases[i].rule, way, text);
			free(text);
		}
}

UNIT_SUITE(check, { "cut anywhere", cuts }, { "peers' bytes shown", shown })
