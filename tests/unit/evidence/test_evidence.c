/* Everything gathered before a decision: names as published (CTMime CTEnc BOMEnc XMLGuessEnc XMLEnc). */
#include "tests/unit/unit.h"

#include <string.h>

#include "tests/unit/collect.h"

#define BYTES(s) (s), sizeof(s) - 1

static const struct {
	const char *rule;
	const char *bytes;
	size_t len;
	bool complete;
	enum charset bom, guess, loose, family;
	const char *XMLEnc, *hidden;
	bool ascii, valid, settled;
} cases[] = {
	{ "nothing",             BYTES(""), true, CS_NONE, CS_NONE, CS_NONE, CS_UTF_8, "", "", true, true, true },
	{ "nothing yet",         BYTES(""), false, CS_NONE, CS_NONE, CS_NONE, CS_UTF_8, "", "", true, true, false },
	{ "declared",            BYTES("<?xml encoding='koi8-r'?><r/>"), true, CS_NONE, CS_UTF_8, CS_UTF_8, CS_UTF_8, "koi8-r", "",
	    true, true, true },
	{ "declared, open",      BYTES("<?xml encoding='koi8-r'?><r"), false, CS_NONE, CS_UTF_8, CS_UTF_8, CS_UTF_8, "koi8-r", "",
	    true, true, true },
	{ "declaration cut",     BYTES("<?xml encoding='koi"), false, CS_NONE, CS_UTF_8, CS_UTF_8, CS_UTF_8, "", "", true, true, false },
	{ "UTF-8 mark",          BYTES("\xEF\xBB\xBF<?xml encoding='utf-8'?>"), true, CS_UTF_8, CS_UTF_8, CS_UTF_8, CS_UTF_8, "utf-8", "",
	    true, true, true },
	{ "UTF-16LE mark",       BYTES("\xFF\xFE<\0?\0x\0m\0l\0?\0>\0"), true, CS_UTF_16LE, CS_UTF_16LE, CS_UTF_16LE, CS_UTF_16LE, "", "",
	    false, false, true },
	{ "UTF-16BE, bare root", BYTES("\0<\0r\0s\0s\0>"), true, CS_NONE, CS_NONE, CS_UTF_16BE, CS_UTF_16BE, "", "", true, true, true },
	{ "mark, no pattern",    BYTES("\xFE\xFF\x04\x1F\0<"), true, CS_UTF_16BE, CS_NONE, CS_NONE, CS_UTF_16BE, "", "", false, false, true },
	{ "hidden by a newline", BYTES("\n<?xml encoding='koi8-r'?><r/>"), true, CS_NONE, CS_NONE, CS_NONE, CS_UTF_8, "", "koi8-r",
	    true, true, true },
	{ "hidden, 16 bits",     BYTES("\xFF\xFE\n\0<\0?\0x\0m\0l\0?\0>\0"), true, CS_UTF_16LE, CS_NONE, CS_UTF_16LE, CS_UTF_16LE, "", "",
	    false, false, true },
	{ "hidden, still open",  BYTES("\n\n\n\n"), false, CS_NONE, CS_NONE, CS_NONE, CS_UTF_8, "", "", true, true, false },
	{ "no declaration",      BYTES("<rss>\xD0\xBF</rss>"), false, CS_NONE, CS_NONE, CS_NONE, CS_UTF_8, "", "", false, true, true },
	{ "not UTF-8",           BYTES("<rss>\xEF\xF0</rss>"), true, CS_NONE, CS_NONE, CS_NONE, CS_UTF_8, "", "", false, false, true },
	{ "character cut",       BYTES("<rss>\xD0"), false, CS_NONE, CS_NONE, CS_NONE, CS_UTF_8, "", "", true, true, true },
	{ "character missing",   BYTES("<rss>\xD0"), true, CS_NONE, CS_NONE, CS_NONE, CS_UTF_8, "", "", false, false, true },
};

static void table(void)
{
	struct evidence e;
	size_t i;

	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		evidence_collect(&e, false, NULL, 0, CS_NONE, (const uint8_t *)cases[i].bytes, cases[i].len, cases[i].complete);
		UNIT_ROW(e.BOMEnc == cases[i].bom && e.guess.charset == cases[i].guess && e.loose.charset == cases[i].loose,
		    "%s: mark %s guess %s loose %s", cases[i].rule, charset_name(e.BOMEnc), charset_name(e.guess.charset),
		    charset_name(e.loose.charset));
		UNIT_ROW(evidence_family(&e).charset == cases[i].family && evidence_family(&e).unit > 0, "%s: family", cases[i].rule);
		UNIT_ROW(strcmp(e.XMLEnc.text, cases[i].XMLEnc) == 0 && strcmp(e.hidden_enc.text, cases[i].hidden) == 0,
		    "%s: XMLEnc <%s>, hidden <%s>", cases[i].rule, e.XMLEnc.text, e.hidden_enc.text);
		UNIT_ROW(e.utf8.ascii == cases[i].ascii && e.utf8.valid == cases[i].valid, "%s: UTF-8", cases[i].rule);
		UNIT_ROW(evidence_is_settled(&e) == cases[i].settled, "%s: settled", cases[i].rule);
	}
}

static const struct {
	const char *rule, *content_type, *text;
	enum charset charset;
} labels[] = {
	{ "known",        "text/xml; charset=UTF8", "UTF8", CS_UTF_8 },
	{ "superset",     "text/xml; charset=gb2312", "gb2312", CS_GB18030 },
	{ "unknown",      "text/xml; charset=x-bogus", "x-bogus", CS_NONE },
	{ "refused",      "text/xml; charset=utf-7", "utf-7", CS_NONE },
	{ "none",         "text/xml", "", CS_NONE },
	{ "no field",     NULL, "", CS_NONE },
};

static void transport(void)
{
	struct evidence e;
	size_t i;

	for (i = 0; i < sizeof labels / sizeof labels[0]; i++) {
		evidence_collect(&e, true, labels[i].content_type, labels[i].content_type == NULL ? 0 : strlen(labels[i].content_type),
		    CS_KOI8_R, NULL, 0, true);
		UNIT_ROW(strcmp(e.CTEnc.text, labels[i].text) == 0 && (e.CTEnc.label == NULL ? CS_NONE : e.CTEnc.label->charset) ==
		    labels[i].charset, "%s: <%s>", labels[i].rule, e.CTEnc.text);
		CU_ASSERT(e.http && e.forced == CS_KOI8_R);
	}
}

UNIT_SUITE(evidence, { "table", table }, { "transport", transport })
