/* Proof: ROME's tables against the published algorithms written out as the if and else they are, over the whole evidence space. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/policy/policy.h"

/* Every value that the texts tell apart, and some that they do not: other spellings, names nobody knows. NULL as "". */
static const char *const names[] = { "", "UTF-8", "utf-16be", "UTF-16LE", "UTF-16", "koi8-r", "utf8", "x-bogus" };
static const enum charset marks[] = { CS_NONE, CS_UTF_8, CS_UTF_16BE, CS_UTF_16LE };
static const struct bom_family guesses[] = {
	{ CS_NONE, FAMILY_NONE, 0 }, { CS_UTF_8, FAMILY_ASCII, 1 }, { CS_UTF_16BE, FAMILY_16BIT, 2 }, { CS_UTF_16LE, FAMILY_16BIT, 2 },
};
static const struct {
	bool http;
	enum mime_class CTMime;
} transports[] = {
	{ false, MIME_NONE }, { true, MIME_NONE }, { true, MIME_APP_XML }, { true, MIME_TEXT_XML }, { true, MIME_TEXT_HTML },
	{ true, MIME_OTHER_XML }, { true, MIME_JSON },
};

enum { NAMES = sizeof names / sizeof names[0], MARKS = 4, GUESSES = 4, TRANSPORTS = sizeof transports / sizeof transports[0] };

/* The published pseudo-code's variables. */
struct given {
	bool http, app_xml, text_xml, html;
	const char *CTEnc, *BOMEnc, *XMLGuessEnc, *XMLEnc;     /* NULL as NULL */
};
/* path and encoding; encoding NULL: ERROR. */
struct answer {
	char path[64];
	const char *encoding;
};

static bool is(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcasecmp(a, b) == 0;
}

static void say(struct answer *a, const char *no, const char *encoding)
{
	size_t n = strlen(a->path);

	snprintf(a->path + n, sizeof a->path - n, "%s%s", n > 0 ? "/" : "", no);
	a->encoding = encoding;
}

/* Seed 000, 17 September 2004, "Raw XML charset encoding detection". */
static void raw(const struct given *g, struct answer *a)
{
	if (g->BOMEnc == NULL) {
		if (g->XMLGuessEnc == NULL || g->XMLEnc == NULL)
			say(a, "1.0", "UTF-8");
		else if (is(g->XMLEnc, "UTF-16") && (is(g->XMLGuessEnc, "UTF-16BE") || is(g->XMLGuessEnc, "UTF-16LE")))
			say(a, "1.1", g->XMLGuessEnc);
		else
			say(a, "1.2", g->XMLEnc);
	} else if (is(g->BOMEnc, "UTF-8")) {
		if (g->XMLGuessEnc != NULL && !is(g->XMLGuessEnc, "UTF-8"))
			say(a, "1.3", NULL);
		else if (g->XMLEnc != NULL && !is(g->XMLEnc, "UTF-8"))
			say(a, "1.4", NULL);
		else
			say(a, "1.4+", "UTF-8");
	} else if (is(g->BOMEnc, "UTF-16BE") || is(g->BOMEnc, "UTF-16LE")) {
		if (g->XMLGuessEnc != NULL && !is(g->XMLGuessEnc, g->BOMEnc))
			say(a, "1.5", NULL);
		else if (g->XMLEnc != NULL && !is(g->XMLEnc, "UTF-16") && !is(g->XMLEnc, g->BOMEnc))
			say(a, "1.6", NULL);
		else
			say(a, "1.6+", g->BOMEnc);
	} else {
		say(a, "1.7", NULL);
	}
}

/* The same, "HTTP XML charset encoding detection". */
static void http(const struct given *g, struct answer *a)
{
	if (g->app_xml || g->text_xml) {
		if (g->CTEnc == NULL) {
			if (g->app_xml) {
				say(a, "2.0", NULL);
				raw(g, a);
			} else {
				say(a, "2.1", "US-ASCII");
			}
		} else if ((is(g->CTEnc, "UTF-16BE") || is(g->CTEnc, "UTF-16LE")) && g->BOMEnc != NULL) {
			say(a, "2.2", NULL);
		} else if (is(g->CTEnc, "UTF-16")) {
			if (is(g->BOMEnc, "UTF-16BE") || is(g->BOMEnc, "UTF-16LE"))
				say(a, "2.3", g->BOMEnc);
			else
				say(a, "2.4", NULL);
		} else {
			say(a, "2.5", g->CTEnc);
		}
	} else {
		say(a, "2.6", NULL);
	}
}

static void strict(const struct given *g, struct answer *a)
{
	if (g->http)
		http(g, a);
	else
		raw(g, a);
}

/* Seed 003, "Default Lenient Behavior". */
static void lenient(const struct given *g, struct answer *a)
{
	struct given as_text = *g;

	strict(g, a);
	if (a->encoding == NULL && g->html) {
		as_text.text_xml = true;
		say(a, "lenient-html", NULL);
		http(&as_text, a);
	}
	if (a->encoding != NULL)
		return;
	if (g->XMLEnc != NULL)
		say(a, "lenient-decl", g->XMLEnc);
	else if (g->CTEnc != NULL)
		say(a, "lenient-http", g->CTEnc);
	else
		say(a, "lenient-default", "UTF-8");
}

/* Seed 000, 10 September 2004, both algorithms; an if that ends in a result is left. */
static void first_raw(const struct given *g, struct answer *a)
{
	bool wide_guess = is(g->XMLGuessEnc, "UTF-16BE") || is(g->XMLGuessEnc, "UTF-16LE");
	bool wide_bom = is(g->BOMEnc, "UTF-16BE") || is(g->BOMEnc, "UTF-16LE");

	if (g->BOMEnc == NULL && g->XMLEnc == NULL)
		say(a, wide_guess ? "1.0" : "1.1", wide_guess ? NULL : "UTF-8");
	else if (g->BOMEnc == NULL && (is(g->XMLEnc, "UTF-8") || is(g->XMLEnc, "UTF-16BE") || is(g->XMLEnc, "UTF-16LE")))
		say(a, "1.2", NULL);
	else if (g->BOMEnc == NULL)
		say(a, "1.3", g->XMLEnc);
	else if (g->XMLEnc == NULL)
		say(a, is(g->BOMEnc, g->XMLGuessEnc) ? "1.4" : "1.5", is(g->BOMEnc, g->XMLGuessEnc) ? g->BOMEnc : NULL);
	else if (is(g->BOMEnc, g->XMLGuessEnc) && ((wide_bom && is(g->XMLEnc, "UTF-16")) || is(g->XMLEnc, g->BOMEnc)))
		say(a, "1.6", g->BOMEnc);
	else
		say(a, "1.7", NULL);
}

static void first(const struct given *g, struct answer *a)
{
	if (!g->http) {
		first_raw(g, a);
	} else if ((is(g->CTEnc, "UTF-16BE") || is(g->CTEnc, "UTF-16LE")) && g->BOMEnc != NULL) {
		say(a, "2.0", NULL);
	} else if (g->app_xml && g->CTEnc == NULL) {
		say(a, "2.1", NULL);
		first_raw(g, a);
	} else if (g->text_xml && g->CTEnc == NULL) {
		say(a, "2.2", "US-ASCII");
	} else if ((g->app_xml || g->text_xml) && is(g->CTEnc, "UTF-16")) {
		if (is(g->BOMEnc, "UTF-16BE") || is(g->BOMEnc, "UTF-16LE"))
			say(a, "2.3", g->BOMEnc);
		else if (g->BOMEnc == NULL && (is(g->XMLGuessEnc, "UTF-16BE") || is(g->XMLGuessEnc, "UTF-16LE")))
			say(a, "2.4", g->XMLGuessEnc);
		else
			say(a, "2.5", NULL);
	} else if (g->app_xml || g->text_xml) {
		say(a, "2.6", g->CTEnc);
	} else {
		say(a, "2.7", NULL);
	}
}

static void set_label(struct evidence_label *l, const char *text)
{
	snprintf(l->text, sizeof l->text, "%s", text);
	l->label = text[0] == '\0' ? NULL : charset_lookup(text, strlen(text));
}

static const char *or_null(const char *name)
{
	return name[0] == '\0' ? NULL : name;
}

/* A name nobody knows ends in an error of its own, whatever rule gave it. */
static bool same(const struct verdict *v, const struct answer *a)
{
	if (strcmp(v->path, a->path) != 0)
		return false;
	if (a->encoding == NULL)
		return v->kind == VERDICT_ERROR && v->error != VERR_NONE && v->error != VERR_UNKNOWN_CHARSET;
	if (is(a->encoding, "x-bogus"))
		return v->kind == VERDICT_ERROR && v->error == VERR_UNKNOWN_CHARSET && is(v->unknown, "x-bogus");
	return v->kind == VERDICT_CHARSET && is(v->named, a->encoding) && v->error == VERR_NONE;
}

static void prove(enum policy policy, void (*published)(const struct given *, struct answer *))
{
	size_t t, c, b, x, d, combinations = 0, differences = 0;

	for (t = 0; t < TRANSPORTS; t++)
	for (c = 0; c < NAMES; c++)
	for (b = 0; b < MARKS; b++)
	for (x = 0; x < GUESSES; x++)
	for (d = 0; d < NAMES; d++) {
		struct evidence e = { .http = transports[t].http, .type = { .CTMime = transports[t].CTMime }, .BOMEnc = marks[b],
			.guess = guesses[x], .bytes = (const uint8_t *)"", .complete = true };
		struct answer a = { "", NULL };
		struct verdict v;
		/* A declaration is read by the guess: without one XMLEnc is NULL. Without HTTP there is no CTEnc. */
		struct given g = { e.http, e.type.CTMime == MIME_APP_XML, e.type.CTMime == MIME_TEXT_XML, e.type.CTMime == MIME_TEXT_HTML,
			e.http ? or_null(names[c]) : NULL, or_null(charset_name(marks[b])), or_null(charset_name(guesses[x].charset)),
			x == 0 ? NULL : or_null(names[d]) };

		set_label(&e.CTEnc, names[c]);
		set_label(&e.XMLEnc, names[d]);
		CU_ASSERT_EQUAL(policy_decide(policy, &e, &v), 0);
		published(&g, &a);
		combinations++;
		if (!UNIT_ROW(same(&v, &a), "http %d mime %s CTEnc <%s> BOMEnc <%s> XMLGuessEnc <%s> XMLEnc <%s>: %s %s, published %s %s", e.http,
		    mime_class_name(e.type.CTMime), names[c], charset_name(marks[b]), charset_name(guesses[x].charset), names[d], v.path,
		    v.named, a.path, a.encoding))
			differences++;
	}
	printf("%s: %zu combinations, %zu differences\n", policy_name(policy), combinations, differences);
}

static void prove_strict(void)
{
	prove(POLICY_ROME_STRICT, strict);
}

static void prove_lenient(void)
{
	prove(POLICY_ROME_LENIENT, lenient);
}

static void prove_first(void)
{
	prove(POLICY_ROME_2004_09_10, first);
}

UNIT_SUITE(policy_rome, { "strict", prove_strict }, { "lenient", prove_lenient }, { "2004-09-10", prove_first })
