/* Owns the cases of proxy/admin/multipart.c. Must not know: what files are. Invariant: each row names its rule. */
#include "proxy/admin/multipart.h"
#include "tests/unit/unit.h"

#include <string.h>

#define TYPE "multipart/form-data; boundary=xyz"
#define FILE_PART "Content-Disposition: form-data; name=\"file\"; filename=\"a.xml\"\r\nContent-Type: text/xml\r\n\r\n"
#define OTHER_PART "Content-Disposition: form-data; name=\"type\"\r\n\r\n"

static void parts(void)
{
	static const struct { const char *rule, *type, *body, *want; } cases[] = {
		{ "one part", TYPE, "--xyz\r\n" FILE_PART "<rss/>\r\n--xyz--\r\n", "<rss/>" },
		{ "a quoted boundary", "multipart/form-data; boundary=\"xyz\"", "--xyz\r\n" FILE_PART "a\r\n--xyz--", "a" },
		{ "the type in other letters", "Multipart/Form-Data;charset=x;BOUNDARY=xyz", "--xyz\r\n" FILE_PART "a\r\n--xyz--", "a" },
		{ "an empty file", TYPE, "--xyz\r\n" FILE_PART "\r\n--xyz--", "" },
		{ "the second part", TYPE, "--xyz\r\n" OTHER_PART "b\r\n--xyz\r\n" FILE_PART "a\r\n--xyz--", "a" },
		{ "the first part of two", TYPE, "--xyz\r\n" FILE_PART "a\r\n--xyz\r\n" OTHER_PART "b\r\n--xyz--", "a" },
		{ "a preamble", TYPE, "hello\r\n--xyz\r\n" FILE_PART "a\r\n--xyz--", "a" },
		{ "line ends in the file", TYPE, "--xyz\r\n" FILE_PART "a\r\n\r\nb\r\n\r\n--xyz--", "a\r\n\r\nb\r\n" },
		{ "a boundary within a line", TYPE, "--xyz\r\n" FILE_PART "a--xyz--\r\n--xyz--", "a--xyz--" },
		{ "no such part", TYPE, "--xyz\r\n" OTHER_PART "b\r\n--xyz--", NULL },
		{ "no end", TYPE, "--xyz\r\n" FILE_PART "a", NULL },
		{ "no content", TYPE, "--xyz\r\n\r\n--xyz--", NULL },
		{ "nothing", TYPE, "", NULL },
		{ "the end alone", TYPE, "--xyz--", NULL },
		{ "another boundary", TYPE, "--abc\r\n" FILE_PART "a\r\n--abc--", NULL },
		{ "no boundary", "multipart/form-data", "--\r\n" FILE_PART "a\r\n--", NULL },
		{ "an empty boundary", "multipart/form-data; boundary=", "--\r\n" FILE_PART "a\r\n--", NULL },
		{ "a boundary too long", "multipart/form-data; boundary=01234567890123456789012345678901234567890123456789012345678901234567890",
		    "--01234567890123456789012345678901234567890123456789012345678901234567890\r\n" FILE_PART "a\r\n", NULL },
		{ "another type", "text/xml; boundary=xyz", "--xyz\r\n" FILE_PART "a\r\n--xyz--", NULL },
		{ "no type", NULL, "--xyz\r\n" FILE_PART "a\r\n--xyz--", NULL },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *type = cases[i].type, *want = cases[i].want;
		struct multipart_part part = multipart_find((struct slice){ type, type ? strlen(type) : 0 },
		    (struct slice){ cases[i].body, strlen(cases[i].body) }, "file");
		struct slice got = part.content;

		UNIT_ROW(want ? got.at && got.len == strlen(want) && !memcmp(got.at, want, got.len) : !got.at, "%s: %.*s", cases[i].rule,
		    (int)got.len, got.at ? got.at : "");
		UNIT_ROW(!want || (part.file.len == 5 && !memcmp(part.file.at, "a.xml", 5)), "%s: the file's name", cases[i].rule);
	}
}

UNIT_SUITE(multipart, { "parts", parts })
