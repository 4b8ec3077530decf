/* Owns the cases of proxy/answer/answer.c: the states of an answer by its kind, and what may be sent of an object.
 * Must not know: connections, the cache. Invariant: what no row names is refused. */
#include "proxy/answer/answer_internal.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proxy/object/audience.h"
#include "tests/unit/entries.h"
#include "tests/unit/unit.h"

/* In a process of its own, for answer_enter() ends one that goes another way. */
static bool may_enter(enum answer_kind kind, enum answer_state from, enum answer_state to)
{
	const struct rlimit none = { 0 };
	static struct answer a;
	pid_t child = fork();
	int status = -1;

	if (!child) {
		setrlimit(RLIMIT_CORE, &none);
		close(STDERR_FILENO);
		a.kind = kind;
		a.state = from;
		answer_enter(&a, to);
		_exit(a.state != to);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
	CU_ASSERT((WIFEXITED(status) && !WEXITSTATUS(status)) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
	return WIFEXITED(status);
}

static void states(void)
{
	static const unsigned new = 1u << ANSWER_NEW, wait = 1u << ANSWER_WAIT, ready = 1u << ANSWER_READY, begun = 1u << ANSWER_BEGUN;
	const struct { const char *rule; enum answer_kind kind; unsigned next[ANSWER_STATES]; } cases[] = {
		{ "utfeed's own is there at once", KIND_OWN, { ready, 0, begun | new, new } },
		{ "a purge may be waited for once", KIND_PURGE, { wait | ready, ready | new, begun | new, new } },
		{ "what is relayed is there at once", KIND_RELAY, { ready, 0, begun | new, new } },
		{ "the cache may be asked again until the head goes out", KIND_CACHED,
			{ wait | ready, ready | new, wait | ready | begun | new, new } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t from = 0; from < ANSWER_STATES; from++)
			for (size_t to = 0; to < ANSWER_STATES; to++)
				UNIT_ROW(may_enter(cases[i].kind, from, to) == (cases[i].next[from] >> to & 1), "%s: %zu to %zu",
					cases[i].rule, from, to);
}

/* RFC 9111 section 4.1: a client that joined gets nothing that it was not found to be admitted to. Another worker gives the object its head
 * or its failure between two looks of this one, as it may. */
static void looked_at(void)
{
	const struct failure failure = { .error = FAILURE_PROXY_INTERNAL_ERROR };
	const struct { const char *rule; bool fails; } cases[] = {
		{ "a head that came behind the look is not sent", false },
		{ "nor is a failure told that came behind it", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct answer a = { .kind = KIND_CACHED, .source = SOURCE_COLLAPSED };
		struct object *o = object_new(0);
		struct object_reader r = { .object = o };
		bool stored;

		UNIT_ROW(!answer_again(&a, o), "%s: it is waited for", cases[i].rule);
		if (cases[i].fails) {
			object_fail(o, &failure);
		} else {
			object_set_audience(o, audience_own());
			object_head(o, entries_head(1));
		}
		UNIT_ROW(!answer_head(&a, &r, &stored) && !answer_has_failed(&a, o), "%s", cases[i].rule);
		a.source = SOURCE_FILL;        /* whose own it is */
		UNIT_ROW(!answer_again(&a, o), "%s: it stands", cases[i].rule);
		struct object_head *head = answer_head(&a, &r, &stored);
		UNIT_ROW(!head == cases[i].fails && answer_has_failed(&a, o) == cases[i].fails, "%s, but behind the next", cases[i].rule);
		object_head_unref(&head);
		object_unref(&o);
	}
}

UNIT_SUITE(answer, { "states", states }, { "looked at", looked_at })
