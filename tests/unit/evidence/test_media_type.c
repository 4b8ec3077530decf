/* Content-Type field values into CTMime and CTEnc. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/evidence/media_type.h"

static const struct {
	const char *rule;
	const char *value;
	enum mime_class CTMime;
	const char *mime, *charset;
} cases[] = {
	{ "no field",             NULL, MIME_NONE, "", "" },
	{ "empty",                "", MIME_NONE, "", "" },
	{ "blank",                " \t", MIME_NONE, "", "" },
	{ "no subtype",           "text", MIME_NONE, "", "" },
	{ "no subtype, slash",    "text/; charset=utf-8", MIME_NONE, "", "" },
	{ "no top-level type",    "/xml", MIME_NONE, "", "" },
	{ "parameter alone",      "charset=utf-8", MIME_NONE, "", "" },
	{ "APP-XML",              "application/xml", MIME_APP_XML, "application/xml", "" },
	{ "APP-XML dtd",          "application/xml-dtd", MIME_APP_XML, "application/xml-dtd", "" },
	{ "APP-XML entity",       "application/xml-external-parsed-entity", MIME_APP_XML, "application/xml-external-parsed-entity", "" },
	{ "APP-XML +xml",         "application/rss+xml", MIME_APP_XML, "application/rss+xml", "" },
	{ "suffix alone",         "application/+xml", MIME_OTHER, "application/+xml", "" },
	{ "not the suffix",       "application/xml+zip", MIME_OTHER, "application/xml+zip", "" },
	{ "TEXT-XML",             "text/xml", MIME_TEXT_XML, "text/xml", "" },
	{ "TEXT-XML entity",      "text/xml-external-parsed-entity", MIME_TEXT_XML, "text/xml-external-parsed-entity", "" },
	{ "TEXT-XML +xml",        "text/vnd.x+xml", MIME_TEXT_XML, "text/vnd.x+xml", "" },
	{ "text/xml-dtd is none", "text/xml-dtd", MIME_TEXT_OTHER, "text/xml-dtd", "" },
	{ "RFC 7303 section 8",   "image/svg+xml", MIME_OTHER_XML, "image/svg+xml", "" },
	{ "RFC 7303 section 8",   "model/x3d+xml", MIME_OTHER_XML, "model/x3d+xml", "" },
	{ "html",                 "text/html", MIME_TEXT_HTML, "text/html", "" },
	{ "text",                 "text/plain", MIME_TEXT_OTHER, "text/plain", "" },
	{ "json",                 "application/json", MIME_JSON, "application/json", "" },
	{ "json suffix",          "application/feed+json", MIME_JSON, "application/feed+json", "" },
	{ "media",                "image/png", MIME_MEDIA, "image/png", "" },
	{ "media",                "font/woff2", MIME_MEDIA, "font/woff2", "" },
	{ "other",                "application/octet-stream", MIME_OTHER, "application/octet-stream", "" },
	{ "case",                 "Application/RSS+XML; CharSet=UTF-8", MIME_APP_XML, "application/rss+xml", "UTF-8" },
	{ "token",                "text/xml; charset=utf-8", MIME_TEXT_XML, "text/xml", "utf-8" },
	{ "no blank",             "text/xml;charset=utf-8", MIME_TEXT_XML, "text/xml", "utf-8" },
	{ "blanks round = and ;", " text/xml \t; charset = utf-8 ; x=y", MIME_TEXT_XML, "text/xml", "utf-8" },
	{ "quoted-string",        "text/xml; charset=\"utf-8\"", MIME_TEXT_XML, "text/xml", "utf-8" },
	{ "quoted-pair",          "text/xml; charset=\"ut\\f-8\"", MIME_TEXT_XML, "text/xml", "utf-8" },
	{ "blanks in quotes",     "text/xml; charset=\" utf-8 \"", MIME_TEXT_XML, "text/xml", "utf-8" },
	{ "single quotes",        "text/xml; charset='utf-8'", MIME_TEXT_XML, "text/xml", "utf-8" },
	{ "unclosed quote",       "text/xml; charset=\"utf-8", MIME_TEXT_XML, "text/xml", "utf-8" },
	{ "; in quotes",          "text/xml; v=\"1;charset=x\"; charset=utf-8", MIME_TEXT_XML, "text/xml", "utf-8" },
	{ "\" in quotes",         "text/xml; v=\"a\\\";charset=x\"; charset=utf-8", MIME_TEXT_XML, "text/xml", "utf-8" },
	{ "first wins",           "text/xml; charset=utf-8; charset=koi8-r", MIME_TEXT_XML, "text/xml", "utf-8" },
	{ "empty value is none",  "text/xml; charset=", MIME_TEXT_XML, "text/xml", "" },
	{ "empty value is none",  "text/xml; charset=\"\"", MIME_TEXT_XML, "text/xml", "" },
	{ "empty, then another",  "text/xml; charset=; charset=utf-8", MIME_TEXT_XML, "text/xml", "utf-8" },
	{ "colon is none",        "text/xml; charset:utf-8", MIME_TEXT_XML, "text/xml", "" },
	{ "other name",           "text/xml; xcharset=utf-8; charsets=a", MIME_TEXT_XML, "text/xml", "" },
	{ "empty parameters",     "text/xml;;; charset=utf-8;", MIME_TEXT_XML, "text/xml", "utf-8" },
	{ "joined fields",        "text/xml; charset=utf-8, text/html", MIME_TEXT_XML, "text/xml", "utf-8" },
	{ "unknown label stays",  "text/xml; charset=x-bogus", MIME_TEXT_XML, "text/xml", "x-bogus" },
};

static void table(void)
{
	struct media_type m;
	size_t i;

	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		media_type_read(&m, cases[i].value, cases[i].value == NULL ? 0 : strlen(cases[i].value));
		UNIT_ROW(m.CTMime == cases[i].CTMime && strcmp(m.mime, cases[i].mime) == 0 && strcmp(m.charset, cases[i].charset) == 0,
		    "%s: <%s> gave %s <%s> <%s>", cases[i].rule, cases[i].value, mime_class_name(m.CTMime), m.mime, m.charset);
	}
}

/* Another charset in the place of the value's own. */
static void relabel(void)
{
	static const struct {
		const char *value, *out;
	} rows[] = {
		{ "a/b+xml", "a/b+xml; charset=utf-8" },
		{ "a/b+xml ", "a/b+xml; charset=utf-8" },
		{ "a/b+xml; charset=koi8-r", "a/b+xml; charset=utf-8" },
		{ "a/b+xml;CHARSET = \"koi8;r\" ;profile=x", "a/b+xml;profile=x; charset=utf-8" },
		{ "a/b+xml; action=\"u;charset=x\"; charset=koi8-r; v=1", "a/b+xml; action=\"u;charset=x\"; v=1; charset=utf-8" },
		{ "a/b+xml; charset=x; charset=y", "a/b+xml; charset=utf-8" },
		{ "a/b+xml;", "a/b+xml;; charset=utf-8" },
		{ "a/b+xml; charset", "a/b+xml; charset; charset=utf-8" },
		{ "a/b+xml; v=\"open", "a/b+xml; charset=utf-8" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char *out = media_type_relabel(rows[i].value, strlen(rows[i].value), "utf-8");

		UNIT_ROW(strcmp(out, rows[i].out) == 0, "<%s> gave <%s>", rows[i].value, out);
		free(out);
	}
}

/* Only value[0..len) is read, and what is too long is cut or refused. */
static void bounds(void)
{
	char value[512];
	struct media_type m;
	size_t i;

	media_type_read(&m, "text/xml; charset=utf-8XXXX", 23);
	CU_ASSERT_STRING_EQUAL(m.charset, "utf-8");
	memset(value, 'a', sizeof value);
	value[4] = '/';
	media_type_read(&m, value, sizeof value);
	CU_ASSERT_EQUAL(m.CTMime, MIME_NONE);
	memcpy(value, "text/xml; charset=", 18);
	media_type_read(&m, value, sizeof value);
	CU_ASSERT_EQUAL(strlen(m.charset), MEDIA_TYPE_CHARSET_MAX - 1);
	for (i = 0; i <= MIME_OTHER; i++)
		CU_ASSERT(strlen(mime_class_name((enum mime_class)i)) > 0);
}

UNIT_SUITE(media_type, { "table", table }, { "relabel", relabel }, { "bounds", bounds })
