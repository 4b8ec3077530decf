/* Owns the cases of core/library/utfeed.c: settings by name, streams, what is told of them, and the states in which a call fails.
 * Must not know: how a policy decides. */
#include "core/library/utfeed.h"
#include "tests/unit/unit.h"

#include <string.h>

#define FEED "<rss><title>\xcf\xf0\xe8\xe2\xe5\xf2</title></rss>"
#define FEED_UTF_8 "<rss><title>Привет</title></rss>"
#define DECLARED "<?xml version=\"1.0\" encoding=\"windows-1251\"?>" FEED
#define DECLARED_UTF_8 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>" FEED_UTF_8

struct gathered {
	size_t len;
	int stop;                           /* what the writer returns */
	char bytes[4096];
};

static int gather(void *arg, const void *bytes, size_t len)
{
	struct gathered *g = arg;

	if (g->stop || sizeof(g->bytes) - g->len <= len)
		return g->stop ? g->stop : 1;
	memcpy(g->bytes + g->len, bytes, len);
	g->len += len;
	return 0;
}

static void settings(void)
{
	static const struct { const char *name, *value; int result; } rows[] = {
		{ "policy", "rome-strict", UTFEED_OK }, { "policy", "rome", UTFEED_BAD_VALUE }, { "policy", NULL, UTFEED_BAD_VALUE },
		{ "charset", "cp1251", UTFEED_OK }, { "charset", "none", UTFEED_OK }, { "charset", "klingon", UTFEED_BAD_VALUE },
		{ "repair", "all", UTFEED_OK }, { "repair", "none", UTFEED_OK }, { "repair", "bom, -end", UTFEED_OK },
		{ "repair", "-entities", UTFEED_OK }, { "repair", "", UTFEED_BAD_VALUE }, { "repair", "bom,boom", UTFEED_BAD_VALUE },
		{ "characters", "replace", UTFEED_OK }, { "characters", "keep", UTFEED_BAD_VALUE },
		{ "output", "us-ascii", UTFEED_OK }, { "output", "utf-16", UTFEED_BAD_VALUE },
		{ "on-error", "pass", UTFEED_OK }, { "on-error", "panic", UTFEED_BAD_VALUE },
		{ "sniff-bytes", "1024", UTFEED_OK }, { "sniff-bytes", "1048576", UTFEED_OK }, { "sniff-bytes", "1023", UTFEED_BAD_VALUE },
		{ "sniff-bytes", "64k", UTFEED_BAD_VALUE }, { "sniff-bytes", "99999999999999999999", UTFEED_BAD_VALUE },
		{ "content-type", NULL, UTFEED_OK }, { "content-language", "ru", UTFEED_OK }, { "base", "http://a/", UTFEED_OK },
		{ "colour", "red", UTFEED_BAD_NAME },
	};
	struct utfeed *u = utfeed_new(gather, NULL);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int result = utfeed_set(u, rows[i].name, rows[i].value);

		UNIT_ROW(result == rows[i].result, "%s = %s: %s", rows[i].name, rows[i].value ? rows[i].value : "NULL",
			utfeed_result_text(result));
	}
	utfeed_free(u);
}

/* One setting beside content-type, one body, and all that is told of it. */
static const struct stream_row {
	const char *name, *setting, *value, *content_type, *in, *out, *rule, *charset, *type;
	int result, is_feed;
	const char *counted;
	uint64_t count;
} streams[] = {
	{ "a file that declares", NULL, NULL, NULL, DECLARED, DECLARED_UTF_8, "auto:1.2;", "windows-1251",
		"application/xml; charset=utf-8", UTFEED_OK, 1, "declaration", 1 },
	{ "a response", NULL, NULL, "text/xml; charset=windows-1251", FEED, FEED_UTF_8, "auto:2.5", "windows-1251",
		"application/xml; charset=utf-8", UTFEED_OK, 1, "malformed", 0 },
	{ "forced", "charset", "koi8-r", NULL, "<rss>\xf0</rss>", "<rss>П</rss>", "auto:external", "koi8-r",
		"application/xml; charset=utf-8", UTFEED_OK, 1, "malformed", 0 },
	{ "as ASCII", "output", "us-ascii", "text/xml; charset=windows-1251", "<rss>\xcf</rss>", "<rss>&#1055;</rss>", "auto:2.5",
		"windows-1251", "application/xml; charset=us-ascii", UTFEED_OK, 1, "lost", 0 },
	{ "controls dropped", NULL, NULL, NULL, "<rss>a\x01" "b</rss>", "<rss>ab</rss>", NULL, "utf-8",
		"application/xml; charset=utf-8", UTFEED_OK, 1, "characters", 1 },
	{ "no repair", "repair", "none", NULL, "<rss>a & b</rss>", "<rss>a & b</rss>", NULL, "utf-8",
		"application/xml; charset=utf-8", UTFEED_OK, 1, "ampersands", 0 },
	{ "another document", NULL, NULL, "model/x3d+xml; charset=windows-1251; a=b", "<X3D>\xcf</X3D>", "<X3D>П</X3D>", "auto:", "windows-1251",
		"model/x3d+xml; a=b; charset=utf-8", UTFEED_OK, 1, "malformed", 0 },
	{ "the same in UTF-8", NULL, NULL, "model/x3d+xml", "<X3D>П</X3D>", "<X3D>П</X3D>", "none", NULL, NULL, UTFEED_OK, 0, "bytes-in", 13 },
	{ "no feed", NULL, NULL, "text/html", "<html>\xcf</html>", "<html>\xcf</html>", "none", NULL, NULL, UTFEED_OK, 0, "bytes-in", 14 },
	{ "rejected", "policy", "rome-strict", "text/plain", FEED, "", "rome-strict:2.6;error=not-xml", NULL, NULL, UTFEED_REJECTED, 0, "bytes-out", 0 },
	{ "nothing", NULL, NULL, NULL, "", "", "none", NULL, NULL, UTFEED_OK, 0, "bytes-out", 0 },
};

static void told(const struct stream_row *row, struct utfeed *u, int result, const struct gathered *g)
{
	const char *rule = utfeed_rule(u), *charset = utfeed_charset(u), *type = utfeed_content_type(u);

	UNIT_ROW(result == row->result, "%s: %s", row->name, utfeed_result_text(result));
	UNIT_ROW(g->len == strlen(row->out) && memcmp(g->bytes, row->out, g->len) == 0, "%s: %.*s", row->name, (int)g->len, g->bytes);
	UNIT_ROW(utfeed_is_feed(u) == row->is_feed, "%s: is_feed %d", row->name, utfeed_is_feed(u));
	UNIT_ROW(rule && (!row->rule || strncmp(rule, row->rule, strlen(row->rule)) == 0), "%s: rule %s", row->name, rule ? rule : "none");
	UNIT_ROW((!charset && !row->charset) || (charset && row->charset && strcmp(charset, row->charset) == 0),
		"%s: charset %s", row->name, charset ? charset : "none");
	UNIT_ROW((!type && !row->type) || (type && row->type && strcmp(type, row->type) == 0), "%s: type %s", row->name, type ? type : "none");
	UNIT_ROW(utfeed_count(u, row->counted) == row->count, "%s: %s %d", row->name, row->counted, (int)utfeed_count(u, row->counted));
}

static void a_stream(const struct stream_row *row, size_t piece)
{
	struct gathered g = { 0 };
	struct utfeed *u = utfeed_new(gather, &g);
	size_t len = strlen(row->in);
	int result = UTFEED_OK;

	if (row->setting)
		CU_ASSERT_EQUAL(utfeed_set(u, row->setting, row->value), UTFEED_OK);
	if (row->content_type)
		CU_ASSERT_EQUAL(utfeed_set(u, "content-type", row->content_type), UTFEED_OK);
	for (size_t at = 0; at < len && result == UTFEED_OK; at += piece)
		result = utfeed_feed(u, row->in + at, len - at < piece ? len - at : piece);
	if (result == UTFEED_OK)
		result = utfeed_finish(u);
	told(row, u, result, &g);
	utfeed_free(u);
}

static void whole_and_by_bytes(void)
{
	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		a_stream(&streams[i], 4096);
		a_stream(&streams[i], 1);
	}
}

static void states(void)
{
	struct gathered g = { 0 };
	struct utfeed *u = utfeed_new(gather, &g);

	CU_ASSERT_EQUAL(utfeed_is_feed(u), -1);
	CU_ASSERT_PTR_NULL(utfeed_rule(u));
	CU_ASSERT_PTR_NULL(utfeed_charset(u));
	CU_ASSERT_EQUAL(utfeed_count(u, "bytes-in"), 0);
	CU_ASSERT_EQUAL(utfeed_count(u, "no such thing"), UTFEED_NO_COUNT);
	CU_ASSERT_EQUAL(utfeed_feed(u, "<rss/>", 6), UTFEED_OK);
	CU_ASSERT_EQUAL(utfeed_is_feed(u), -1);
	CU_ASSERT_EQUAL(utfeed_set(u, "policy", "auto"), UTFEED_TOO_LATE);
	CU_ASSERT_EQUAL(utfeed_finish(u), UTFEED_OK);
	CU_ASSERT_EQUAL(utfeed_feed(u, "x", 1), UTFEED_TOO_LATE);
	CU_ASSERT_EQUAL(utfeed_finish(u), UTFEED_TOO_LATE);
	CU_ASSERT_EQUAL(utfeed_count(u, "no such thing"), UTFEED_NO_COUNT);
	CU_ASSERT_EQUAL(utfeed_count(u, ""), UTFEED_NO_COUNT);
	utfeed_free(u);
	utfeed_free(NULL);
}

/* The same body at once and by pulling, in pieces of every length, gives what a writer gets. */
static void at_once(void)
{
	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		const struct stream_row *row = &streams[i];
		struct gathered g = { 0 };
		struct utfeed *u;
		const char *output;
		int result;

		if (row->setting)
			continue;
		result = utfeed_normalise(row->in, strlen(row->in), row->content_type, &u);
		UNIT_ROW(result == UTFEED_OK && u, "%s: %s", row->name, utfeed_result_text(result));
		output = utfeed_output(u, &g.len);
		UNIT_ROW(output[g.len] == '\0', "%s: no zero byte", row->name);
		memcpy(g.bytes, output, g.len);
		told(row, u, result, &g);
		CU_ASSERT_EQUAL(utfeed_feed(u, "x", 1), UTFEED_TOO_LATE);
		utfeed_free(u);
	}
}

/* All that there is, in pieces of that size. */
static void pull(struct utfeed *u, struct gathered *g, size_t piece)
{
	size_t len;

	while ((len = utfeed_read(u, g->bytes + g->len, piece)) > 0)
		g->len += len;
}

static void pulled(void)
{
	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		const struct stream_row *row = &streams[i];

		for (size_t piece = 1; piece < 9; piece++) {
			struct gathered g = { 0 };
			struct utfeed *u = utfeed_new(NULL, NULL);
			int result = UTFEED_OK;
			size_t left;

			if (row->setting)
				CU_ASSERT_EQUAL(utfeed_set(u, row->setting, row->value), UTFEED_OK);
			if (row->content_type)
				CU_ASSERT_EQUAL(utfeed_set(u, "content-type", row->content_type), UTFEED_OK);
			for (const char *at = row->in; *at && result == UTFEED_OK; at++) {
				result = utfeed_feed(u, at, 1);
				pull(u, &g, piece);
			}
			if (result == UTFEED_OK)
				result = utfeed_finish(u);
			pull(u, &g, piece);
			told(row, u, result, &g);
			CU_ASSERT_STRING_EQUAL(utfeed_output(u, &left), "");
			CU_ASSERT_EQUAL(left, 0);
			utfeed_free(u);
		}
	}
}

/* Output that nobody reads is kept whole; what was read leaves room for more. */
static void kept_output(void)
{
	static const struct { size_t texts, read; } rows[] = { { 1, 0 }, { 3000, 0 }, { 3000, 7 }, { 3000, 4096 }, { 3000, 100000 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static char buffer[100000];
		struct utfeed *u = utfeed_new(NULL, NULL);
		size_t read = 0, left;
		const char *output;

		CU_ASSERT_EQUAL(utfeed_set(u, "sniff-bytes", "1024"), UTFEED_OK);
		CU_ASSERT_EQUAL(utfeed_feed(u, "<rss>", 5), UTFEED_OK);
		for (size_t n = 0; n < rows[i].texts; n++) {
			CU_ASSERT_EQUAL(utfeed_feed(u, "<item>text</item>", 17), UTFEED_OK);
			read += utfeed_read(u, buffer, rows[i].read);
		}
		CU_ASSERT_EQUAL(utfeed_feed(u, "</rss>", 6), UTFEED_OK);
		CU_ASSERT_EQUAL(utfeed_finish(u), UTFEED_OK);
		output = utfeed_output(u, &left);
		UNIT_ROW(left >= 6 && strcmp(output + left - 6, "</rss>") == 0, "%zu texts, read by %zu", rows[i].texts, rows[i].read);
		UNIT_ROW(read + left == 11 + 17 * rows[i].texts, "%zu texts, read by %zu: %zu and %zu left", rows[i].texts, rows[i].read, read, left);
		utfeed_free(u);
	}
}

/* A stream with a writer keeps nothing; one that found nothing, or was never fed, has an empty output. */
static void nothing_kept(void)
{
	struct gathered g = { 0 };
	struct utfeed *u = utfeed_new(gather, &g);
	size_t len = 1;
	char byte;

	CU_ASSERT_EQUAL(utfeed_feed(u, "<rss/>", 6), UTFEED_OK);
	CU_ASSERT_EQUAL(utfeed_finish(u), UTFEED_OK);
	CU_ASSERT_EQUAL(utfeed_read(u, &byte, 1), 0);
	CU_ASSERT_STRING_EQUAL(utfeed_output(u, &len), "");
	CU_ASSERT_EQUAL(len, 0);
	utfeed_free(u);
	CU_ASSERT_EQUAL(utfeed_normalise(NULL, 0, NULL, &u), UTFEED_OK);
	CU_ASSERT_STRING_EQUAL(utfeed_output(u, &len), "");
	CU_ASSERT_EQUAL(utfeed_read(u, NULL, 0), 0);
	CU_ASSERT_EQUAL(utfeed_is_feed(u), 0);
	utfeed_free(u);
}

/* Whatever number the writer returns, also one of the library's or the normaliser's own. */
static void stopped_by_the_writer(void)
{
	static const int numbers[] = { 1, -1, -2, 99 };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct gathered g = { .stop = numbers[i] };
		struct utfeed *u = utfeed_new(gather, &g);

		CU_ASSERT_EQUAL(utfeed_feed(u, "<rss>a</rss>", 12), UTFEED_OK);
		UNIT_ROW(utfeed_finish(u) == UTFEED_STOPPED, "writer returns %d", numbers[i]);
		UNIT_ROW(utfeed_feed(u, "x", 1) == UTFEED_STOPPED, "writer returned %d", numbers[i]);
		UNIT_ROW(utfeed_finish(u) == UTFEED_STOPPED, "writer returned %d", numbers[i]);
		utfeed_free(u);
	}
}

/* The repair base is made wherever base is set, in whatever order. */
static void base_and_repairs(void)
{
	struct gathered g = { 0 };
	struct utfeed *u = utfeed_new(gather, &g);

	CU_ASSERT_EQUAL(utfeed_set(u, "base", "http://a.example/b"), UTFEED_OK);
	CU_ASSERT_EQUAL(utfeed_set(u, "repair", "none"), UTFEED_OK);
	CU_ASSERT_EQUAL(utfeed_feed(u, "<rss>a & b</rss>", 16), UTFEED_OK);
	CU_ASSERT_EQUAL(utfeed_finish(u), UTFEED_OK);
	CU_ASSERT_STRING_EQUAL(g.bytes, "<rss xml:base=\"http://a.example/b\">a & b</rss>");
	CU_ASSERT_EQUAL(utfeed_count(u, "base"), 1);
	utfeed_free(u);
}

/* What was given is not looked at again. */
static void settings_are_copied(void)
{
	struct gathered g = { 0 };
	struct utfeed *u = utfeed_new(gather, &g);
	char type[] = "text/xml; charset=windows-1251";

	CU_ASSERT_EQUAL(utfeed_set(u, "content-type", "text/html"), UTFEED_OK);
	CU_ASSERT_EQUAL(utfeed_set(u, "content-type", type), UTFEED_OK);
	memset(type, 'x', sizeof(type) - 1);
	CU_ASSERT_EQUAL(utfeed_feed(u, FEED, strlen(FEED)), UTFEED_OK);
	CU_ASSERT_EQUAL(utfeed_finish(u), UTFEED_OK);
	CU_ASSERT_STRING_EQUAL(utfeed_charset(u), "windows-1251");
	utfeed_free(u);
}

static void words(void)
{
	CU_ASSERT_STRING_EQUAL(utfeed_version(), PACKAGE_VERSION);
	for (int result = UTFEED_OK; result >= UTFEED_TOO_LATE; result--)
		UNIT_ROW(utfeed_result_text(result) && *utfeed_result_text(result), "result %d", result);
	CU_ASSERT_STRING_EQUAL(utfeed_result_text(UTFEED_TOO_LATE - 1), utfeed_result_text(1));
}

UNIT_SUITE(utfeed, { "settings", settings }, { "streams, whole and byte by byte", whole_and_by_bytes }, { "states", states },
	{ "stopped by the writer", stopped_by_the_writer }, { "settings are copied", settings_are_copied },
	{ "base and repairs", base_and_repairs }, { "words", words }, { "at once", at_once }, { "pulled", pulled },
	{ "kept output", kept_output }, { "nothing kept", nothing_kept })
