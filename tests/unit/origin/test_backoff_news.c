/* Owns the cases of proxy/origin/backoff_news.c and backoff_hear.c: what one process tells of its pauses, and what another makes of it.
 * Invariant: each row names its rule; the processes' clocks are a million seconds apart, so that only ages can be right. */
#include "proxy/origin/backoff_news.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define A "http://origin.example/a"
#define B "http://origin.example/b"

/* What happens in a step at one process. POST: what was told arrives at the others; AGAIN: all of it arrives once more. Else as in
 * test_backoff.c. */
enum what { END, ASK, LOOK, PLAIN, URL, REFUSED, HOST, BUSY, LEARN, WORKS, HOST_WORKS, LEAVE, RESUME_URL, RESUME_HOST, RESUME_ALL, TOLD, POST,
	AGAIN };

enum { STEPS = 16, PROCESSES = 3, WHO = 6, NEWS = 32 };
struct step { enum what what; unsigned process, at_s, who; const char *url; unsigned seconds, min, max; };

/* Texts from `from` on have not arrived. */
struct mail { unsigned n, from; struct { unsigned by; uint64_t at_ms; char text[256]; } of[NEWS]; };
struct act { struct mail mail; uint64_t now_ms; struct process { struct act *act; unsigned number; struct backoff *b;
	struct backoff_request by[WHO]; } processes[PROCESSES]; };

static uint64_t clock_of(unsigned process, uint64_t ms)
{
	return ms + UINT64_C(1000000000) * (process + 1);
}

static void on_told(void *arg, const struct backoff_news *news)
{
	struct process *process = arg;
	struct act *act = process->act;
	struct text t = text_on(act->mail.of[act->mail.n].text, sizeof act->mail.of->text - 1);

	CU_ASSERT_FATAL(act->mail.n < NEWS && backoff_news_write(&t, news, clock_of(process->number, act->now_ms)));
	t.bytes[t.len] = '\0';
	act->mail.of[act->mail.n].by = process->number;
	act->mail.of[act->mail.n++].at_ms = act->now_ms;
}

static void post(struct act *act, unsigned from, const char *rule)
{
	for (unsigned i = from; i < act->mail.n; i++)
		for (unsigned p = 0; p < PROCESSES; p++) {
			struct slice text = { act->mail.of[i].text, strlen(act->mail.of[i].text) };
			uint64_t now_ms = clock_of(p, act->now_ms);
			struct backoff_news news;
			unsigned n = act->mail.n;

			if (p == act->mail.of[i].by)
				continue;
			UNIT_ROW(backoff_news_read(&news, text, act->now_ms - act->mail.of[i].at_ms, now_ms), "%s: %s", rule, text.at);
			backoff_hear(act->processes[p].b, &news, now_ms);
			UNIT_ROW(act->mail.n == n, "%s: nobody tells again what it heard", rule);
		}
	act->mail.from = act->mail.n;
}

static void tell(struct process *process, const struct backoff_terms *terms, const struct step *s, uint64_t now_ms)
{
	const struct backoff_request *r = &process->by[s->who];
	struct backoff_cause cause = { .status = s->what == REFUSED ? 0 : s->what == BUSY ? 503 : s->what == HOST ? 429 : 500,
		.why = s->what == REFUSED ? FAILURE_CONNECTION_REFUSED : FAILURE_NONE };
	struct slice url = { s->url, strlen(s->url) };

	switch (s->what) {
	case URL: backoff_pause(process->b, BACKOFF_OF_URL, r, terms, now_ms, cause, s->seconds); break;
	case REFUSED: case HOST: backoff_pause(process->b, BACKOFF_OF_HOST, r, terms, now_ms, cause, s->seconds); break;
	case BUSY: backoff_pause(process->b, BACKOFF_OF_BUSY, r, terms, now_ms, cause, s->seconds); break;
	case LEARN: backoff_learn(process->b, r, terms, now_ms, s->seconds * 1000); break;
	case WORKS: backoff_works(process->b, BACKOFF_OF_URL, r, terms); break;
	case HOST_WORKS: backoff_works(process->b, BACKOFF_OF_HOST, r, terms); break;
	case LEAVE: backoff_leave(process->b, r, terms, now_ms); break;
	case RESUME_URL: backoff_resume(process->b, BACKOFF_URL, url, now_ms); break;
	case RESUME_HOST: backoff_resume(process->b, BACKOFF_HOST, url, now_ms); break;
	default: backoff_resume(process->b, BACKOFF_ALL, url, now_ms); break;
	}
}

/* How long a request has to wait. */
static unsigned waits(struct process *process, const struct backoff_terms *terms, const struct step *s, uint64_t now_ms)
{
	struct backoff_request *r = &process->by[s->who];
	struct failure f = { 0 };

	r->id = s->who + 1;
	r->url = (struct slice){ s->url, strlen(s->url) };
	if (s->what == LOOK)
		return backoff_waits(process->b, r, terms, now_ms, &f) == BACKOFF_GO ? 0 : f.retry_after_s;
	return backoff_ask(process->b, r, terms, now_ms, &f) == BACKOFF_WAIT ? f.retry_after_s : (unsigned)(r->soon_ms / 1000);
}

static void run(const char *rule, const struct backoff_terms *terms, const struct step *steps)
{
	struct act act = { .now_ms = 0 };

	for (unsigned p = 0; p < PROCESSES; p++) {
		act.processes[p] = (struct process){ .act = &act, .number = p, .b = backoff_new() };
		CU_ASSERT_PTR_NOT_NULL_FATAL(act.processes[p].b);
		backoff_listen(act.processes[p].b, on_told, &act.processes[p]);
	}
	for (size_t n = 0; n < STEPS && steps[n].what; n++) {
		const struct step *s = &steps[n];
		struct process *process = &act.processes[s->process];
		unsigned seen = 0;

		act.now_ms = s->at_s * 1000;
		if (s->what == POST || s->what == AGAIN)
			post(&act, s->what == AGAIN ? 0 : act.mail.from, rule);
		else if (s->what > PLAIN && s->what < TOLD)
			tell(process, terms, s, clock_of(s->process, act.now_ms));
		else {
			seen = s->what == TOLD ? act.mail.n
				: s->what == PLAIN ? backoff_asks_plainly(process->b, &process->by[s->who], terms)
				: waits(process, terms, s, clock_of(s->process, act.now_ms));
			UNIT_ROW(seen >= s->min && seen <= s->max, "%s, step %zu: %u", rule, n, seen);
		}
	}
	for (unsigned p = 0; p < PROCESSES; p++)
		backoff_free(&act.processes[p].b);
}

static void pauses(void)
{
	static const struct backoff_terms terms = { .pauses = true };
	static const struct { const char *rule; struct step steps[STEPS]; } cases[] = {
		{ "a pause is all processes', whenever they hear of it", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { HOST, 0, 1, 0, A, 60, 0, 0 },
			{ LOOK, 1, 1, 0, B, 0, 0, 0 }, { POST, 0, 3, 0, "", 0, 0, 0 }, { LOOK, 1, 3, 0, B, 0, 58, 58 }, { LOOK, 2, 31, 0, A, 0, 30, 30 },
			{ LOOK, 2, 61, 0, A, 0, 0, 0 } } },
		{ "heard twice it is the same", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { HOST, 0, 1, 0, A, 60, 0, 0 }, { POST, 0, 1, 0, "", 0, 0, 0 },
			{ AGAIN, 0, 9, 0, "", 0, 0, 0 }, { LOOK, 1, 9, 0, B, 0, 52, 52 } } },
		{ "the longer one wins, in either order", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { ASK, 1, 0, 0, A, 0, 0, 0 }, { HOST, 0, 1, 0, A, 60, 0, 0 },
			{ HOST, 1, 1, 0, A, 600, 0, 0 }, { POST, 0, 1, 0, "", 0, 0, 0 }, { LOOK, 0, 1, 0, A, 0, 600, 600 }, { LOOK, 1, 1, 0, A, 0, 600, 600 },
			{ LOOK, 2, 1, 0, A, 0, 600, 600 } } },
		{ "one that grows is told", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { ASK, 0, 0, 1, B, 0, 0, 0 }, { HOST, 0, 1, 0, A, 10, 0, 0 },
			{ HOST, 0, 2, 1, B, 100, 0, 0 }, { POST, 0, 2, 0, "", 0, 0, 0 }, { LOOK, 1, 2, 0, A, 0, 100, 100 } } },
		{ "what failed at all at once doubles once", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { ASK, 1, 0, 0, A, 0, 0, 0 }, { ASK, 2, 0, 0, A, 0, 0, 0 },
			{ URL, 0, 1, 0, A, 0, 0, 0 }, { URL, 1, 1, 0, A, 0, 0, 0 }, { URL, 2, 1, 0, A, 0, 0, 0 }, { POST, 0, 1, 0, "", 0, 0, 0 },
			{ LOOK, 2, 1, 0, A, 0, 22, 30 }, { ASK, 0, 40, 0, A, 0, 0, 0 }, { POST, 0, 40, 0, "", 0, 0, 0 }, { URL, 0, 41, 0, A, 0, 0, 0 },
			{ POST, 0, 41, 0, "", 0, 0, 0 }, { LOOK, 1, 41, 0, A, 0, 45, 60 } } },
		{ "a failure from before the pause that was heard is late", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { ASK, 1, 0, 0, A, 0, 0, 0 },
			{ URL, 0, 1, 0, A, 0, 0, 0 }, { POST, 0, 1, 0, "", 0, 0, 0 }, { URL, 1, 2, 0, A, 0, 0, 0 }, { POST, 0, 2, 0, "", 0, 0, 0 },
			{ TOLD, 0, 2, 0, "", 0, 1, 1 } } },
		{ "doublings are the fleet's", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { URL, 0, 1, 0, A, 0, 0, 0 }, { POST, 0, 1, 0, "", 0, 0, 0 },
			{ ASK, 1, 31, 0, A, 0, 0, 0 }, { URL, 1, 32, 0, A, 0, 0, 0 }, { POST, 0, 32, 0, "", 0, 0, 0 }, { ASK, 2, 92, 0, A, 0, 0, 0 },
			{ URL, 2, 93, 0, A, 0, 0, 0 }, { POST, 0, 93, 0, "", 0, 0, 0 }, { LOOK, 0, 93, 0, A, 0, 90, 120 } } },
		{ "so is which request behind a pause is a plain one", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { URL, 0, 1, 0, A, 0, 0, 0 },
			{ POST, 0, 1, 0, "", 0, 0, 0 }, { ASK, 1, 31, 0, A, 0, 0, 0 }, { PLAIN, 1, 31, 0, A, 0, 1, 1 }, { URL, 1, 32, 0, A, 0, 0, 0 },
			{ POST, 0, 32, 0, "", 0, 0, 0 }, { PLAIN, 0, 92, 0, A, 0, 0, 0 } } },
		{ "a failure of the way may be one process's own", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { REFUSED, 0, 1, 0, A, 0, 0, 0 },
			{ TOLD, 0, 1, 0, "", 0, 0, 0 } } },
		{ "two busy URLs at two processes pause the host", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { BUSY, 0, 1, 0, A, 60, 0, 0 },
			{ POST, 0, 1, 0, "", 0, 0, 0 }, { ASK, 1, 2, 0, B, 0, 0, 0 }, { BUSY, 1, 3, 0, B, 600, 0, 0 }, { POST, 0, 3, 0, "", 0, 0, 0 },
			{ LOOK, 2, 3, 0, "http://origin.example/c", 0, 600, 600 }, { LOOK, 0, 3, 0, "http://origin.example/c", 0, 600, 600 } } },
		{ "so do those that cross", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { ASK, 1, 0, 0, B, 0, 0, 0 }, { BUSY, 0, 1, 0, A, 60, 0, 0 },
			{ BUSY, 1, 1, 0, B, 60, 0, 0 }, { POST, 0, 1, 0, "", 0, 0, 0 }, { LOOK, 0, 1, 0, "http://origin.example/c", 0, 60, 60 },
			{ LOOK, 1, 1, 0, "http://origin.example/c", 0, 60, 60 }, { LOOK, 2, 1, 0, "http://origin.example/c", 0, 60, 60 } } },
		{ "one busy URL at two processes does not", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { ASK, 1, 0, 0, A, 0, 0, 0 }, { BUSY, 0, 1, 0, A, 60, 0, 0 },
			{ BUSY, 1, 1, 0, A, 60, 0, 0 }, { POST, 0, 1, 0, "", 0, 0, 0 }, { LOOK, 2, 1, 0, B, 0, 0, 0 }, { LOOK, 2, 1, 0, A, 0, 60, 60 } } },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		run(cases[i].rule, &terms, cases[i].steps);
}

static void ends(void)
{
	static const struct backoff_terms terms = { .pauses = true };
	static const struct { const char *rule; struct step steps[STEPS]; } cases[] = {
		{ "success at one is success at all", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { HOST, 0, 1, 0, A, 10, 0, 0 }, { POST, 0, 1, 0, "", 0, 0, 0 },
			{ ASK, 1, 11, 0, A, 0, 0, 0 }, { HOST_WORKS, 1, 12, 0, A, 0, 0, 0 }, { POST, 0, 12, 0, "", 0, 0, 0 }, { ASK, 0, 12, 1, B, 0, 0, 0 },
			{ ASK, 0, 12, 2, B, 0, 0, 0 }, { PLAIN, 0, 12, 2, B, 0, 0, 0 } } },
		{ "success of a URL ends its doubling", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { URL, 0, 1, 0, A, 0, 0, 0 }, { POST, 0, 1, 0, "", 0, 0, 0 },
			{ ASK, 1, 40, 0, A, 0, 0, 0 }, { WORKS, 1, 41, 0, A, 0, 0, 0 }, { POST, 0, 41, 0, "", 0, 0, 0 }, { ASK, 2, 42, 0, A, 0, 0, 0 },
			{ URL, 2, 43, 0, A, 0, 0, 0 }, { LOOK, 2, 43, 0, A, 0, 22, 30 } } },
		{ "an end does not count for a pause that began later", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { HOST, 0, 1, 0, A, 10, 0, 0 },
			{ POST, 0, 1, 0, "", 0, 0, 0 }, { ASK, 1, 12, 0, A, 0, 0, 0 }, { ASK, 2, 12, 0, A, 0, 0, 0 }, { HOST_WORKS, 1, 13, 0, A, 0, 0, 0 },
			{ HOST, 2, 13, 0, A, 100, 0, 0 }, { POST, 0, 13, 0, "", 0, 0, 0 }, { LOOK, 2, 13, 0, A, 0, 100, 100 },
			{ LOOK, 0, 13, 0, A, 0, 100, 100 } } },
		{ "one asks first for all", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { HOST, 0, 1, 0, A, 10, 0, 0 }, { POST, 0, 1, 0, "", 0, 0, 0 },
			{ ASK, 1, 11, 0, A, 0, 0, 0 }, { POST, 0, 11, 0, "", 0, 0, 0 }, { ASK, 2, 12, 0, B, 0, 29, 29 }, { ASK, 0, 12, 0, B, 0, 29, 29 },
			{ ASK, 0, 41, 0, B, 0, 0, 0 } } },
		{ "who leaves lets another process ask", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { HOST, 0, 1, 0, A, 10, 0, 0 }, { POST, 0, 1, 0, "", 0, 0, 0 },
			{ ASK, 1, 11, 0, A, 0, 0, 0 }, { POST, 0, 11, 0, "", 0, 0, 0 }, { LEAVE, 1, 12, 0, A, 0, 0, 0 }, { POST, 0, 12, 0, "", 0, 0, 0 },
			{ ASK, 2, 12, 0, B, 0, 0, 0 } } },
		{ "resumed at one, resumed at all", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { HOST, 0, 1, 0, A, 60, 0, 0 }, { POST, 0, 1, 0, "", 0, 0, 0 },
			{ RESUME_HOST, 1, 2, 0, A, 0, 0, 0 }, { POST, 0, 2, 0, "", 0, 0, 0 }, { LOOK, 0, 2, 0, A, 0, 0, 0 }, { LOOK, 2, 2, 0, A, 0, 0, 0 } } },
		{ "also a pause of which only another knows", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { REFUSED, 0, 1, 0, A, 0, 0, 0 },
			{ RESUME_URL, 1, 2, 0, A, 0, 0, 0 }, { POST, 0, 2, 0, "", 0, 0, 0 }, { LOOK, 0, 2, 0, A, 0, 0, 0 } } },
		{ "all of them", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { URL, 0, 1, 0, A, 0, 0, 0 }, { POST, 0, 1, 0, "", 0, 0, 0 },
			{ RESUME_ALL, 1, 2, 0, "", 0, 0, 0 }, { POST, 0, 2, 0, "", 0, 0, 0 }, { LOOK, 0, 2, 0, A, 0, 0, 0 } } },
		{ "but none that began since", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { RESUME_HOST, 1, 1, 0, A, 0, 0, 0 }, { HOST, 0, 2, 0, A, 60, 0, 0 },
			{ POST, 0, 2, 0, "", 0, 0, 0 }, { LOOK, 0, 2, 0, A, 0, 60, 60 }, { LOOK, 1, 2, 0, A, 0, 60, 60 } } },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		run(cases[i].rule, &terms, cases[i].steps);
}

static void intervals(void)
{
	static const struct backoff_terms terms = { .pauses = true, .host_interval_ms = BACKOFF_LEARNED };
	static const struct { const char *rule; struct step steps[STEPS]; } cases[] = {
		{ "a learned interval is all processes'", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { LEARN, 0, 1, 0, A, 600, 0, 0 }, { POST, 0, 1, 0, "", 0, 0, 0 },
			{ ASK, 1, 2, 0, B, 0, 599, 599 }, { ASK, 1, 601, 0, B, 0, 0, 0 } } },
		{ "the one that was learned last counts", { { ASK, 0, 0, 0, A, 0, 0, 0 }, { ASK, 1, 0, 0, A, 0, 0, 0 }, { LEARN, 0, 1, 0, A, 600, 0, 0 },
			{ LEARN, 1, 2, 0, A, 60, 0, 0 }, { POST, 0, 2, 0, "", 0, 0, 0 }, { AGAIN, 0, 2, 0, "", 0, 0, 0 }, { ASK, 2, 2, 0, B, 0, 59, 59 } } },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		run(cases[i].rule, &terms, cases[i].steps);
}

static void protocols(void)
{
	struct act act = { .now_ms = 1000 };
	const struct backoff_request r = { .url = { A, strlen(A) } }, other = { .url = { B, strlen(B) } };

	for (unsigned p = 0; p < PROCESSES; p++) {
		act.processes[p] = (struct process){ .act = &act, .number = p, .b = backoff_new() };
		CU_ASSERT_PTR_NOT_NULL_FATAL(act.processes[p].b);
		backoff_listen(act.processes[p].b, on_told, &act.processes[p]);
	}
	backoff_learn_protocol(act.processes[0].b, &r, BACKOFF_PROTOCOL_ANY, clock_of(0, 0));
	backoff_learn_protocol(act.processes[0].b, &r, BACKOFF_PROTOCOL_HTTP_1, clock_of(0, 1000));
	post(&act, 0, "a protocol that is better is so for all");
	CU_ASSERT_EQUAL(act.mail.n, 1);
	CU_ASSERT_EQUAL(backoff_protocol(act.processes[1].b, &other, clock_of(1, 2000)), BACKOFF_PROTOCOL_HTTP_1);
	CU_ASSERT_EQUAL(backoff_protocol(act.processes[1].b, &other, clock_of(1, 3700000)), BACKOFF_PROTOCOL_ANY);
	for (unsigned p = 0; p < PROCESSES; p++)
		backoff_free(&act.processes[p].b);
}

/* What is read a second after it was told, at 100,000 s. */
static void reading(void)
{
	static const struct { const char *rule, *text; bool good; uint64_t since_ms, until_ms; unsigned doublings; int status; enum failure_kind why;
		size_t url; } cases[] = {
		{ "all of it", "pause o1 wff s3e8 f2710 c1ad a1 d2 " A, true, 99998000, 100009000, 2, 429, FAILURE_NONE, sizeof A - 1 },
		{ "a failure", "pause f2710 d2 yNO_FEED " A, true, 99999000, 100009000, 2, 0, FAILURE_NO_FEED, sizeof A - 1 },
		{ "a failure of another version", "pause f2710 yWORSE " A, true, 99999000, 100009000, 0, 0, FAILURE_PAUSED, sizeof A - 1 },
		{ "words of another version are ignored", "pause zfoo f2710 Q= ~ " A, true, 99999000, 100009000, 0, 0, FAILURE_NONE, sizeof A - 1 },
		{ "a day", "pause f5265c00 " A, true, 99999000, 186399000, 0, 0, FAILURE_NONE, sizeof A - 1 },
		{ "more than a day", "pause f5265c01 " A, false, 0, 0, 0, 0, FAILURE_NONE, 0 },
		{ "all, of no URL", "resume r3 ", true, 99999000, 99999000, 0, 0, FAILURE_NONE, 0 },
		{ "a host, of no URL", "resume r2 ", false, 0, 0, 0, 0, FAILURE_NONE, 0 },
		{ "an unknown kind", "pausing f2710 " A, false, 0, 0, 0, 0, FAILURE_NONE, 0 },
		{ "nothing", "", false, 0, 0, 0, 0, FAILURE_NONE, 0 },
		{ "a kind alone", "pause", false, 0, 0, 0, 0, FAILURE_NONE, 0 },
		{ "no URL", "pause f2710 ", false, 0, 0, 0, 0, FAILURE_NONE, 0 },
		{ "a URL of another scheme", "pause f2710 ftp://origin.example/", false, 0, 0, 0, 0, FAILURE_NONE, 0 },
		{ "a scheme alone", "pause f2710 https://", false, 0, 0, 0, 0, FAILURE_NONE, 0 },
		{ "a control character", "pause f2710 " A "\n", false, 0, 0, 0, 0, FAILURE_NONE, 0 },
		{ "a number that is none", "pause fxy " A, false, 0, 0, 0, 0, FAILURE_NONE, 0 },
		{ "a number of no digits", "pause f " A, false, 0, 0, 0, 0, FAILURE_NONE, 0 },
		{ "a number of 17 digits", "pause f00000000000000001 " A, false, 0, 0, 0, 0, FAILURE_NONE, 0 },
		{ "a way is any number", "pause wffffffffffffffff f2710 " A, true, 99999000, 100009000, 0, 0, FAILURE_NONE, sizeof A - 1 },
		{ "no such status", "pause c3e8 " A, false, 0, 0, 0, 0, FAILURE_NONE, 0 },
		{ "no such doubling", "pause dff " A, false, 0, 0, 0, 0, FAILURE_NONE, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct backoff_news news;
		bool good = backoff_news_read(&news, (struct slice){ cases[i].text, strlen(cases[i].text) }, 1000, 100000000);

		UNIT_ROW(good == cases[i].good, "%s", cases[i].rule);
		if (good && cases[i].good)
			UNIT_ROW(news.since_ms == cases[i].since_ms && news.until_ms == cases[i].until_ms && news.doublings == cases[i].doublings &&
				news.cause.status == cases[i].status && news.cause.why == cases[i].why && news.url.len == cases[i].url,
				"%s: %llu %llu", cases[i].rule, (unsigned long long)news.since_ms, (unsigned long long)news.until_ms);
	}
}

static void long_urls(void)
{
	static const struct { const char *rule; size_t len; bool told; } cases[] = {
		{ "the longest", BACKOFF_NEWS_URL_MAX, true }, { "one that is longer", BACKOFF_NEWS_URL_MAX + 1, false },
	};
	static char url[BACKOFF_NEWS_URL_MAX + 1] = "http://origin.example/", room[BACKOFF_NEWS_TEXT_MAX];

	memset(url + strlen("http://origin.example/"), 'a', sizeof url - strlen("http://origin.example/"));
	for (size_t i = 0; i < COUNT(cases); i++) {
		/* every number as long as it can be */
		struct backoff_news read, news = { .of = BACKOFF_OF_BUSY, .scope = BACKOFF_ALL, .url = { url, cases[i].len }, .way = UINT64_MAX,
			.parent = UINT64_MAX, .since_ms = 0, .until_ms = UINT64_MAX, .cause = { 999, FAILURE_HTTP_TRANSFER_CODING }, .asked_for = true,
			.plain = true, .doublings = 255, .space_ms = UINT64_MAX, .protocol = BACKOFF_PROTOCOL_REQUIRED };
		struct text t = text_on(room, sizeof room);

		UNIT_ROW(backoff_news_write(&t, &news, UINT64_MAX / 2) == cases[i].told, "%s: %zu bytes", cases[i].rule, t.len);
		UNIT_ROW(!cases[i].told || backoff_news_read(&read, (struct slice){ t.bytes, t.len }, 0, UINT64_MAX / 2), "%s", cases[i].rule);
	}
}

UNIT_SUITE(backoff_news, { "pauses", pauses }, { "ends", ends }, { "intervals", intervals }, { "protocols", protocols }, { "reading", reading },
	{ "long_urls", long_urls })
