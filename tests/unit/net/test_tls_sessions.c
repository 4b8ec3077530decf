/* The memory of TLS sessions: by peer, within limits, tickets taken once, references counted. */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/net/tls_sessions.h"

enum { STEPS = 10, DAY = 86400, NOW = 1000, BIG = 600, ENTRIES_TWO = 1400 };

/* A session of these tests: how many references it has. */
struct token { atomic_int refs; };

static void token_ref(void *session)
{
	atomic_fetch_add(&((struct token *)session)->refs, 1);
}

static void token_unref(void *session)
{
	atomic_fetch_sub(&((struct token *)session)->refs, 1);
}

static const struct tls_session_ops ops = { token_ref, token_unref };

/* ONCE, AGAIN: puts a session that may be resumed once, or by many, from NOW until then. TAKE: what comes out at that time, 0 for nothing. */
enum op { END, ONCE, AGAIN, TAKE, FORGET };

struct step { enum op op; const char *peer; size_t token; time_t at; size_t bytes; };

static const struct {
	const char *row;
	struct tls_sessions_limits limits;
	struct step steps[STEPS];
} cases[] = {
	{ "a ticket is taken once (RFC 8446 appendix C.4)", { 4, 9999, 4 }, { { ONCE, "443 a", 1, DAY, 0 }, { TAKE, "443 a", 1, NOW, 0 },
	    { TAKE, "443 a", 0, NOW, 0 } } },
	{ "several tickets: the latest first", { 4, 9999, 4 }, { { ONCE, "443 a", 1, DAY, 0 }, { ONCE, "443 a", 2, DAY, 0 },
	    { TAKE, "443 a", 2, NOW, 0 }, { TAKE, "443 a", 1, NOW, 0 }, { TAKE, "443 a", 0, NOW, 0 } } },
	{ "others are for many", { 4, 9999, 4 }, { { AGAIN, "443 a", 1, DAY, 0 }, { TAKE, "443 a", 1, NOW, 0 }, { TAKE, "443 a", 1, NOW, 0 } } },
	{ "and the latest replaces all", { 4, 9999, 4 }, { { ONCE, "443 a", 1, DAY, 0 }, { AGAIN, "443 a", 2, DAY, 0 },
	    { AGAIN, "443 a", 3, DAY, 0 }, { TAKE, "443 a", 3, NOW, 0 }, { FORGET, "443 a", 0, 0, 0 }, { TAKE, "443 a", 0, NOW, 0 } } },
	{ "peers are apart", { 4, 9999, 4 }, { { ONCE, "443 a", 1, DAY, 0 }, { TAKE, "44 a", 0, NOW, 0 }, { TAKE, "443 b", 0, NOW, 0 },
	    { TAKE, "443 by p:1 a", 0, NOW, 0 }, { FORGET, "443 b", 0, 0, 0 }, { TAKE, "443 a", 1, NOW, 0 } } },
	{ "too late", { 4, 9999, 4 }, { { AGAIN, "a", 1, NOW + 9, 0 }, { TAKE, "a", 1, NOW + 8, 0 }, { TAKE, "a", 0, NOW + 9, 0 },
	    { TAKE, "a", 0, NOW, 0 } } },
	{ "an older one may still do", { 4, 9999, 4 }, { { ONCE, "a", 1, DAY, 0 }, { ONCE, "a", 2, NOW + 9, 0 }, { TAKE, "a", 1, NOW + 9, 0 } } },
	{ "a clock that went back", { 4, 9999, 4 }, { { ONCE, "a", 1, DAY, 0 }, { TAKE, "a", 0, NOW - 1, 0 } } },
	{ "full: the oldest goes", { 2, 9999, 4 }, { { ONCE, "a", 1, DAY, 0 }, { ONCE, "b", 2, DAY, 0 }, { ONCE, "c", 3, DAY, 0 },
	    { TAKE, "a", 0, NOW, 0 }, { TAKE, "b", 2, NOW, 0 }, { TAKE, "c", 3, NOW, 0 } } },
	{ "full: resumed is young", { 2, 9999, 4 }, { { AGAIN, "a", 1, DAY, 0 }, { ONCE, "b", 2, DAY, 0 }, { TAKE, "a", 1, NOW, 0 },
	    { ONCE, "c", 3, DAY, 0 }, { TAKE, "b", 0, NOW, 0 }, { TAKE, "a", 1, NOW, 0 } } },
	{ "one peer's share", { 9, 9999, 2 }, { { ONCE, "b", 4, DAY, 0 }, { ONCE, "a", 1, DAY, 0 }, { ONCE, "a", 2, DAY, 0 },
	    { ONCE, "a", 3, DAY, 0 }, { TAKE, "a", 3, NOW, 0 }, { TAKE, "a", 2, NOW, 0 }, { TAKE, "a", 0, NOW, 0 }, { TAKE, "b", 4, NOW, 0 } } },
	{ "too many bytes: the oldest goes", { 9, ENTRIES_TWO, 9 }, { { ONCE, "a", 1, DAY, BIG }, { ONCE, "b", 2, DAY, BIG },
	    { TAKE, "a", 0, NOW, 0 }, { TAKE, "b", 2, NOW, 0 } } },
	{ "larger than all the room", { 9, ENTRIES_TWO, 9 }, { { ONCE, "a", 1, DAY, 1 }, { ONCE, "b", 2, DAY, 3 * BIG }, { TAKE, "b", 0, NOW, 0 },
	    { TAKE, "a", 0, NOW, 0 }, { ONCE, "c", 3, DAY, BIG }, { TAKE, "c", 3, NOW, 0 } } },
	{ "cap of one", { 1, 9999, 1 }, { { ONCE, "a", 1, DAY, 0 }, { ONCE, "b", 2, DAY, 0 }, { TAKE, "a", 0, NOW, 0 }, { TAKE, "b", 2, NOW, 0 } } },
};

static void put(struct tls_sessions *s, const char *peer, struct token *token, bool once, time_t until, size_t bytes)
{
	struct tls_session session = { token, bytes, NOW, until, until, once };

	token_ref(token);
	tls_sessions_put(s, peer, &session);
}

/* The number of the token that comes out; its reference is given back. */
static size_t take(struct tls_sessions *s, const char *peer, time_t now, const struct token tokens[])
{
	struct tls_session session;

	if (!tls_sessions_take(s, peer, now, &session))
		return 0;
	token_unref(session.session);
	return (size_t)((struct token *)session.session - tokens);
}

static void test_steps(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tls_sessions *s = tls_sessions_new(&cases[i].limits, &ops);
		struct token tokens[STEPS] = { 0 };

		CU_ASSERT_PTR_NOT_NULL_FATAL(s);
		for (const struct step *at = cases[i].steps; at < cases[i].steps + STEPS && at->op; at++) {
			if (at->op == FORGET)
				tls_sessions_forget(s, at->peer);
			else if (at->op == TAKE)
				UNIT_ROW(take(s, at->peer, at->at, tokens) == at->token, "%s, step %zu", cases[i].row, (size_t)(at - cases[i].steps));
			else
				put(s, at->peer, &tokens[at->token], at->op == ONCE, at->at, at->bytes);
		}
		tls_sessions_free(&s);
		for (size_t j = 0; j < STEPS; j++)
			UNIT_ROW(!tokens[j].refs, "%s: references of %zu", cases[i].row, j);
	}
}

/* ---- two workers ---- */

enum { TICKETS = 2000 };

static struct tls_sessions *shared;
static struct token tickets[TICKETS], *const common = tickets;
static atomic_int taken[TICKETS];

/* Puts every other ticket and takes what there is, as often as it is there; the first token is for many. */
static void *worker(void *arg)
{
	size_t first = (size_t)(uintptr_t)arg, n;

	for (size_t i = first; i < TICKETS; i += 2) {
		put(shared, "a", &tickets[i], true, DAY, 0);
		if ((n = take(shared, "a", NOW, tickets)))
			atomic_fetch_add(&taken[n], 1);
		put(shared, "b", common, false, DAY, 0);
		take(shared, "b", NOW, tickets);
		if (i % 64 < 2)
			tls_sessions_forget(shared, "b");
	}
	return NULL;
}

static void test_two_workers(void)
{
	static const struct tls_sessions_limits limits = { 8, 9999, 4 };
	pthread_t threads[2];

	shared = tls_sessions_new(&limits, &ops);
	CU_ASSERT_PTR_NOT_NULL_FATAL(shared);
	for (size_t i = 0; i < 2; i++)
		CU_ASSERT_FATAL(!pthread_create(&threads[i], NULL, worker, (void *)(uintptr_t)(i + 1)));
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	tls_sessions_free(&shared);
	for (size_t i = 0; i < TICKETS; i++)
		UNIT_ROW(taken[i] <= 1 && !tickets[i].refs, "ticket %zu: taken once at most, let go of", i);
}

UNIT_SUITE(tls_sessions, { "steps", test_steps }, { "two workers", test_two_workers })
