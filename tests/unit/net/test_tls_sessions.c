/* The memory of TLS sessions: taken once, the oldest out first, bounded. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/net/tls_sessions.h"

enum op { PUT, TAKE, CLEAR };

static const struct {
	const char *row;
	size_t cap;
	struct { enum op op; const char *peer, *session; } steps[8];   /* TAKE: what comes out, NULL for nothing */
} cases[] = {
	{ "taken once", 4, { { PUT, "a:443", "1" }, { TAKE, "a:443", "1" }, { TAKE, "a:443", NULL } } },
	{ "the latest counts", 4, { { PUT, "a:443", "1" }, { PUT, "a:443", "2" }, { TAKE, "a:443", "2" }, { TAKE, "a:443", NULL } } },
	{ "peers are apart", 4, { { PUT, "a:443", "1" }, { TAKE, "a:44", NULL }, { TAKE, "b:443", NULL }, { TAKE, "a:443", "1" } } },
	{ "full: the oldest goes", 2, { { PUT, "a", "1" }, { PUT, "b", "2" }, { PUT, "c", "3" }, { TAKE, "a", NULL }, { TAKE, "b", "2" },
	    { TAKE, "c", "3" } } },
	{ "full: renewed is young", 2, { { PUT, "a", "1" }, { PUT, "b", "2" }, { PUT, "a", "3" }, { PUT, "c", "4" }, { TAKE, "b", NULL },
	    { TAKE, "a", "3" }, { TAKE, "c", "4" } } },
	{ "cap of one", 1, { { PUT, "a", "1" }, { PUT, "b", "2" }, { TAKE, "a", NULL }, { TAKE, "b", "2" } } },
	{ "cleared", 2, { { PUT, "a", "1" }, { CLEAR, NULL, NULL }, { TAKE, "a", NULL }, { PUT, "b", "2" }, { PUT, "c", "3" },
	    { TAKE, "b", "2" } } },
};

static void test_steps(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tls_sessions *s = tls_sessions_new(cases[i].cap);

		CU_ASSERT_PTR_NOT_NULL_FATAL(s);
		for (size_t j = 0; j < 8 && (cases[i].steps[j].peer || cases[i].steps[j].op == CLEAR); j++) {
			const char *peer = cases[i].steps[j].peer, *want = cases[i].steps[j].session;
			size_t len = 0;
			char *got;

			if (cases[i].steps[j].op == PUT)
				tls_sessions_put(s, peer, (unsigned char *)strdup(want), strlen(want));
			else if (cases[i].steps[j].op == CLEAR)
				tls_sessions_clear(s);
			else {
				got = (char *)tls_sessions_take(s, peer, &len);
				UNIT_ROW(want ? got && len == strlen(want) && !memcmp(got, want, len) : !got, "%s, step %zu", cases[i].row, j);
				free(got);
			}
		}
		tls_sessions_free(&s);
	}
}

UNIT_SUITE(tls_sessions, { "steps", test_steps })
