/* Owns the cases of proxy/report/wellformed.c. Must not know: repairs. Invariant: each row names its rule; each is fed whole and byte by byte. */
#include "proxy/report/wellformed.h"
#include "tests/unit/unit.h"

#include <string.h>

static void rows(void)
{
	static const struct {
		const char *rule, *encoding, *text;
		bool fine;
		unsigned long line;
		const char *fault;          /* part of it; NULL: whatever expat says */
	} cases[] = {
		{ "an element", NULL, "<a/>", true, 0, NULL },
		{ "nothing", NULL, "", false, 1, "no element" },
		{ "not closed", NULL, "<a>\n<b>\n</a>", false, 3, "mismatched" },
		{ "cut", NULL, "<a>\n", false, 2, NULL },
		{ "two roots", NULL, "<a/><b/>", false, 1, "junk" },
		{ "the declaration is trusted", NULL, "<?xml version='1.0' encoding='iso-8859-1'?><a>\xe9</a>", true, 0, NULL },
		{ "what is said from outside overrules it", "utf-8", "<?xml version='1.0' encoding='iso-8859-1'?><a>\xe9</a>", false, 1, NULL },
		{ "and mends it", "utf-8", "<?xml version='1.0' encoding='utf-16'?><a>\xc3\xa9</a>", true, 0, NULL },
		{ "a document type without entities", NULL, "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", true, 0, NULL },
		{ "an entity", NULL, "<!DOCTYPE a [\n<!ENTITY b 'c'>]><a>&b;</a>", false, 2, "refused" },
		{ "an external one", NULL, "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>", false, 1, "refused" },
		{ "a parameter entity", NULL, "<!DOCTYPE a [<!ENTITY % b 'c'> %b;]><a/>", false, 1, "refused" },
		{ "an unknown one", NULL, "<a>&nbsp;</a>", false, 1, "undefined" },
		{ "a forbidden character", NULL, "<a>\x01</a>", false, 1, NULL },
		{ "a reference to one", NULL, "<a>&#1;</a>", false, 1, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = strlen(cases[i].text);

		for (size_t step = 1; step <= len + 1; step += len ? len : 1) {
			struct wellformed *w = wellformed_new(cases[i].encoding);
			bool fine;

			for (size_t at = 0; at < len; at += step)
				wellformed_feed(w, (const uint8_t *)cases[i].text + at, len - at < step ? len - at : step);
			fine = wellformed_finish(w);
			UNIT_ROW(fine == cases[i].fine, "%s: %s", cases[i].rule, wellformed_fault(w));
			UNIT_ROW((wellformed_fault(w) == NULL) == fine, "%s", cases[i].rule);
			UNIT_ROW(fine || wellformed_line(w) == cases[i].line, "%s: line %lu", cases[i].rule, wellformed_line(w));
			UNIT_ROW(!cases[i].fault || (!fine && strstr(wellformed_fault(w), cases[i].fault)), "%s: %s", cases[i].rule, wellformed_fault(w));
			wellformed_free(&w);
			CU_ASSERT_PTR_NULL(w);
		}
	}
}

/* Feeding goes on being harmless after a fault. */
static void after_a_fault(void)
{
	struct wellformed *w = wellformed_new(NULL);

	wellformed_feed(w, (const uint8_t *)"<a></b>", 7);
	wellformed_feed(w, (const uint8_t *)"<a/>", 4);
	CU_ASSERT_FALSE(wellformed_finish(w));
	CU_ASSERT_EQUAL(wellformed_line(w), 1);
	wellformed_free(&w);
}

UNIT_SUITE(wellformed, { "rows", rows }, { "after a fault", after_a_fault })
