/* Owns the cases of the normaliser's windows: when it decides, and what the first bytes beyond ASCII correct.
 * Must not know: how a policy decides (test_policy*.c). */
#include "core/text/utf8.h"
#include "tests/unit/normalise/cuts.h"

static char *padded(const char *head, size_t pad, const char *tail, size_t tail_len, size_t *len)
{
	size_t head_len = strlen(head);
	char *in = malloc(head_len + pad + tail_len + 1);

	memcpy(in, head, head_len);
	memset(in + head_len, 'x', pad);
	memcpy(in + head_len + pad, tail, tail_len);
	*len = head_len + pad + tail_len;
	return in;
}

/* utfeed-rules(7), "Steps of auto": nothing but ASCII in the first window. */
static void revision(void)
{
	static const struct {
		const char *rule, *content_type, *head, *tail;
		size_t sniff, repeat;       /* times the tail is written */
		const char *first, *last, *text;
	} cases[] = {
		{ "us-ascii by text/xml, is UTF-8", "text/xml", "<rss>", "é", 64, 1, "auto:2.1;charset=us-ascii", "auto:2.1/utf8;charset=utf-8;was=us-ascii", "é" },
		{ "us-ascii by text/xml, is windows-1252", "text/xml", "<rss>", "\x93!\x94", 64, 1, "auto:2.1;charset=us-ascii", "auto:2.1;charset=windows-1252;next=windows-1251;margin=1",
		  "“!”" },
		{ "us-ascii by an alias", "application/xml; charset=ANSI_X3.4-1968", "<rss>", "", 64, 0, "auto:2.5;charset=us-ascii", "auto:2.5;charset=us-ascii", "" },
		{ "a name for more than that", "application/xml; charset=iso-8859-1", "<rss>", "", 64, 0, "auto:2.5;charset=windows-1252",
		  "auto:2.5;charset=windows-1252", "" },
		{ "longer than the second window", "text/xml", "<rss>", "é", 64, 3000, "auto:2.1;charset=us-ascii", "auto:2.1/utf8;charset=utf-8;was=us-ascii", "é" },
		{ "utf-8 by the declaration, and it is", "application/xml", D("utf-8") "<rss>", "é", 64, 2, "auto:2.0/1.2;charset=utf-8", "auto:2.0/1.2;charset=utf-8", "é" },
		{ "the label keeps its word", "application/xml; charset=koi8-r", "<rss>", "\xf0\xd2\xc9\xd7\xc5\xd4", 64, 1, "auto:2.5;charset=koi8-r",
		  "auto:2.5;charset=koi8-r", "Привет" },
		{ "decided by its mark for good", "text/xml", BOM "<rss>", "\xe9!", 64, 1, "auto:2.1/bom;charset=utf-8;was=us-ascii", "auto:2.1/bom;charset=utf-8;was=us-ascii", "é!" },
		{ "trust 20: the first escape behind the window", "application/xml", "<rss>", "\x1b$B%K%e!<%9\x1b(B ", 64, 1,
		  "auto:2.0/1.0;charset=utf-8", "auto:2.0/1.0/escapes;charset=iso-2022-jp;was=utf-8", "ニュース " },
		{ "trust 20: the label's, behind the window", "text/xml; charset=utf-8", D("iso-2022-jp") "<rss>", "\x1b$B%K%e!<%9\x1b(B ", 64, 900,
		  "auto:2.5;charset=utf-8", "auto:2.5/decl;charset=iso-2022-jp;was=utf-8", "ニュース " },
		{ "an escape by itself", "text/xml", "<rss>", "\x1b[1m\x1b(B", 64, 900, "auto:2.1;charset=us-ascii", "auto:2.1;charset=us-ascii", "[1m(B" },
		{ "and text behind it", "text/xml", "<rss>\x1b[1m", "é", 64, 1, "auto:2.1;charset=us-ascii", "auto:2.1/utf8;charset=utf-8;was=us-ascii", "é" },
		{ "the body ends in the window", "text/xml", "<rss>", "", 64, 0, "auto:2.1;charset=us-ascii", "auto:2.1;charset=us-ascii", "" },
	};
	static struct seen s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct normalise_options o = automatic;
		size_t len, tail_len = strlen(cases[i].tail) * cases[i].repeat, text_len = strlen(cases[i].text), at;
		char *tail = malloc(tail_len + 1), *in;

		for (size_t j = 0; j < cases[i].repeat; j++)
			memcpy(tail + j * strlen(cases[i].tail), cases[i].tail, strlen(cases[i].tail));
		in = padded(cases[i].head, 100, tail, tail_len, &len);
		o.http = true;
		o.content_type = cases[i].content_type;
		o.content_type_len = strlen(cases[i].content_type);
		o.sniff_bytes = cases[i].sniff;
		o.repairs &= ~(unsigned)REPAIR_END;     /* these documents have no end */
		run_cuts(&s, cases[i].rule, &o, in, len);
		UNIT_ROW(s.rc == 0, "%s: %d", cases[i].rule, s.rc);
		UNIT_ROW(strcmp(s.first, cases[i].first) == 0, "%s: first %s", cases[i].rule, s.first);
		UNIT_ROW(strcmp(s.rule, cases[i].last) == 0, "%s: last %s", cases[i].rule, s.rule);
		UNIT_ROW(s.report.revised == (strcmp(cases[i].first, cases[i].last) != 0) && s.revised == s.report.revised, "%s", cases[i].rule);
		UNIT_ROW(utf8_valid_prefix((uint8_t *)s.out, s.len) == s.len, "%s", cases[i].rule);
		at = s.len - text_len * cases[i].repeat;
		UNIT_ROW(s.len >= text_len && memcmp(s.out + at, cases[i].text, text_len) == 0, "%s: %.*s", cases[i].rule, 40, s.out + at);
		free(tail);
		free(in);
	}
}

/* ISO-2022-JP wherever its first escape sequence stands: around the end of the first window, around that of a second window that an escape
 * without a meaning has opened, and far inside one window. */
static void late_escapes(void)
{
	static const char text[] = "\x1b$B%K%e!<%9\x1b(B</rss>", noise[] = "\x1b[1m";
	static const struct {
		const char *rule, *content_type, *head, *last;
		size_t sniff, noise_at, from, to;
	} cases[] = {
		{ "first window", "application/xml", "<rss>", "auto:2.0/1.0/escapes;charset=iso-2022-jp;was=utf-8", 256, 0, 244, 260 },
		{ "first window, declared", "text/xml; charset=utf-8", D("iso-2022-jp") "<rss>", "auto:2.5/decl;charset=iso-2022-jp;was=utf-8", 256, 0,
		  244, 260 },
		{ "second window", "text/xml", "<rss>", "auto:2.1/escapes;charset=iso-2022-jp;was=us-ascii", 256, 300,
		  300 + NORMALISE_REWINDOW_BYTES - 80, 300 + NORMALISE_REWINDOW_BYTES + 8 },
		{ "second window, a wrong label", "application/xml; charset=shift_jis", "<rss>",
		  "auto:2.5/escapes;charset=iso-2022-jp;was=shift_jis", 256, 300, 300 + NORMALISE_REWINDOW_BYTES - 16,
		  300 + NORMALISE_REWINDOW_BYTES + 8 },
		{ "far inside a window", "application/xml", "<rss>", "auto:2.0/1.0/escapes;charset=iso-2022-jp;was=utf-8", 0, 0, 9000, 9001 },
		{ "behind an escape without a meaning", "application/xml", "<rss>", "auto:2.0/1.0/escapes;charset=iso-2022-jp;was=utf-8", 0, 300,
		  9000, 9001 },
	};
	static struct seen s;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		for (size_t at = cases[i].from; at < cases[i].to; at++)
			for (size_t cut = 0; cut < 6; cut++) {
				struct normalise_options o = automatic;
				size_t len;
				char *in = padded(cases[i].head, at - strlen(cases[i].head), text, sizeof text - 1, &len);

				if (cases[i].noise_at)
					memcpy(in + cases[i].noise_at, noise, sizeof noise - 1);
				o.http = true;
				o.content_type = cases[i].content_type;
				o.content_type_len = strlen(cases[i].content_type);
				o.sniff_bytes = cases[i].sniff;
				run(&s, &o, in, len, cut ? at + cut - 1 : 0, len);
				UNIT_ROW(strcmp(s.rule, cases[i].last) == 0, "%s, at %zu, cut %zu: %s", cases[i].rule, at, cut, s.rule);
				UNIT_ROW(memmem(s.out, s.len, "xニュース</rss>", strlen("xニュース</rss>")) != NULL, "%s, at %zu, cut %zu: %.*s",
				    cases[i].rule, at, cut, 40, s.out + at - 20);
				free(in);
			}
}

/* A late bad byte does not change the verdict (utfeed-rules(7), "Steps of auto"). */
static void later_faults(void)
{
	static const char type[] = "application/xml; charset=utf-8";
	static struct seen s;
	struct normalise_options o = automatic;
	size_t len;
	char *in = padded("<rss>é", 100, "\x93quoted\x94 é \xe2\x82", 13, &len);

	o.http = true;
	o.content_type = type;
	o.content_type_len = sizeof(type) - 1;
	o.sniff_bytes = 64;
	run_cuts(&s, "windows-1252 within UTF-8", &o, in, len);
	CU_ASSERT_STRING_EQUAL(s.rule, "auto:2.5;charset=utf-8");
	UNIT_ROW(s.report.malformed >= 3, "%lu malformed", (unsigned long)s.report.malformed);
	UNIT_ROW(memmem(s.out, s.len, "“quoted” é ", strlen("“quoted” é ")) != NULL, "%.*s", (int)s.len, s.out);
	free(in);
}

/* When the decision falls: at byte counts, never at ends of calls. */
static void decision_points(void)
{
	static const char html[] = "text/html", xml[] = "text/xml";
	static const struct {
		const char *rule;
		enum policy policy;
		const char *content_type, *head;
		size_t sniff, at;
	} cases[] = {
		{ "labels: the first look after the declaration", POLICY_RFC7303, xml, D("koi8-r") "<rss>", 0, 1024 },
		{ "bytes: the whole window", POLICY_AUTO, xml, D("koi8-r") "<rss>", 0, 65536 },
		{ "bytes: the whole window", POLICY_FEEDPARSER, xml, D("koi8-r") "<rss>", 0, 65536 },
		{ "a window of another size", POLICY_AUTO, xml, D("koi8-r") "<rss>", 100, 100 },
		{ "no feed", POLICY_AUTO, html, "<html>", 0, 1024 },
		{ "never one", POLICY_AUTO, "image/png", "<rss>", 0, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct seen s;
		struct normalise_events events = { on_decided, on_revised, on_write, &s };
		struct normalise_options o = { .policy = cases[i].policy, .http = true, .content_type = cases[i].content_type,
		    .content_type_len = strlen(cases[i].content_type), .sniff_bytes = cases[i].sniff };
		struct normaliser *n = normaliser_new(&o, &events);
		size_t len;
		char *in = padded(cases[i].head, cases[i].at, "", 0, &len);

		memset(&s, 0, offsetof(struct seen, out));
		CU_ASSERT_EQUAL(normaliser_feed(n, (uint8_t *)in, cases[i].at - 1), 0);
		UNIT_ROW(normaliser_verdict(n) == NULL, "%s", cases[i].rule);
		CU_ASSERT_EQUAL(normaliser_feed(n, (uint8_t *)in + cases[i].at - 1, 1), 0);
		UNIT_ROW(normaliser_verdict(n) != NULL && s.decided == 1, "%s", cases[i].rule);
		normaliser_free(&n);
		free(in);
	}
}

UNIT_SUITE(normalise_window, { "revision", revision }, { "late escapes", late_escapes }, { "later faults", later_faults },
	{ "decision points", decision_points })
