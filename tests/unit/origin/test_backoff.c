/* Owns the cases of proxy/origin/backoff.c. Invariant: each row names its rule; time is what the row says, no clock is asked. */
#include "proxy/base/stats.h"
#include "proxy/origin/backoff.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define A "http://origin.example/a"
#define B "http://origin.example/b"

/* What happens in a step. ASK: a request is made, if it may be; SOON: it is made, and waits itself for so long; PLAIN: whether the last one
 * of that number is to have no fields of its client's (min: 1, or 0); others say what came of
 * the last one of that number, or end pauses. */
enum what { END, ASK, LOOK, SOON, PLAIN, URL, HOST, BUSY, LEARN, WORKS, HOST_WORKS, LEAVE, RESUME_URL, RESUME_PREFIX, RESUME_HOST, RESUME_ALL };

/* At a time in seconds, request `who` for a URL; seconds: what the origin asks for; min, max: how long ASK has to wait, 0: not at
 * all. */
struct step { enum what what; unsigned at_s, who; const char *url; unsigned seconds, min, max; };

enum { STEPS = 12, WHO = 8 };

struct act { struct backoff *b; struct backoff_terms terms; struct backoff_request by[WHO]; };

static unsigned waited(struct act *a, const struct step *s, struct failure *f)
{
	struct backoff_request *r = &a->by[s->who];

	*f = (struct failure){ 0 };
	r->id = s->who + 1;
	r->url = (struct slice){ s->url, strlen(s->url) };
	r->again = false;
	if (s->what != LOOK && backoff_ask(a->b, r, &a->terms, s->at_s * 1000, f) != BACKOFF_WAIT)
		return (unsigned)(r->soon_ms / 1000);
	if (s->what == SOON)
		return 999;
	if (s->what == ASK)
		return f->retry_after_s;
	return backoff_waits(a->b, r, &a->terms, s->at_s * 1000, f) == BACKOFF_GO ? 0 : f->retry_after_s;
}

static void tell(struct act *a, const struct step *s)
{
	const struct backoff_request *r = &a->by[s->who];
	struct backoff_cause cause = { .status = s->what == BUSY ? 503 : s->what == HOST ? 429 : 500 };
	uint64_t now_ms = s->at_s * 1000;

	switch (s->what) {
	case URL: backoff_pause(a->b, BACKOFF_OF_URL, r, &a->terms, now_ms, cause, s->seconds); break;
	case HOST: backoff_pause(a->b, BACKOFF_OF_HOST, r, &a->terms, now_ms, cause, s->seconds); break;
	case BUSY: backoff_pause(a->b, BACKOFF_OF_BUSY, r, &a->terms, now_ms, cause, s->seconds); break;
	case WORKS: backoff_works(a->b, BACKOFF_OF_URL, r, &a->terms); break;
	case HOST_WORKS: backoff_works(a->b, BACKOFF_OF_HOST, r, &a->terms); break;
	case LEAVE: backoff_leave(a->b, r, &a->terms, now_ms); break;
	case LEARN: backoff_learn(a->b, r, &a->terms, now_ms, s->seconds * 1000); break;
	case RESUME_URL: case RESUME_PREFIX: case RESUME_HOST: case RESUME_ALL:
		backoff_resume(a->b, (enum backoff_scope)(s->what - RESUME_URL), (struct slice){ s->url, strlen(s->url) }, now_ms);
		break;
	default: break;
	}
}

static void run(const char *rule, const struct backoff_terms *terms, const struct step *steps)
{
	struct act a = { .b = backoff_new(), .terms = *terms };
	struct failure f;

	CU_ASSERT_PTR_NOT_NULL_FATAL(a.b);
	for (size_t n = 0; n < STEPS && steps[n].what; n++) {
		unsigned wait;

		if (steps[n].what == PLAIN) {
			wait = backoff_asks_plainly(a.b, &a.by[steps[n].who], terms);
			UNIT_ROW(wait == steps[n].min, "%s, step %zu: %u", rule, n, wait);
			continue;
		}
		if (steps[n].what > PLAIN) {
			tell(&a, &steps[n]);
			continue;
		}
		wait = waited(&a, &steps[n], &f);
		UNIT_ROW(wait >= steps[n].min && wait <= steps[n].max, "%s, step %zu: %u s", rule, n, wait);
	}
	backoff_free(&a.b);
	CU_ASSERT_PTR_NULL(a.b);
}

static void pauses(void)
{
	static const struct backoff_terms terms = { .pauses = true };
	static const struct { const char *rule; struct step steps[STEPS]; } cases[] = {
		{ "a pause that was asked for is kept to the second",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { HOST, 1, 0, A, 120, 0, 0 }, { ASK, 1, 1, B, 0, 120, 120 }, { ASK, 120, 1, B, 0, 1, 1 },
				{ ASK, 121, 1, B, 0, 0, 0 } } },
		{ "a host waits a day at most, where it asks for more", { { ASK, 0, 0, A, 0, 0, 0 }, { HOST, 1, 0, A, 99999, 0, 0 }, { LOOK, 1, 1, B, 0, 86400, 86400 } } },
		{ "and an hour where it asks for nothing", { { ASK, 0, 0, A, 0, 0, 0 }, { HOST, 1, 0, A, 0, 0, 0 }, { ASK, 4000, 0, A, 0, 0, 0 },
			{ HOST, 4001, 0, A, 0, 0, 0 }, { ASK, 8000, 0, A, 0, 0, 0 }, { HOST, 8001, 0, A, 0, 0, 0 }, { LOOK, 8001, 0, A, 0, 90, 120 } } },
		{ "a URL waits a day at most",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { URL, 1, 0, A, 999999, 0, 0 }, { LOOK, 1, 1, A, 0, 86400, 86400 }, { LOOK, 1, 1, B, 0, 0, 0 } } },
		{ "pauses double, less a quarter at most",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { URL, 1, 0, A, 0, 0, 0 }, { LOOK, 1, 1, A, 0, 22, 30 }, { ASK, 31, 1, A, 0, 0, 0 },
				{ URL, 32, 1, A, 0, 0, 0 }, { LOOK, 32, 2, A, 0, 45, 60 }, { ASK, 92, 2, A, 0, 0, 0 }, { URL, 93, 2, A, 0, 0, 0 },
				{ LOOK, 93, 3, A, 0, 90, 120 } } },
		{ "success ends the doubling",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { URL, 1, 0, A, 0, 0, 0 }, { ASK, 31, 0, A, 0, 0, 0 }, { WORKS, 32, 0, A, 0, 0, 0 },
				{ ASK, 33, 1, A, 0, 0, 0 }, { URL, 34, 1, A, 0, 0, 0 }, { LOOK, 34, 1, A, 0, 22, 30 } } },
		{ "success of a request from before the pause does not end it",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { ASK, 0, 1, B, 0, 0, 0 }, { HOST, 1, 0, A, 60, 0, 0 }, { HOST_WORKS, 2, 1, B, 0, 0, 0 },
				{ LOOK, 2, 2, B, 0, 59, 59 } } },
		{ "nor does its failure make the next pause longer",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { ASK, 0, 1, A, 0, 0, 0 }, { URL, 1, 0, A, 0, 0, 0 }, { URL, 2, 1, A, 0, 0, 0 },
				{ ASK, 31, 0, A, 0, 0, 0 }, { URL, 32, 0, A, 0, 0, 0 }, { LOOK, 32, 0, A, 0, 45, 60 } } },
		{ "but what it asks for counts",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { ASK, 0, 1, B, 0, 0, 0 }, { HOST, 1, 0, A, 10, 0, 0 }, { HOST, 2, 1, B, 100, 0, 0 },
				{ LOOK, 2, 2, A, 0, 100, 100 } } },
		{ "one asks first behind a pause",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { HOST, 1, 0, A, 10, 0, 0 }, { ASK, 11, 1, B, 0, 0, 0 }, { ASK, 11, 2, A, 0, 1, 30 },
				{ ASK, 12, 1, B, 0, 0, 0 }, { HOST_WORKS, 12, 1, B, 0, 0, 0 }, { ASK, 12, 2, A, 0, 0, 0 } } },
		{ "of whom nothing comes is not waited for longer than 30 s",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { HOST, 1, 0, A, 10, 0, 0 }, { ASK, 11, 1, B, 0, 0, 0 }, { ASK, 40, 2, B, 0, 1, 1 },
				{ ASK, 41, 2, B, 0, 0, 0 }, { ASK, 41, 3, B, 0, 1, 30 } } },
		{ "who leaves lets the next one ask",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { HOST, 1, 0, A, 10, 0, 0 }, { ASK, 11, 1, B, 0, 0, 0 }, { LEAVE, 12, 1, B, 0, 0, 0 },
				{ ASK, 12, 2, B, 0, 0, 0 } } },
		{ "one URL that is busy does not pause the host",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { BUSY, 1, 0, A, 60, 0, 0 }, { LOOK, 1, 1, A, 0, 60, 60 }, { LOOK, 1, 1, B, 0, 0, 0 } } },
		{ "a second one does",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { BUSY, 1, 0, A, 60, 0, 0 }, { ASK, 2, 1, B, 0, 0, 0 }, { BUSY, 3, 1, B, 600, 0, 0 },
				{ LOOK, 3, 2, "http://origin.example/c", 0, 600, 600 } } },
		{ "not once the first one's pause is over",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { BUSY, 1, 0, A, 60, 0, 0 }, { ASK, 62, 1, B, 0, 0, 0 }, { BUSY, 63, 1, B, 600, 0, 0 },
				{ LOOK, 63, 2, "http://origin.example/c", 0, 0, 0 } } },
		{ "the same URL twice is one",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { BUSY, 1, 0, A, 60, 0, 0 }, { BUSY, 2, 0, A, 60, 0, 0 }, { LOOK, 3, 1, B, 0, 0, 0 } } },
		{ "the longer pause counts",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { URL, 1, 0, A, 100, 0, 0 }, { HOST, 1, 0, A, 50, 0, 0 }, { LOOK, 1, 1, A, 0, 100, 100 },
				{ LOOK, 1, 1, B, 0, 50, 50 } } },
		{ "every other request behind a pause is a plain one, as the first is",
			{ { LOOK, 0, 0, A, 0, 0, 0 }, { PLAIN, 0, 0, A, 0, 0, 0 }, { ASK, 0, 0, A, 0, 0, 0 }, { URL, 1, 0, A, 0, 0, 0 },
				{ PLAIN, 31, 0, A, 0, 1, 0 }, { ASK, 31, 0, A, 0, 0, 0 }, { URL, 32, 0, A, 0, 0, 0 }, { PLAIN, 92, 0, A, 0, 0, 0 },
				{ ASK, 92, 0, A, 0, 0, 0 }, { URL, 93, 0, A, 0, 0, 0 }, { PLAIN, 213, 0, A, 0, 1, 0 } } },
		{ "and that of its host, until the host works",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { HOST, 1, 0, A, 10, 0, 0 }, { ASK, 11, 1, B, 0, 0, 0 }, { PLAIN, 11, 1, B, 0, 1, 0 },
				{ HOST_WORKS, 12, 1, B, 0, 0, 0 }, { PLAIN, 12, 1, B, 0, 0, 0 } } },
		{ "a pause is forgotten a day after its end",
			{ { ASK, 0, 0, A, 0, 0, 0 }, { URL, 1, 0, A, 0, 0, 0 }, { ASK, 31, 0, A, 0, 0, 0 }, { URL, 31, 0, A, 0, 0, 0 },
				{ ASK, 200000, 1, A, 0, 0, 0 } } },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		run(cases[i].rule, &terms, cases[i].steps);
}

/* A pause of the first URL's host is one of the second's, or is not. */
static void hosts(void)
{
	static const struct backoff_terms terms = { .pauses = true };
	static const struct { const char *rule, *said, *asked; bool same; } cases[] = {
		{ "scheme", "http://h.example/a", "https://h.example/a", false },
		{ "port", "http://h.example:81/a", "http://h.example/a", false },
		{ "name", "http://h.example/a", "http://g.example/a", false },
		{ "a name is not its beginning", "http://h.example/a", "http://h.example.org/a", false },
		{ "nor its end", "http://h.example/a", "http://a.h.example/a", false },
		{ "a port is not a name", "http://h.example:81/a", "http://h.example.81/a", false },
		{ "the dot of the root", "http://h.example/a", "http://h.example./a", true },
		{ "the dot of the root, with a port", "http://h.example:81/a", "http://h.example.:81/a", true },
		{ "case", "http://H.Example/a", "http://h.example/a", true },
		{ "IPv6 in full", "http://[2001:db8::1]:81/a", "http://[2001:0db8:0:0:0:0:0:1]:81/a", true },
		{ "IPv4 within IPv6", "http://[::ffff:192.0.2.1]/a", "http://192.0.2.1/b", true },
		{ "another IPv6 address", "http://[2001:db8::1]/a", "http://[2001:db8::2]/a", false },
		{ "an IPv6 address and its port", "http://[2001:db8::1]:81/a", "http://[2001:db8::1]/a", false },
		{ "a path is no host", "http://h.example/http://g.example/", "http://g.example/", false },
		{ "a URL is no other URL", "http://h.example/a?http://g.example/", "http://g.example/", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct act a = { .b = backoff_new(), .terms = terms };
		const struct step begin = { ASK, 0, 0, cases[i].said, 0, 0, 0 }, said = { HOST, 1, 0, cases[i].said, 60, 0, 0 },
			ask = { ASK, 2, 1, cases[i].asked, 0, 0, 0 };
		struct failure f;

		CU_ASSERT_PTR_NOT_NULL_FATAL(a.b);
		CU_ASSERT_EQUAL(waited(&a, &begin, &f), 0);
		tell(&a, &said);
		UNIT_ROW((waited(&a, &ask, &f) != 0) == cases[i].same, "%s", cases[i].rule);
		backoff_free(&a.b);
	}
}

static void terms_of_requests(void)
{
	static const struct {
		const char *rule;
		struct backoff_terms by, asks;
		uint64_t parent;
		bool changes, asked_for, host, waits;
	} cases[] = {
		{ "pauses off: none is kept", { .pauses = true }, { .pauses = false }, 0, false, true, true, false },
		{ "another route: failures of a URL", { .pauses = true, .way = 1 }, { .pauses = true, .way = 2 }, 0, false, false, false, false },
		{ "another route: those of the host", { .pauses = true, .way = 1 }, { .pauses = true, .way = 2 }, 0, false, true, true, true },
		{ "another parent proxy", { .pauses = true }, { .pauses = true }, 7, false, true, true, false },
		{ "a POST keeps a pause that was asked for", { .pauses = true }, { .pauses = true }, 0, true, true, true, true },
		{ "a POST keeps no other", { .pauses = true }, { .pauses = true }, 0, true, false, false, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct act a = { .b = backoff_new(), .terms = cases[i].by };
		const struct step begin = { ASK, 0, 0, A, 0, 0, 0 }, ask = { ASK, 2, 1, A, 0, 0, 0 };
		struct failure f;

		CU_ASSERT_PTR_NOT_NULL_FATAL(a.b);
		CU_ASSERT_EQUAL(waited(&a, &begin, &f), 0);
		tell(&a, &(struct step){ cases[i].host ? HOST : URL, 1, 0, A, cases[i].asked_for ? 60 : 0, 0, 0 });
		a.terms = cases[i].asks;
		a.by[1].parent = cases[i].parent;
		a.by[1].changes = cases[i].changes;
		UNIT_ROW((waited(&a, &ask, &f) != 0) == cases[i].waits, "%s", cases[i].rule);
		backoff_free(&a.b);
	}
}

static void intervals(void)
{
	static const struct { const char *rule; unsigned interval_s; struct step steps[STEPS]; } cases[] = {
		{ "no interval", 0, { { ASK, 0, 0, A, 0, 0, 0 }, { ASK, 0, 0, A, 0, 0, 0 } } },
		{ "it runs from the last request", 5, { { ASK, 1, 0, A, 0, 0, 0 }, { ASK, 5, 0, A, 0, 1, 1 }, { ASK, 6, 0, A, 0, 0, 0 } } },
		{ "it is the URL's", 5, { { ASK, 1, 0, A, 0, 0, 0 }, { ASK, 1, 0, B, 0, 0, 0 }, { ASK, 1, 0, B, 0, 5, 5 } } },
		{ "who was refused did not ask", 5, { { ASK, 1, 0, A, 0, 0, 0 }, { ASK, 4, 0, A, 0, 2, 2 }, { ASK, 6, 0, A, 0, 0, 0 } } },
		{ "the longer of both: the pause", 5, { { ASK, 1, 0, A, 0, 0, 0 }, { URL, 2, 0, A, 60, 0, 0 }, { ASK, 7, 0, A, 0, 55, 55 } } },
		{ "the longer of both: the interval", 60, { { ASK, 1, 0, A, 0, 0, 0 }, { URL, 2, 0, A, 2, 0, 0 }, { ASK, 5, 0, A, 0, 56, 56 } } },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		run(cases[i].rule, &(struct backoff_terms){ .pauses = true, .url_interval_ms = cases[i].interval_s * 1000 }, cases[i].steps);
}

/* A request waits for the result of another one: the failure says so, since that result may come at once. */
static void undecided(void)
{
	static const struct { const char *rule; unsigned at_s; bool tried, undecided; } cases[] = {
		{ "in the pause", 5, false, false }, { "behind it, while another asks", 12, true, true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct act a = { .b = backoff_new(), .terms = { .pauses = true } };
		const struct step begin = { ASK, 0, 0, A, 0, 0, 0 }, said = { URL, 1, 0, A, 10, 0, 0 }, first = { ASK, 11, 1, A, 0, 0, 0 },
			ask = { ASK, cases[i].at_s, 2, A, 0, 0, 0 };
		struct failure f;

		CU_ASSERT_PTR_NOT_NULL_FATAL(a.b);
		CU_ASSERT_EQUAL(waited(&a, &begin, &f), 0);
		tell(&a, &said);
		CU_ASSERT(!cases[i].tried || !waited(&a, &first, &f));
		UNIT_ROW(waited(&a, &ask, &f) != 0 && f.undecided == cases[i].undecided, "%s", cases[i].rule);
		backoff_free(&a.b);
	}
}

static void answers(void)
{
	/* late: what the origin says then to a request that was sent at the same time */
	static const struct { const char *rule; struct backoff_cause cause; unsigned seconds; int status, received;
		struct backoff_cause late; unsigned late_s; } cases[] = {
		{ "429 stays 429", { 429, FAILURE_NONE }, 60, 429, 429, { 0, FAILURE_NONE }, 0 },
		{ "500 stays 500", { 500, FAILURE_NONE }, 0, 500, 500, { 0, FAILURE_NONE }, 0 },
		{ "403 stays 403", { 403, FAILURE_NONE }, 0, 403, 403, { 0, FAILURE_NONE }, 0 },
		{ "refused stays 502", { 0, FAILURE_CONNECTION_REFUSED }, 0, 502, 0, { 0, FAILURE_NONE }, 0 },
		{ "a timeout stays 504", { 0, FAILURE_HTTP_RESPONSE_TIMEOUT }, 0, 504, 0, { 0, FAILURE_NONE }, 0 },
		{ "of two pauses the longer one tells why", { 503, FAILURE_NONE }, 5, 429, 429, { 429, FAILURE_NONE }, 60 },
		{ "a shorter one changes nothing", { 503, FAILURE_NONE }, 60, 503, 503, { 429, FAILURE_NONE }, 5 },
	};
	static const struct step begin = { ASK, 0, 0, A, 0, 0, 0 }, beside = { ASK, 0, 2, A, 0, 0, 0 }, ask = { ASK, 2, 1, A, 0, 0, 0 };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct act a = { .b = backoff_new(), .terms = { .pauses = true } };
		struct failure f;

		CU_ASSERT_PTR_NOT_NULL_FATAL(a.b);
		CU_ASSERT_EQUAL(waited(&a, &begin, &f), 0);
		CU_ASSERT_EQUAL(waited(&a, &beside, &f), 0);
		CU_ASSERT_TRUE(backoff_pause(a.b, BACKOFF_OF_URL, &a.by[0], &a.terms, 1000, cases[i].cause, cases[i].seconds));
		if (cases[i].late_s)
			CU_ASSERT_FALSE(backoff_pause(a.b, BACKOFF_OF_URL, &a.by[2], &a.terms, 1100, cases[i].late, cases[i].late_s));
		CU_ASSERT_NOT_EQUAL(waited(&a, &ask, &f), 0);
		UNIT_ROW(f.error == FAILURE_PAUSED && failure_answer_status(&f) == cases[i].status && f.received_status == cases[i].received,
			"%s: %d", cases[i].rule, failure_answer_status(&f));
		backoff_free(&a.b);
	}
}

static void host_intervals(void)
{
	static const struct { const char *rule; uint64_t interval_ms; struct step steps[STEPS]; } cases[] = {
		{ "none", 0, { { ASK, 0, 0, A, 0, 0, 0 }, { ASK, 0, 0, B, 0, 0, 0 } } },
		{ "it is the host's", 60000, { { ASK, 1, 0, A, 0, 0, 0 }, { ASK, 2, 1, B, 0, 59, 59 }, { ASK, 2, 1, "http://other.example/", 0, 0, 0 },
			{ ASK, 61, 1, B, 0, 0, 0 } } },
		{ "who was refused did not ask", 60000, { { ASK, 1, 0, A, 0, 0, 0 }, { ASK, 50, 1, B, 0, 11, 11 }, { ASK, 61, 1, B, 0, 0, 0 } } },
		{ "a short wait is waited for, in turn", 1000, { { ASK, 1, 0, A, 0, 0, 0 }, { SOON, 1, 1, B, 0, 1, 1 }, { SOON, 1, 2, B, 0, 2, 2 },
			{ ASK, 1, 3, B, 0, 3, 3 }, { ASK, 4, 3, B, 0, 0, 0 } } },
		{ "a pause is not waited for", 1000, { { ASK, 1, 0, A, 0, 0, 0 }, { HOST, 1, 0, A, 1, 0, 0 }, { SOON, 1, 1, B, 0, 999, 999 } } },
		{ "auto: none before a 429", BACKOFF_LEARNED, { { ASK, 1, 0, A, 0, 0, 0 }, { ASK, 1, 1, B, 0, 0, 0 } } },
		{ "auto: a second where nothing else is known", BACKOFF_LEARNED, { { ASK, 1, 0, A, 0, 0, 0 }, { LEARN, 1, 0, A, 0, 0, 0 },
			{ SOON, 1, 1, B, 0, 1, 1 }, { ASK, 9, 1, B, 0, 0, 0 }, { SOON, 9, 2, B, 0, 1, 1 } } },
		{ "auto: twice the time since the one before", BACKOFF_LEARNED, { { ASK, 1, 0, A, 0, 0, 0 }, { LEARN, 1, 0, A, 0, 0, 0 },
			{ ASK, 11, 1, B, 0, 0, 0 }, { LEARN, 11, 1, B, 0, 0, 0 }, { ASK, 12, 1, A, 0, 19, 19 }, { ASK, 31, 1, A, 0, 0, 0 } } },
		{ "auto: a minute at most", BACKOFF_LEARNED, { { ASK, 1, 0, A, 0, 0, 0 }, { LEARN, 1, 0, A, 0, 0, 0 },
			{ ASK, 101, 1, B, 0, 0, 0 }, { LEARN, 101, 1, B, 0, 0, 0 }, { ASK, 101, 1, A, 0, 60, 60 } } },
		{ "auto: what a policy says", BACKOFF_LEARNED, { { ASK, 1, 0, A, 0, 0, 0 }, { LEARN, 1, 0, A, 600, 0, 0 }, { ASK, 2, 1, B, 0, 599, 599 } } },
		{ "auto: it halves with each hour", BACKOFF_LEARNED, { { ASK, 1, 0, A, 0, 0, 0 }, { LEARN, 1, 0, A, 600, 0, 0 },
			{ ASK, 7202, 1, B, 0, 0, 0 }, { ASK, 7202, 1, A, 0, 150, 150 } } },
		{ "auto: and ends", BACKOFF_LEARNED, { { ASK, 1, 0, A, 0, 0, 0 }, { LEARN, 1, 0, A, 1, 0, 0 }, { ASK, 3602, 1, B, 0, 0, 0 },
			{ ASK, 3602, 1, A, 0, 0, 0 } } },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		run(cases[i].rule, &(struct backoff_terms){ .pauses = true, .host_interval_ms = cases[i].interval_ms }, cases[i].steps);
}

/* Who asks again in the course of one fetch, and who changes something, does not wait for the host's interval, but counts. */
static void who_does_not_wait(void)
{
	static const struct { const char *rule; bool again, changes; } cases[] = { { "a redirect", true, false }, { "a POST", false, true } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct backoff_terms terms = { .pauses = true, .host_interval_ms = 60000 };
		struct backoff *b = backoff_new();
		struct backoff_request first = { .url = { A, strlen(A) }, .id = 1 }, r = { .url = { B, strlen(B) }, .id = 2 };
		struct failure f;

		CU_ASSERT_PTR_NOT_NULL_FATAL(b);
		CU_ASSERT_EQUAL(backoff_ask(b, &first, &terms, 1000, &f), BACKOFF_GO);
		CU_ASSERT_EQUAL(backoff_ask(b, &r, &terms, 2000, &f), BACKOFF_WAIT);
		CU_ASSERT_EQUAL(f.error, FAILURE_HOST_ASKED_TOO_SOON);
		r.again = cases[i].again;
		r.changes = cases[i].changes;
		UNIT_ROW(backoff_ask(b, &r, &terms, 2000, &f) == BACKOFF_GO, "%s", cases[i].rule);
		CU_ASSERT_EQUAL(backoff_ask(b, &first, &terms, 50000, &f), BACKOFF_WAIT);
		CU_ASSERT_EQUAL(backoff_ask(b, &first, &terms, 62000, &f), BACKOFF_GO);
		backoff_free(&b);
	}
}

static void resumes(void)
{
	static const struct backoff_terms terms = { .pauses = true };
	static const struct { const char *rule; struct step steps[STEPS]; } cases[] = {
		{ "a URL", { { ASK, 0, 0, A, 0, 0, 0 }, { URL, 1, 0, A, 60, 0, 0 }, { RESUME_URL, 2, 0, B, 0, 0, 0 }, { LOOK, 2, 1, A, 0, 59, 59 },
			{ RESUME_URL, 2, 0, A, 0, 0, 0 }, { LOOK, 2, 1, A, 0, 0, 0 } } },
		{ "its host with it", { { ASK, 0, 0, A, 0, 0, 0 }, { HOST, 1, 0, A, 60, 0, 0 }, { RESUME_URL, 2, 0, B, 0, 0, 0 }, { LOOK, 2, 1, A, 0, 0, 0 } } },
		{ "what begins so", { { ASK, 0, 0, A, 0, 0, 0 }, { URL, 1, 0, A, 60, 0, 0 }, { RESUME_PREFIX, 2, 0, B, 0, 0, 0 },
			{ LOOK, 2, 1, A, 0, 59, 59 }, { RESUME_PREFIX, 2, 0, "http://origin.example/", 0, 0, 0 }, { LOOK, 2, 1, A, 0, 0, 0 } } },
		{ "a host", { { ASK, 0, 0, A, 0, 0, 0 }, { URL, 1, 0, A, 60, 0, 0 }, { RESUME_HOST, 2, 0, "http://origin.example:81/", 0, 0, 0 },
			{ LOOK, 2, 1, A, 0, 59, 59 }, { RESUME_HOST, 2, 0, "http://ORIGIN.example", 0, 0, 0 }, { LOOK, 2, 1, A, 0, 0, 0 } } },
		{ "all", { { ASK, 0, 0, A, 0, 0, 0 }, { URL, 1, 0, A, 60, 0, 0 }, { HOST, 1, 0, A, 60, 0, 0 }, { RESUME_ALL, 2, 0, "", 0, 0, 0 },
			{ LOOK, 2, 1, A, 0, 0, 0 } } },
		{ "upgrade-https", { { ASK, 0, 0, "https://origin.example/a", 0, 0, 0 }, { URL, 1, 0, "https://origin.example/a", 60, 0, 0 },
			{ RESUME_URL, 2, 0, A, 0, 0, 0 }, { LOOK, 2, 1, "https://origin.example/a", 0, 0, 0 } } },
		{ "the doubling ends with it", { { ASK, 0, 0, A, 0, 0, 0 }, { URL, 1, 0, A, 0, 0, 0 }, { RESUME_URL, 2, 0, A, 0, 0, 0 },
			{ ASK, 2, 0, A, 0, 0, 0 }, { URL, 3, 0, A, 0, 0, 0 }, { LOOK, 3, 0, A, 0, 22, 30 } } },
		{ "the busy URL is forgotten", { { ASK, 0, 0, A, 0, 0, 0 }, { BUSY, 1, 0, A, 60, 0, 0 }, { RESUME_URL, 2, 0, A, 0, 0, 0 },
			{ ASK, 2, 1, B, 0, 0, 0 }, { BUSY, 3, 1, B, 60, 0, 0 }, { LOOK, 3, 2, A, 0, 0, 0 } } },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		run(cases[i].rule, &terms, cases[i].steps);
}

struct seen { unsigned n; struct backoff_shown last; char name[64]; };

static void see(void *arg, const struct backoff_shown *s)
{
	struct seen *seen = arg;

	seen->n++;
	seen->last = *s;
	snprintf(seen->name, sizeof seen->name, "%.*s", (int)s->name.len, s->name.at);
}

static void showing(void)
{
	const struct step begin = { ASK, 0, 0, A, 0, 0, 0 }, pause = { URL, 1, 0, A, 60, 0, 0 }, ask = { ASK, 2, 1, A, 0, 0, 0 };
	struct act a = { .b = backoff_new(), .terms = { .pauses = true } };
	struct stats_gauges gauges = { 0 };
	struct backoff_shown shown;
	struct seen seen = { 0 };
	struct failure f;

	CU_ASSERT_PTR_NOT_NULL_FATAL(a.b);
	backoff_each(a.b, see, &seen);
	CU_ASSERT_EQUAL(seen.n, 0);
	CU_ASSERT_FALSE(backoff_find(a.b, (struct slice){ A, strlen(A) }, 0, &shown));
	waited(&a, &begin, &f);
	tell(&a, &pause);
	CU_ASSERT_NOT_EQUAL(waited(&a, &ask, &f), 0);
	backoff_each(a.b, see, &seen);
	CU_ASSERT(seen.n == 1 && !seen.last.host && seen.last.asked_for && seen.last.cause.status == 500 && seen.last.saved == 1);
	CU_ASSERT(seen.last.began_ms == 1000 && seen.last.until_ms == 61000 && !strcmp(seen.name, A));
	CU_ASSERT(backoff_find(a.b, (struct slice){ A, strlen(A) }, 2000, &shown) && shown.until_ms == 61000 && !shown.host);
	CU_ASSERT_FALSE(backoff_find(a.b, (struct slice){ A, strlen(A) }, 61000, &shown));
	CU_ASSERT_FALSE(backoff_find(a.b, (struct slice){ B, strlen(B) }, 2000, &shown));
	tell(&a, &(struct step){ HOST, 1, 0, A, 600, 0, 0 });
	CU_ASSERT(backoff_find(a.b, (struct slice){ B, strlen(B) }, 2000, &shown) && shown.until_ms == 601000 && shown.host);
	backoff_stats(a.b, 2000, &gauges);
	CU_ASSERT(gauges.of[GAUGE_PAUSED_URLS].value == 1 && gauges.of[GAUGE_PAUSED_HOSTS].value == 1);
	backoff_stats(a.b, 70000, &gauges);
	CU_ASSERT(gauges.of[GAUGE_PAUSED_URLS].value == 0 && gauges.of[GAUGE_PAUSED_HOSTS].value == 1);
	backoff_free(&a.b);
}

UNIT_SUITE(backoff, { "pauses", pauses }, { "hosts", hosts }, { "terms", terms_of_requests }, { "intervals", intervals },
	{ "undecided", undecided }, { "answers", answers }, { "host_intervals", host_intervals }, { "who_does_not_wait", who_does_not_wait }, { "resumes", resumes },
	{ "showing", showing })
