/* Owns the cases of core/repair/repair_state.c: wherever there is a state to keep, a repair that it is put back into goes on as the
 * one it was taken from. */
#include "core/repair/repair_state.h"
#include "core/repair/repair.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The prolog's repairs hold less than this before they look at it. */
enum { PROLOG = 300 };

struct text {
	size_t len;
	char out[4096];
};

static int on_write(void *arg, const uint8_t *bytes, size_t len)
{
	struct text *t = arg;

	if (sizeof t->out - t->len < len)
		return 7;
	memcpy(t->out + t->len, bytes, len);
	t->len += len;
	return 0;
}

static struct repair *begin(struct text *t, unsigned flags)
{
	struct repair *r = repair_new(flags, 0, "UTF-8", (struct sink){ on_write, t }, NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	repair_set_base(r, "http://a/");
	t->len = 0;
	return r;
}

static int feed(struct repair *r, const char *in, size_t len)
{
	return repair_feed(r, (const uint8_t *)in, len);
}

#define DEEP "<channel><item><content><html:div><html:p>"
#define DEEPER "<a-long-name-of-an-element><another-long-name-of-an-element><a-third-long-name-of-an-element>"

static const struct {
	const char *name, *in;
	unsigned states;        /* edges at which there is one, with REPAIR_NAMESPACES */
} cases[] = {
	{ "text and elements", "<rss><channel><title>One</title><link>Two</link></channel></rss>", 7 },
	{ "faults of each kind", "<rss><item a=b>R&D<b>1 < 2 &nbsp;</i></item>]]> &#1; <br></rss>more", 7 },
	{ "an end tag that closes two", "<rss><item><title>One</item><item>Two</item></rss>", 6 },
	{ "a name that is misspelled", "<rss><item><title>One</titel></item></rss>", 5 },
	{ "the same element as a leaf and not", "<rss><item><a/>x</itme><item>x</itme></rss>", 6 },
	{ "sections and comments", "<rss><a><![CDATA[<p>x</p>]]></a><!-- <p> --><a><![CDATA[x]]>y</a></rss>", 10 },
	{ "instructions, edges in values", "<rss><?php x > y?><a t='1 > 2'>x</a><!-- a -- b --></rss>", 5 },
	{ "prefixes declared within", "<rss><item xmlns:dc='d'><dc:date>1</dc:date></item><dc:date>2</dc:date><content:x/></rss>", 8 },
	{ "prefixes declared at the root", "<rss xmlns:dc='d'><dc:date>1</dc:date><x xmlns:y='z'><media:x>2</media:x></x></rss>", 7 },
	{ "more scopes than there is room for", "<rss xmlns:dc='1'><a xmlns:media='1'><a xmlns:content='1'><a xmlns:atom='1'><a xmlns:slash='1'>"
		"<b><wfw:x/></b></a></a></a></a></rss>", 8 },
	{ "a type that declares an entity", "<!DOCTYPE rss [<!ENTITY x 'y'>]><rss><a>&x; &nbsp;</a></rss>", 0 },
	{ "a type from elsewhere", "<!DOCTYPE rss SYSTEM 'x.dtd'><rss><a>&x; &nbsp;</a></rss>", 3 },
	{ "no feed", "text<html><p>x</i></p></html>", 4 },
	{ "deep", "<rss>" DEEP "x</html:p></html:div>y</html:b></content></item>", 11 },
	{ "deeper than there is room for", "<rss>" DEEPER DEEPER "x</b></a></rss>", 4 },
	{ "an end that is missing", "<rss><item><title>One", 3 },
	{ "empty", "<rss/>", 0 },
};

enum { NAMESPACES = 1 };
static const unsigned flags[] = { REPAIR_ALL, REPAIR_ALL | REPAIR_NAMESPACES | REPAIR_BASE, REPAIR_AMPERSANDS, REPAIR_ALL & ~REPAIR_TAGS };

/* The case's text behind a comment. */
static size_t document(char out[], const char *in)
{
	return (size_t)sprintf(out, "<!--%*s-->%s", PROLOG, "", in);
}

/* in: a text with a state behind its first `at` bytes, if it has one there. */
static bool goes_on(const char *in, size_t len, size_t at, unsigned repairs, unsigned *states)
{
	static struct text one, other;
	struct repair *r = begin(&one, repairs), *again = begin(&other, repairs);
	size_t before = 0;
	struct repair_state state, next;
	bool has, same = feed(r, in, at) == 0;
	uint64_t counts[REPAIR_COUNT];

	has = repair_save(r, &state);
	if (has) {
		before = one.len;
		memcpy(counts, repair_counts(r), sizeof counts);
		repair_restore(again, &state, at);
		same = same && repair_save(again, &next) && memcmp(&state, &next, sizeof state) == 0;
		same = same && feed(r, in + at, len - at) == 0 && feed(again, in + at, len - at) == 0;
		same = same && repair_finish(r) == 0 && repair_finish(again) == 0;
		same = same && one.len - before == other.len && memcmp(one.out + before, other.out, other.len) == 0;
		for (size_t i = 0; i < REPAIR_COUNT; i++)
			same = same && repair_counts(r)[i] - counts[i] == repair_counts(again)[i];
	}
	*states += has && at > 0 && in[at - 1] == '>';
	repair_free(&r);
	repair_free(&again);
	return same;
}

static void every_place(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		for (size_t f = 0; f < sizeof flags / sizeof flags[0]; f++) {
			char in[2048];
			size_t len = document(in, cases[i].in);
			unsigned states = 0;

			for (size_t at = PROLOG; at <= len; at++)
				UNIT_ROW(goes_on(in, len, at, flags[f], &states), "%s, repairs %x: behind %.*s", cases[i].name, flags[f], (int)at, in);
			UNIT_ROW(f != NAMESPACES || states == cases[i].states, "%s: %u states", cases[i].name, states);
		}
}

/* Repairs that look beyond a token, or are none, have no state. */
static void without(void)
{
	static const unsigned none[] = { 0, REPAIR_CHARACTERS, REPAIR_ALL | REPAIR_DOUBLE, REPAIR_XML_1_1 | REPAIR_AMPERSANDS };
	char in[2048];
	size_t len = document(in, "<rss><item>x</item>");
	struct repair_state state;
	struct text t;

	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
		struct repair *r = begin(&t, none[i]);

		UNIT_ROW(feed(r, in, len) == 0 && !repair_save(r, &state), "repairs %x", none[i]);
		repair_free(&r);
	}
}

static void led(void)
{
	char in[2048];
	size_t len = document(in, "<rss><item>x</item>");
	struct repair_state state;
	struct text t;
	struct repair *r = begin(&t, REPAIR_ALL | REPAIR_GATEWAY);

	repair_set_gateway(r, "http://g");
	CU_ASSERT(feed(r, in, len) == 0 && !repair_save(r, &state));
	repair_free(&r);
}

UNIT_SUITE(repair_state, { "every place", every_place }, { "without", without }, { "led", led })
