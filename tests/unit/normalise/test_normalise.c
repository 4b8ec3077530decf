/* Owns the cases of core/normalise/normalise.c: bytes in, UTF-8 out, one decision, whatever the cut.
 * Must not know: how a policy decides (test_policy*.c), windows (test_normalise_window.c). */
#include "core/text/cpu.h"
#include "core/text/utf8.h"
#include "tests/unit/normalise/cuts.h"

#include <dirent.h>
#include <iconv.h>
#include <stdio.h>

#define PRIVET "<rss><title>Привет, мир</title></rss>"

/* UTF-8 text as bytes of another charset; the caller frees. */
static char *encode(const char *charset, const char *text, size_t *len)
{
	size_t left = strlen(text), cap = 4 * left + 16, room = cap;
	char *bytes = malloc(cap), *out = bytes, *in = (char *)text;
	iconv_t cd = iconv_open(charset, "UTF-8");

	CU_ASSERT_FATAL(cd != (iconv_t)-1);
	CU_ASSERT_EQUAL(iconv(cd, &in, &left, &out, &room), 0);
	iconv(cd, NULL, NULL, &out, &room);
	iconv_close(cd);
	*len = cap - room;
	return bytes;
}

struct fixture {
	const char *rule;
	const char *content_type;       /* NULL: a file; "": HTTP without the field */
	const char *charset, *text;     /* the body: the text in that charset */
	const char *value;              /* X-Encoding-Rule; NULL: the policies' own tests say it */
	const char *out;
};

static void run_fixture(const struct fixture *f, struct normalise_options o)
{
	static struct seen whole;
	size_t len;
	char *in = encode(f->charset, f->text, &len);

	o.http = f->content_type != NULL;
	o.content_type = f->content_type && *f->content_type ? f->content_type : NULL;
	o.content_type_len = f->content_type ? strlen(f->content_type) : 0;
	run_cuts(&whole, f->rule, &o, in, len);
	UNIT_ROW(whole.rc == 0, "%s: %d", f->rule, whole.rc);
	UNIT_ROW(whole.len == strlen(f->out) && memcmp(whole.out, f->out, whole.len) == 0, "%s: %.*s", f->rule, (int)whole.len, whole.out);
	UNIT_ROW(!f->value || strcmp(whole.rule, f->value) == 0, "%s: %s", f->rule, whole.rule);
	free(in);
}

/* The twelve feeds, by its list, in words of our own. */
static void hostile(void)
{
	static const struct fixture fixtures[] = {
		{ "cp1251 declared, no header", "", "CP1251", D("windows-1251") PRIVET, NULL, D("UTF-8") PRIVET },
		{ "cp1251 in both", "text/xml; charset=windows-1251", "CP1251", D("windows-1251") PRIVET, NULL, D("UTF-8") PRIVET },
		{ "UTF-8 mark under a latin-1 header", "application/rss+xml; charset=iso-8859-1", "UTF-8", BOM D("utf-8") "<rss><title>Zażółć gęślą</title></rss>",
		  NULL, D("utf-8") "<rss><title>Zażółć gęślą</title></rss>" },
		{ "UTF-8, nothing declared, text/xml", "text/xml", "UTF-8", "<rss><title>Ærø på dansk</title></rss>", NULL, "<rss><title>Ærø på dansk</title></rss>" },
		{ "KOI8-R as text/html", "text/html", "KOI8-R", D("koi8-r") PRIVET, NULL, D("UTF-8") PRIVET },
		{ "UTF-16LE with its mark", "application/xml", "UTF-16LE", "\xef\xbb\xbf" D("utf-16") PRIVET, NULL, D("UTF-8") PRIVET },
		{ "GBK called gb2312", "text/xml; charset=gb2312", "GBK", D("gb2312") "<rss><title>朱镕基，囧</title></rss>", NULL, D("UTF-8") "<rss><title>朱镕基，囧</title></rss>" },
		{ "blank lines first", "application/xml", "UTF-8", "\n\r\n" D("UTF-8") PRIVET, NULL, D("UTF-8") PRIVET },
		{ "declared cp1251, is UTF-8", "text/xml", "UTF-8", D("windows-1251") PRIVET, NULL, D("UTF-8") PRIVET },
		{ "charset=utf8", "text/xml; charset=utf8", "UTF-8", "<?xml version='1.0'?>" PRIVET, NULL, "<?xml version='1.0'?>" PRIVET },
		{ "octet-stream", "application/octet-stream", "CP1251", D("windows-1251") PRIVET, NULL, D("UTF-8") PRIVET },
		{ "C0 controls", "application/xml; charset=utf-8", "UTF-8", D("utf-8") "<rss><title>a\x01" "b\x1f&#x0B;é</title></rss>", NULL,
		  D("utf-8") "<rss><title>abé</title></rss>" },
	};

	for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++)
		run_fixture(&fixtures[i], automatic);
}

/* Fault 10: XML 1.1 as the declaration says it, wherever that stands; in 1.0 the same is mended. */
static void versions(void)
{
#define D_1_1(encoding) "<?xml version='1.1' encoding=\"" encoding "\"?>"
	static const struct fixture fixtures[] = {
		{ "trust 10: XML 1.1", "application/xml", "UTF-8", D_1_1("UTF-8") "<a>é&#1;&#x1f;</a>", NULL, D_1_1("UTF-8") "<a>é&#1;&#x1f;</a>" },
		{ "trust 10: in 16 bits", "text/xml", "UTF-16BE", BOM D_1_1("utf-16") "<a>é&#1;</a>", NULL, D_1_1("UTF-8") "<a>é&#1;</a>" },
		{ "trust 10: in EBCDIC", "application/xml", "IBM037", D_1_1("IBM037") "<a>e&#1;</a>", NULL, D_1_1("UTF-8") "<a>e&#1;</a>" },
		{ "trust 10: behind white space", "application/xml", "UTF-8", "\n" D_1_1("UTF-8") "<rss>&#1;é</rss>", NULL, D_1_1("UTF-8") "<rss>&#1;é</rss>" },
		{ "XML 1.0", "application/xml", "UTF-8", D("UTF-8") "<a>é&#1;</a>", NULL, D("UTF-8") "<a>é</a>" },
	};

	for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++)
		run_fixture(&fixtures[i], automatic);
}

static void charsets(void)
{
	static const struct fixture fixtures[] = {
		{ "UTF-16BE, no mark", NULL, "UTF-16BE", D("UTF-16") PRIVET, NULL, D("UTF-8") PRIVET },
		{ "UTF-32LE, no mark", NULL, "UTF-32LE", D("UTF-32") PRIVET, NULL, D("UTF-8") PRIVET },
		{ "EBCDIC and its line ends", NULL, "IBM1047", D("ibm1047") "\xc2\x85<rss>caf\xc3\xa9\xc2\x85</rss>", NULL, D("UTF-8") "\n<rss>café\n</rss>" },
		{ "Shift_JIS", "application/xml; charset=shift_jis", "CP932", D("Shift_JIS") "<rss>日本語のニュース ソ</rss>", NULL, D("UTF-8") "<rss>日本語のニュース ソ</rss>" },
		{ "EUC-KR", NULL, "EUC-KR", D("euc-kr") "<rss>한국어 뉴스</rss>", NULL, D("UTF-8") "<rss>한국어 뉴스</rss>" },
		{ "ISO-2022-JP", NULL, "ISO-2022-JP", D("iso-2022-jp") "<rss>日本語</rss>", NULL, D("UTF-8") "<rss>日本語</rss>" },
		{ "Big5", NULL, "BIG5", D("big5") "<rss>中文新聞</rss>", NULL, D("UTF-8") "<rss>中文新聞</rss>" },
		{ "GB18030, four bytes", NULL, "GB18030", D("gb18030") "<rss>中文 😀 新闻</rss>", NULL, D("UTF-8") "<rss>中文 😀 新闻</rss>" },
	};

	for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++)
		run_fixture(&fixtures[i], automatic);
}

/* Published policies go by the codes of the label's own set, `auto` and whatever names no label by those of its superset. */
static void literal(void)
{
	static const struct {
		enum policy policy;
		enum charset forced;
		struct fixture fixture;
	} cases[] = {
		{ POLICY_RFC7303, CS_NONE, { "shift_jis 8160, 817C", "application/xml; charset=shift_jis", "CP932", "<rss>日～－①</rss>",
		    "rfc7303:charset;charset=shift_jis", "<rss>日〜−①</rss>" } },
		{ POLICY_RFC7303, CS_NONE, { "windows-31j 8160, 817C", "application/xml; charset=windows-31j", "CP932", "<rss>日～－①</rss>",
		    "rfc7303:charset;charset=windows-31j", "<rss>日～－①</rss>" } },
		{ POLICY_AUTO, CS_NONE, { "shift_jis 8160, 817C", "application/xml; charset=shift_jis", "CP932", "<rss>日本語のニュース～－①</rss>",
		    "auto:2.5;charset=shift_jis", "<rss>日本語のニュース～－①</rss>" } },
		{ POLICY_RFC7303, CS_NONE, { "euc-jp A1C1, A1DD", "application/xml; charset=euc-jp", "EUC-JP", "<rss>日〜−</rss>",
		    "rfc7303:charset;charset=euc-jp", "<rss>日〜−</rss>" } },
		{ POLICY_AUTO, CS_NONE, { "euc-jp A1C1, A1DD", "application/xml; charset=euc-jp", "EUC-JP", "<rss>日本語のニュース〜−</rss>",
		    "auto:2.5;charset=euc-jp", "<rss>日本語のニュース～－</rss>" } },
		{ POLICY_RFC7303, CS_NONE, { "iso-2022-jp 2141, 215D", "application/xml; charset=iso-2022-jp", "ISO-2022-JP", "<rss>日〜−</rss>",
		    "rfc7303:charset;charset=iso-2022-jp", "<rss>日〜−</rss>" } },
		{ POLICY_AUTO, CS_NONE, { "iso-2022-jp 2141, 215D", "application/xml; charset=iso-2022-jp", "ISO-2022-JP",
		    "<rss>日本語のニュース〜−</rss>", "auto:2.5;charset=iso-2022-jp", "<rss>日本語のニュース～－</rss>" } },
		{ POLICY_RFC7303, CS_NONE, { "gb2312 A1A4, A1AA, and GBK", "text/xml; charset=gb2312", "GBK", "<rss>镕·—</rss>",
		    "rfc7303:charset;charset=gb2312", "<rss>镕・―</rss>" } },
		{ POLICY_FEEDPARSER, CS_NONE, { "gb2312 is gb18030 there", "text/xml; charset=gb2312", "GBK", "<rss>镕·—</rss>",
		    "feedparser:charset;charset=gb2312", "<rss>镕·—</rss>" } },
		{ POLICY_APPENDIX_F, CS_NONE, { "iso-8859-1 93, 94", NULL, "CP1252", D("iso-8859-1") "<rss>“é”</rss>",
		    "appendix-f:decl;charset=iso-8859-1", D("UTF-8") "<rss>\xc2\x93é\xc2\x94</rss>" } },
		{ POLICY_FOURSUITE, CS_SHIFT_JIS, { "forced: no label", "application/xml; charset=shift_jis", "CP932", "<rss>日～</rss>", NULL,
		    "<rss>日～</rss>" } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct normalise_options o = { .policy = cases[i].policy, .forced = cases[i].forced, .repairs = REPAIR_ALL };

		run_fixture(&cases[i].fixture, o);
	}
}

static void untouched(void)
{
	static const struct fixture fixtures[] = {
		{ "nothing at all", "application/xml", "UTF-8", "", "none;reason=empty", "" },
		{ "nothing at all, and an image", "image/png", "UTF-8", "", "none;reason=empty", "" },
		{ "HTML", "text/html", "CP1252", "<html>caf\xc3\xa9\x01</html>", "none;reason=not-xml", "<html>caf\xe9\x01</html>" },
		{ "an image", "image/png", "UTF-8", "<?xml version='1.0' encoding='koi8-r'?><rss/>", "none;reason=not-xml", "<?xml version='1.0' encoding='koi8-r'?><rss/>" },
		{ "JSON", "application/json", "UTF-8", "{\"a\":\"\xc3\xa9\"}", "none;reason=not-xml", "{\"a\":\"\xc3\xa9\"}" },
	};

	for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++)
		run_fixture(&fixtures[i], automatic);
}

#define KML "application/vnd.google-earth.kml+xml"
#define MAP(text) "<kml><name>" text "</name></kml>"

/* Issue 30, A8: documents of other kinds keep their bytes, unless a label says what other charset they are in. */
static void documents(void)
{
	static const struct fixture fixtures[] = {
		{ "UTF-8", KML, "UTF-8", D("utf-8") MAP("Привет"), "none;reason=not-xml", D("utf-8") MAP("Привет") },
		{ "undeclared UTF-8", KML "; charset=utf-8", "UTF-8", "\n" MAP("Привет & \x01"), "none;reason=not-xml", "\n" MAP("Привет & \x01") },
		{ "with a mark", KML, "UTF-8", BOM D("windows-1251") MAP("Привет"), "none;reason=not-xml", BOM D("windows-1251") MAP("Привет") },
		{ "UTF-8 that is declared something else", KML, "UTF-8", D("windows-1251") MAP("Привет"), "none;reason=not-xml", D("windows-1251") MAP("Привет") },
		{ "ASCII", KML "; charset=koi8-r", "UTF-8", D("koi8-r") MAP("map"), "none;reason=not-xml", D("koi8-r") MAP("map") },
		{ "declared", KML, "CP1251", D("windows-1251") MAP("Привет"), "auto:2.0/1.2;charset=windows-1251", D("UTF-8") MAP("Привет") },
		{ "by the header", KML "; charset=koi8-r", "KOI8-R", MAP("Привет"), "auto:2.5;charset=koi8-r", MAP("Привет") },
		{ "declared under a header of UTF-8", KML "; charset=utf-8", "CP1251", D("windows-1251") MAP("Привет"), "auto:2.5/decl;charset=windows-1251;was=utf-8",
		  D("UTF-8") MAP("Привет") },
		{ "no repair but the declaration's", KML, "CP1251", D("windows-1251") "<kml><name>Привет & \x01</kml>", "auto:2.0/1.2;charset=windows-1251",
		  D("UTF-8") "<kml><name>Привет & \x01</kml>" },
		{ "a model", "model/x3d+xml", "CP1251", D("windows-1251") "<X3D>Привет</X3D>", NULL, D("UTF-8") "<X3D>Привет</X3D>" },
	};

	for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++)
		run_fixture(&fixtures[i], automatic);
}

/* No label says what these are in, or a drawing's type forbids to ask. */
static void documents_that_stay(void)
{
	static const struct {
		const char *rule, *type, *bytes;
	} rows[] = {
		{ "unlabelled", KML, MAP("\xcf\xf0\xe8\xe2\xe5\xf2") },
		{ "said to be UTF-8", KML "; charset=utf-8", D("utf-8") MAP("\xcf\xf0\xe8\xe2\xe5\xf2") },
		{ "an unknown label", KML, D("x-none") MAP("\xcf\xf0\xe8\xe2\xe5\xf2") },
		{ "a label that it cannot be in", KML, D("euc-jp") MAP("\xcf\xf0\xe8\xe2\xe5") },
		{ "a drawing", "image/svg+xml", D("windows-1251") "<svg>\xcf\xf0\xe8\xe2\xe5\xf2</svg>" },
		{ "a page", "application/xhtml+xml", D("windows-1251") "<html>\xcf\xf0\xe8\xe2\xe5\xf2</html>" },
		{ "a sheet", "application/vnd.ms-excel", D("windows-1251") "<Workbook>\xcf\xf0\xe8\xe2\xe5\xf2</Workbook>" },
		{ "a file of another kind", "text/xml", "PK\x03\x04" D("windows-1251") "<rss>\xcf\xf0</rss>" },
		{ "gzip", "text/xml", "\x1f\x8b\x08" D("windows-1251") "<rss>\xcf\xf0</rss>" },
	};
	static struct seen s;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct normalise_options o = automatic;
		size_t len = strlen(rows[i].bytes);

		o.http = true;
		o.content_type = rows[i].type;
		o.content_type_len = strlen(rows[i].type);
		run_cuts(&s, rows[i].rule, &o, rows[i].bytes, len);
		UNIT_ROW(s.len == len && memcmp(s.out, rows[i].bytes, len) == 0 && strcmp(s.rule, "none;reason=not-xml") == 0, "%s: %s", rows[i].rule, s.rule);
	}
}

/* An error of a strict policy: refused, or passed as it came. */
static void errors(void)
{
	static struct seen s;
	static const char in[] = D("utf-8") "<rss>\xe9\x01</rss>", type[] = "text/xml; charset=x-nonsense";
	struct normalise_options o = { .policy = POLICY_ROME_STRICT, .http = true, .content_type = type, .content_type_len = sizeof(type) - 1, .repairs = REPAIR_ALL };

	run_cuts(&s, "refused", &o, in, sizeof(in) - 1);
	CU_ASSERT_EQUAL(s.rc, NORMALISE_REJECTED);
	CU_ASSERT_EQUAL(s.len, 0);
	CU_ASSERT_STRING_EQUAL(s.rule, "rome-strict:2.5;error=unknown-charset");
	o.on_error = ON_ERROR_PASS;
	run_cuts(&s, "passed", &o, in, sizeof(in) - 1);
	CU_ASSERT_EQUAL(s.rc, 0);
	CU_ASSERT_EQUAL(s.len, sizeof(in) - 1);
	CU_ASSERT(memcmp(s.out, in, s.len) == 0);
}

static void forced(void)
{
	static const struct fixture fixture = { "external", "text/xml; charset=utf-8", "CP1251", D("utf-8") PRIVET, "auto:external;charset=windows-1251", D("utf-8") PRIVET };
	struct normalise_options o = automatic;

	o.forced = CS_WINDOWS_1251;
	run_fixture(&fixture, o);
}

static void output(void)
{
	static const struct fixture fixture = { "us-ascii", NULL, "CP1251", D("windows-1251") "<rss a='я'><!--я--><![CDATA[я]]></rss>",
	    NULL, D("US-ASCII") "<rss a='&#1103;'><!--_--><![CDATA[]]>&#1103;<![CDATA[]]></rss>" };
	static const struct fixture as_is = { "no repairs", NULL, "CP1251", " " D("windows-1251") "<rss>я\x01&#1;</rss>", NULL,
	    " " D("windows-1251") "<rss>я\x01&#1;</rss>" };
	struct normalise_options o = automatic;

	o.output = OUTPUT_US_ASCII;
	run_fixture(&fixture, o);
	o = automatic;
	o.repairs = 0;
	run_fixture(&as_is, o);
}

/* ---- answers of the owner ---- */

static int refuse(void *arg, const struct verdict *v)
{
	(void)arg, (void)v;
	return 9;
}

static int accept(void *arg, const struct verdict *v)
{
	(void)arg, (void)v;
	return 0;
}

static int refuse_bytes(void *arg, const uint8_t *bytes, size_t len)
{
	(void)arg, (void)bytes, (void)len;
	return 8;
}

static int swallow(void *arg, const uint8_t *bytes, size_t len)
{
	(void)arg, (void)bytes, (void)len;
	return 0;
}

static void answers(void)
{
	static const char in[] = "<rss>xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\xc3\xa9</rss>", type[] = "text/xml";
	static const struct {
		const char *rule;
		struct normalise_events events;
		int rc;
	} cases[] = {
		{ "decided", { refuse, accept, swallow, NULL }, 9 },
		{ "revised", { accept, refuse, swallow, NULL }, 9 },
		{ "write", { accept, accept, refuse_bytes, NULL }, 8 },
		{ "nobody asks about the revision", { accept, NULL, swallow, NULL }, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct normalise_options o = automatic;
		struct normaliser *n;
		int rc;

		o.http = true;
		o.content_type = type;
		o.content_type_len = sizeof(type) - 1;
		o.sniff_bytes = 32;
		n = normaliser_new(&o, &cases[i].events);
		rc = normaliser_feed(n, (const uint8_t *)in, sizeof(in) - 1);
		if (rc == 0)
			rc = normaliser_finish(n);
		UNIT_ROW(rc == cases[i].rc, "%s: %d", cases[i].rule, rc);
		if (rc) {
			CU_ASSERT_EQUAL(normaliser_feed(n, (const uint8_t *)in, 1), rc);
			CU_ASSERT_EQUAL(normaliser_finish(n), rc);
		}
		normaliser_free(&n);
	}
}

/* ---- bodies nobody here wrote ---- */

static void run_body(const char *name, const char *in, size_t len)
{
	static const char *const types[] = { NULL, "text/xml", "application/xml; charset=windows-1252" };
	static const size_t steps[] = { 61, 1021 }, windows[] = { 0, 200 };
	static struct seen whole, part, limited;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		for (size_t j = 0; j < 2; j++) {
			struct normalise_options o = automatic;

			o.http = types[i] != NULL;
			o.content_type = types[i];
			o.content_type_len = types[i] ? strlen(types[i]) : 0;
			o.sniff_bytes = windows[j];
			run(&whole, &o, in, len, 0, len + 1);
			UNIT_ROW(whole.rc == 0, "%s: %d", name, whole.rc);
			UNIT_ROW(strncmp(whole.rule, "none", 4) == 0 || utf8_valid_prefix((uint8_t *)whole.out, whole.len) == whole.len, "%s", name);
			run(&part, &o, in, len, 0, steps[j]);
			UNIT_ROW(same(&whole, &part), "%s as %s, window %zu", name, types[i] ? types[i] : "a file", windows[j]);
			for (enum cpu_level level = CPU_PLAIN; level < CPU_LEVELS && cpu_limit(level) == level; level++) {
				run(&limited, &o, in, len, 0, len + 1);
				UNIT_ROW(same(&whole, &limited), "%s as %s, level %d", name, types[i] ? types[i] : "a file", level);
			}
			cpu_limit(CPU_LEVELS);
		}
	}
}

static void corpus(void)
{
	char path[4096];
	struct dirent *entry;
	DIR *dir = NULL;

	if (unit_shared()) {
		snprintf(path, sizeof(path), "%s/corpus/bodies", unit_shared());
		dir = opendir(path);
	}
	if (!dir)
		UNIT_SKIP("no corpus of bodies (UTFEED_SHARED)");
	while ((entry = readdir(dir)) != NULL) {
		static char in[OUT_MAX / 4];
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/corpus/bodies/%s", unit_shared(), entry->d_name);
		file = fopen(path, "rb");
		CU_ASSERT_PTR_NOT_NULL_FATAL(file);
		run_body(entry->d_name, in, fread(in, 1, sizeof(in), file));
		fclose(file);
	}
	closedir(dir);
}

/* Published policies decode UTF-8 by itself: what is malformed is replaced, and the rest of the text is as it was. */
static void malformed_utf_8(void)
{
	static const char type[] = "application/xml; charset=utf-8", in[] = "<r>\xc3\xa9 \xff\xc3\xa9\xe2\x82 \xc3\xa9</r>\xc3",
	    out[] = "<r>\xc3\xa9 \xef\xbf\xbd\xc3\xa9\xef\xbf\xbd \xc3\xa9</r>\xef\xbf\xbd";
	struct normalise_options o = { .policy = POLICY_RFC7303, .http = true, .content_type = type, .content_type_len = sizeof(type) - 1 };
	static struct seen s;

	run_cuts(&s, "malformed UTF-8", &o, in, sizeof(in) - 1);
	UNIT_ROW(s.len == sizeof(out) - 1 && memcmp(s.out, out, s.len) == 0, "%.*s", (int)s.len, s.out);
	CU_ASSERT_EQUAL(s.report.malformed, 3);
}

/* A body whose end may be missing is not closed, whenever that becomes known; `left` is when: before the first byte, behind the last
 * one, or never. */
static void ends(void)
{
	static const char in[] = "<?xml version='1.0'?><rss><channel><title>a", closed[] = "</title></channel></rss>";
	static struct seen s;

	for (int left = 0; left < 3; left++) {
		struct normalise_events events = { on_decided, on_revised, on_write, &s };
		struct normaliser *n;
		struct normalise_options o = automatic;
		size_t want = sizeof(in) - 1 + (left == 2 ? sizeof(closed) - 1 : 0);

		memset(&s, 0, sizeof(s));
		o.sniff_bytes = 16;
		n = normaliser_new(&o, &events);
		if (left == 0)
			normaliser_leave_end(n);
		CU_ASSERT_EQUAL(normaliser_feed(n, (const uint8_t *)in, sizeof(in) - 1), 0);
		if (left == 1)
			normaliser_leave_end(n);
		CU_ASSERT_FALSE(normaliser_is_over(n));
		CU_ASSERT_EQUAL(normaliser_finish(n), 0);
		UNIT_ROW(s.len == want && memcmp(s.out + sizeof(in) - 1, closed, want - (sizeof(in) - 1)) == 0, "%d: %.*s", left, (int)s.len, s.out);
		CU_ASSERT_EQUAL(normaliser_report(n)->repairs[REPAIRED_END], left == 2);
		normaliser_free(&n);
	}
}

/* Whether the root is open at the end, wherever the window ends and whatever is repaired. */
static void open_ends(void)
{
	static const struct { const char *in; unsigned repairs; bool open; } rows[] = {
		{ "<rss><channel><title>a</title>", REPAIR_ALL, true },
		{ "<rss><channel></channel></rss", REPAIR_ALL, true },
		{ "<rss><channel><title>\xe9", REPAIR_ALL, true },
		{ "<rss><channel><![CDATA[</rss>", REPAIR_ALL, true },
		{ "<rss><channel><!--</rss>", REPAIR_ALL, true },
		{ "<?xml version='1.0'?><rss vers", REPAIR_ALL, true },
		{ "<rss/>", REPAIR_ALL, false },
		{ "<rss><channel/></rss>", REPAIR_ALL, false },
		{ "<rss><channel/></rss><!-- a", REPAIR_ALL, false },
		{ "<rss><channel><br></titel></rss>", REPAIR_ALL, false },       /* mended */
		{ "<rss><channel><br></titel></rss>", REPAIR_PROLOG | REPAIR_END, false },  /* nobody can tell */
		{ "<rss><channel>", REPAIR_PROLOG, false },                      /* likewise: it is not read */
		{ "a,b\n", REPAIR_ALL, false },
	};
	static struct seen s;

	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		const char *in = rows[i / 2].in;
		struct normalise_events events = { on_decided, on_revised, on_write, &s };
		struct normalise_options o = automatic;
		struct normaliser *n;

		memset(&s, 0, sizeof(s));
		o.repairs = rows[i / 2].repairs;
		o.sniff_bytes = i % 2 ? 16 : 0;
		n = normaliser_new(&o, &events);
		normaliser_leave_end(n);
		CU_ASSERT_EQUAL(normaliser_feed(n, (const uint8_t *)in, strlen(in)), 0);
		CU_ASSERT_EQUAL(normaliser_finish(n), 0);
		UNIT_ROW(normaliser_is_open(n) == rows[i / 2].open, "%s", in);
		normaliser_free(&n);
	}
}

/* With 64 KB behind the root the document is over; one byte less, and it is not. */
static void tails(void)
{
	enum { TAIL = 65536 };
	static const char in[] = "<rss><channel/></rss>";
	static char tail[TAIL];
	static struct seen s;
	struct normalise_events events = { on_decided, on_revised, on_write, &s };
	struct normaliser *n = normaliser_new(&automatic, &events);

	memset(&s, 0, sizeof(s));
	memset(tail, 'x', sizeof(tail));
	CU_ASSERT_FALSE(normaliser_is_over(n));
	CU_ASSERT_EQUAL(normaliser_feed(n, (const uint8_t *)in, sizeof(in) - 1), 0);
	CU_ASSERT_EQUAL(normaliser_feed(n, (const uint8_t *)tail, TAIL - 1), 0);
	CU_ASSERT_FALSE(normaliser_is_over(n));
	CU_ASSERT_EQUAL(normaliser_feed(n, (const uint8_t *)tail, 1), 0);
	CU_ASSERT_TRUE(normaliser_is_over(n));
	CU_ASSERT_EQUAL(normaliser_finish(n), 0);
	CU_ASSERT(s.len == sizeof(in) - 1 && memcmp(s.out, in, s.len) == 0);
	CU_ASSERT_EQUAL(normaliser_report(n)->repairs[REPAIRED_TRAILING], 1);
	normaliser_free(&n);
}

/* What is told of a body beside its bytes: its URL stands in xml:base, and where the text says little its country and
 * Content-Language tip the scales. */
static void told(void)
{
	static const char in[] = "<rss><title>\xef""oti</title></rss>";
	static const struct {
		const char *language, *url, *out;
	} rows[] = {
		{ NULL, NULL, "<rss><title>\xc3\xafoti</title></rss>" },
		{ "lv", NULL, "<rss><title>\xc4\xbcoti</title></rss>" },
		{ NULL, "http://feeds.example.lv/", "<rss xml:base=\"http://feeds.example.lv/\"><title>\xc4\xbcoti</title></rss>" },
	};
	static struct seen s;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct normalise_options o = automatic;

		o.http = true;
		o.repairs |= REPAIR_BASE;
		o.content_language = rows[i].language;
		o.content_language_len = rows[i].language ? strlen(rows[i].language) : 0;
		o.base = rows[i].url;
		run_cuts(&s, "told", &o, in, sizeof(in) - 1);
		UNIT_ROW(s.len == strlen(rows[i].out) && memcmp(s.out, rows[i].out, s.len) == 0, "%zu: %.*s", i, (int)s.len, s.out);
	}
}

UNIT_SUITE(normalise, { "hostile", hostile }, { "trust 10: versions", versions }, { "charsets", charsets }, { "literal", literal }, { "untouched", untouched }, { "issue 30: documents", documents }, { "documents that stay", documents_that_stay }, { "errors", errors }, { "forced", forced },
    { "output", output }, { "malformed UTF-8", malformed_utf_8 },
    { "ends", ends }, { "tails", tails }, { "open ends", open_ends }, { "told", told }, { "answers", answers }, { "corpus", corpus })
