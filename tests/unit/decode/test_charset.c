/* Label lookup: the tables' own order and completeness, every label of the Encoding Standard, the names beyond it, and what is
 * refused. */
#include "core/decode/charset.h"
#include "tests/unit/unit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static enum charset lookup(const char *text)
{
	const struct charset_label *label = charset_lookup(text, strlen(text));

	return label ? label->charset : CS_NONE;
}

static void table_is_sorted(void)
{
	const struct charset_label *label, *before = NULL;

	for (size_t i = 0; (label = charset_label_at(i)); before = label, i++) {
		UNIT_ROW(!before || strcmp(before->text, label->text) < 0, "%s after %s", label->text, before ? before->text : "");
		UNIT_ROW(strlen(label->text) < 64, "%s", label->text);
		UNIT_ROW(label->charset > CS_NONE && label->charset < CS_COUNT, "%s", label->text);
		UNIT_ROW(charset_lookup(label->text, strlen(label->text)) == label, "%s finds itself", label->text);
		for (const char *c = label->text; *c; c++)
			UNIT_ROW(*c >= ' ' && *c <= '~' && !isupper((unsigned char)*c), "%s is lower case ASCII", label->text);
	}
}

static void every_charset_has_its_label(void)
{
	for (enum charset cs = CS_NONE + 1; cs < CS_COUNT; cs++) {
		const char *name = charset_name(cs);
		const struct charset_label *label = charset_lookup(name, strlen(name));

		UNIT_ROW(label && label->charset == cs, "%s", name);
		UNIT_ROW(strcmp(label->text, name) == 0, "%s", name);
		UNIT_ROW(charset_info(cs)->family != FAMILY_NONE, "%s", name);
	}
	CU_ASSERT_STRING_EQUAL(charset_name(CS_NONE), "");
}

/* Encoding Standard section 4.2: name, its labels. utf-16le is short of the names that say no byte order (wide_names below),
 * gbk is gb18030 (section 10.1), and "replacement" is refused but for iso-2022-kr. */
static const struct {
	const char *name, *labels;
} whatwg[] = {
	{ "utf-8", "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8" },
	{ "ibm866", "866 cp866 csibm866 ibm866" },
	{ "iso-8859-2", "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2  "
	    "latin2" },
	{ "iso-8859-3", "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3  "
	    "latin3" },
	{ "iso-8859-4", "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4  "
	    "latin4" },
	{ "iso-8859-5", "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5  "
	    "iso_8859-5:1988" },
	{ "iso-8859-6", "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6  "
	    "iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987" },
	{ "iso-8859-7", "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7  "
	    "iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek" },
	{ "iso-8859-8", "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8  "
	    "iso88598 iso_8859-8 iso_8859-8:1988 visual" },
	{ "iso-8859-8-i", "csiso88598i iso-8859-8-i logical" },
	{ "iso-8859-10", "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6" },
	{ "iso-8859-13", "iso-8859-13 iso8859-13 iso885913" },
	{ "iso-8859-14", "iso-8859-14 iso8859-14 iso885914" },
	{ "iso-8859-15", "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9" },
	{ "iso-8859-16", "iso-8859-16" },
	{ "koi8-r", "cskoi8r koi koi8 koi8-r koi8_r" },
	{ "koi8-u", "koi8-ru koi8-u" },
	{ "macintosh", "csmacintosh mac macintosh x-mac-roman" },
	{ "windows-874", "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874" },
	{ "windows-1250", "cp1250 windows-1250 x-cp1250" },
	{ "windows-1251", "cp1251 windows-1251 x-cp1251" },
	{ "windows-1252", "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100  "
	    "iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252  "
	    "x-cp1252" },
	{ "windows-1253", "cp1253 windows-1253 x-cp1253" },
	{ "windows-1254", "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9  "
	    "iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254" },
	{ "windows-1255", "cp1255 windows-1255 x-cp1255" },
	{ "windows-1256", "cp1256 windows-1256 x-cp1256" },
	{ "windows-1257", "cp1257 windows-1257 x-cp1257" },
	{ "windows-1258", "cp1258 windows-1258 x-cp1258" },
	{ "x-mac-cyrillic", "x-mac-cyrillic x-mac-ukrainian" },
	{ "gb18030", "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk" },
	{ "gb18030", "gb18030" },
	{ "big5", "big5 big5-hkscs cn-big5 csbig5 x-x-big5" },
	{ "euc-jp", "cseucpkdfmtjapanese euc-jp x-euc-jp" },
	{ "iso-2022-jp", "csiso2022jp iso-2022-jp" },
	{ "shift_jis", "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis" },
	{ "euc-kr", "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989  "
	    "ksc5601 ksc_5601 windows-949" },
	{ "utf-16be", "unicodefffe utf-16be" },
	{ "utf-16le", "unicodefeff utf-16le" },
	{ "x-user-defined", "x-user-defined" },
};

static void encoding_standard(void)
{
	char label[64];

	for (size_t i = 0; i < sizeof whatwg / sizeof whatwg[0]; i++)
		for (const char *p = whatwg[i].labels; *p; p += strspn(p, " ")) {
			size_t len = strcspn(p, " ");

			snprintf(label, sizeof label, "%.*s", (int)len, p);
			UNIT_ROW(strcmp(charset_name(lookup(label)), whatwg[i].name) == 0, "%s is %s, got %s", label, whatwg[i].name,
			    charset_name(lookup(label)));
			p += len;
		}
}

static const struct {
	const char *rule, *label;
	enum charset charset;
} cases[] = {
	{ "no byte order named", "utf-16", CS_UTF_16 },
	{ "no byte order named", "UTF_16", CS_UTF_16 },
	{ "no byte order named", "u16", CS_UTF_16 },
	{ "no byte order named", "ucs-2", CS_UTF_16 },
	{ "no byte order named", "ISO-10646-UCS-2", CS_UTF_16 },
	{ "no byte order named", "csUnicode", CS_UTF_16 },
	{ "no byte order named", "unicode", CS_UTF_16 },
	{ "no byte order named", "utf-32", CS_UTF_32 },
	{ "no byte order named", "ucs-4", CS_UTF_32 },
	{ "no byte order named", "ISO-10646-UCS-4", CS_UTF_32 },
	{ "no byte order named", "csUCS4", CS_UTF_32 },
	{ "Java, python", "utf_8", CS_UTF_8 },
	{ "Java, python", "UTF8", CS_UTF_8 },
	{ "Java, python", "ISO8859_1", CS_WINDOWS_1252 },
	{ "Java, python", "MS932", CS_SHIFT_JIS },
	{ "Java, python", "latin_1", CS_WINDOWS_1252 },
	{ "Java, python", "MacCyrillic", CS_X_MAC_CYRILLIC },
	{ "iconv", "MAC-CYRILLIC", CS_X_MAC_CYRILLIC },
	{ "iconv", "UHC", CS_EUC_KR },
	{ "iconv", "MACINTOSH", CS_MACINTOSH },
	{ "iconv", "KOI8-T", CS_KOI8_T },
	{ "code page", "cp037", CS_IBM037 },
	{ "code page", "IBM-037", CS_IBM037 },
	{ "code page", "ibm-37", CS_IBM037 },
	{ "code page", "IBM-1141", CS_IBM01141 },
	{ "code page", "cp1141", CS_IBM01141 },
	{ "code page", "CP1047", CS_IBM1047 },
	{ "code page", "cp500", CS_IBM500 },
	{ "code page", "IBM855", CS_IBM855 },
	{ "code page", "cp932", CS_SHIFT_JIS },
	{ "code page", "cp949", CS_EUC_KR },
	{ "code page", "cp874", CS_WINDOWS_874 },
	{ "code page", "win-1251", CS_WINDOWS_1251 },
	{ "code page", "windows1251", CS_WINDOWS_1251 },
	{ "IANA alias", "ebcdic-cp-us", CS_IBM037 },
	{ "IANA alias", "CCSID01140", CS_IBM01140 },
	{ "IANA alias", "csPC8CodePage437", CS_IBM437 },
	{ "IANA name", "Extended_UNIX_Code_Packed_Format_for_Japanese", CS_EUC_JP },
	{ "IANA name", "ISO_8859-1:1987", CS_WINDOWS_1252 },
	{ "IANA name", "GB_2312-80", CS_GB18030 },
	{ "IANA name", "ISO-2022-KR", CS_ISO_2022_KR },
	{ "white space and case", " \t\r\n\fUtF-8 \n", CS_UTF_8 },
	{ "unknown", "x-bogus", CS_NONE },
	{ "unknown", "", CS_NONE },
	{ "unknown", "  ", CS_NONE },
	{ "unknown", "utf-8x", CS_NONE },
	{ "unknown", "utf-", CS_NONE },
	{ "unknown", "u tf-8", CS_NONE },
	{ "quotes are the caller's business", "\"utf-8\"", CS_NONE },
	{ "no-break space is no white space", "\xC2\xA0utf-8", CS_NONE },
	{ "iconv suffix", "utf-8//IGNORE", CS_NONE },
	{ "iconv suffix", "cp1251//TRANSLIT", CS_NONE },
	{ "iconv default", "//", CS_NONE },
	{ "iconv locale", "char", CS_NONE },
	{ "iconv internal", "WCHAR_T", CS_NONE },
	{ "refused", "utf-7", CS_NONE },
	{ "refused", "UNICODE-1-1-UTF-7", CS_NONE },
	{ "refused", "csUTF7", CS_NONE },
	{ "refused", "utf-7-imap", CS_NONE },
	{ "refused", "iso-2022-cn", CS_NONE },
	{ "refused", "ISO-2022-CN-EXT", CS_NONE },
	{ "refused", "csISO2022CN", CS_NONE },
	{ "refused", "hz", CS_NONE },
	{ "refused", "hz-gb-2312", CS_NONE },
	{ "refused", "replacement", CS_NONE },
};

static void names_and_refusals(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		UNIT_ROW(lookup(cases[i].label) == cases[i].charset, "%s: '%s' is '%s', got '%s'", cases[i].rule, cases[i].label,
		    charset_name(cases[i].charset), charset_name(lookup(cases[i].label)));
}

static void lengths(void)
{
	char longest[200];

	memset(longest, 'a', sizeof longest);
	CU_ASSERT_PTR_NULL(charset_lookup(longest, sizeof longest));
	CU_ASSERT_PTR_NULL(charset_lookup("utf-8\0", 6));
	CU_ASSERT_PTR_NULL(charset_lookup("", 0));
	CU_ASSERT_PTR_NOT_NULL(charset_lookup("utf-8xyz", 5));
}

static void thoughtless(void)
{
	CU_ASSERT_TRUE(charset_is_thoughtless(lookup("us-ascii")));
	CU_ASSERT_TRUE(charset_is_thoughtless(lookup("iso-8859-1")));
	CU_ASSERT_TRUE(charset_is_thoughtless(lookup("windows-1252")));
	CU_ASSERT_FALSE(charset_is_thoughtless(lookup("iso-8859-15")));
	CU_ASSERT_FALSE(charset_is_thoughtless(lookup("utf-8")));
	CU_ASSERT_FALSE(charset_is_thoughtless(CS_NONE));
}

static const struct {
	const char *rule, *label;
	bool literal;
} literals[] = {
	{ "C1 controls", "iso-8859-1", true },
	{ "C1 controls", "L5", true },
	{ "C1 controls", "ISO_8859-11", true },
	{ "JIS X 0208", "x-sjis", true },
	{ "IANA's alias of Shift_JIS", "MS_Kanji", true },
	{ "JIS X 0208", "EUC-JP", true },
	{ "JIS X 0208", "csISO2022JP", true },
	{ "GB 2312", "EUC-CN", true },
	{ "the superset itself", "windows-1252", false },
	{ "the superset itself", "windows-1254", false },
	{ "the superset itself", "windows-874", false },
	{ "the superset itself", "windows-31j", false },
	{ "Microsoft's EUC-JP", "eucJP-win", false },
	{ "the superset itself", "gb18030", false },
	{ "lacks codes, changes none", "us-ascii", false },
	{ "lacks codes, changes none", "tis-620", false },
	{ "lacks codes, changes none", "gbk", false },
	{ "lacks codes, changes none", "ks_c_5601-1987", false },
	{ "a decoder of its own", "iso-8859-15", false },
};

static void literal_labels(void)
{
	for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++)
		UNIT_ROW(charset_lookup(literals[i].label, strlen(literals[i].label))->literal == literals[i].literal, "%s: %s",
		    literals[i].rule, literals[i].label);
}

/* Labels of the conformance corpus that no decoder is for. */
static const char *const not_encodings[] = { "ansi", "invalid", "none", "x-bogus", "iso-8559-1", "utf-7", "hz-gb-2312" };

static void corpus_labels(void)
{
	const char *shared = unit_shared();
	char line[512];
	FILE *file = NULL;

	if (shared) {
		snprintf(line, sizeof line, "%s/corpus/labels.tsv", shared);
		file = fopen(line, "r");
	}
	if (!file)
		UNIT_SKIP("no corpus/labels.tsv");
	CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof line, file));
	while (fgets(line, sizeof line, file)) {
		bool known = true;

		line[strcspn(line, "\t")] = '\0';
		for (size_t i = 0; i < sizeof not_encodings / sizeof not_encodings[0]; i++)
			known = known && strcmp(line, not_encodings[i]) != 0;
		UNIT_ROW((lookup(line) != CS_NONE) == known, "%s", line);
	}
	fclose(file);
}

UNIT_SUITE(charset, { "table is sorted", table_is_sorted }, { "every charset has its label", every_charset_has_its_label },
    { "encoding standard", encoding_standard }, { "names and refusals", names_and_refusals }, { "lengths", lengths },
    { "thoughtless", thoughtless }, { "literal labels", literal_labels }, { "corpus labels", corpus_labels })
