/* Rows per rule for the policies that are not ROME's alone (test_policy_rome.c proves those) nor auto (test_policy_auto.c), the
 * byte order of decoders, and how a verdict is written. */
#include "tests/unit/collect.h"
#include "tests/unit/unit.h"

#include <string.h>

#include "core/policy/policy.h"

#define BYTES(s) (s), sizeof(s) - 1
#define EBCDIC_037 "\x4C\x6F\xA7\x94\x93\x40\x85\x95\x83\x96\x84\x89\x95\x87\x7E\x7F"   /* <?xml encoding=" */
#define CP500 "\x83\x97\xF5\xF0\xF0\x7F\x6F\x6E"                                           /* cp500"?> */

static const struct {
	enum policy policy;
	const char *type;           /* NULL: a file; "": HTTP without the field */
	enum charset forced;
	const char *bytes;
	size_t len;
	const char *value;          /* X-Encoding-Rule */
	enum charset charset;       /* decoder */
	enum verdict_outcome outcome;
} cases[] = {
	/* Appendix F, by its rows */
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("\0\0\xFE\xFF\0\0\0<"), "appendix-f:bom;charset=utf-32be", CS_UTF_32BE, OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("\xFF\xFE\0\0<\0\0\0"), "appendix-f:bom;charset=utf-32le", CS_UTF_32LE, OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("\0\0\xFF\xFE\0\0<\0"), "appendix-f:bom;charset=x-iso-10646-ucs-4-2143", CS_UCS_4_2143,
	    OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("\xFE\xFF\0\0\0<\0\0"), "appendix-f:bom;charset=x-iso-10646-ucs-4-3412", CS_UCS_4_3412,
	    OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("\xFE\xFF\0<\0r"), "appendix-f:bom;charset=utf-16be", CS_UTF_16BE, OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("\xEF\xBB\xBF<?xml encoding='utf8'?>"), "appendix-f:bom;charset=utf-8", CS_UTF_8, OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("\xEF\xBB\xBF<?xml encoding='koi8-r'?>"), "appendix-f:bom;charset=utf-8;error=mismatch",
	    CS_UTF_8, OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("\xEF\xBB\xBF<?xml encoding='x-bogus'?>"), "appendix-f:bom;charset=utf-8", CS_UTF_8, OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("<\0?\0x\0m\0l\0?\0>\0"), "appendix-f:family;charset=utf-16le", CS_UTF_16LE, OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("<\0?\0x\0m\0l\0 \0e\0n\0c\0o\0d\0i\0n\0g\0=\0'\0u\0c\0s\0-\0002\0'\0?\0>\0"),
	    "appendix-f:family;charset=utf-16le", CS_UTF_16LE, OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("<\0?\0x\0m\0l\0 \0e\0n\0c\0o\0d\0i\0n\0g\0=\0'\0u\0t\0f\0-\0008\0'\0?\0>\0"),
	    "appendix-f:family;charset=utf-16le;error=mismatch", CS_UTF_16LE, OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("\0<\0\0\0?\0\0"), "appendix-f:family;charset=x-iso-10646-ucs-4-3412", CS_UCS_4_3412, OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("<?xml encoding='utf-16'?>"), "appendix-f:family;charset=utf-8;error=mismatch", CS_UTF_8,
	    OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("<?xml encoding='ISO-8859-2'?>"), "appendix-f:decl;charset=iso-8859-2", CS_ISO_8859_2, OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("<?xml encoding='x-bogus'?>"), "appendix-f:decl;error=unknown-charset", CS_NONE, OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES(EBCDIC_037 CP500), "appendix-f:decl;charset=cp500", CS_IBM500, OUTCOME_OK },
	{ POLICY_APPENDIX_F, NULL, CS_NONE, BYTES("\x4C\x6F\xA7\x94\x93\x6F\x6E"), "appendix-f:family;charset=ibm037", CS_IBM037, OUTCOME_OK },
	{ POLICY_APPENDIX_F, "text/xml; charset=koi8-r", CS_NONE, BYTES("<r/>"), "appendix-f:default;charset=utf-8", CS_UTF_8, OUTCOME_OK },

	/* RFC 7303 section 3 */
	{ POLICY_RFC7303, "text/xml; charset=koi8-r", CS_NONE, BYTES("\xEF\xBB\xBF<r/>"), "rfc7303:bom;charset=utf-8", CS_UTF_8, OUTCOME_OK },
	{ POLICY_RFC7303, "text/xml; charset=utf-16le", CS_NONE, BYTES("\xFE\xFF\0<"), "rfc7303:bom;charset=utf-16be", CS_UTF_16BE, OUTCOME_OK },
	{ POLICY_RFC7303, "text/xml; charset=utf-32", CS_NONE, BYTES("\xFF\xFE\0\0<\0\0\0"), "rfc7303:charset;charset=utf-32", CS_UTF_32LE,
	    OUTCOME_OK },
	{ POLICY_RFC7303, "text/xml; charset=Latin1", CS_NONE, BYTES("<?xml encoding='koi8-r'?>"), "rfc7303:charset;charset=latin1",
	    CS_WINDOWS_1252, OUTCOME_OK },
	{ POLICY_RFC7303, "text/xml; charset=x-bogus", CS_NONE, BYTES("<r/>"), "rfc7303:charset;error=unknown-charset", CS_NONE, OUTCOME_OK },
	{ POLICY_RFC7303, "text/xml", CS_NONE, BYTES("<?xml encoding='koi8-r'?>"), "rfc7303:entity/decl;charset=koi8-r", CS_KOI8_R, OUTCOME_OK },
	{ POLICY_RFC7303, "text/xml", CS_NONE, BYTES("<r/>"), "rfc7303:entity/default;charset=utf-8", CS_UTF_8, OUTCOME_OK },

	/* 4Suite */
	{ POLICY_FOURSUITE, "text/xml; charset=koi8-r", CS_EUC_JP, BYTES("\xEF\xBB\xBF<r/>"), "4suite:external;charset=euc-jp", CS_EUC_JP,
	    OUTCOME_OK },
	{ POLICY_FOURSUITE, NULL, CS_NONE, BYTES("<?xml encoding='koi8-r'?>"), "4suite:entity/decl;charset=koi8-r", CS_KOI8_R, OUTCOME_OK },
	{ POLICY_FOURSUITE, "application/xml; charset=koi8-r", CS_NONE, BYTES("<?xml encoding='utf-8'?>"), "4suite:charset;charset=koi8-r",
	    CS_KOI8_R, OUTCOME_OK },
	{ POLICY_FOURSUITE, "text/rss+xml", CS_NONE, BYTES("<?xml encoding='utf-8'?>"), "4suite:text-xml;charset=us-ascii", CS_WINDOWS_1252,
	    OUTCOME_OK },
	{ POLICY_FOURSUITE, "text/html", CS_NONE, BYTES("<?xml encoding='utf-8'?>"), "4suite:text-other;charset=iso-8859-1", CS_WINDOWS_1252,
	    OUTCOME_OK },
	{ POLICY_FOURSUITE, "image/svg+xml", CS_NONE, BYTES("<?xml encoding='utf-8'?>"), "4suite:entity/decl;charset=utf-8", CS_UTF_8, OUTCOME_OK },
	{ POLICY_FOURSUITE, "", CS_NONE, BYTES("<r/>"), "4suite:entity/default;charset=utf-8", CS_UTF_8, OUTCOME_OK },

	/* Universal Feed Parser: RFC 3023's answer */
	{ POLICY_FEEDPARSER, "application/xml; charset=koi8-r", CS_NONE, BYTES("<?xml encoding='utf-8'?>\xC1"), "feedparser:charset;charset=koi8-r",
	    CS_KOI8_R, OUTCOME_OK },
	{ POLICY_FEEDPARSER, "application/rss+xml", CS_NONE, BYTES("<?xml encoding='koi8-r'?>\xC1"), "feedparser:decl;charset=koi8-r", CS_KOI8_R,
	    OUTCOME_OK },
	{ POLICY_FEEDPARSER, "application/rss+xml", CS_NONE, BYTES("<r>\xD0\xBF</r>"), "feedparser:utf-8;charset=utf-8", CS_UTF_8, OUTCOME_OK },
	{ POLICY_FEEDPARSER, "text/xml", CS_NONE, BYTES("<?xml encoding='koi8-r'?><r/>"), "feedparser:us-ascii;charset=us-ascii", CS_WINDOWS_1252,
	    OUTCOME_OK },
	{ POLICY_FEEDPARSER, "text/html", CS_NONE, BYTES("<?xml encoding='koi8-r'?>\xE9"), "feedparser:nonxml/iso-8859-1;charset=iso-8859-1",
	    CS_WINDOWS_1252, OUTCOME_NONXML },
	{ POLICY_FEEDPARSER, "text/plain; charset=koi8-r", CS_NONE, BYTES("<r>\xE9</r>"), "feedparser:nonxml/charset;charset=koi8-r", CS_KOI8_R,
	    OUTCOME_NONXML },
	{ POLICY_FEEDPARSER, "application/json", CS_NONE, BYTES("<r>\xD0\xBF</r>"), "feedparser:utf-8;charset=utf-8", CS_UTF_8, OUTCOME_OK },
	{ POLICY_FEEDPARSER, "application/octet-stream; charset=x", CS_NONE, BYTES("<?xml encoding='koi8-r'?>\xE9"),
	    "feedparser:nonxml/decl;charset=koi8-r", CS_KOI8_R, OUTCOME_NONXML },
	{ POLICY_FEEDPARSER, "", CS_NONE, BYTES("<r>\xE9</r>"), "feedparser:nonxml/iso-8859-1;charset=iso-8859-1", CS_WINDOWS_1252,
	    OUTCOME_NONXML },
	{ POLICY_FEEDPARSER, NULL, CS_NONE, BYTES("<?xml encoding='koi8-r'?>\xE9"), "feedparser:decl;charset=koi8-r", CS_KOI8_R, OUTCOME_OK },
	/* and its retries, in the manual's order */
	{ POLICY_FEEDPARSER, "text/xml", CS_NONE, BYTES("<?xml encoding='koi8-r'?>\xC1"), "feedparser:override/decl;charset=koi8-r", CS_KOI8_R,
	    OUTCOME_OVERRIDE },
	{ POLICY_FEEDPARSER, "text/xml", CS_NONE, BYTES("\xFF\xFE<\0r\0/\0>\0\x3F\x04"), "feedparser:override/bytes;charset=utf-16le", CS_UTF_16LE,
	    OUTCOME_OVERRIDE },
	{ POLICY_FEEDPARSER, "text/plain; charset=x-bogus", CS_NONE, BYTES("<r/>"), "feedparser:override/utf-8;charset=utf-8", CS_UTF_8,
	    OUTCOME_OVERRIDE },
	{ POLICY_FEEDPARSER, "application/xml; charset=utf-8", CS_NONE,
	    BYTES("<r>\xC5\xF3\xED\xE1 \xF1\xE5\xEA\xE0 \xE2\xE5\xF7\xE5\xF0\xEE\xEC \xEF\xEE\xE4\xED\xFF\xEB\xF1\xFF \xF2\xF3\xEC\xE0\xED</r>"),
	    "feedparser:override/guess;charset=windows-1251", CS_WINDOWS_1251, OUTCOME_OVERRIDE },
	{ POLICY_FEEDPARSER, "text/plain; charset=x-bogus", CS_NONE, BYTES("<r>\x1B$)C\x0EGQ1[\x0F</r>"), "feedparser:override/guess;charset=iso-2022-kr",
	    CS_ISO_2022_KR, OUTCOME_OVERRIDE },

	/* ROME where names meet bytes: the order of 16 bits, and families beyond its text */
	{ POLICY_ROME_STRICT, "application/xml; charset=utf-16", CS_NONE, BYTES("\xFF\xFE<\0"), "rome-strict:2.3;charset=utf-16le", CS_UTF_16LE,
	    OUTCOME_OK },
	{ POLICY_ROME_LENIENT, "application/xml; charset=utf-16", CS_NONE, BYTES("<\0r\0s\0s\0>\0"), "rome-lenient:2.4/lenient-http;charset=utf-16",
	    CS_UTF_16LE, OUTCOME_OK },
	{ POLICY_ROME_LENIENT, "application/xml; charset=utf-16", CS_NONE, BYTES("plain"), "rome-lenient:2.4/lenient-http;charset=utf-16",
	    CS_UTF_16, OUTCOME_OK },
	{ POLICY_ROME_LENIENT, "image/png", CS_NONE, BYTES("\xFF\xFE<\0?\0x\0m\0l\0 \0e\0n\0c\0o\0d\0i\0n\0g\0=\0'\0u\0t\0f\0-\0001\0006\0'\0?\0>\0"),
	    "rome-lenient:2.6/lenient-decl;charset=utf-16", CS_UTF_16LE, OUTCOME_OK },
	{ POLICY_ROME_STRICT, NULL, CS_NONE, BYTES("\xFF\xFE\0\0<\0\0\0"), "rome-strict:1.6+;charset=utf-32le;was=utf-16le", CS_UTF_32LE,
	    OUTCOME_OK },
	{ POLICY_ROME_STRICT, NULL, CS_NONE, BYTES("\xFE\xFF\0\0\0<\0\0"),
	    "rome-strict:1.6+;charset=x-iso-10646-ucs-4-3412;was=utf-16be", CS_UCS_4_3412, OUTCOME_OK },
	{ POLICY_ROME_STRICT, "application/xml", CS_NONE, BYTES("\0\0\0<\0\0\0r"), "rome-strict:2.0/1.0;charset=utf-32be;was=utf-8",
	    CS_UTF_32BE, OUTCOME_OK },
	{ POLICY_ROME_STRICT, NULL, CS_NONE, BYTES(EBCDIC_037 CP500), "rome-strict:1.0;charset=cp500;was=utf-8", CS_IBM500, OUTCOME_OK },
	{ POLICY_ROME_LENIENT, "application/xml", CS_NONE, BYTES("\x4C\x6F\xA7\x94\x93\x6F\x6E"), "rome-lenient:2.0/1.0;charset=ibm037;was=utf-8", CS_IBM037,
	    OUTCOME_OK },
	{ POLICY_ROME_LENIENT, "text/plain", CS_NONE, BYTES("\0\0\0<\0\0\0r"), "rome-lenient:2.6/lenient-default;charset=utf-8", CS_UTF_8, OUTCOME_OK },
	{ POLICY_ROME_STRICT, "application/xml; charset=utf-8", CS_NONE, BYTES(EBCDIC_037 CP500), "rome-strict:2.5;charset=utf-8", CS_UTF_8,
	    OUTCOME_OK },
	{ POLICY_ROME_STRICT, "text/html", CS_NONE, BYTES("<r/>"), "rome-strict:2.6;error=not-xml", CS_NONE, OUTCOME_OK },
	{ POLICY_ROME_STRICT, "application/xml; charset=utf-16be", CS_NONE, BYTES("\xFE\xFF\0<"), "rome-strict:2.2;error=bom-forbidden", CS_NONE,
	    OUTCOME_OK },
	{ POLICY_ROME_STRICT, "application/xml; charset=utf-16", CS_NONE, BYTES("<r/>"), "rome-strict:2.4;error=bom-missing", CS_NONE, OUTCOME_OK },
	{ POLICY_ROME_2004_09_10, NULL, CS_NONE, BYTES("<?xml encoding='utf-8'?>"), "rome-2004-09-10:1.2;error=bom-missing", CS_NONE, OUTCOME_OK },
	{ POLICY_ROME_2004_09_10, "application/xml", CS_NONE, BYTES("<r/>"), "rome-2004-09-10:2.1/1.1;charset=utf-8", CS_UTF_8, OUTCOME_OK },
};

static void rules(void)
{
	char value[VERDICT_FORMAT_MAX];
	struct evidence e;
	struct verdict v;
	size_t i;

	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		evidence_collect(&e, cases[i].type != NULL, cases[i].type, cases[i].type == NULL ? 0 : strlen(cases[i].type), cases[i].forced,
		    (const uint8_t *)cases[i].bytes, cases[i].len, true);
		CU_ASSERT_EQUAL(policy_decide(cases[i].policy, &e, &v), 0);
		verdict_format(&v, value, sizeof value);
		UNIT_ROW(strcmp(value, cases[i].value) == 0, "row %zu: %s, want %s", i, value, cases[i].value);
		UNIT_ROW(v.charset == cases[i].charset, "row %zu, %s: decoded as %s", i, value, charset_name(v.charset));
		UNIT_ROW(v.outcome == cases[i].outcome, "row %zu, %s: %s", i, value, verdict_outcome_name(v.outcome));
		CU_ASSERT_EQUAL(v.policy, cases[i].policy);
	}
}

/* The manual's last outcome: bytes that windows-1252 leaves open, and nobody names a charset. */
static void feedparser_unknown(void)
{
	static const uint8_t body[] = "<r>\x81\x8D\x8F\x90\x9D</r>";
	char value[VERDICT_FORMAT_MAX];
	struct evidence e;
	struct verdict v;

	evidence_collect(&e, true, "text/xml", 8, CS_NONE, body, sizeof body - 1, true);
	CU_ASSERT_EQUAL(policy_decide(POLICY_FEEDPARSER, &e, &v), 0);
	verdict_format(&v, value, sizeof value);
	CU_ASSERT_STRING_EQUAL(value, "feedparser:unknown;error=undecodable");
	CU_ASSERT_EQUAL(v.outcome, OUTCOME_UNKNOWN);
}

static void names(void)
{
	size_t i;

	for (i = 0; i < POLICY_COUNT; i++) {
		CU_ASSERT_EQUAL(policy_lookup(policy_name((enum policy)i), strlen(policy_name((enum policy)i))), (int)i);
		CU_ASSERT(strlen(policy_summary((enum policy)i)) > 0);
	}
	CU_ASSERT_EQUAL(policy_lookup("aut", 3), -1);
	CU_ASSERT_EQUAL(policy_lookup("AUTO", 4), -1);
	CU_ASSERT_EQUAL(policy_lookup("", 0), -1);
}

static const struct {
	enum verdict_reason reason;
	const char *value;
} reasons[] = {
	{ VREASON_NOT_XML, "none;reason=not-xml" }, { VREASON_NO_TRANSFORM, "none;reason=no-transform" },
	{ VREASON_ENCODED, "none;reason=encoded" }, { VREASON_STATUS, "none;reason=status" }, { VREASON_EMPTY, "none;reason=empty" },
	{ VREASON_PARTIAL, "none;reason=partial" },
	{ VREASON_DISABLED, "none;reason=disabled" },
};

static void untouched(void)
{
	char value[VERDICT_FORMAT_MAX];
	struct verdict v;
	size_t i;

	for (i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
		verdict_untouched(&v, POLICY_AUTO, reasons[i].reason);
		CU_ASSERT_EQUAL(verdict_format(&v, value, sizeof value), strlen(reasons[i].value));
		CU_ASSERT_STRING_EQUAL(value, reasons[i].value);
		verdict_rule(&v, value, sizeof value);
		CU_ASSERT_STRING_EQUAL(value, "none");
	}
}

/* A buffer that is too small is filled and terminated, never overrun. */
static void small_buffers(void)
{
	struct verdict v = { .kind = VERDICT_CHARSET, .policy = POLICY_AUTO, .path = "2.5/bom", .charset = CS_UTF_8, .named = "utf-8",
		.was = "koi8-r" };
	char whole[VERDICT_FORMAT_MAX], part[VERDICT_FORMAT_MAX];
	size_t n = verdict_format(&v, whole, sizeof whole), cap, got;

	CU_ASSERT_STRING_EQUAL(whole, "auto:2.5/bom;charset=utf-8;was=koi8-r");
	for (cap = 1; cap <= n + 1; cap++) {
		memset(part, '#', sizeof part);
		got = verdict_format(&v, part, cap);
		UNIT_ROW(got == cap - 1 && strlen(part) == got && memcmp(part, whole, got) == 0 && part[cap] == '#', "room for %zu", cap);
	}
}

/* RFC 9651 section 3.3.4: no Token starts with a digit. */
static void digits(void)
{
	struct verdict v = { .kind = VERDICT_CHARSET, .policy = POLICY_RFC7303, .path = "charset", .charset = CS_IBM866, .named = "866" };
	char value[VERDICT_FORMAT_MAX];

	verdict_format(&v, value, sizeof value);
	CU_ASSERT_STRING_EQUAL(value, "rfc7303:charset;charset=\"866\"");
}

UNIT_SUITE(policy, { "rules", rules }, { "feedparser unknown", feedparser_unknown }, { "names", names }, { "untouched", untouched },
    { "small buffers", small_buffers }, { "digits", digits })
