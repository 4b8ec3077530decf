/* Owns the cases of core/repair/ascii.c: where a reference stands, where none can.
 * Must not know: encodings. Invariant: each row names its rule; rows are fed whole and split in two at every byte. */
#include "core/repair/ascii.h"
#include "tests/unit/unit.h"

#include <string.h>

struct gathered {
	char bytes[1024];
	size_t len, room;
};

static int gather(void *arg, const uint8_t *bytes, size_t len)
{
	struct gathered *g = arg;

	if (g->room - g->len < len)
		return 7;
	memcpy(g->bytes + g->len, bytes, len);
	g->len += len;
	return 0;
}

static int write_all(struct gathered *g, const char *in, size_t cut, uint64_t *lost)
{
	struct ascii *a = ascii_new((struct sink){ gather, g });
	int rc = ascii_feed(a, (const uint8_t *)in, cut);

	if (rc == 0)
		rc = ascii_feed(a, (const uint8_t *)in + cut, strlen(in) - cut);
	*lost = ascii_lost(a);
	ascii_free(&a);
	CU_ASSERT_PTR_NULL(a);
	return rc;
}

static const struct {
	const char *rule, *in, *out;
	unsigned lost;
} cases[] = {
	{ "ASCII stays", "<?xml version='1.0'?><a b=\"c\">&#233;<![CDATA[<]]><!-- --></a>\x7f", "<?xml version='1.0'?><a b=\"c\">&#233;<![CDATA[<]]><!-- --></a>\x7f", 0 },
	{ "two bytes", "<a>é</a>", "<a>&#233;</a>", 0 },
	{ "three bytes", "<a>€</a>", "<a>&#8364;</a>", 0 },
	{ "four bytes", "<a>😀</a>", "<a>&#128512;</a>", 0 },
	{ "the largest", "\xf4\x8f\xbf\xbf", "&#1114111;", 0 },
	{ "attribute values", "<a b=\"é>é\" c='é\"é'>é</a>", "<a b=\"&#233;>&#233;\" c='&#233;\"&#233;'>&#233;</a>", 0 },
	{ "CDATA", "<![CDATA[é]]>é", "<![CDATA[]]>&#233;<![CDATA[]]>&#233;", 0 },
	{ "CDATA opened again only where it must be", "<![CDATA[aéé 5é<br>é&amp;é]é>x]]>",
	  "<![CDATA[a]]>&#233;&#233; 5&#233;<![CDATA[<br>]]>&#233;<![CDATA[&amp;]]>&#233;<![CDATA[]]]>&#233;<![CDATA[>x]]>", 0 },
	{ "brackets apart are no end", "<![CDATA[]]é>é]]>é", "<![CDATA[]]]]>&#233;<![CDATA[>]]>&#233;<![CDATA[]]>&#233;", 0 },
	{ "comments", "<!-- é -->é", "<!-- _ -->&#233;", 1 },
	{ "a comment in its own hyphens", "<!--é--é-->é", "<!--_--_-->&#233;", 2 },
	{ "instructions", "<?a é>?>é", "<?a _>?>&#233;", 1 },
	{ "names", "<été é='é'>é</été>", "<_t_ _='&#233;'>&#233;</_t_>", 5 },
	{ "a document type", "<!DOCTYPE é SYSTEM 'é' [<!ENTITY é 'é>]'><!-- é> --><?é> é?>é]>é",
	  "<!DOCTYPE _ SYSTEM '&#233;' [<!ENTITY _ '&#233;>]'><!-- _> --><?_> _?>_]>&#233;", 6 },
	{ "openings that are none", "<!-é><![CDé><!DOCTé>é", "<!-_><![CD_><!DOCT_>&#233;", 3 },
	{ "an empty tag name", "<>é<\"é\">é", "<>&#233;<\"&#233;\">&#233;", 0 },
	{ "an open section", "<![CDATA[é", "<![CDATA[]]>&#233;", 0 },
};

static void rows(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t cut = 0; cut <= strlen(cases[i].in); cut++) {
			struct gathered g = { .room = sizeof(g.bytes) };
			uint64_t lost;
			int rc = write_all(&g, cases[i].in, cut, &lost);

			if (!UNIT_ROW(rc == 0 && g.len == strlen(cases[i].out) && memcmp(g.bytes, cases[i].out, g.len) == 0,
			    "%s, cut at %zu: %.*s", cases[i].rule, cut, (int)g.len, g.bytes))
				break;
			UNIT_ROW(lost == cases[i].lost, "%s, cut at %zu: %lu lost", cases[i].rule, cut, (unsigned long)lost);
		}
	}
}

static void sink_errors(void)
{
	const char *in = "<a>é<![CDATA[é<]]>";

	for (size_t room = 0; room < strlen("<a>&#233;<![CDATA[]]>&#233;<![CDATA[<]]>"); room++) {
		struct gathered g = { .room = room };
		uint64_t lost;

		UNIT_ROW(write_all(&g, in, 0, &lost) == 7, "room for %zu", room);
	}
}

UNIT_SUITE(ascii, { "rows", rows }, { "sink errors", sink_errors })
