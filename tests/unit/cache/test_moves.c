/* Owns the cases of proxy/cache/moves.c, and a comparison with a plain model of what it promises. Invariant: chance has a
 * seed. */
#include "proxy/cache/moves.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { DAY = 86400 };

static struct slice slice(const char *text)
{
	return (struct slice){ text, text ? strlen(text) : 0 };
}

static struct moves_scope scope_of(uint64_t hash, unsigned generation, const char *sent)
{
	return (struct moves_scope){ hash, generation, slice(sent) };
}

static void learn(struct moves *m, struct moves_scope s, const char *url, const char *to, uint32_t valid_s, const char *vary,
    struct moves_clock now)
{
	const struct move_learned l = { .url = url, .to = to, .status = 301, .valid_s = valid_s, .vary = slice(vary),
		.freshness = { .response_time = now.wall_s, .lifetime_s = valid_s }, .purges = moves_purges(m) };

	moves_learn(m, &s, &l, &now);
}

/* Where the URL leads, "" if that is not known; until the next call. */
static const char *leads(struct moves *m, struct moves_scope s, const char *url, struct moves_clock now)
{
	static char to[64];
	struct move f;

	if (!moves_find(m, &s, url, &now, &f))
		return "";
	snprintf(to, sizeof to, "%s", f.to);
	move_free(&f);
	return to;
}

static void whose(void)
{
	static const struct {
		const char *rule;
		uint64_t scope;
		unsigned generation;
		const char *url, *sent;
		int64_t steady_s, wall_s;
		bool found;
	} cases[] = {
		{ "the same request", 7, 1, "http://a/", "Accept-Language: de\r\n", 0, 0, true },
		{ "another scope", 8, 1, "http://a/", "Accept-Language: de\r\n", 0, 0, false },
		{ "other settings", 7, 2, "http://a/", "Accept-Language: de\r\n", 0, 0, false },
		{ "another URL", 7, 1, "http://a/b", "Accept-Language: de\r\n", 0, 0, false },
		{ "another variant (RFC 9111 4.1)", 7, 1, "http://a/", "Accept-Language: en\r\n", 0, 0, false },
		{ "without the field", 7, 1, "http://a/", "", 0, 0, false },
		{ "with other fields", 7, 1, "http://a/", "X: y\r\nAccept-Language: de\r\n", 0, 0, true },
		{ "a second before its end", 7, 1, "http://a/", "Accept-Language: de\r\n", 99, 99, true },
		{ "at its end", 7, 1, "http://a/", "Accept-Language: de\r\n", 100, 100, false },
		{ "by the monotonic clock alone", 7, 1, "http://a/", "Accept-Language: de\r\n", 100, -DAY, false },
		{ "by the time of day alone", 7, 1, "http://a/", "Accept-Language: de\r\n", 0, 100, false },
		{ "the time of day was set back", 7, 1, "http://a/", "Accept-Language: de\r\n", 99, -DAY, true },
		{ "another worker's clock is a little behind", 7, 1, "http://a/", "Accept-Language: de\r\n", -1, 0, true },
	};
	struct moves *m = moves_new();
	const struct moves_clock at = { 1000000, 1000000 };

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	CU_ASSERT_TRUE(moves_is_idle(m));
	learn(m, scope_of(7, 1, "Accept-Language: de\r\n"), "http://a/", "http://b/", 100, "accept-language", at);
	CU_ASSERT_FALSE(moves_is_idle(m));
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct moves_clock now = { at.steady_ms + (uint64_t)(cases[i].steady_s * 1000), at.wall_s + cases[i].wall_s };
		const char *to = leads(m, scope_of(cases[i].scope, cases[i].generation, cases[i].sent), cases[i].url, now);

		UNIT_ROW(!strcmp(to, cases[i].found ? "http://b/" : ""), "%s: %s", cases[i].rule, to);
	}
	moves_free(&m);
}

/* What it hands out is as old as it is here, whatever the time of day was when it came. */
static void age(void)
{
	struct moves *m = moves_new();
	struct moves_scope s = scope_of(1, 1, "");
	struct moves_clock now = { 5000, 1000 };
	struct move f;

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	learn(m, s, "http://a/", "http://b/", 100, NULL, now);
	now = (struct moves_clock){ 65000, 10 };
	CU_ASSERT_TRUE_FATAL(moves_find(m, &s, "http://a/", &now, &f));
	CU_ASSERT_EQUAL(freshness_age(&f.freshness, now.wall_s), 60);
	CU_ASSERT_EQUAL(freshness_ttl(&f.freshness, now.wall_s), 40);
	CU_ASSERT_EQUAL(f.status, 301);
	CU_ASSERT_PTR_NULL(f.vary);
	move_free(&f);
	moves_free(&m);
}

static void purges(void)
{
	static const struct { const char *rule; enum store_purge what; const char *url; const char *left; } cases[] = {
		{ "a URL", PURGE_URL, "http://a/x", "bc" }, { "a URL of which others begin", PURGE_URL, "http://a/", "abc" },
		{ "a prefix", PURGE_PREFIX, "http://a/", "c" }, { "a longer one", PURGE_PREFIX, "http://a/xy", "ac" },
		{ "all", PURGE_ALL, "", "" }, { "none of them", PURGE_PREFIX, "http://d", "abc" },
	};
	static const char *const urls[] = { "http://a/x", "http://a/xyz", "http://c/x" };
	const struct moves_clock now = { 1, 1 };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct moves *m = moves_new();
		char left[8] = "";

		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		for (size_t u = 0; u < COUNT(urls); u++)
			for (uint64_t scope = 1; scope < 3; scope++)
				learn(m, scope_of(scope, 1, ""), urls[u], "http://to/", 100, NULL, now);
		moves_purge(m, cases[i].what, cases[i].url, strlen(cases[i].url));
		for (size_t u = 0; u < COUNT(urls); u++)
			if (*leads(m, scope_of(1, 1, ""), urls[u], now) && *leads(m, scope_of(2, 1, ""), urls[u], now))
				strcat(left, (char[]){ (char)('a' + u), 0 });
		UNIT_ROW(!strcmp(left, cases[i].left) && moves_count(m) == 2 * strlen(left), "%s: %s", cases[i].rule, left);
		moves_free(&m);
	}
}

/* A redirect that was asked for before a purge is not learned after it. */
static void purged_meanwhile(void)
{
	struct moves *m = moves_new();
	struct moves_scope s = scope_of(1, 1, "");
	const struct moves_clock now = { 1, 1 };
	struct move_learned l = { .url = "http://a/", .to = "http://b/", .status = 308, .valid_s = 9, .purges = moves_purges(m) };

	moves_purge(m, PURGE_URL, "http://z/", 9);
	moves_learn(m, &s, &l, &now);
	CU_ASSERT_TRUE(moves_is_idle(m));
	l.purges = moves_purges(m);
	moves_learn(m, &s, &l, &now);
	CU_ASSERT_EQUAL(moves_count(m), 1);
	l.valid_s = 0;
	moves_learn(m, &s, &l, &now);
	CU_ASSERT_TRUE(moves_is_idle(m));
	moves_free(&m);
}

static bool told(struct moves *m, struct moves_scope s, uint64_t after_s, uint64_t now_s)
{
	const struct moves_clock now = { now_s * 1000, (int64_t)now_s };
	struct move f;
	bool is = moves_told(m, &s, "http://a/", after_s * 1000, &now, &f);

	if (is)
		move_free(&f);
	return is;
}

static void telling(void)
{
	struct moves *m = moves_new();
	struct moves_scope s = scope_of(1, 1, "");

	learn(m, s, "http://a/", "http://b/", 100, NULL, (struct moves_clock){ 0, 0 });
	CU_ASSERT_FALSE(told(m, s, 0, 0));             /* not served yet */
	moves_note(m, &s, "http://a/", MOVE_SERVED);
	CU_ASSERT_TRUE(told(m, s, 0, 0));
	CU_ASSERT_FALSE(told(m, s, 150, 99));
	CU_ASSERT_FALSE(told(m, s, 0, 100));           /* it is not remembered any more */
	learn(m, s, "http://a/", "http://b/", 100, NULL, (struct moves_clock){ 120000, 120 });
	CU_ASSERT_TRUE(told(m, s, 150, 150));          /* seen again: since when counts on, over reloads too */
	learn(m, scope_of(1, 2, ""), "http://a/", "http://b/", 100, NULL, (struct moves_clock){ 151000, 151 });
	CU_ASSERT_TRUE(told(m, scope_of(1, 2, ""), 150, 151));
	learn(m, s, "http://a/", "http://c/", 100, NULL, (struct moves_clock){ 160000, 160 });
	CU_ASSERT_FALSE(told(m, s, 0, 160));           /* it leads elsewhere */
	moves_note(m, &s, "http://a/", MOVE_SERVED);
	moves_note(m, &s, "http://a/", MOVE_FAILED);
	CU_ASSERT_FALSE(told(m, s, 0, 160));
	CU_ASSERT_STRING_EQUAL(leads(m, s, "http://a/", (struct moves_clock){ 160000, 160 }), "");
	moves_note(m, &s, "http://a/", MOVE_GONE);
	CU_ASSERT_TRUE(moves_is_idle(m));
	moves_free(&m);
}

static void bounded(void)
{
	enum { LONG = 2000, MANY = 10000 };
	struct moves *m = moves_new();
	struct moves_scope s = scope_of(1, 1, "");
	const struct moves_clock now = { 1, 1 };
	char *url = malloc(MOVES_ONE_MAX + 1);

	CU_ASSERT_PTR_NOT_NULL_FATAL(url);
	memset(url, 'u', MOVES_ONE_MAX);
	url[MOVES_ONE_MAX] = '\0';
	learn(m, s, url, "http://b/", 100, NULL, now);
	CU_ASSERT_TRUE(moves_is_idle(m));              /* too long */
	url[LONG] = '\0';
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(url, 16, "http://%07u", i);
		url[14] = '/';
		learn(m, s, url, "http://b/", 100, NULL, now);
		snprintf(url, 16, "http://%07u", 0);
		url[14] = '/';
		if (*leads(m, s, url, now) == '\0')
			break;
		CU_ASSERT_FATAL(moves_count(m) <= MOVES_BYTES_MAX / LONG);
	}
	CU_ASSERT_STRING_EQUAL(leads(m, s, url, now), "http://b/");    /* used all the time */
	snprintf(url, 16, "http://%07u", 1);
	url[14] = '/';
	CU_ASSERT_STRING_EQUAL(leads(m, s, url, now), "");
	free(url);
	moves_free(&m);
}

/* ---- the model ---- */

enum { URLS = 6, SCOPES = 2, SENT = 2 };
struct model { bool there, varies, served; int to, sent; uint32_t valid_s; uint64_t at_s, since_s; };

static const char *const sent_lines[SENT] = { "User-Agent: a\r\n", "User-Agent: b\r\n" };

static uint32_t next_number(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

static const struct model *model_find(const struct model *e, int sent, uint64_t now_s)
{
	return e->there && now_s - e->at_s < e->valid_s && (!e->varies || e->sent == sent) ? e : NULL;
}

static void model_learn(struct model *e, int to, bool varies, int sent, uint32_t valid_s, uint64_t now_s)
{
	bool same = e->there && e->to == to;

	*e = (struct model){ .there = valid_s, .varies = varies, .served = same && e->served, .to = to, .sent = sent, .valid_s = valid_s,
		.at_s = now_s, .since_s = same ? e->since_s : now_s };
}

static void model_note(struct model *e, enum move_event event)
{
	e->there = e->there && event != MOVE_GONE;
	e->served = event == MOVE_SERVED;
	e->valid_s = event == MOVE_FAILED ? 0 : e->valid_s;
}

static void model(void)
{
	enum { STEPS = 200000 };
	static struct model all[URLS][SCOPES];
	struct moves *m = moves_new();
	uint32_t seed = 32;
	uint64_t now_s = 1000;

	for (int step = 0; step < STEPS; step++) {
		int u = (int)next_number(&seed, URLS), c = (int)next_number(&seed, SCOPES), v = (int)next_number(&seed, SENT);
		struct moves_scope s = scope_of((uint64_t)c, 1, sent_lines[v]);
		struct moves_clock now = { now_s * 1000, (int64_t)now_s };
		struct model *e = &all[u][c];
		const struct model *want;
		char url[32], to[32];
		struct move f;

		snprintf(url, sizeof url, "http://a/%d", u);
		switch (next_number(&seed, 8)) {
		case 0: {
			int leads_to = (int)next_number(&seed, 2);
			bool varies = next_number(&seed, 2);
			uint32_t valid_s = next_number(&seed, 4) * 10;

			snprintf(to, sizeof to, "http://b/%d", leads_to);
			learn(m, s, url, to, valid_s, varies ? "user-agent" : NULL, now);
			model_learn(e, leads_to, varies, v, valid_s, now_s);
			break;
		}
		case 1: {
			enum move_event event = (enum move_event)next_number(&seed, 3);

			moves_note(m, &s, url, event);
			model_note(e, event);
			break;
		}
		case 2:
			if (!next_number(&seed, 20)) {
				moves_purge(m, PURGE_URL, url, strlen(url));
				for (int i = 0; i < SCOPES; i++)
					all[u][i].there = false;
			}
			break;
		case 3:
			now_s += next_number(&seed, 4);
			break;
		default:
			want = model_find(e, v, now_s);
			to[0] = '\0';
			if (want)
				snprintf(to, sizeof to, "http://b/%d", want->to);
			UNIT_ROW(!strcmp(leads(m, s, url, now), to), "step %d: %s", step, to);
			want = want && want->served && now_s >= want->since_s + 15 ? want : NULL;
			UNIT_ROW(moves_told(m, &s, url, 15000, &now, &f) == (want != NULL), "step %d: told", step);
			if (want)
				move_free(&f);
		}
	}
	moves_free(&m);
}

UNIT_SUITE(moves, { "whose", whose }, { "age", age }, { "purges", purges }, { "purged_meanwhile", purged_meanwhile },
    { "telling", telling }, { "bounded", bounded }, { "model", model })
