/* Owns the cases of proxy/object/transform.c: body bytes to object, through every coding.
 * Must not know: policies' rules. Invariant: head, bytes and failure are the same wherever the body is cut, however little room
 * the object has. */
#include "tests/unit/transforms.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static struct transform_options options_for(bool raw_coding)
{
	return (struct transform_options){
		.loop = transforms_loop, .normalise = true, .respect_no_transform = true, .client_codings = { raw_coding ? ~0u : 0 },
		.encoding = { .policy = POLICY_AUTO, .http = true, .on_error = ON_ERROR_REJECT, .repairs = REPAIR_ALL },
		.limits = { 1000, 1000000, 0, UINT64_MAX },
		.head = { .via = "me", .date = "NOW", .etag_suffix = ";utf-00000000", .output = OUTPUT_UTF_8 },
	};
}

static const struct { const char *field, *recipe; } codings[] = {
	{ "", "" },
	{ "Content-Encoding: gzip\r\n", "g" },
	{ "Content-Encoding: deflate\r\n", "z" },
	{ "Content-Encoding: deflate\r\n", "r" },
	{ "Content-Encoding: gzip, gzip\r\n", "gg" },
};

#define KOI "<?xml version='1.0' encoding='koi8-r'?><rss><title>\xf2\xd5\xd3\xd3\xcb\xc9\xca</title></rss>"
#define KOI_OUT "<?xml version='1.0' encoding=\"UTF-8\"?><rss><title>\xd0\xa0\xd1\x83\xd1\x81\xd1\x81\xd0\xba\xd0\xb8\xd0\xb9</title></rss>"
#define HTML "<!DOCTYPE html><html><body>caf\xe9</body></html>"

#define KML(encoding, text) "<?xml version='1.0' encoding=" encoding "?><kml><name>" text "</name></kml>"
#define RUSSKIY "\xf2\xd5\xd3\xd3\xcb\xc9\xca"
#define RUSSKIY_OUT "\xd0\xa0\xd1\x83\xd1\x81\xd1\x81\xd0\xba\xd0\xb8\xd0\xb9"
#define KML_TYPE "Content-Type: application/vnd.google-earth.kml+xml"

enum way { MADE, MADE_AS_TYPED, LEFT, REFUSED };

static const struct body_case {
	const char *rule, *status_line, *fields, *in, *out;
	enum way way;
	const char *rule_field;         /* part of X-Encoding-Rule */
	bool off, never_unpacked;
	enum policy policy;
} body_cases[] = {
	{ "normalised", "200 OK", "Content-Type: text/xml\r\n", KOI, KOI_OUT, MADE, "charset=koi8-r", false, false, POLICY_AUTO },
	{ "not XML", "200 OK", "Content-Type: text/html\r\n", HTML, HTML, LEFT, "none;reason=not-xml", false, false, POLICY_AUTO },
	{ "nothing", "200 OK", "Content-Type: text/xml\r\n", "", "", LEFT, "none;reason=empty", false, false, POLICY_AUTO },
	{ "404", "404 Not Found", "Content-Type: text/xml\r\n", KOI, KOI, LEFT, "none;reason=status", false, false, POLICY_AUTO },
	{ "206 cannot be unpacked", "206 Partial Content", "Content-Range: bytes 0-1/2\r\n", KOI, KOI, LEFT, "none;reason=partial", false, true, POLICY_AUTO },
	{ "no-transform: coded as it came", "200 OK", "Cache-Control: no-transform\r\n", KOI, KOI, LEFT, "none;reason=no-transform", false, true, POLICY_AUTO },
	{ "off", "200 OK", "Content-Type: text/xml\r\n", KOI, KOI, LEFT, "none;reason=disabled", true, false, POLICY_AUTO },
	{ "another document", "200 OK", KML_TYPE "\r\n", KML("'utf-8'", RUSSKIY_OUT), KML("'utf-8'", RUSSKIY_OUT), LEFT, "none;reason=not-xml", false, false, POLICY_AUTO },
	{ "another document in a legacy charset", "200 OK", KML_TYPE "\r\n", KML("'koi8-r'", RUSSKIY), KML("\"UTF-8\"", RUSSKIY_OUT), MADE_AS_TYPED, "charset=koi8-r",
	  false, false, POLICY_AUTO },
	{ "the same, by its header", "200 OK", KML_TYPE ";CHARSET=koi8-r\r\n", KML("'koi8-r'", RUSSKIY), KML("\"UTF-8\"", RUSSKIY_OUT), MADE_AS_TYPED, "charset=koi8-r",
	  false, false, POLICY_AUTO },
	{ "an error under a strict policy", "200 OK", "Content-Type: text/plain\r\n", KOI, "", REFUSED, "", false, false, POLICY_ROME_STRICT },
};

static bool check_head(const struct outcome *o, const struct body_case *c, bool coded)
{
	bool kept = strstr(o->head, "Content-Encoding:") != NULL;
	const char *rule = strstr(o->head, "X-Encoding-Rule: ");

	return kept == coded && rule && strstr(rule, c->rule_field) &&
		(strstr(o->head, "Content-Type: application/xml; charset=utf-8\r\n") != NULL) == (c->way == MADE) &&
		(strstr(o->head, KML_TYPE "; charset=utf-8\r\n") != NULL) == (c->way == MADE_AS_TYPED);
}

static void check_case(const struct body_case *c, size_t coding, bool raw_coding)
{
	static const size_t transits[] = { 1, 1 << 20 };
	struct transform_options options = options_for(raw_coding);
	struct bytes in = packed(*c->in ? codings[coding].recipe : "", c->in, strlen(c->in));
	bool keeps = c->way == LEFT && (raw_coding || c->never_unpacked);
	struct bytes want = keeps ? bytes_of(in.at, in.len) : bytes_of(c->out, strlen(c->out));
	char head[TRANSFORMS_HEAD_MAX];

	options.normalise = !c->off;
	options.encoding.policy = c->policy;
	snprintf(head, sizeof(head), "HTTP/1.1 %s\r\n%s%s\r\n", c->status_line, c->fields, codings[coding].field);
	for (size_t n = 0; n < (in.len + 1) * COUNT(transits); n++) {
		size_t cut = n / COUNT(transits), transit = transits[n % COUNT(transits)];
		struct outcome o = transforms_run(head, &options, false, &in, cut, cut == in.len ? 1 : in.len + 1, transit);
		bool held;

		if (c->way == REFUSED)
			held = UNIT_ROW(o.result == TRANSFORM_FAILED && o.failure.error == FAILURE_ENCODING && !o.head[0] && !o.body.len,
				"%s, %s, cut at %zu: %d %s", c->rule, codings[coding].recipe, cut, (int)o.result, o.failure.details);
		else {
			held = UNIT_ROW(o.result == TRANSFORM_OK, "%s, %s, cut at %zu: %s", c->rule, codings[coding].recipe, cut, o.failure.details);
			held &= UNIT_ROW(check_head(&o, c, keeps && coding), "%s, %s, %d, cut at %zu: %s", c->rule, codings[coding].recipe, raw_coding, cut, o.head);
			held &= UNIT_ROW(o.body.len == want.len && memcmp(o.body.at, want.at, want.len) == 0, "%s, %s, %d, cut at %zu: %zu bytes: %.*s", c->rule,
				codings[coding].recipe, raw_coding, cut, o.body.len, (int)o.body.len, (const char *)o.body.at);
		}
		free(o.body.at);
		if (!held)
			break;
	}
	free(in.at);
	free(want.at);
}

static void bodies(void)
{
	for (size_t i = 0; i < COUNT(body_cases); i++)
		for (size_t coding = 0; coding < COUNT(codings); coding++) {
			check_case(&body_cases[i], coding, false);
			check_case(&body_cases[i], coding, true);
		}
}

/* What ends a transfer, and what it may have sent by then. */
static void failures(void)
{
	static const struct {
		const char *rule, *fields, *recipe;
		size_t dropped;
		bool damaged, raw_coding;
		enum failure_kind error;       /* FAILURE_NONE: goes through */
	} cases[] = {
		{ "cut off", "Content-Encoding: gzip\r\n", "g", 1, false, false, FAILURE_HTTP_RESPONSE_INCOMPLETE },
		{ "cut off, though the client would take gzip", "Content-Encoding: gzip\r\n", "g", 9, false, true, FAILURE_HTTP_RESPONSE_INCOMPLETE },
		{ "raw deflate cut off", "Content-Encoding: deflate\r\n", "r", 2, false, false, FAILURE_HTTP_RESPONSE_INCOMPLETE },
		{ "damaged", "Content-Encoding: gzip\r\n", "g", 0, true, false, FAILURE_HTTP_CONTENT_CODING },
		{ "damaged, though the client would take gzip", "Content-Encoding: gzip\r\n", "g", 0, true, true, FAILURE_HTTP_CONTENT_CODING },
		{ "not coded at all", "Content-Encoding: gzip\r\n", "", 0, false, false, FAILURE_HTTP_CONTENT_CODING },
		{ "fine", "Content-Encoding: gzip\r\n", "g", 0, false, false, FAILURE_NONE },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bytes in = packed(cases[i].recipe, KOI, sizeof(KOI) - 1);
		struct transform_options options = options_for(cases[i].raw_coding);
		char head[TRANSFORMS_HEAD_MAX];

		in.len -= cases[i].dropped;
		if (cases[i].damaged)
			in.at[in.len - 8] ^= 1;
		snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n%s\r\n", cases[i].fields);
		for (size_t cut = 0; cut <= in.len; cut++) {
			struct outcome o = transforms_run(head, &options, false, &in, cut, cut == in.len ? 1 : in.len, 1000);
			bool held = UNIT_ROW((o.result == TRANSFORM_FAILED) == (cases[i].error != FAILURE_NONE) &&
				(o.result == TRANSFORM_OK || o.failure.error == cases[i].error), "%s, cut at %zu: %d %s", cases[i].rule, cut, (int)o.result, o.failure.details);

			free(o.body.at);
			if (!held)
				break;
		}
		free(in.at);
	}
}

/* A coding we do not know is left as it is, whatever the client takes. */
static void unknown_coding(void)
{
	struct bytes in = bytes_of("\x0b\x02\x80 brotli", 10);

	for (int raw_coding = 0; raw_coding < 2; raw_coding++) {
		struct transform_options options = options_for(raw_coding);
		struct outcome o = transforms_run("HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Encoding: compress\r\n\r\n", &options, false, &in, 3, in.len, 1);

		CU_ASSERT_EQUAL(o.result, TRANSFORM_OK);
		UNIT_ROW(strstr(o.head, "Content-Encoding: compress\r\n") && strstr(o.head, "X-Encoding-Rule: none;reason=encoded\r\n"), "%s", o.head);
		CU_ASSERT(o.body.len == in.len && memcmp(o.body.at, in.at, in.len) == 0);
		free(o.body.at);
	}
	free(in.at);
}

/* Text that packs badly, several windows and slices long, as XML and not as XML. */
static void long_bodies(void)
{
	enum { LONG = 100000 };
	static const size_t steps[] = { 100, 4096, 16384, LONG * 2 }, windows[] = { 1024, 4096, 65536 };
	uint32_t random = 1;
	struct bytes text = bytes_of("", 0);

	while (text.len < LONG) {
		char c = (char)('a' + (random = random * 1664525 + 1013904223) % 4093 % 64 % 26);

		bytes_add(&text, &c, 1);
	}
	for (int xml = 0; xml < 2; xml++)
		for (size_t coding = 0; coding < COUNT(codings); coding++)
			for (size_t n = 0; n < COUNT(steps) * COUNT(windows) * 2; n++) {
				size_t step = steps[n % COUNT(steps)], window = windows[n / COUNT(steps) % COUNT(windows)];
				bool raw_coding = n >= COUNT(steps) * COUNT(windows), keeps = !xml && raw_coding && coding;
				struct transform_options options = options_for(raw_coding);
				struct bytes in, want;
				struct outcome o;
				char head[TRANSFORMS_HEAD_MAX];

				memcpy(text.at, xml ? "<rss>" : "words", 5);
				memcpy(text.at + text.len - 6, xml ? "</rss>" : "words.", 6);
				in = packed(codings[coding].recipe, text.at, text.len);
				want = keeps ? in : text;
				options.encoding.sniff_bytes = window;
				snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n%s\r\n", xml ? "text/xml" : "text/plain", codings[coding].field);
				o = transforms_run(head, &options, false, &in, 0, step, 5000);
				UNIT_ROW(o.result == TRANSFORM_OK, "%s, xml %d, step %zu, window %zu: %s", codings[coding].recipe, xml, step, window, o.failure.details);
				UNIT_ROW((strstr(o.head, "Content-Encoding") != NULL) == keeps, "%s, xml %d, step %zu, window %zu", codings[coding].recipe, xml, step, window);
				UNIT_ROW(o.body.len == want.len && memcmp(o.body.at, want.at, want.len) == 0, "%s, xml %d, step %zu, window %zu, takes it %d: %zu bytes",
					codings[coding].recipe, xml, step, window, raw_coding, o.body.len);
				free(o.body.at);
				free(in.at);
			}
	free(text.at);
}

/* A member of gzip whose comment never ends. */
static struct bytes endless_comment(size_t len)
{
	struct bytes b = bytes_of("\x1f\x8b\x08\x10\0\0\0\0\0\3", 10);

	while (b.len < len)
		bytes_add(&b, "comment ", 8);
	return b;
}

static bool went_on(const struct outcome *o, const struct bytes *want, bool made)
{
	return o->result == TRANSFORM_OK && o->body.len == want->len && memcmp(o->body.at, want->at, want->len) == 0 &&
		(strstr(o->head, "Content-Type: application/xml; charset=utf-8\r\n") != NULL) == made && !strstr(o->head, "Content-Encoding") &&
		(strstr(o->head, "X-Encoding-Rule: none;") == NULL) == made && !strstr(o->head, "Vary");
}

/* Issue 30, A9: gzip that no coding tells of is unpacked where a feed is in it, and else goes on as it came. */
static void untold_gzip(void)
{
	static const struct {
		const char *rule, *type, *recipe, *text;
		bool made, damaged;
		size_t dropped;
	} cases[] = {
		{ "a feed", "application/rss+xml", "g", KOI, true, false, 0 },
		{ "a feed, by a script", "text/html; charset=iso-8859-1", "g", KOI, true, false, 0 },
		{ "a feed to be downloaded", "application/octet-stream", "g", KOI, false, false, 0 },
		{ "a feed, as its type says", "application/gzip", "g", KOI, false, false, 0 },
		{ "another document", "application/xml", "g", KML("'koi8-r'", RUSSKIY), false, false, 0 },
		{ "a page", "text/xml", "g", HTML, false, false, 0 },
		{ "nothing", "text/xml", "g", "", false, false, 0 },
		{ "gzip again", "text/xml", "gg", KOI, false, false, 0 },
		{ "damaged", "text/xml", "g", KOI, false, true, 0 },
		{ "cut", "text/xml", "g", KOI, false, false, 1 },
		{ "cut, in the header", "text/xml", "g", KOI, false, false, sizeof(KOI) },
		{ "no gzip", "text/xml", "", KOI, true, false, 0 },
		{ "three bytes of it", "text/xml", "", "\x1f\x8b\x08", false, false, 0 },
		{ "a control", "text/xml", "", "\x1f<rss>\xc3\xa9</rss>", true, false, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		bool packs = cases[i].recipe[0] != '\0';
		const char *out = !packs && cases[i].text[0] == 0x1f ? "<rss>\xc3\xa9</rss>" : KOI_OUT;
		struct bytes in = packed(cases[i].recipe, cases[i].text, strlen(cases[i].text)), want;
		char head[TRANSFORMS_HEAD_MAX];

		in.len = cases[i].dropped < in.len ? in.len - cases[i].dropped : 3;
		if (cases[i].damaged)
			in.at[in.len - 8] ^= 1;
		want = cases[i].made ? bytes_of(out, strlen(out)) : bytes_of(in.at, in.len);
		snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n\r\n", cases[i].type);
		for (size_t cut = 0; cut <= in.len + 1; cut++) {
			struct transform_options options = options_for(cut % 2);
			size_t step = cut > in.len ? 0 : cut == in.len ? 1 : in.len + 1;
			struct outcome o = transforms_run(head, &options, cut % 3 == 0, &in, step ? cut : 0, step, 1 + cut);
			bool held = UNIT_ROW(went_on(&o, &want, cases[i].made), "%s, cut at %zu: %s", cases[i].rule, cut, o.head);

			free(o.body.at);
			if (!held)
				break;
		}
		free(in.at);
		free(want.at);
	}
}

/* The same where the body is longer than the window: what is decided is not taken back. */
static void long_untold_gzip(void)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n\r\n";
	static const size_t steps[] = { 0, 100, 16384 };
	struct bytes text = bytes_of("<rss>", 5);

	for (unsigned n = 0; n < 20000; n++) {
		char number[32];

		bytes_add(&text, number, (size_t)snprintf(number, sizeof(number), "<a>%u</a>", n * 2654435761u));
	}
	bytes_add(&text, "</rss>", 6);
	for (size_t i = 0; i < COUNT(steps); i++) {
		struct transform_options options = options_for(false);
		struct bytes in = packed("g", text.at, text.len), header = endless_comment(600000);
		struct outcome o = transforms_run(head, &options, false, &in, 0, steps[i], 100000);

		UNIT_ROW(went_on(&o, &text, true), "by %zu: %zu of %zu bytes, %s", steps[i], o.body.len, text.len, o.head);
		free(o.body.at);
		in.at[in.len - 8] ^= 1;
		o = transforms_run(head, &options, false, &in, 0, steps[i], 100000);
		CU_ASSERT_EQUAL(o.failure.error, FAILURE_HTTP_CONTENT_CODING);
		free(o.body.at);
		o = transforms_run(head, &options, false, &header, 0, steps[i], 1000000);
		CU_ASSERT_TRUE(went_on(&o, &header, false));
		free(o.body.at);
		options.limits.ratio = 2;
		options.limits.ratio_after = 100;
		o = transforms_run(head, &options, false, &in, 0, steps[i], 1000000);
		CU_ASSERT_TRUE(went_on(&o, &in, false));
		free(o.body.at);
		free(in.at);
		free(header.at);
	}
	free(text.at);
}

/* Issue 32: where a feed is kept, what takes its place is a feed, however the body is cut, coded, and labelled. */
static void needing_a_feed(void)
{
	static const struct { const char *rule, *status_line, *fields, *in; bool feed; } cases[] = {
		{ "a feed", "200 OK", "Content-Type: text/xml\r\n", KOI, true },
		{ "under another type", "200 OK", "Content-Type: text/html\r\n", KOI, true },
		{ "a page", "200 OK", "Content-Type: text/html\r\n", HTML, false },
		{ "a page as a feed", "200 OK", "Content-Type: application/rss+xml\r\n", HTML, false },
		{ "another document", "200 OK", KML_TYPE "\r\n", KML("'koi8-r'", RUSSKIY), false },
		{ "JSON Feed", "200 OK", "Content-Type: application/feed+json\r\n", "{\"version\": \"https://jsonfeed.org/version/1.1\"}", false },
		{ "nothing", "200 OK", "Content-Type: text/xml\r\n", "", false },
		{ "nothing, as its length tells", "200 OK", "Content-Type: text/xml\r\nContent-Length: 0\r\n", "", false },
		{ "202", "202 Accepted", "Content-Type: text/xml\r\n", KOI, false },
		{ "what may not be touched cannot be judged", "200 OK", "Content-Type: text/html\r\nCache-Control: no-transform\r\n", HTML, true },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		for (size_t n = 0; n < 2 * COUNT(codings); n++) {
			const size_t coding = n / 2;
			struct bytes in = packed(*cases[i].in ? codings[coding].recipe : "", cases[i].in, strlen(cases[i].in));
			char head[TRANSFORMS_HEAD_MAX];

			snprintf(head, sizeof(head), "HTTP/1.1 %s\r\n%s%s\r\n", cases[i].status_line, cases[i].fields, codings[coding].field);
			for (size_t cut = 0; cut <= in.len; cut++) {
				struct transform_options options = options_for(n % 2);
				struct outcome o;

				options.needs_feed = true;
				o = transforms_run(head, &options, true, &in, cut, cut == in.len ? 0 : in.len + 1, 1000);
				UNIT_ROW((o.result == TRANSFORM_OK) == cases[i].feed, "%s, %s, cut at %zu: %s", cases[i].rule, codings[coding].recipe, cut,
				    o.failure.details);
				UNIT_ROW(cases[i].feed || (o.failure.error == FAILURE_NO_FEED && !o.head[0] && !o.body.len), "%s: nothing went out: %s", cases[i].rule,
				    failure_token(o.failure.error));
				free(o.body.at);
			}
			free(in.at);
		}
}

/* Issue 32: a body that breaks off within its window has begun with nothing, under any policy. */
static void waiting_for_the_window(void)
{
	static const enum policy policies[] = { POLICY_AUTO, POLICY_RFC7303, POLICY_ROME_LENIENT };
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n\r\n";
	struct http_msg m;

	transforms_parse(&m, head);
	for (size_t i = 0; i < COUNT(policies); i++)
		for (int needs = 0; needs < 2; needs++) {
			struct transform_options options = options_for(false);
			struct object *object = object_new(100000);
			struct transform *s;
			struct bytes piece = bytes_of("<?xml version='1.0' encoding='koi8-r'?><rss>", 44);
			size_t used;

			options.needs_feed = needs;
			options.encoding.policy = policies[i];
			s = transform_new(object, &m, &options);
			CU_ASSERT_EQUAL(transform_start(s), TRANSFORM_OK);
			while (piece.len < 5000)
				bytes_add(&piece, "<a>text</a>", 11);
			CU_ASSERT_EQUAL(transform_feed(s, piece.at, piece.len, &used), TRANSFORM_OK);
			UNIT_ROW((object_phase(object) == OBJECT_WAITING) == (needs || policies[i] == POLICY_AUTO), "%s, %d", policy_name(policies[i]), needs);
			transform_free(&s);
			free(piece.at);
			object_unref(&object);
		}
	http_msg_free(&m);
}

static void run_needing(void) { transforms_with_loop(needing_a_feed); }
static void run_waiting(void) { transforms_with_loop(waiting_for_the_window); }
static void run_untold(void) { transforms_with_loop(untold_gzip); }
static void run_long_untold(void) { transforms_with_loop(long_untold_gzip); }
static void run_bodies(void) { transforms_with_loop(bodies); }
static void run_failures(void) { transforms_with_loop(failures); }
static void run_unknown(void) { transforms_with_loop(unknown_coding); }
static void run_long(void) { transforms_with_loop(long_bodies); }

UNIT_SUITE(transform, { "bodies", run_bodies }, { "failures", run_failures }, { "unknown coding", run_unknown }, { "long bodies", run_long },
    { "issue 30: untold gzip", run_untold }, { "long untold gzip", run_long_untold },
    { "issue 32: needing a feed", run_needing }, { "issue 32: waiting for the window", run_waiting })
