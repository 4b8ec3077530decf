/* Who may have what; see judge.h. */
#include "judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "world.h"

enum { JUDGE_HOPS_MAX = 8, JUDGE_INFLATED_MAX = 1 << 20 };

static const char *const field_names[BY_COUNT] = {
	[BY_NOTHING] = "range", [BY_LANGUAGE] = "accept-language", [BY_COOKIE] = "cookie", [BY_AUTHORIZATION] = "authorization",
	[BY_AGENT] = "user-agent", [BY_USER] = "x-user",
};

/* ---- URLs: only such as nobody writes otherwise ---- */

static bool is_simple(const char *url)
{
	return *url && *url != '/' && strchr(url, '/') && !strstr(url, "//") && url[strspn(url, "abcdefghijklmnopqrstuvwxyz0123456789./-")] == '\0' &&
	    !strstr(url, "..") && !strstr(url, "/.");
}

static void set_url(char to[JUDGE_URL_MAX], const char *host, const char *path)
{
	int n = snprintf(to, JUDGE_URL_MAX, "%s%s", host, path);

	if (n >= JUDGE_URL_MAX || !is_simple(to))
		*to = '\0';
}

static const char *behind(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) ? NULL : text + strlen(prefix);
}

/* As tests/fuzz/proxy/settings.c has its routes. */
static enum judge_way find_url(char to[JUDGE_URL_MAX], const char *target)
{
	const char *rest;

	*to = '\0';
	if ((rest = behind(target, "/http://")) || (rest = behind(target, "/?url=http://"))) {
		set_url(to, rest, "");
		return WAY_GATEWAY;
	}
	if ((rest = behind(target, "http://"))) {
		set_url(to, rest, "");
		return WAY_FORWARD;
	}
	if (target[0] != '/' || strlen(target) < 3 || !strchr("rncpk", target[1]) || target[2] != '/')
		return WAY_OTHER;
	set_url(to, "a.test", target);
	return WAY_ROUTE;
}

/* ---- requests ---- */

static void read_fields(struct asked *a, const struct message *m)
{
	char connection[256];

	message_field(m, "connection", connection, sizeof connection);
	for (int f = BY_LANGUAGE; f < BY_COUNT; f++)
		if (!strcasestr(connection, field_names[f]))           /* it is for the next hop alone (RFC 9110 section 7.6.1) */
			message_field(m, field_names[f], a->values[f], sizeof a->values[f]);
	a->ranged = message_count(m, "range");
	a->purges = !strcmp(a->method, "PURGE") && !message_count(m, "x-purge");
	a->smuggles = strstr(message_text(m, m->target), "smuggled");
}

/* As their origin will see it. */
static void drop_unsent(const struct judge *j, struct asked *a, const char *target)
{
	bool credentials = a->way == WAY_FORWARD ? j->sends_credentials : a->way == WAY_ROUTE && target[1] == 'c';
	bool relayed = strcmp(a->method, "GET") && strcmp(a->method, "HEAD");  /* with all that is end to end (headers.def) */

	if (!credentials)
		*a->values[BY_COOKIE] = *a->values[BY_AUTHORIZATION] = '\0';
	if (!relayed && a->way != WAY_FORWARD && !(a->way == WAY_ROUTE && target[1] == 'n'))
		*a->values[BY_USER] = '\0';
}

const struct asked *judge_asked(struct judge *j, const struct message *m, bool queued)
{
	struct asked *a = &j->asked[j->n_asked];

	if (j->n_asked == JUDGE_MESSAGES_MAX)
		return NULL;
	j->n_asked++;
	snprintf(a->method, sizeof a->method, "%s", message_text(m, m->method));
	a->way = find_url(a->url, message_text(m, m->target));
	a->moment = ++j->moment;
	a->queued = queued;
	read_fields(a, m);
	drop_unsent(j, a, message_text(m, m->target));
	return a;
}

static bool anybody_smuggles(const struct judge *j)
{
	for (size_t i = 0; i < j->n_asked; i++)
		if (j->asked[i].smuggles)
			return true;
	return false;
}

const struct asked *judge_got(struct judge *j, const struct message *m)
{
	const char *target = message_text(m, m->target), *absolute = behind(target, "http://");
	struct asked *a = &j->got[j->n_got];
	char host[JUDGE_URL_MAX];

	REQUIRE(message_count(m, "host") == 1, "origin-request", "%zu Host fields", message_count(m, "host"));
	REQUIRE(message_count(m, "content-length") + message_count(m, "transfer-encoding") <= 1, "origin-request", "more than one framing");
	if (j->n_got == JUDGE_MESSAGES_MAX)
		return NULL;
	j->n_got++;
	snprintf(a->method, sizeof a->method, "%s", message_text(m, m->method));
	set_url(a->url, absolute ? absolute : message_field(m, "host", host, sizeof host), absolute ? "" : target);
	a->moment = ++j->moment;
	read_fields(a, m);
	REQUIRE(!a->smuggles || anybody_smuggles(j), "origin-request", "a request that no client made: %s", target);
	return a;
}

/* ---- responses ---- */

unsigned judge_give(struct judge *j, const struct given *g)
{
	if (!g->to || j->n_given + 1 >= JUDGE_MESSAGES_MAX)
		return 0;
	j->given[++j->n_given] = *g;
	j->given[j->n_given].moment = ++j->moment;
	return (unsigned)j->n_given;
}

struct given *judge_given(struct judge *j, unsigned number)
{
	return number && number <= j->n_given ? &j->given[number] : NULL;
}

/* The gateway takes a cookie off, so that the response is for everybody. */
static bool is_own(const struct given *g, const struct asked *a)
{
	return g->own || (g->own_by_cookie && a->way != WAY_GATEWAY);
}

/* A redirect that is for who asked alone leads nobody else. */
static bool leads(const struct given *g, const struct asked *a)
{
	return *g->location && (!is_own(g, a) || g->moment > a->moment);
}

/* The URL itself, or one that redirects led to from there. */
static bool leads_to(const struct judge *j, const struct asked *a, const char *from, const char *to, int hops)
{
	if (!strcmp(from, to))
		return true;
	for (size_t i = 1; hops && i <= j->n_given; i++) {
		const struct given *g = &j->given[i];

		if (leads(g, a) && !strcmp(g->to->url, from) && strcmp(g->location, from) && leads_to(j, a, g->location, to, hops - 1))
			return true;
	}
	return false;
}

/* Case and blanks do not tell preferences apart; of lists and doubled fields nothing is said. */
static bool same_value(const char *one, const char *other)
{
	if (strchr(one, ',') || strchr(other, ','))
		return true;
	return !strcasecmp(one, other);
}

/* The client's own stands within the proxy's. */
static bool same_agent(const char *one, const char *other)
{
	return strchr(one, ',') || (!strstr(one, "one/1") == !strstr(other, "one/1") && !strstr(one, "two/1") == !strstr(other, "two/1"));
}

static bool same_field(const struct asked *a, const struct asked *got, enum judge_field f)
{
	return f == BY_AGENT ? same_agent(a->values[f], got->values[f]) : same_value(a->values[f], got->values[f]);
}

/* What redirects lead to elsewhere is asked for without credentials. */
static bool is_comparable(const struct asked *a, const struct given *g, enum judge_field f)
{
	return a->way != WAY_OTHER && *a->url && *g->to->url && ((f != BY_COOKIE && f != BY_AUTHORIZATION) || !strcmp(a->url, g->to->url));
}

static void judge_variant(const struct asked *a, const struct given *g, unsigned mark)
{
	const char *authorization = g->to->values[BY_AUTHORIZATION], *cookie = g->to->values[BY_COOKIE];

	REQUIRE(!g->vary || !is_comparable(a, g, g->vary) || same_field(a, g->to, g->vary), "for-whom", "%u varies by %s: '%s' gets what '%s' got",
	    mark, field_names[g->vary], a->values[g->vary], g->to->values[g->vary]);
	REQUIRE(!*authorization || g->freed || !is_comparable(a, g, BY_AUTHORIZATION) || same_field(a, g->to, BY_AUTHORIZATION), "for-whom",
	    "%u answers Authorization: '%s' gets what '%s' got", mark, a->values[BY_AUTHORIZATION], authorization);
	REQUIRE(a->way != WAY_FORWARD || !is_comparable(a, g, BY_USER) || same_field(a, g->to, BY_USER), "for-whom",
	    "%u answers a field that nobody knows the meaning of: '%s' gets what '%s' got", mark, a->values[BY_USER], g->to->values[BY_USER]);
	REQUIRE(!*cookie || !is_comparable(a, g, BY_COOKIE) || same_field(a, g->to, BY_COOKIE), "for-whom",
	    "%u answers a cookie: '%s' gets what '%s' got", mark, a->values[BY_COOKIE], cookie);
}

static void judge_owner(const struct asked *a, struct given *g, unsigned mark)
{
	bool before = a->moment < g->moment;

	REQUIRE(before || !is_own(g, a), "for-whom", "%u is for who asked alone, and was stored: %s", mark, a->url);
	if (!before || !(is_own(g, a) || (g->shared_later && a->way != WAY_GATEWAY && !a->queued)))
		return;
	REQUIRE(!g->had || g->had == a, "for-whom", "%u is for who asked alone, and two have it: %s", mark, a->url);
	g->had = a;
}

static void judge_purge(const struct judge *j, const struct asked *a, const struct given *g, unsigned mark)
{
	for (size_t i = 0; i < j->n_purged; i++)
		REQUIRE(strcmp(j->purged[i].url, a->url) || strcmp(a->url, g->to->url) || a->moment < j->purged[i].moment ||
		    g->to->moment > j->purged[i].moment, "purged", "%u was purged: %s", mark, a->url);
}

/* An error of the origin's is for all who wait. */
static void judge_mark(struct judge *j, const struct asked *a, unsigned mark)
{
	struct given *g = judge_given(j, mark);

	if (!g || a->way == WAY_OTHER)
		return;
	REQUIRE(!*a->url || !*g->to->url || leads_to(j, a, a->url, g->to->url, JUDGE_HOPS_MAX), "url", "%s gets what %s gave (%u)", a->url, g->to->url,
	    mark);
	judge_purge(j, a, g, mark);
	if (g->status >= 500)
		return;
	judge_variant(a, g, mark);
	judge_owner(a, g, mark);
}

static void judge_cookie(struct judge *j, const struct asked *a, const struct message *m)
{
	char cookie[64];
	struct given *g = NULL;

	if (!strncmp(message_field(m, "set-cookie", cookie, sizeof cookie), "sid=", 4))
		g = judge_given(j, (unsigned)strtoul(cookie + 4, NULL, 10));
	if (!g || !g->own_cookie)
		return;
	REQUIRE(!g->had_cookie || g->had_cookie == a, "for-whom", "two have the cookie of a 304: %s", cookie);
	g->had_cookie = a;
}

/* ---- bodies ---- */

static const char *inflate_body(const struct message *m, size_t *len)
{
	z_stream z = { .next_in = (Bytef *)m->body.bytes, .avail_in = (uInt)m->body.len };
	static char out[JUDGE_INFLATED_MAX];
	int r;

	if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
		abort();
	z.next_out = (Bytef *)out;
	z.avail_out = JUDGE_INFLATED_MAX;
	r = inflate(&z, Z_SYNC_FLUSH);
	*len = (size_t)z.total_out;
	inflateEnd(&z);
	REQUIRE(r == Z_STREAM_END || r == Z_OK || (r == Z_BUF_ERROR && !z.avail_in), "gzip", "%d after %zu bytes", r, *len);
	REQUIRE(r == Z_STREAM_END || !m->ended || m->until_close, "gzip", "a whole response ends after %zu bytes, within its coding", *len);
	return out;
}

/* How many bytes the character at takes (RFC 3629 section 4); 0: it is none; -1: the text ends within it. */
static int character(const unsigned char *at, size_t len)
{
	static const struct { unsigned char first, last, low, high; int n; } forms[] = {
		{ 0x00, 0x7f, 0, 0, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
		if (*at < forms[f].first || *at > forms[f].last)
			continue;
		for (int i = 1; i < forms[f].n; i++) {
			if ((size_t)i == len)
				return -1;
			if (at[i] < (i == 1 ? forms[f].low : 0x80) || at[i] > (i == 1 ? forms[f].high : 0xbf))
				return 0;
		}
		return forms[f].n;
	}
	return 0;
}

static void judge_text(const char *text, size_t len, bool whole)
{
	for (size_t at = 0; at < len;) {
		int n = character((const unsigned char *)text + at, len - at);

		REQUIRE(n > 0 || (n < 0 && !whole), "utf-8", "byte %zu of %zu is not UTF-8 as it is labelled", at, len);
		if (n < 0)
			return;
		at += (size_t)n;
	}
}

/* Its bytes are of our making: a verdict, and neither an error that leaves them as they were nor a part of them. */
static bool is_normalised(const struct message *m)
{
	char rule[256], type[256];

	message_field(m, "x-encoding-rule", rule, sizeof rule);
	message_field(m, "content-type", type, sizeof type);
	return *rule && strncmp(rule, "none", 4) && !strstr(rule, "error=") && m->status == 200 && strcasestr(type, "charset=utf-8");
}

static void judge_body(struct judge *j, const struct asked *a, const struct message *m, const char *body, size_t len)
{
	bool whole = m->ended && m->status == 200 && !a->ranged && strcmp(a->method, "HEAD");

	for (const char *at = body; at && (at = memmem(at, len - (size_t)(at - body), "[[", 2)); at += 2) {
		char number[8] = "";
		struct given *g;

		memcpy(number, at + 2, len - (size_t)(at - body) - 2 < 7 ? len - (size_t)(at - body) - 2 : 7);
		g = strchr(number, ']') ? judge_given(j, (unsigned)strtoul(number, NULL, 10)) : NULL;
		if (!g)
			continue;
		judge_mark(j, a, (unsigned)(g - j->given));
		REQUIRE(!whole || g->whole || g->status != 200, "whole", "%u was cut, and looks complete", (unsigned)(g - j->given));
	}
	if (is_normalised(m))
		judge_text(body, len, m->ended);
}

static void judge_coded_body(struct judge *j, const struct asked *a, const struct message *m)
{
	const char *plain;
	char coding[64];
	size_t len;

	message_field(m, "content-encoding", coding, sizeof coding);
	if (!m->body.len)
		return;
	if (strcmp(coding, "gzip") || !is_normalised(m)) {
		judge_body(j, a, m, m->body.bytes, m->body.len);
		return;
	}
	plain = inflate_body(m, &len);
	judge_body(j, a, m, plain, len);
}

static void note_purge(struct judge *j, const struct asked *a, const struct message *m)
{
	if (!a->purges || m->status != 200 || !*a->url || j->n_purged == JUDGE_MESSAGES_MAX)
		return;
	strcpy(j->purged[j->n_purged].url, a->url);
	j->purged[j->n_purged++].moment = ++j->moment;
}

void judge_answer(struct judge *j, const struct asked *a, const struct message *m)
{
	char mark[16];

	REQUIRE(!message_count(m, "x-forged"), "desync", "a response that answers no request");
	judge_mark(j, a, (unsigned)strtoul(message_field(m, "x-mark", mark, sizeof mark), NULL, 10));
	judge_cookie(j, a, m);
	judge_coded_body(j, a, m);
	note_purge(j, a, m);
}
