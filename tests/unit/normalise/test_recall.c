/* Owns the cases of core/normalise/recall.c: what is recalled of a body, and of which other body it never is.
 * Must not know: how names are made (test_learned.c). The other suites of normalise run their bodies twice with a memory. */
#include "core/normalise/normalise.h"
#include "tests/unit/memory.h"
#include "tests/unit/normalise/seen.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define D(encoding) "<?xml version=\"1.0\" encoding=\"" encoding "\"?>"
#define CYRILLIC "<rss><title>\xcd\xee\xe2\xee\xf1\xf2\xe8 \xe4\xed\xff \xe8 \xef\xee\xe3\xee\xe4\xe0</title></rss>"

/* step 0: all at once, with the word that it is all. */
static void run_in_steps(struct seen *s, const struct normalise_options *o, const char *in, size_t len, size_t step)
{
	struct normaliser *n = seen_begin(s, o);

	for (size_t at = 0; step && s->rc == 0 && at < len; at += step)
		s->rc = normaliser_feed(n, (const uint8_t *)in + at, len - at < step ? len - at : step);
	if (s->rc == 0)
		s->rc = step ? normaliser_finish(n) : normaliser_feed_last(n, (const uint8_t *)in, len);
	seen_end(s, &n);
}

static void run(struct seen *s, const struct normalise_options *o, const char *in, size_t len)
{
	run_in_steps(s, o, in, len, len ? len : 1);
}

static const struct normalise_options automatic = { .policy = POLICY_AUTO, .http = true, .repairs = REPAIR_ALL };

/* What a body teaches, and that it comes out as before when it comes again. */
static void again(void)
{
	static const struct {
		const char *name, *body;
		bool same, sound;
	} cases[] = {
		{ "UTF-8 as it should be", D("UTF-8") "<rss><title>caf\xc3\xa9</title></rss>\n", true, true },
		{ "ASCII, undeclared", "<rss><title>cafe</title></rss>", true, true },
		{ "windows-1251, undeclared", CYRILLIC, false, true },
		{ "windows-1251, declared", D("windows-1251") CYRILLIC, false, true },
		{ "white space before the declaration", "\n" D("UTF-8") "<rss><title>caf\xc3\xa9</title></rss>", false, true },
		{ "UTF-8 and a control", D("UTF-8") "<rss><title>caf\xc3\xa9\x01</title></rss>", false, false },
		{ "UTF-8 and a bare ampersand", D("UTF-8") "<rss><title>caf\xc3\xa9 & bar</title></rss>", false, false },
		{ "an end that is missing", D("UTF-8") "<rss><title>caf\xc3\xa9</title>", false, false },
		{ "what stands behind the root", D("UTF-8") "<rss><title>caf\xc3\xa9</title></rss>more", false, false },
		{ "a stray byte in UTF-8", D("UTF-8") "<rss><title>caf\xc3\xa9, caf\xc3\xa9, caf\xc3\xa9, caf\xc3\xa9, caf\xe9</title></rss>", false,
		  true },
	};
	static struct seen plain, first, second;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct normalise_options o = automatic;
		size_t len = strlen(cases[i].body);
		struct one_body memory;

		run(&plain, &o, cases[i].body, len);
		one_body_begin(&memory);
		o.memory = &memory.memory;
		run(&first, &o, cases[i].body, len);
		UNIT_ROW(memory.keeps == 1 && memory.recalled == 0, "%s: kept %u, recalled %u", cases[i].name, memory.keeps, memory.recalled);
		UNIT_ROW(memory.what.same == cases[i].same && memory.what.sound == cases[i].sound, "%s: same %d, sound %d", cases[i].name,
		    memory.what.same, memory.what.sound);
		run(&second, &o, cases[i].body, len);
		UNIT_ROW(memory.keeps == 1 && memory.recalled == 1, "%s: kept %u, recalled %u", cases[i].name, memory.keeps, memory.recalled);
		UNIT_ROW(seen_equal(&plain, &first) && seen_equal(&plain, &second), "%s: %s, %s", cases[i].name, plain.rule, second.rule);
		one_body_end(&memory);
	}
}

/* A body that is known, and known to come out as it goes in, is not looked at again at its end: all that is told of it is as if it
 * were. Most are longer than the first look, which finds that they are feeds, or have a type that says so before any byte. */
static void unlooked(void)
{
#define LONG "<!--                                                                                                                  -->"
#define LONGER LONG LONG LONG LONG LONG LONG LONG LONG LONG LONG LONG LONG
	static const char rss[] = "application/rss+xml", html[] = "text/html", plain_type[] = "text/plain; charset=utf-8";
	static const char utf8[] = "application/rss+xml; charset=utf-8", cyrillic[] = "text/xml; charset=windows-1251";
	static const struct {
		const char *name, *type, *body;
		unsigned keeps;
		bool same;
	} cases[] = {
		{ "UTF-8, declared in both", utf8, D("UTF-8") LONGER "<rss><title>caf\xc3\xa9</title></rss>", 1, true },
		{ "UTF-8, declared by itself", rss, D("UTF-8") LONGER "<rss><title>caf\xc3\xa9</title></rss>", 1, true },
		{ "UTF-8, declared nowhere", rss, LONGER "<rss><title>caf\xc3\xa9</title></rss>", 1, true },
		{ "ASCII, declared nowhere", rss, LONGER "<rss><title>cafe</title></rss>", 1, true },
		{ "UTF-8, without a type", NULL, D("UTF-8") "<rss>" LONGER "<title>caf\xc3\xa9</title></rss>", 1, true },
		{ "UTF-8, by a type of text", plain_type, D("UTF-8") "<rss>" LONGER "<title>caf\xc3\xa9</title></rss>", 1, true },
		{ "UTF-8, both labels of which lie", cyrillic, D("koi8-r") LONGER "<rss><title>caf\xc3\xa9</title></rss>", 1, false },
		{ "UTF-8 behind a mark", utf8, "\xef\xbb\xbf" D("UTF-8") LONGER "<rss><title>caf\xc3\xa9</title></rss>", 1, false },
		{ "windows-1251", cyrillic, D("windows-1251") LONGER CYRILLIC, 1, false },
		{ "a short one, by its type alone", utf8, "<rss><title>caf\xc3\xa9</title></rss>", 1, true },
		{ "nothing, by its type a feed", utf8, "", 0, false },
		{ "no feed", html, LONGER "<html><title>caf\xc3\xa9</title></html>", 0, false },
	};
	static const size_t steps[] = { 0, 1, 1000 };   /* 0: normaliser_feed_last() */
	static struct seen plain, s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct normalise_options o = automatic;
		struct one_body memory;

		o.content_type = cases[i].type;
		o.content_type_len = o.content_type ? strlen(o.content_type) : 0;
		run(&plain, &o, cases[i].body, strlen(cases[i].body));
		one_body_begin(&memory);
		o.memory = &memory.memory;
		for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
			run_in_steps(&s, &o, cases[i].body, strlen(cases[i].body), steps[k]);
			UNIT_ROW(seen_equal(&plain, &s), "%s, in steps of %zu: %s, not %s", cases[i].name, steps[k], s.rule, plain.rule);
		}
		UNIT_ROW(memory.keeps == cases[i].keeps && memory.recalled == 2 * cases[i].keeps && memory.what.same == cases[i].same,
		    "%s: kept %u, recalled %u, same %d", cases[i].name, memory.keeps, memory.recalled, memory.what.same);
		one_body_end(&memory);
	}
}

/* Runs a body with the memory of another. */
static void expect_unknown(const char *name, struct one_body *memory, struct normalise_options o, const char *body, size_t len)
{
	static struct seen with, without;
	unsigned recalled = memory->recalled;

	o.memory = NULL;
	run(&without, &o, body, len);
	o.memory = &memory->memory;
	run(&with, &o, body, len);
	UNIT_ROW(memory->recalled == recalled && seen_equal(&with, &without), "%s: %s, not %s", name, with.rule, without.rule);
}

/* A change of anything that is read makes another body of it: each byte, each thing told of it, each option. */
static void another(void)
{
	static const char body[] = CYRILLIC, language[] = "ru", type[] = "application/rss+xml; charset=windows-1251";
	struct normalise_options told = automatic, o;
	static struct seen s;
	struct one_body memory;
	char changed[sizeof(body)];
	size_t len = strlen(body);

	one_body_begin(&memory);
	told.content_type = "application/rss+xml";
	told.content_type_len = strlen(told.content_type);
	told.content_language = language;
	told.content_language_len = 2;
	told.base = "http://example.ru/";
	told.memory = &memory.memory;
#define AGAIN(name, change) \
	do { \
		run(&s, &told, body, len); \
		o = told; \
		change; \
		expect_unknown(name, &memory, o, body, len); \
	} while (0)
	AGAIN("policy", o.policy = POLICY_FEEDPARSER);
	AGAIN("forced", o.forced = CS_KOI8_R);
	AGAIN("a file", o.http = false);
	AGAIN("Content-Type", (o.content_type = type, o.content_type_len = strlen(type)));
	AGAIN("no Content-Type", (o.content_type = NULL, o.content_type_len = 0));
	AGAIN("Content-Language", o.content_language = "bg");
	AGAIN("an empty Content-Language", o.content_language_len = 0);
	AGAIN("no Content-Language", (o.content_language = NULL, o.content_language_len = 0));
	AGAIN("URL", o.base = "http://example.bg/");
	AGAIN("no URL", o.base = NULL);
	AGAIN("gateway", o.gateway = "http://proxy.test");
	AGAIN("repairs", o.repairs = REPAIR_CHARACTERS);
	AGAIN("characters", o.characters = CHARACTERS_REPLACE);
	AGAIN("output", o.output = OUTPUT_US_ASCII);
	AGAIN("window", o.sniff_bytes = 4096);
#undef AGAIN
	for (size_t at = 0; at < len; at++) {
		run(&s, &told, body, len);
		memcpy(changed, body, sizeof(body));
		changed[at] ^= 1;
		CU_ASSERT(memory.keeps > 0);
		expect_unknown("a byte", &memory, told, changed, len);
	}
	run(&s, &told, body, len);
	expect_unknown("a byte less", &memory, told, body, len - 1);
	one_body_end(&memory);
}

/* What was told moves from one field to the next: the fields are apart. */
static void fields(void)
{
	struct normalise_options o = automatic;
	static struct seen s;
	struct one_body memory;

	one_body_begin(&memory);
	o.memory = &memory.memory;
	o.content_type = "text/xmlru";
	o.content_type_len = 8;
	o.content_language = "ru";
	o.content_language_len = 2;
	run(&s, &o, CYRILLIC, strlen(CYRILLIC));
	o.content_type_len = 10;
	o.content_language_len = 0;
	expect_unknown("Content-Type and Content-Language", &memory, o, CYRILLIC, strlen(CYRILLIC));
	one_body_end(&memory);
}

/* URLs are led through the gateway again where they were, and a body that has none is as sound as without one. */
static void led(void)
{
	static const struct {
		const char *name, *body;
		bool same;
	} cases[] = {
		{ "an enclosure", D("UTF-8") "<rss><enclosure url=\"https://a.test/1\"/></rss>", false },
		{ "no enclosure", D("UTF-8") "<rss><title>a</title></rss>", true },
	};
	static struct seen plain, s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct normalise_options o = automatic;
		struct one_body memory;

		o.gateway = "http://proxy.test";
		run(&plain, &o, cases[i].body, strlen(cases[i].body));
		one_body_begin(&memory);
		o.memory = &memory.memory;
		for (unsigned n = 0; n < 2; n++) {
			run(&s, &o, cases[i].body, strlen(cases[i].body));
			UNIT_ROW(memory.recalled == n && memory.what.same == cases[i].same && memory.what.sound == cases[i].same &&
			    seen_equal(&plain, &s), "%s, %u: same %d, sound %d", cases[i].name, n, memory.what.same, memory.what.sound);
		}
		one_body_end(&memory);
	}
}

/* A memory that tells nothing, or what it was told of a body that has grown since, costs time alone. */
static void forgetful(void)
{
	static struct seen s, plain;
	struct normalise_options o = automatic;
	struct one_body memory;

	run(&plain, &o, CYRILLIC, strlen(CYRILLIC));
	one_body_begin(&memory);
	memory.forgets = true;
	o.memory = &memory.memory;
	for (int i = 0; i < 2; i++) {
		run(&s, &o, CYRILLIC, strlen(CYRILLIC));
		UNIT_ROW(seen_equal(&s, &plain), "%s", s.rule);
	}
	CU_ASSERT_EQUAL(memory.keeps, 2);
	one_body_end(&memory);
}

/* Of a body that is longer than the window the verdict is recalled, and nothing of what comes behind: the same window may be
 * followed by anything. */
static void longer(void)
{
	static char body[1 << 16];
	static struct seen s, plain;
	struct normalise_options o = automatic;
	struct one_body memory;
	size_t len = 0;

	len += (size_t)sprintf(body, "<rss>");
	while (len < 8192)
		len += (size_t)sprintf(body + len, "<title>\xcd\xee\xe2\xee\xf1\xf2\xe8 \xe4\xed\xff</title>\n");
	o.sniff_bytes = 4096;
	one_body_begin(&memory);
	o.memory = &memory.memory;
	run(&s, &o, body, len);
	UNIT_ROW(memory.keeps == 1 && !memory.what.same && !memory.what.sound, "%u", memory.keeps);
	for (int i = 0; i < 2; i++) {
		len += (size_t)sprintf(body + len, i ? "</rss>" : "& <b>\x01</rss>");
		o.memory = NULL;
		run(&plain, &o, body, len);
		o.memory = &memory.memory;
		run(&s, &o, body, len);
		UNIT_ROW(memory.recalled == 1u + (unsigned)i && seen_equal(&s, &plain), "%d: recalled %u, %s", i, memory.recalled, s.rule);
	}
	one_body_end(&memory);
}

UNIT_SUITE(recall, { "again", again }, { "unlooked", unlooked }, { "another", another }, { "fields", fields }, { "led", led }, { "forgetful", forgetful }, { "longer", longer })
