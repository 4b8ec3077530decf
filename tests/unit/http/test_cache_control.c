/* Owns the cases of proxy/http/cache_control.c and the dictionaries it reads (proxy/http/sf_dict.c). Invariant: each row names its rule. */
#include "proxy/http/cache_control.h"
#include "tests/unit/heads.h"
#include "tests/unit/unit.h"

#include <stdio.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define BIT(d) (1u << CC_##d)

static void seconds(void)
{
	static const struct { const char *rule, *value; bool valid; uint32_t want; } cases[] = {
		{ "5.2: token form", "3600", true, 3600 },
		{ "5.2: quoted form is tolerated", "\"3600\"", true, 3600 },
		{ "1.2.2: zeros in front", "003600", true, 3600 },
		{ "1.2.2: largest", "2147483648", true, CC_SECONDS_MAX },
		{ "1.2.2: larger counts as largest", "2147483649", true, CC_SECONDS_MAX },
		{ "1.2.2: far larger", "99999999999999999999999999", true, CC_SECONDS_MAX },
		{ "1.2.2: not negative", "-1", false, 0 },
		{ "1.2.2: no sign", "+1", false, 0 },
		{ "1.2.2: no fraction", "3600.0", false, 0 },
		{ "1.2.2: digits only, in front", "a1", false, 0 },
		{ "1.2.2: digits only, behind", "1a", false, 0 },
		{ "5.2: single quotes are none", "'1'", false, 0 },
		{ "5.2: no blank after =", " 1", false, 0 },
		{ "5.2: empty", "", false, 0 },
		{ "5.2: empty quoted", "\"\"", false, 0 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cache_control cc;
		struct http_msg m;
		char line[128];

		snprintf(line, sizeof line, "Cache-Control: max-age=%s\n", cases[i].value);
		head_read(&m, line, 200);
		cache_control_response(&cc, &m);
		UNIT_ROW(cc.given && !cc.targeted && cc_has(&cc, CC_MAX_AGE) == cases[i].valid &&
			(cc.invalid == BIT(MAX_AGE)) == !cases[i].valid && cc.seconds[CC_MAX_AGE] == cases[i].want, "%s: %s", cases[i].rule,
			cases[i].value);
		head_free(&m);
	}
}

static void response(void)
{
	static const struct { const char *rule, *lines; uint32_t set, invalid, listed; } cases[] = {
		{ "no field", "A: no-store\n", 0, 0, 0 },
		{ "5.2.2: every flag", "Cache-Control: must-revalidate, must-understand, no-cache, no-store, no-transform, private, "
			"proxy-revalidate, public, immutable\n", BIT(MUST_REVALIDATE) | BIT(MUST_UNDERSTAND) | BIT(NO_CACHE) | BIT(NO_STORE) |
			BIT(NO_TRANSFORM) | BIT(PRIVATE) | BIT(PROXY_REVALIDATE) | BIT(PUBLIC) | BIT(IMMUTABLE), 0, 0 },
		{ "5.2: case", "cAcHe-cOnTrOl: No-StOrE\n", BIT(NO_STORE), 0, 0 },
		{ "5.2.1: a request's mean nothing", "Cache-Control: only-if-cached, max-stale, min-fresh=1\n", 0, 0, 0 },
		{ "5.2.3: unknown ones are ignored", "Cache-Control: foo, bar=1, no-store=maybe\n", BIT(NO_STORE), 0, 0 },
		{ "5.2: quoted text is no directive", "Cache-Control: foo=\"no-store, private\"\n", 0, 0, 0 },
		{ "RFC 9110 5.6.1: empty members", "Cache-Control: ,, no-store ,\n", BIT(NO_STORE), 0, 0 },
		{ "RFC 9110 5.3: several lines", "Cache-Control: no-store\nCache-Control: public\n", BIT(NO_STORE) | BIT(PUBLIC), 0, 0 },
		{ "5.2: no blank before =", "Cache-Control: max-age =1\n", 0, 0, 0 },
		{ "5.2.2.1: seconds are needed", "Cache-Control: max-age, s-maxage\n", 0, BIT(MAX_AGE) | BIT(S_MAXAGE), 0 },
		{ "5.2.2.4: list", "Cache-Control: no-cache=\"a, b\"\n", 0, 0, BIT(NO_CACHE) },
		{ "5.2.2.4: token form", "Cache-Control: no-cache=a\n", 0, 0, BIT(NO_CACHE) },
		{ "5.2.2.7: list", "Cache-Control: private=\"set-cookie\"\n", 0, 0, BIT(PRIVATE) },
		{ "5.2.2.4: empty list names all", "Cache-Control: no-cache=\"\"\n", BIT(NO_CACHE), 0, 0 },
		{ "4.2.1: all after a list", "Cache-Control: no-cache=\"a\", no-cache\n", BIT(NO_CACHE), 0, 0 },
		{ "4.2.1: all before a list", "Cache-Control: no-cache, no-cache=\"a\"\n", BIT(NO_CACHE), 0, 0 },
		{ "5.4: Pragma is no response's", "Pragma: no-cache\n", 0, 0, 0 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cache_control cc;
		struct http_msg m;

		head_read(&m, cases[i].lines, 200);
		cache_control_response(&cc, &m);
		UNIT_ROW(cc.set == cases[i].set && cc.invalid == cases[i].invalid && cc.listed == cases[i].listed, "%s: %x %x %x", cases[i].rule,
			cc.set, cc.invalid, cc.listed);
		head_free(&m);
	}
}

/* RFC 9111 section 4.2.1: the first occurrence. */
static void duplicates(void)
{
	static const struct { const char *lines; bool valid; uint32_t want; } cases[] = {
		{ "Cache-Control: max-age=1800, max-age=1\n", true, 1800 }, { "Cache-Control: max-age=1, max-age=1800\n", true, 1 },
		{ "Cache-Control: max-age=1800\nCache-Control: max-age=1\n", true, 1800 },
		{ "Cache-Control: max-age=x, max-age=1800\n", false, 0 }, { "Cache-Control: max-age=7, max-age=x\n", true, 7 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cache_control cc;
		struct http_msg m;

		head_read(&m, cases[i].lines, 200);
		cache_control_response(&cc, &m);
		UNIT_ROW(cc_has(&cc, CC_MAX_AGE) == cases[i].valid && cc.seconds[CC_MAX_AGE] == cases[i].want, "%s", cases[i].lines);
		head_free(&m);
	}
}

static void request(void)
{
	static const struct { const char *rule, *lines; uint32_t set; uint32_t max_stale; } cases[] = {
		{ "5.2.1: every one", "Cache-Control: max-age=0, max-stale=5, min-fresh=1, no-cache, no-store, no-transform, only-if-cached, "
			"stale-if-error=9\n", BIT(MAX_AGE) | BIT(MAX_STALE) | BIT(MIN_FRESH) | BIT(NO_CACHE) | BIT(NO_STORE) | BIT(NO_TRANSFORM) |
			BIT(ONLY_IF_CACHED) | BIT(SIE), 5 },
		{ "5.2.1.2: however stale", "Cache-Control: max-stale\n", BIT(MAX_STALE), CC_SECONDS_MAX },
		{ "5.2.1.2: no number", "Cache-Control: max-stale=x\n", 0, 0 },
		{ "5.2.2: a response's mean nothing", "Cache-Control: public, private, s-maxage=5\n", 0, 0 },
		{ "5.4: Pragma alone", "Pragma: foo, No-Cache\n", BIT(NO_CACHE), 0 },
		{ "5.4: Pragma beside Cache-Control", "Pragma: no-cache\nCache-Control: max-age=5\n", BIT(MAX_AGE), 0 },
		{ "5.4: another pragma", "Pragma: no-cachet\n", 0, 0 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cache_control cc;
		struct http_msg m;

		head_read(&m, cases[i].lines, 0);
		cache_control_request(&cc, &m);
		UNIT_ROW(cc.set == cases[i].set && cc.seconds[CC_MAX_STALE] == cases[i].max_stale, "%s: %x", cases[i].rule, cc.set);
		head_free(&m);
	}
}

/* RFC 9213 section 2 and RFC 9651 section 4.2. used: the targeted field counts; else Cache-Control: no-store does. */
static void targeted_fields(void)
{
	static const struct { const char *rule, *value; bool used; uint32_t set, invalid, max_age; } cases[] = {
		{ "integer", "max-age=60", true, BIT(MAX_AGE), 0, 60 },
		{ "bare key is true", "private", true, BIT(PRIVATE), 0, 0 },
		{ "?0 is false", "private=?0, max-age=1", true, BIT(MAX_AGE), 0, 1 },
		{ "?1", "private=?1", true, BIT(PRIVATE), 0, 0 },
		{ "the last of a key counts", "max-age=60, max-age=5", true, BIT(MAX_AGE), 0, 5 },
		{ "capped", "max-age=99999999999", true, BIT(MAX_AGE), 0, CC_SECONDS_MAX },
		{ "negative", "max-age=-1", true, 0, BIT(MAX_AGE), 0 },
		{ "wrong type: string", "max-age=\"60\"", true, 0, BIT(MAX_AGE), 0 },
		{ "wrong type: decimal", "max-age=60.0", true, 0, BIT(MAX_AGE), 0 },
		{ "wrong type: token", "max-age=a60", true, 0, BIT(MAX_AGE), 0 },
		{ "wrong type: boolean", "max-age", true, 0, BIT(MAX_AGE), 0 },
		{ "parameters are dropped", "max-age=60;a=1; b;c=\"x\"", true, BIT(MAX_AGE), 0, 60 },
		{ "extension of each type", "a=1.5, b=\"x\\\"y\", c=*tok/en, d=:aGk=:, e=?0, f=@1700000000, g=%\"f%c3%bc\", "
			"h=(1 \"a\";x  b), i=(), max-age=60", true, BIT(MAX_AGE), 0, 60 },
		{ "blanks and tabs round commas", "foo \t,\t max-age=60", true, BIT(MAX_AGE), 0, 60 },
		{ "blanks at both ends", "  max-age=60  ", true, BIT(MAX_AGE), 0, 60 },
		{ "keys are lower case", "Max-Age=60", false, 0, 0, 0 },
		{ "blank before =", "max-age =60", false, 0, 0, 0 },
		{ "blank after =", "max-age= 60", false, 0, 0, 0 },
		{ "trailing comma", "max-age=60,", false, 0, 0, 0 },
		{ "leading comma", ",max-age=60", false, 0, 0, 0 },
		{ "empty member", "max-age=60,,private", false, 0, 0, 0 },
		{ "no key", "max-age=60, &&&", false, 0, 0, 0 },
		{ "no comma", "max-age=60 private", false, 0, 0, 0 },
		{ "16 digits", "max-age=1000000000000000", false, 0, 0, 0 },
		{ "open string", "a=\"x", false, 0, 0, 0 },
		{ "string ends in escape", "a=\"x\\", false, 0, 0, 0 },
		{ "string escapes only two", "a=\"\\x\"", false, 0, 0, 0 },
		{ "8-bit string", "a=\"\xc3\xbc\"", false, 0, 0, 0 },
		{ "open list", "a=(1", false, 0, 0, 0 },
		{ "list without blanks", "a=(1\"b\")", false, 0, 0, 0 },
		{ "open bytes", "a=:aGk", false, 0, 0, 0 },
		{ "no boolean", "a=?2", false, 0, 0, 0 },
		{ "decimal without fraction", "a=1.", false, 0, 0, 0 },
		{ "decimal, 4 places", "a=1.2345", false, 0, 0, 0 },
		{ "sign alone", "a=-", false, 0, 0, 0 },
		{ "date with fraction", "a=@1.5", false, 0, 0, 0 },
		{ "display string, upper case", "a=%\"%C3%BC\"", false, 0, 0, 0 },
		{ "display string, cut", "a=%\"%c", false, 0, 0, 0 },
		{ "parameter without key", "a=1;", false, 0, 0, 0 },
		{ "parameter without value", "a=1;b=", false, 0, 0, 0 },
		{ "empty", "", false, 0, 0, 0 },
		{ "blank", "   ", false, 0, 0, 0 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cache_control cc;
		struct http_msg m;
		char lines[256];

		snprintf(lines, sizeof lines, "Cache-Control: no-store\ncdn-cache-control: %s\nExpires: 0\n", cases[i].value);
		head_read(&m, lines, 200);
		cache_control_response(&cc, &m);
		if (cases[i].used)
			UNIT_ROW(cc.targeted && cc.set == cases[i].set && cc.invalid == cases[i].invalid &&
				cc.seconds[CC_MAX_AGE] == cases[i].max_age, "%s: %x %x %u", cases[i].rule, cc.set, cc.invalid, cc.seconds[CC_MAX_AGE]);
		else
			UNIT_ROW(!cc.targeted && cc.set == BIT(NO_STORE), "%s: %x", cases[i].rule, cc.set);
		head_free(&m);
	}
}

/* RFC 9213 section 2.2: a targeted field that stands there whole. */
static void preference(void)
{
	static const struct { const char *rule, *lines; uint32_t max_age; bool targeted; } cases[] = {
		{ "before Cache-Control", "CDN-Cache-Control: max-age=2\nCache-Control: max-age=3\n", 2, true },
		{ "whatever their order", "Cache-Control: max-age=3\nCDN-Cache-Control: max-age=2\n", 2, true },
		{ "a broken one is passed over", "CDN-Cache-Control: max-age=\nCache-Control: max-age=3\n", 3, false },
		{ "broken in its second line", "CDN-Cache-Control: max-age=2\nCDN-Cache-Control: ,\nCache-Control: max-age=3\n", 3, false },
		{ "two lines", "CDN-Cache-Control: public\nCDN-Cache-Control: max-age=2\n", 2, true },
		{ "another targeted field", "Surrogate-Control: max-age=1\nCache-Control: max-age=3\n", 3, false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cache_control cc;
		struct http_msg m;

		head_read(&m, cases[i].lines, 200);
		cache_control_response(&cc, &m);
		UNIT_ROW(cc.targeted == cases[i].targeted && cc.seconds[CC_MAX_AGE] == cases[i].max_age, "%s", cases[i].rule);
		head_free(&m);
	}
}

UNIT_SUITE(cache_control, { "seconds", seconds }, { "response", response }, { "duplicates", duplicates }, { "request", request },
	{ "targeted fields", targeted_fields }, { "preference", preference })
