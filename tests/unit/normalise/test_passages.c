/* Owns the cases of core/normalise/passages.c: which passages go by unread, and that whatever comes behind a window that is known comes
 * out as if nothing were.
 * Must not know: how names are made (test_learned.c). */
#include "core/normalise/normalise.h"
#include "tests/unit/memory.h"
#include "tests/unit/normalise/seen.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 512, PASSAGE = 64, MOST = SEEN_MOST / 2 };

struct body {
	size_t len;
	char text[MOST];
};

static const struct normalise_options automatic = { .policy = POLICY_AUTO, .http = true, .repairs = REPAIR_ALL, .sniff_bytes = WINDOW };

/* step 0: in slices, as whoever wants them may ask for them. */
static void run(struct seen *s, const struct normalise_options *o, const struct body *b, size_t step)
{
	struct normaliser *n = seen_begin(s, o);

	for (size_t at = 0, len; s->rc == 0 && at < b->len; at += len) {
		const uint8_t *in = (const uint8_t *)b->text + at;

		len = b->len - at < step ? b->len - at : step;
		if (step == 0)
			len = normaliser_slice(n, in, b->len - at, 100);
		s->rc = len > 0 && len <= b->len - at ? normaliser_feed(n, in, len) : 8;
	}
	if (s->rc == 0)
		s->rc = normaliser_finish(n);
	seen_end(s, &n);
}

static void add(struct body *b, const char *text)
{
	size_t len = strlen(text);

	if (sizeof(b->text) - b->len < len)
		abort();
	memcpy(b->text + b->len, text, len);
	b->len += len;
}

static void add_until(struct body *b, const char *text, size_t len)
{
	while (b->len < len)
		add(b, text);
}

#define ITEM "<item><title>\xd0\xb4\xd0\xbe\xd1\x80\xd0\xbe\xd0\xb3\xd0\xb0</title><link>http://a/b</link></item>\n"
#define BLANKS "                                                                "
#define JUNK "\xd0\xb4" BLANKS BLANKS BLANKS BLANKS BLANKS BLANKS BLANKS BLANKS
#define UTF_8 "<?xml version=\"1.0\" encoding=\"UTF-8\"?><rss><channel>"

/* What goes by unread of a body that comes again: its window, a few passages, or nothing. */
static void which(void)
{
	static const struct {
		const char *name, *head, *item;
		unsigned repairs;
		const char *type;
		bool window, passages;
	} cases[] = {
		{ "as it should be", UTF_8, ITEM, REPAIR_ALL, NULL, true, true },
		{ "undeclared", "<rss>", ITEM, REPAIR_ALL, NULL, true, true },
		{ "declared as another charset", "<?xml version=\"1.0\" encoding=\"windows-1251\"?><rss>", ITEM, REPAIR_ALL, NULL, false, true },
		{ "labelled as another", UTF_8, ITEM, REPAIR_ALL, "text/xml; charset=koi8-r", true, true },
		{ "behind a mark", "\xef\xbb\xbf" UTF_8, ITEM, REPAIR_ALL, NULL, false, true },
		{ "text longer than the window before the root", JUNK "<foo>", ITEM, REPAIR_ALL, "application/rss+xml", false, true },
		{ "sections", UTF_8, "<a><![CDATA[<p>\xd0\xb4 \xd0\xbe</p> <b>\xd1\x80</b>]]></a>", REPAIR_ALL, NULL, true, true },
		{ "prefixes", "<rss xmlns:dc='d'>", "<item xmlns:x='y'><dc:date>\xd0\xb4</dc:date></item>", REPAIR_ALL | REPAIR_NAMESPACES, NULL, true, true },
		{ "faults in each passage", UTF_8, ITEM "& ", REPAIR_ALL, NULL, false, false },
		{ "another charset", "<?xml version=\"1.0\" encoding=\"windows-1251\"?><rss>", "<a>\xcd\xee\xe2\xee\xf1\xf2\xe8 \xe4\xed\xff</a>", REPAIR_ALL, NULL,
		  false, false },
		{ "ASCII, which may be decided on again", UTF_8, "<item>text</item>", REPAIR_ALL, NULL, false, false },
		{ "ASCII, undeclared", "<rss>", "<item>text</item>", REPAIR_ALL, NULL, false, false },
		{ "without an edge", UTF_8, "\xd0\xb4\xd0\xbe\xd1\x80\xd0\xbe\xd0\xb3\xd0\xb0 ", REPAIR_ALL, NULL, false, false },
		{ "without one behind the window", UTF_8 ITEM ITEM ITEM ITEM, "\xd0\xb4\xd0\xbe\xd1\x80\xd0\xbe\xd0\xb3\xd0\xb0 ", REPAIR_ALL, NULL, true, false },
		{ "text encoded twice", UTF_8, ITEM, REPAIR_ALL | REPAIR_DOUBLE, NULL, false, false },
		{ "no repairs", UTF_8, ITEM, 0, NULL, false, false },
		{ "no feed", "<html><body>", ITEM, REPAIR_ALL, "text/html; charset=utf-8", false, false },
	};
	static const size_t steps[] = { 0, 1, 7, 200, MOST };
	static struct body body;
	static struct seen plain, seen;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct normalise_options o = automatic;
		struct one_body memory;

		body.len = 0;
		add(&body, cases[i].head);
		add_until(&body, cases[i].item, 4000);
		o.repairs = cases[i].repairs;
		o.content_type = cases[i].type;
		o.content_type_len = cases[i].type ? strlen(cases[i].type) : 0;
		run(&plain, &o, &body, MOST);
		one_body_begin_passages(&memory, PASSAGE);
		o.memory = &memory.memory;
		for (unsigned time = 0; time < 4; time++) {
			run(&seen, &o, &body, MOST);
			UNIT_ROW(seen_equal(&plain, &seen), "%s, time %u: %s", cases[i].name, time, seen.rule);
			UNIT_ROW(time > 0 || memory.passages_kept == 0, "%s: it came once, and %u are kept", cases[i].name, memory.passages_kept);
		}
		UNIT_ROW((memory.passages_recalled > 0) == (cases[i].window || cases[i].passages) &&
		        (memory.passages_recalled > 2 * 2) == cases[i].passages && memory.passages_recalled == 2 * memory.passages_kept,
		    "%s: recalled %u, kept %u", cases[i].name, memory.passages_recalled, memory.passages_kept);
		for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
			run(&seen, &o, &body, steps[s]);
			UNIT_ROW(seen_equal(&plain, &seen), "%s, %zu bytes at a time: %s", cases[i].name, steps[s], seen.rule);
		}
		one_body_end(&memory);
	}
}

/* Behind a known window each byte of the rest is changed in turn, to each of a few that mean something. */
static void liar(void)
{
	static const char bytes[] = "<>&]-/ \x01\xd0\xff";
	static struct body body, lie;
	static struct seen plain, seen;
	struct normalise_options o = automatic, without = automatic;
	struct one_body memory;

	body.len = 0;
	add(&body, UTF_8);
	add_until(&body, ITEM, WINDOW + 200);
	add(&body, "<a><![CDATA[<p>\xd0\xb4</p>]]></a><b x='y'>" ITEM "</b><c/></channel></rss>");
	one_body_begin_passages(&memory, PASSAGE);
	o.memory = &memory.memory;
	for (unsigned time = 0; time < 2; time++)
		run(&seen, &o, &body, MOST);
	CU_ASSERT(memory.passages_kept > 4);
	for (size_t at = WINDOW; at < body.len; at++)
		for (const char *byte = bytes; *byte; byte++) {
			lie = body;
			lie.text[at] = *byte;
			run(&plain, &without, &lie, MOST);
			run(&seen, &o, &lie, at % 3 ? MOST : 100);
			UNIT_ROW(seen_equal(&plain, &seen), "byte %zu is %02x: %.*s", at, (uint8_t)*byte, (int)seen.len, seen.out);
		}
	CU_ASSERT(memory.passages_recalled > 1000);
	one_body_end(&memory);
}

static unsigned below(unsigned n)
{
	return (unsigned)rand() % n;
}

/* Feeds made of the same parts, most of them sound, in any order: the same passage comes behind others, and within other elements. */
static void any_order(void)
{
	static const char *const parts[] = { ITEM, "<item>", "</item>", "<b>", "</b>", "<x:y xmlns:x='z'>", "</x:y>", "<dc:date>", "</dc:date>", "<p/>",
		"<![CDATA[<p>\xd0\xbe", "</p>]]>", "text, text, text, text, text, text, text, text, text, text, text", "\xd1\x80\xd1\x80\xd1\x80>",
		"&amp;", "<c a='>'>", "</c>", "<!-- > -->", "<?p x > ?>", "<title>one</titel>" };
	static const char *const faults[] = { "&", "\x01", "\xe9", "</rss>", "<a b=c>", "<", "&nbsp;", "&#1;", "\xcd\xee\xe2\xee\xf1\xf2\xe8>" };
	enum { PARTS = sizeof(parts) / sizeof(parts[0]), FAULTS = sizeof(faults) / sizeof(faults[0]), BLOCKS = 12 };
	static struct body blocks[BLOCKS], body;
	static struct seen plain, seen;
	struct normalise_options o = automatic, without;
	unsigned recalled = 0;

	for (unsigned round = 0; round < 20; round++) {
		struct one_body memory;

		for (unsigned i = 0; i < BLOCKS; i++) {
			blocks[i].len = 0;
			while (blocks[i].len < PASSAGE + below(PASSAGE))
				add(&blocks[i], parts[round % 2 ? below(PARTS) : below(3)]);
		}
		o.repairs = round % 4 < 2 ? REPAIR_ALL : REPAIR_ALL | REPAIR_NAMESPACES | REPAIR_BASE;
		o.base = "http://a/";
		one_body_begin_passages(&memory, PASSAGE);
		for (unsigned time = 0; time < 60; time++) {
			unsigned shift = time % 4 ? 0 : below(BLOCKS);

			body.len = 0;
			add(&body, UTF_8);
			add_until(&body, ITEM, WINDOW + 1);
			for (unsigned i = 0; i < BLOCKS; i++) {
				unsigned which = time % 5 ? (i + shift) % BLOCKS : below(BLOCKS);

				memcpy(body.text + body.len, blocks[which].text, blocks[which].len);
				body.len += blocks[which].len;
				if (below(40) == 0)
					add(&body, faults[below(FAULTS)]);
			}
			without = o;
			without.memory = NULL;
			run(&plain, &without, &body, MOST);
			o.memory = &memory.memory;
			run(&seen, &o, &body, below(2) ? MOST : below(300));
			UNIT_ROW(seen_equal(&plain, &seen), "round %u, time %u: %.*s", round, time, (int)body.len, body.text);
		}
		recalled += memory.passages_recalled;
		one_body_end(&memory);
	}
	UNIT_ROW(recalled > 500, "recalled %u", recalled);
}

/* More names than the stack has room for: it is lost at the same element, whether its prefix was seen before or not. */
static void many_open(void)
{
	static struct body body;
	static struct seen plain, seen;
	struct normalise_options o = automatic;
	struct one_body memory;
	char name[256];

	memset(name, 'a', sizeof name);
	body.len = 0;
	add(&body, "<rss xmlns:dc='d'><channel><dc:date>\xd0\xb4</dc:date>");
	add_until(&body, ITEM, WINDOW + 100);
	for (int end = 0; end < 2; end++) {
		for (unsigned i = 0; i < 135; i++) {
			name[250] = '\0';
			add(&body, end ? "</" : "<");
			add(&body, name);
			add(&body, ">");
		}
		if (!end)
			add(&body, "<dc:date>x</dc:date><title>one</titel>");
	}
	add(&body, "</channel></rss>");
	o.repairs = REPAIR_ALL | REPAIR_NAMESPACES;
	run(&plain, &o, &body, MOST);
	one_body_begin_passages(&memory, PASSAGE);
	o.memory = &memory.memory;
	for (unsigned time = 0; time < 4; time++) {
		run(&seen, &o, &body, time % 2 ? MOST : 1000);
		UNIT_ROW(seen_equal(&plain, &seen), "time %u: %zu and %zu bytes", time, plain.len, seen.len);
	}
	CU_ASSERT(memory.passages_recalled > 0);
	one_body_end(&memory);
}

/* A memory that forgets what it was told costs time alone. */
static void forgetful(void)
{
	static struct body body;
	static struct seen plain, seen;
	struct normalise_options o = automatic;
	struct one_body memory;

	body.len = 0;
	add(&body, UTF_8);
	add_until(&body, ITEM, 3000);
	run(&plain, &o, &body, MOST);
	one_body_begin_passages(&memory, PASSAGE);
	o.memory = &memory.memory;
	for (unsigned time = 0; time < 5; time++) {
		memory.forgets = time == 2;
		for (size_t i = 0; i < memory.names; i++)
			memory.named[i].is_kept &= time != 3 || i % 2;
		run(&seen, &o, &body, MOST);
		UNIT_ROW(seen_equal(&plain, &seen), "time %u", time);
	}
	one_body_end(&memory);
}

UNIT_SUITE(passages, { "which", which }, { "liar", liar }, { "any order", any_order }, { "many open", many_open }, { "forgetful", forgetful })
