/* Owns the cases of proxy/http/redirect.c and of the references that proxy/http/destination.c resolves for it.
 * Invariant: each row names its rule. */
#include "proxy/http/redirect.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static struct slice slice(const char *text)
{
	return (struct slice){ text, strlen(text) };
}

static void url_of(const struct destination *d, char *out, size_t cap)
{
	struct text t = { 0 };

	destination_url(&t, d);
	snprintf(out, cap, "%.*s", (int)t.len, t.bytes);
	text_free(&t);
}

static void begin(struct destination *d, const char *url)
{
	const char *why;

	*d = (struct destination){ .path = NULL };
	CU_ASSERT_EQUAL_FATAL(destination_from_url(d, slice(url), &why), DESTINATION_OK);
}

static void one_step(void)
{
	static const struct {
		const char *rule, *at;
		int status;
		const char *location, *to;     /* to NULL: not followed */
		bool downgrade, upgrade;
		enum failure_kind refused;
	} cases[] = {
		{ "301 (RFC 9110 15.4.2)", "http://a/f", 301, "http://b/g", "http://b/g", false, false, FAILURE_NONE },
		{ "302", "http://a/f", 302, "http://b/g", "http://b/g", false, false, FAILURE_NONE },
		{ "303", "http://a/f", 303, "http://b/g", "http://b/g", false, false, FAILURE_NONE },
		{ "307", "http://a/f", 307, "http://b/g", "http://b/g", false, false, FAILURE_NONE },
		{ "308", "http://a/f", 308, "http://b/g", "http://b/g", false, false, FAILURE_NONE },
		{ "300 leaves the choice to the user", "http://a/f", 300, "http://b/g", NULL, false, false, FAILURE_NONE },
		{ "304 is none", "http://a/f", 304, "http://b/g", NULL, false, false, FAILURE_NONE },
		{ "201 has a Location and is none", "http://a/f", 201, "http://b/g", NULL, false, false, FAILURE_NONE },
		{ "no Location", "http://a/f", 301, "", NULL, false, false, FAILURE_NONE },
		{ "an absolute path (RFC 3986 5.2.2)", "http://a/x/f?q", 301, "/g", "http://a/g", false, false, FAILURE_NONE },
		{ "a relative path", "http://a/x/f?q", 301, "g", "http://a/x/g", false, false, FAILURE_NONE },
		{ "a step up (5.2.4)", "http://a/x/y/f", 301, "../g", "http://a/x/g", false, false, FAILURE_NONE },
		{ "more steps up than there are", "http://a/x/f", 301, "../../../g", "http://a/g", false, false, FAILURE_NONE },
		{ "a query alone", "http://a/x/f?q", 301, "?r", "http://a/x/f?r", false, false, FAILURE_NONE },
		{ "another host, the same scheme", "http://a:81/f", 301, "//b/g", "http://b/g", false, false, FAILURE_NONE },
		{ "the port stays", "http://a:81/f", 301, "/g", "http://a:81/g", false, false, FAILURE_NONE },
		{ "fragments are not sent (9110 10.2.2)", "http://a/f", 301, "/g#h", "http://a/g", false, false, FAILURE_NONE },
		{ "another scheme is passed on", "http://a/f", 301, "ftp://b/g", NULL, false, false, FAILURE_NONE },
		{ "what is no URL is passed on", "http://a/f", 301, "http://b b/g", NULL, false, false, FAILURE_NONE },
		{ "up to https", "http://a/f", 301, "https://a/f", "https://a/f", false, false, FAILURE_NONE },
		{ "down from https", "https://a/f", 301, "http://a/g", NULL, false, false, FAILURE_REQUEST_DENIED },
		{ "down, as configured", "https://a/f", 301, "http://a/g", "http://a/g", true, false, FAILURE_NONE },
		{ "http becomes https where that is asked for", "https://a/f", 301, "http://b/g", "https://b/g", false, true, FAILURE_NONE },
		{ "its other ports stay", "https://a/f", 301, "http://b:8080/g", "https://b:8080/g", false, true, FAILURE_NONE },
		{ "it leads to itself", "http://a/f", 301, "/f", NULL, false, false, FAILURE_LOOP_DETECTED },
		{ "to itself in other letters", "http://a/f", 301, "http://A:80/f", NULL, false, false, FAILURE_LOOP_DETECTED },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct redirect_rules rules = { .hops = 5, .allow_downgrade = cases[i].downgrade, .upgrade_https = cases[i].upgrade };
		struct redirect_trail trail = { 0 };
		struct failure failure = { 0 };
		struct destination at;
		enum redirect_step step, want = cases[i].to ? REDIRECT_FOLLOW : cases[i].refused ? REDIRECT_REFUSED : REDIRECT_NOT;
		char url[256];

		begin(&at, cases[i].at);
		step = redirect_next(&trail, &rules, cases[i].status, slice(cases[i].location), &at, &failure);
		url_of(&at, url, sizeof url);
		UNIT_ROW(step == want, "%s: %d, %s", cases[i].rule, (int)step, url);
		UNIT_ROW(!strcmp(url, cases[i].to ? cases[i].to : cases[i].at), "%s: %s", cases[i].rule, url);
		UNIT_ROW(failure.error == cases[i].refused, "%s: %d", cases[i].rule, (int)failure.error);
		redirect_trail_free(&trail);
		destination_free(&at);
	}
}

/* Locations one after the other; the last one ends as the row says. */
static void several(void)
{
	static const struct {
		const char *rule;
		int hops;
		const char *locations[5];
		enum redirect_step ends;
	} cases[] = {
		{ "none is followed", 0, { "/1" }, REDIRECT_NOT },
		{ "as many as there may be", 3, { "/1", "/2", "/3" }, REDIRECT_FOLLOW },
		{ "one more", 3, { "/1", "/2", "/3", "/4" }, REDIRECT_REFUSED },
		{ "back to the first", 5, { "/1", "/2", "/f" }, REDIRECT_REFUSED },
		{ "back to one between", 5, { "/1", "/2", "/1" }, REDIRECT_REFUSED },
		{ "the same path elsewhere", 5, { "http://b/f", "http://c/f" }, REDIRECT_FOLLOW },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct redirect_rules rules = { .hops = cases[i].hops };
		struct redirect_trail trail = { 0 };
		struct failure failure = { 0 };
		enum redirect_step step = REDIRECT_FOLLOW;
		struct destination at;

		begin(&at, "http://a/f");
		for (size_t n = 0; n < COUNT(cases[i].locations) && cases[i].locations[n]; n++) {
			UNIT_ROW(step == REDIRECT_FOLLOW, "%s, before step %zu: %d", cases[i].rule, n, (int)step);
			step = redirect_next(&trail, &rules, 302, slice(cases[i].locations[n]), &at, &failure);
		}
		UNIT_ROW(step == cases[i].ends, "%s: %d", cases[i].rule, (int)step);
		UNIT_ROW((failure.error == FAILURE_LOOP_DETECTED) == (step == REDIRECT_REFUSED), "%s: %d", cases[i].rule, (int)failure.error);
		redirect_trail_free(&trail);
		destination_free(&at);
	}
}

UNIT_SUITE(redirect, { "one_step", one_step }, { "several", several })
