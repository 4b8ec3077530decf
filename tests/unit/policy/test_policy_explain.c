/* Owns the cases of core/policy/policy_explain.c and policy_words.c: that it says what was decided, by numbers that add
 * up, and what rules say of labels.
 * Must not know: what languages cost. Invariant: the verdict explained is the one that policy_decide() gives. */
#include "core/policy/policy_explain.h"
#include "core/policy/policy_words.h"
#include "tests/unit/collect.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define BYTES(s) (s), sizeof(s) - 1

/* steps: the words of the path, each with a reason; unweighed: the beginning of why the text was not weighed, NULL: it was. */
static const struct {
	const char *rule, *type;
	enum charset forced;
	const char *bytes;
	size_t len;
	const char *steps, *unweighed;
	enum charset first, next;
} cases[] = {
	{ "the route's charset", "text/xml", CS_EUC_JP, BYTES("<r/>"), "external", "the route", CS_NONE, CS_NONE },
	{ "ASCII", "text/xml", CS_NONE, BYTES("<r/>"), "2.1", "all held bytes are ASCII", CS_NONE, CS_NONE },
	{ "UTF-8", "text/xml", CS_NONE, BYTES("<r>\xD0\xBF</r>"), "2.1 utf8", "the bytes are UTF-8", CS_NONE, CS_NONE },
	{ "UTF-8 as published", "text/xml; charset=utf-8", CS_NONE, BYTES("<r>\xD0\xBF</r>"), "2.5", "the bytes are UTF-8", CS_NONE, CS_NONE },
	{ "a mark", "text/xml", CS_NONE, BYTES("\xFE\xFF\0<\0r\0/\0>"), "2.1 bom", "the mark or the pattern", CS_NONE, CS_NONE },
	{ "a pattern", "application/xml", CS_NONE, BYTES("\x4C\x6F\xA7\x94\x93\x6F\x6E\x4C\x99\x61\x6E"), "2.0 1.2+", "the mark or the pattern",
	    CS_NONE, CS_NONE },
	{ "escapes", "text/xml", CS_NONE, BYTES("<r>\x1B$B$3\x1B(B</r>"), "2.1 escapes", "all held bytes are ASCII", CS_NONE, CS_NONE },
	{ "signs", "text/xml; charset=windows-1251", CS_NONE, BYTES("<r>x \x96 y</r>"), "2.5", "nothing but signs", CS_NONE, CS_NONE },
	{ "signs under a declaration", "text/html", CS_NONE, BYTES("<?xml version='1.0' encoding='koi8-r'?><r>2\x9C</r>"), "2.6 lenient-html 2.1 decl",
	    "nothing but signs", CS_NONE, CS_NONE },
	{ "weighed", "application/xml", CS_NONE, BYTES("<r>caf\xE9</r>"), "2.0 1.0 guess", NULL, CS_WINDOWS_1252, CS_ISO_8859_15 },
	{ "a label weighed", "text/xml", CS_NONE, BYTES("<?xml version='1.0' encoding='koi8-r'?><r>\xF0\xD2\xC9\xD7\xC5\xD4</r>"), "2.1 decl", NULL,
	    CS_KOI8_R, CS_NONE },
	{ "hints", "application/rss+xml", CS_NONE, BYTES("<rss><language>lv</language><title>\xEFoti</title></rss>"), "2.0 1.0 guess+lang", NULL,
	    CS_WINDOWS_1257, CS_ISO_8859_13 },
	{ "no text at all", "application/xml", CS_NONE, BYTES("<r>\x81\x8D\x8F\x90\x9D</r>"), "2.0 1.0 fallback", NULL, CS_NONE, CS_NONE },
};

static void explain(size_t i, struct evidence *e, struct policy_explanation *x)
{
	evidence_collect(e, true, cases[i].type, strlen(cases[i].type), cases[i].forced, (const uint8_t *)cases[i].bytes, cases[i].len, true);
	CU_ASSERT_EQUAL(policy_explain(POLICY_AUTO, e, x), 0);
}

static void every_case(void)
{
	static struct policy_explanation x;
	char want[VERDICT_FORMAT_MAX], got[VERDICT_FORMAT_MAX], steps[128];
	struct evidence e;
	struct verdict v;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		size_t n = 0;

		explain(i, &e, &x);
		CU_ASSERT_EQUAL(policy_decide(POLICY_AUTO, &e, &v), 0);
		verdict_format(&v, want, sizeof want);
		verdict_format(&x.verdict, got, sizeof got);
		UNIT_ROW(strcmp(got, want) == 0, "%s: %s, not %s", cases[i].rule, got, want);
		for (size_t k = 0; k < x.n_steps; k++) {
			n += (size_t)snprintf(steps + n, sizeof steps - n, "%s%s", n ? " " : "", x.steps[k].no);
			UNIT_ROW(x.steps[k].why != NULL, "%s: %s has no reason", cases[i].rule, x.steps[k].no);
		}
		UNIT_ROW(strcmp(steps, cases[i].steps) == 0, "%s: %s", cases[i].rule, steps);
		UNIT_ROW((x.unweighed == NULL) == (cases[i].unweighed == NULL) &&
		    (x.unweighed == NULL || strncmp(x.unweighed, cases[i].unweighed, strlen(cases[i].unweighed)) == 0),
		    "%s: %s", cases[i].rule, x.unweighed ? x.unweighed : "weighed");
		UNIT_ROW(cases[i].first == CS_NONE || (x.first != NULL && x.first->charset == cases[i].first), "%s: the first reading", cases[i].rule);
		UNIT_ROW(cases[i].next == CS_NONE || (x.next != NULL && x.next->charset == cases[i].next), "%s: the second", cases[i].rule);
		UNIT_ROW(v.next == CS_NONE || (x.next != NULL && x.next->charset == v.next && x.margin / LANGUAGE_NAT == v.margin),
		    "%s: margin %d", cases[i].rule, x.margin);
	}
}

/* The readings: in order, none twice, and what was read of all of the sample is what the detector found. */
static void readings(void)
{
	static struct policy_explanation x;
	struct evidence e;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		explain(i, &e, &x);
		for (size_t k = 0; k < x.trace.n; k++) {
			const struct traced *t = &x.trace.readings[k];
			size_t same = 0;

			for (size_t j = 0; j < x.trace.n; j++)
				same += x.trace.readings[j].reading.charset == t->reading.charset && x.trace.readings[j].reading.language == t->reading.language;
			UNIT_ROW(same == 1 && t->bytes > 0 && t->bytes <= x.trace.bytes && t->behind >= 0 && t->reading.cost - t->rare + t->label + t->hint >= 0,
			    "%s: reading %zu", cases[i].rule, k);
			UNIT_ROW(k == 0 || t[-1].bytes > t->bytes || (t[-1].bytes == t->bytes && t[-1].behind <= t->behind), "%s: order of %zu", cases[i].rule, k);
		}
		for (size_t k = 0; k < x.trace.found.n; k++)
			UNIT_ROW(trace_has_kept(&x.trace, &x.trace.found.readings[k]), "%s: found %zu", cases[i].rule, k);
		UNIT_ROW(x.trace.n == 0 || x.settled || x.trace.readings[0].reading.cost == x.trace.found.readings[0].cost, "%s: the first", cases[i].rule);
	}
}

static void other_policies(void)
{
	static struct policy_explanation x;
	struct evidence e;

	evidence_collect(&e, true, "text/xml", 8, CS_NONE, (const uint8_t *)"<r>caf\xE9</r>", 11, true);
	for (int p = 0; p < POLICY_COUNT; p++) {
		CU_ASSERT_EQUAL(policy_explain((enum policy)p, &e, &x), 0);
		UNIT_ROW((x.unweighed == NULL) == (p == POLICY_AUTO || p == POLICY_FEEDPARSER), "%s", policy_name((enum policy)p));
	}
}

/* Rules say whether the published ones took a default, and whether the labels are wrong. */
static const struct {
	const char *rule, *path, *named, *was;
	bool unlabelled, mislabelled;
} labels[] = {
	{ "the header is wrong", "auto:2.5/decl", "koi8-r", "iso-8859-1", false, true },
	{ "the header is right", "auto:2.5", "koi8-r", NULL, false, false },
	{ "another case of the same name", "auto:2.5/utf8", "utf-8", "UTF-8", false, false },
	{ "the declaration is wrong", "auto:2.0/1.2/utf8", "utf-8", "iso-8859-1", false, true },
	{ "text/xml without a charset, ASCII", "auto:2.1", "us-ascii", NULL, true, false },
	{ "text/xml without a charset, UTF-8", "auto:2.1/utf8", "utf-8", "us-ascii", true, false },
	{ "text/xml without a charset, as declared", "auto:2.1/decl", "koi8-r", "us-ascii", true, false },
	{ "text/xml without a charset, and nothing else fits", "auto:2.1/guess+lang", "koi8-r", "us-ascii", true, true },
	{ "text/html likewise", "auto:2.6/lenient-html/2.1/guess", "koi8-r", "us-ascii", true, true },
	{ "XML without any label, not UTF-8", "auto:2.0/1.0/guess", "koi8-r", "utf-8", true, true },
	{ "no type, and no label", "auto:2.6/lenient-default/fallback", "windows-1252", "utf-8", true, true },
	{ "a step that only begins so", "auto:2.0/1.2+/family", "utf-16le", "utf-8", false, true },
	{ "another policy's 2.1", "rome-2004-09-10:2.1/1.3", "koi8-r", NULL, false, false },
	{ "an error", "auto:2.1/fallback", NULL, "us-ascii", true, false },
	{ "no verdict", "none", NULL, NULL, false, false },
	{ "nothing", "", "", "", false, false },
};

static void what_labels_say(void)
{
	for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
		UNIT_ROW(rule_is_default(labels[i].path) == labels[i].unlabelled, "%s: labelled", labels[i].rule);
		UNIT_ROW(rule_is_mislabelled(labels[i].path, labels[i].named, labels[i].was) == labels[i].mislabelled, "%s: mislabelled",
		    labels[i].rule);
	}
}

UNIT_SUITE(policy_explain, { "every case", every_case }, { "readings", readings }, { "other policies", other_policies },
    { "what labels say", what_labels_say })
