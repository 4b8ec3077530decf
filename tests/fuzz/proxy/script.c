/* From bytes to messages; see script.h. */
#include "script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <zlib.h>

#include "world.h"

enum { SCRIPT_BODY_MAX = 80 * 1024, SCRIPT_EXTRA_MAX = 48 };

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define FORGED "HTTP/1.1 200 OK\r\nX-Forged: 1\r\nContent-Length: 6\r\nCache-Control: max-age=60\r\n\r\nforged"

uint8_t script_take(struct script *s)
{
	return s->at < s->end ? *s->at++ : 0;
}

/* Nobody but the harness marks, forges and redirects: else an input could learn to say what is judged. */
static void unmark(char *bytes, size_t len)
{
	static const char *const words[] = { "x-mark", "x-forged", "[[", "location" };

	for (size_t at = 0; at < len; at++)
		for (size_t w = 0; w < COUNT(words); w++)
			if (len - at >= strlen(words[w]) && !strncasecmp(bytes + at, words[w], strlen(words[w])))
				bytes[at] = '-';
}

const char *script_take_bytes(struct script *s, size_t most, size_t *len)
{
	static char room[256];
	size_t n = script_take(s), left = (size_t)(s->end - s->at);

	n = n < most ? n : most;
	n = n < left ? n : left;
	n = n < sizeof room ? n : sizeof room;
	memcpy(room, s->at, n);
	s->at += n;
	unmark(room, n);
	*len = n;
	return room;
}

/* As a part of a line. */
static void take_line(struct script *s, char to[SCRIPT_EXTRA_MAX + 1])
{
	size_t len;
	const char *bytes = script_take_bytes(s, SCRIPT_EXTRA_MAX, &len);

	for (size_t i = 0; i < len; i++)
		to[i] = strchr("\r\n", bytes[i]) ? '-' : bytes[i];
	to[len] = '\0';
}

/* ---- requests ---- */

/* Every way in; the rest of the path follows. */
static const char *const targets[] = {
	"/r/", "/n/", "/c/", "/p/", "/k/", "/http://a.test/r/", "/http://b.test/", "/?url=http://c.test/", "http://a.test/c/",
	"http://b.test/", "http://d.test/", "/http://inner.test/", "/https://b.test/", "/?url=http%3A%2F%2Fb.test%2F",
	"http://nowhere.example/", "/http:/a.test/",
};
static const char *const paths[] = { "x", "y", "z", "x?q=1" };
static const char *const methods[] = { "GET", "GET", "GET", "HEAD", "POST", "PUT", "OPTIONS", "CONNECT" };
static const char *const users[] = { "", "Authorization: Basic YTph\r\n", "Authorization: Basic Yjpi\r\n", "Cookie: sid=a\r\n", "Cookie: sid=b\r\n",
	"X-User: a\r\n", "X-User: b\r\n", "Authorization: Basic YTph\r\nCookie: sid=a\r\nX-User: a\r\n" };
static const char *const languages[] = { "", "Accept-Language: de\r\n", "Accept-Language: fr\r\n", "Accept-Language: de, fr;q=0.5\r\n" };
static const char *const agents[] = { "", "User-Agent: one/1\r\n", "User-Agent: two/1\r\n", "Accept: text/html\r\n" };
static const char *const wishes[] = {
	"", "Accept-Encoding: gzip\r\n", "Range: bytes=0-9\r\n", "If-None-Match: \"a\"\r\n", "Cache-Control: no-cache\r\n", "Range: bytes=5-\r\n",
	"If-Modified-Since: Mon, 21 Sep 2026 00:00:00 GMT\r\n", "Cache-Control: max-age=0\r\n", "Cache-Control: only-if-cached\r\n",
	"Cache-Control: no-store\r\n", "X-Encoding-Policy: feedparser\r\n", "Range: bytes=-5\r\nIf-Range: \"a\"\r\n", "Expect: 100-continue\r\n",
	"Connection: accept-language, x-user\r\n", "Max-Forwards: 1\r\nVia: 1.1 utfeed\r\nCDN-Loop: a, utfeed\r\n", "If-Match: \"a\", \"b\"\r\nPragma: no-cache\r\n",
};
static const char *const ends[] = { "", "Connection: close\r\n", "Connection: keep-alive\r\n", "Upgrade: h2c\r\nConnection: Upgrade\r\n" };
#define SMUGGLED "GET /r/smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n"
static const char *const uploads[] = {
	"\r\n", "Content-Length: 42\r\n\r\n" SMUGGLED, "Transfer-Encoding: chunked\r\n\r\n2a\r\n" SMUGGLED "\r\n0\r\n\r\n", "Content-Length: 60\r\n\r\n" SMUGGLED,
};

static void write_target(struct text *t, uint8_t where, const char *method)
{
	if (!strcmp(method, "CONNECT")) {
		text_puts(t, where & 1 ? "b.test:443" : where & 2 ? "inner.test:443" : "a.test:443");
		return;
	}
	text_puts(t, targets[where % COUNT(targets)]);
	text_puts(t, paths[where / COUNT(targets) % COUNT(paths)]);
}

static void write_fields(struct script *s, struct text *t, bool uploads_body)
{
	uint8_t who = script_take(s), what = script_take(s), how = script_take(s);
	char extra[SCRIPT_EXTRA_MAX + 1];

	text_puts(t, users[who % COUNT(users)]);
	text_puts(t, languages[who / 8 % COUNT(languages)]);
	text_puts(t, agents[who / 32 % COUNT(agents)]);
	text_puts(t, wishes[what % COUNT(wishes)]);
	if (what / 16)
		text_puts(t, wishes[what / 16]);
	text_puts(t, ends[how % COUNT(ends)]);
	take_line(s, extra);
	if (*extra)
		text_printf(t, "%s\r\n", extra);
	text_puts(t, uploads_body ? uploads[how / 4 % COUNT(uploads)] : "\r\n");
}

static void write_request(struct script *s, struct text *t, const char *method, uint8_t where, uint8_t minor)
{
	text_puts(t, method);
	text_puts(t, " ");
	write_target(t, where, method);
	text_printf(t, " HTTP/1.%u\r\nHost: %s\r\n", minor, strcmp(method, "CONNECT") ? "feeds.test" : "a.test:443");
	write_fields(s, t, strcmp(method, "GET") && strcmp(method, "HEAD") && strcmp(method, "CONNECT"));
}

void script_request(struct script *s, struct text *t)
{
	uint8_t what = script_take(s);

	write_request(s, t, methods[what % COUNT(methods)], script_take(s), !(what / 8 % 8 == 7));
}

void script_purge(struct script *s, struct text *t)
{
	write_request(s, t, "PURGE", script_take(s), 1);
}

/* ---- responses ---- */

static const int statuses[] = { 200, 200, 200, 304, 206, 302, 301, 404, 500, 503, 429, 204, 410, 307, 401, 203 };
static const struct { const char *text; bool own, lifetime, frees; } controls[] = {
	{ "", false, false, false }, { "Cache-Control: max-age=60\r\n", false, true, false }, { "Cache-Control: public, max-age=60\r\n", false, true, true },
	{ "Cache-Control: private\r\n", true, false, false }, { "Cache-Control: no-store\r\n", true, false, false },
	{ "Cache-Control: no-cache\r\n", false, false, false }, { "Cache-Control: max-age=0\r\n", false, false, false },
	{ "Cache-Control: s-maxage=60\r\n", false, true, true }, { "Cache-Control: max-age=1, stale-while-revalidate=60\r\n", false, true, false },
	{ "Cache-Control: max-age=2, stale-if-error=600\r\n", false, true, false }, { "Cache-Control: max-age=5, must-revalidate\r\n", false, true, true },
	{ "Cache-Control: private, max-age=60\r\n", true, true, false }, { "Cache-Control: max-age=60, no-transform\r\n", false, true, false },
	{ "Expires: Mon, 21 Sep 2027 00:00:00 GMT\r\n", false, true, false }, { "Cache-Control: max-age=60, no-store\r\n", true, true, false },
	{ "Cache-Control: public\r\n", false, true, true },
};
static const char *const varies[] = {
	"", "Vary: Accept-Language\r\n", "Vary: Cookie\r\n", "Vary: Authorization\r\n", "Vary: User-Agent\r\n", "Vary: X-User\r\n", "Vary: *\r\n",
	"Vary: Accept-Encoding\r\n",
};
static const char *const tags[] = { "", "ETag: \"a\"\r\n", "ETag: W/\"a\"\r\n", "ETag: \"b\"\r\nLast-Modified: Sun, 20 Sep 2026 00:00:00 GMT\r\n" };
static const char *const places[] = {
	"http://a.test/c/y", "http://b.test/x", "/r/y", "http://c.test/z", "https://b.test/x", "http://inner.test/x", "/c/y", "http://a.test/p/x",
};
static const char *const types[] = {
	"application/rss+xml", "text/xml; charset=iso-8859-1", "application/xml; charset=utf-8", "text/html", "application/json", "text/plain",
	"application/atom+xml; charset=utf-16", "",
};

/* What the texts stand in, by what they are encoded in afterwards. */
static const struct { const char *begin, *fill, *end; enum { PLAIN, UTF_16, GZIP } form; } bodies[] = {
	{ "<?xml version=\"1.0\"?><rss>", "<t>a</t>", "</rss>", PLAIN },
	{ "<?xml version=\"1.0\" encoding=\"koi8-r\"?><rss>", "<t>\xc1\xd7</t>", "</rss>", PLAIN },
	{ "<?xml version=\"1.0\" encoding=\"utf-16\"?><rss>", "<t>a</t>", "</rss>", UTF_16 },
	{ "<!DOCTYPE html><p>", "\xff <b>", "</p>", PLAIN }, { "{\"a\": \"", "\\u0000", "\"}", PLAIN }, { "<rss>", "<t>\xe4</t>", "</rss>", GZIP },
	{ "<rss>" FORGED, "\r\n\r\n" FORGED, "</rss>", PLAIN }, { "\n <?xml version='1.0' encoding='big5'?><feed>", "\xa4\xa4\x1b\xff", "</feed>", PLAIN },
};
static const unsigned fills[] = { 1, 0, 40, 300, 3000, 9000, 2, 100 };

static void write_utf_16(struct text *t, const struct text *from)
{
	text_add(t, "\xff\xfe", 2);
	for (size_t i = 0; i < from->len; i++)
		text_add(t, (char[]){ from->bytes[i], 0 }, 2);
}

static void write_gzip(struct text *t, const struct text *from)
{
	z_stream z = { .next_in = (Bytef *)from->bytes, .avail_in = (uInt)from->len };
	static char room[SCRIPT_BODY_MAX];

	z.next_out = (Bytef *)room;
	z.avail_out = sizeof room;
	if (deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK || deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	text_add(t, room, (size_t)z.total_out);
	deflateEnd(&z);
}

static void write_body(const struct reply *r, unsigned number, struct text *t)
{
	size_t kind = r->body % COUNT(bodies);
	unsigned fill = fills[r->body / COUNT(bodies) % COUNT(fills)];
	struct text plain = { 0 };

	text_printf(&plain, "%s[[%u]]", bodies[kind].begin, number);
	for (unsigned i = 0; i < fill && plain.len < SCRIPT_BODY_MAX / 2; i++)
		text_puts(&plain, bodies[kind].fill);
	text_puts(&plain, bodies[kind].end);
	if (bodies[kind].form == UTF_16)
		write_utf_16(t, &plain);
	else if (bodies[kind].form == GZIP)
		write_gzip(t, &plain);
	else
		text_add(t, plain.bytes, plain.len);
	free(plain.bytes);
}

static bool is_redirect(const struct reply *r)
{
	return r->given.status / 100 == 3 && r->given.status != 304;
}

static bool has_body(const struct reply *r)
{
	return r->given.status != 304 && r->given.status != 204 && (!r->given.to || strcmp(r->given.to->method, "HEAD"));
}

static void write_chunks(struct text *t, const struct text *body, uint8_t framing)
{
	size_t step = framing & 16 ? 7 : 4096;

	for (size_t at = 0; at < body->len; at += step) {
		size_t n = body->len - at < step ? body->len - at : step;

		text_printf(t, "%zx%s\r\n", n, framing & 32 ? ";a=b" : "");
		text_add(t, body->bytes + at, n);
		text_puts(t, "\r\n");
	}
	text_puts(t, framing & 64 ? "0\r\nX-Trailer: a\r\nVary: *\r\n\r\n" : "0\r\n\r\n");
}

/* By length, in chunks, up to the connection's end, by a length that says more than comes. */
static void write_framed(const struct reply *r, struct text *t, const struct text *body)
{
	if (!has_body(r)) {
		text_puts(t, "\r\n");
		return;
	}
	switch (r->framing % 4) {
	case 1:
		text_puts(t, "Transfer-Encoding: chunked\r\n\r\n");
		write_chunks(t, body, r->framing);
		return;
	case 2:
		text_puts(t, "\r\n");
		break;
	default:
		text_printf(t, "Content-Length: %zu\r\n\r\n", body->len + (r->framing % 4 == 3));
	}
	text_add(t, body->bytes, body->len);
}

static void write_date(struct text *t)
{
	time_t now = (time_t)world_wall_s();
	char date[64];
	struct tm tm;

	strftime(date, sizeof date, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", gmtime_r(&now, &tm));
	text_puts(t, date);
}

static void write_head(const struct reply *r, unsigned number, struct text *t)
{
	const char *type = types[r->type % COUNT(types)];

	if (r->interim)
		text_puts(t, "HTTP/1.1 103 Early Hints\r\nLink: </s>; rel=preload\r\n\r\n");
	text_printf(t, "HTTP/1.1 %d Word\r\nX-Mark: %u\r\n", r->given.status, number);
	if (!(r->framing & 128))
		write_date(t);
	text_puts(t, controls[r->control % COUNT(controls)].text);
	text_puts(t, varies[r->fields % COUNT(varies)]);
	if (r->fields & 8)
		text_printf(t, "Set-Cookie: sid=%u\r\n", number);
	text_puts(t, tags[r->fields / 16 % COUNT(tags)]);
	text_puts(t, r->fields & 64 ? "Age: 30\r\n" : "");
	text_puts(t, r->fields & 128 ? "Retry-After: 5\r\nConnection: close\r\n" : "");
	if (*type)
		text_printf(t, "Content-Type: %s\r\n", type);
	if (is_redirect(r))
		text_printf(t, "Location: %s\r\n", places[r->place % COUNT(places)]);
	if (bodies[r->body % COUNT(bodies)].form == GZIP)
		text_puts(t, "Content-Encoding: gzip\r\n");
	if (*r->extra)
		text_printf(t, "%s\r\n", r->extra);
}

/* Of a part the bytes that it names: the first ten, or from the sixth on. */
static void cut_part(const struct reply *r, struct text *head, struct text *body)
{
	size_t from = r->place & 1 ? 5 : 0, len = body->len, to = r->place & 1 || len < 10 ? len : 10;

	if (r->given.status != 206 || len <= from)
		return;
	text_printf(head, "Content-Range: bytes %zu-%zu/%zu\r\n", from, to - 1, len);
	memmove(body->bytes, body->bytes + from, to - from);
	body->len = to - from;
}

size_t reply_write(const struct reply *r, unsigned number, struct text *t)
{
	struct text body = { 0 };
	size_t len;

	write_body(r, number, &body);
	write_head(r, number, t);
	cut_part(r, t, &body);
	write_framed(r, t, &body);
	len = t->len;
	if (r->surplus)
		text_puts(t, FORGED);
	free(body.bytes);
	return len;
}

size_t reply_cut(const struct reply *r, size_t len)
{
	return r->cut ? len * r->cut / 256 : len;
}

void script_reply(struct script *s, struct reply *r)
{
	uint8_t status = script_take(s), framing;

	*r = (struct reply){ .given = { .status = statuses[status % COUNT(statuses)] }, .interim = status & 16, .surplus = (status & 224) == 224 };
	r->control = script_take(s);
	r->fields = script_take(s);
	r->body = script_take(s);
	r->type = script_take(s);
	r->framing = framing = script_take(s);
	r->cut = script_take(s);
	r->place = script_take(s);
	take_line(s, r->extra);
	r->until_close = framing % 4 == 2;
	r->short_of = framing % 4 == 3;
	r->surplus &= !r->short_of;
}

/* A field of the input's own may say that more is for nobody else, or less. */
static bool is_said(const struct reply *r, const char *word)
{
	return strcasestr(r->extra, word);
}

/* "host/path". */
static void set_location(struct reply *r)
{
	const char *place = places[r->place % COUNT(places)], *scheme = strstr(place, "://"), *url = r->given.to ? r->given.to->url : "";

	*r->given.location = '\0';
	if (is_redirect(r) && scheme)
		snprintf(r->given.location, sizeof r->given.location, "%s", scheme + 3);
	else if (is_redirect(r) && *url)
		snprintf(r->given.location, sizeof r->given.location, "%.*s%s", (int)strcspn(url, "/"), url, place);
}

void reply_about(struct reply *r, const struct asked *to)
{
	static const enum judge_field by[] = { BY_NOTHING, BY_LANGUAGE, BY_COOKIE, BY_AUTHORIZATION, BY_AGENT, BY_USER, BY_NOTHING, BY_NOTHING };
	size_t control = r->control % COUNT(controls);
	bool cookie = r->fields & 8, told = is_said(r, "control") || is_said(r, "connection");

	r->given.to = to;
	r->given.own = !told && controls[control].own;
	r->given.own_by_cookie = !told && cookie && !controls[control].lifetime && !is_said(r, "expires");
	r->given.shared_later = cookie && !told;
	r->given.own_cookie = cookie && !told && r->given.status == 304;
	r->given.freed = controls[control].frees || told;
	r->given.vary = told ? BY_NOTHING : by[r->fields % COUNT(varies)];
	set_location(r);
}

void script_forge(struct text *t)
{
	text_puts(t, FORGED);
}
