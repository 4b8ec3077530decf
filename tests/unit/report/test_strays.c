/* Owns the cases of proxy/report/strays.c. Must not know: how bodies are decoded.
 * Invariant: places do not depend on how the two streams were cut; each row names what it is about. */
#include "proxy/report/strays.h"
#include "tests/unit/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_place(FILE *out, const struct stray *place)
{
	fprintf(out, " %" PRIu64 ":%" PRIu64 " ", place->line, place->offset);
	for (size_t i = 0; i < place->len && i < STRAY_BYTES; i++)
		fprintf(out, "%02x", place->bytes[i]);
	fprintf(out, "%s", place->len > STRAY_BYTES ? "+" : "");
	fprintf(out, place->found ? "=%s" : "?", place->text);
}

static int go_on(void *arg, const uint8_t *bytes, size_t len)
{
	(void)arg, (void)bytes, (void)len;
	return 0;
}

/* What is found, as text. The decoded text comes behind the body. */
static char *found(const char *body, size_t len, const char *decoded, size_t piece)
{
	struct strays *s = calloc(1, sizeof *s);
	size_t rest = strlen(decoded), size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	s->sink.write = go_on;
	for (size_t at = 0; at < len; at += piece)
		CU_ASSERT_EQUAL(strays_feed(s, (const uint8_t *)body + at, len - at < piece ? len - at : piece), 0);
	CU_ASSERT_EQUAL(strays_end(s), 0);
	for (size_t at = 0; at < rest; at += piece)
		strays_feed_decoded(s, (const uint8_t *)decoded + at, rest - at < piece ? rest - at : piece);
	strays_finish(s);
	fprintf(out, "%" PRIu64 " in %" PRIu64 " and %" PRIu64 ":", s->bytes, s->places, s->pairs);
	for (size_t i = 0; i < s->n; i++)
		add_place(out, &s->first[i]);
	fclose(out);
	free(s);
	return text;
}

static const struct {
	const char *rule, *body, *decoded, *wanted;
} cases[] = {
	{ "nothing", "", "", "0 in 0 and 0:" },
	{ "right", "<a>\xc3\xa9</a>", "<a>\xc3\xa9</a>", "0 in 0 and 0:" },
	{ "one byte", "<a>It\x92s</a>", "<a>It\xe2\x80\x99s</a>", "1 in 1 and 0: 1:5 92=\xe2\x80\x99" },
	{ "the last byte", "<a>\xe9", "<a>\xc3\xa9", "1 in 1 and 0: 1:3 e9=\xc3\xa9" },
	{ "a word", "<a>\xcf\xf0\xe8\xe2 a</a>", "<a>\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2 a</a>",
	    "4 in 1 and 0: 1:3 cff0e8e2=\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2" },
	{ "beside well-formed characters", "\xc3\xa9\xe9\xc3\xa8", "\xc3\xa9\xc3\xa9\xc3\xa8", "1 in 1 and 0: 1:2 e9=\xc3\xa9" },
	{ "cut", "a \xe2\x82 b", "a \xef\xbf\xbd b", "2 in 1 and 0: 1:2 e282=\xef\xbf\xbd" },
	{ "cut by the end", "a \xe2\x82", "a \xef\xbf\xbd", "2 in 1 and 0: 1:2 e282=\xef\xbf\xbd" },
	{ "a lone surrogate", "\xed\xa0\xbd", "\xef\xbf\xbd", "3 in 1 and 0: 1:0 eda0bd=\xef\xbf\xbd" },
	{ "a pair of surrogates", "a\xed\xa0\xbd\xed\xb8\x80\xe9", "a\xf0\x9f\x98\x80\xc3\xa9", "1 in 1 and 1: 1:7 e9=\xc3\xa9" },
	{ "dropped", "<a>\xc0\x80</a>", "<a></a>", "2 in 1 and 0: 1:3 c080=" },
	{ "dropped at the end", "<a>\xc0\x80", "<a>", "2 in 1 and 0: 1:3 c080=" },
	{ "lines", "a\nb\r\nc\rd\r\n\xe9\n\xe8", "a\nb\r\nc\rd\r\n\xc3\xa9\n\xc3\xa8", "2 in 2 and 0: 5:10 e9=\xc3\xa9 6:12 e8=\xc3\xa8" },
	{ "more than are shown", "\xe9 \xe9 \xe9 \xe9 \xe9 \xe9 \xe9", "\xc3\xa9 \xc3\xa9 \xc3\xa9 \xc3\xa9 \xc3\xa9 \xc3\xa9 \xc3\xa9",
	    "7 in 7 and 0: 1:0 e9=\xc3\xa9 1:2 e9=\xc3\xa9 1:4 e9=\xc3\xa9 1:6 e9=\xc3\xa9 1:8 e9=\xc3\xa9" },
	{ "a long place", "\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9", "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
	    "9 in 1 and 0: 1:0 e9e9e9e9e9e9e9e9+=\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9" },
	{ "a second place in a run", "\xe9\xc3\xa9\xe9 \xe8", "\xc3\xa9\xc3\xa9\xc3\xa9 \xc3\xa8", "3 in 3 and 0: 1:0 e9=\xc3\xa9 1:3 e9? 1:5 e8=\xc3\xa8" },
	{ "a node of two bytes a character", "<a>\x83" "j\x83\x85 1</a>\xe9", "<a>\xe3\x83\x8b\xe3\x83\xa5 1</a>\xc3\xa9",
	    "4 in 3 and 0: 1:3 83=\xe3\x83\x8b\xe3\x83\xa5 1:5 8385? 1:13 e9=\xc3\xa9" },
	{ "other text than the body's", "<a>\xe9", "b", "1 in 1 and 0: 1:3 e9?" },
};

static void places(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		for (size_t piece = 1; piece < 32; piece++) {
			char *text = found(cases[i].body, strlen(cases[i].body), cases[i].decoded, piece);

			UNIT_ROW(strcmp(text, cases[i].wanted) == 0, "%s, by %zu: %s", cases[i].rule, piece, text);
			free(text);
		}
}

UNIT_SUITE(strays, { "places", places })
