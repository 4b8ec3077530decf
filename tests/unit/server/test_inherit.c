/* Owns the cases of proxy/server/inherit.c: what LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES say (sd_listen_fds(3)). Must not know: sockets.
 * Invariant: the environment of the test is not read. */
#include "proxy/server/inherit.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

static void variables(void)
{
	static const struct { const char *rule, *pid, *fds, *names, *want; } cases[] = {
		{ "none is set", NULL, NULL, NULL, "" },
		{ "no process", NULL, "1", NULL, "" },
		{ "no number of descriptors", "42", NULL, "a", "" },
		{ "another process", "41", "1", NULL, "" },
		{ "another process, whatever the rest says", "41", "many", NULL, "" },
		{ "no process that there can be", "42x", "1", NULL, "" },
		{ "a process with a sign", "+42", "1", NULL, "" },
		{ "nothing for a process", "", "1", NULL, "" },
		{ "none given", "42", "0", NULL, "" },
		{ "none given, and an empty list of names", "42", "0", "", "" },
		{ "one without a name", "42", "1", NULL, "[]" },
		{ "one with an empty name", "42", "1", "", "[]" },
		{ "one", "42", "1", "listen", "[listen]" },
		{ "several", "42", "3", "listen:tls-listen:x", "[listen][tls-listen][x]" },
		{ "empty names among others", "42", "3", ":b:", "[][b][]" },
		{ "several without names", "42", "3", NULL, "[][][]" },
		{ "more names", "42", "1", "a:b", "LISTEN_FDNAMES" },
		{ "fewer names", "42", "3", "a:b", "LISTEN_FDNAMES" },
		{ "a word", "42", "many", NULL, "LISTEN_FDS" },
		{ "nothing", "42", "", NULL, "LISTEN_FDS" },
		{ "a sign", "42", "-1", NULL, "LISTEN_FDS" },
		{ "a blank", "42", " 1", NULL, "LISTEN_FDS" },
		{ "more than a process has", "42", "4097", NULL, "LISTEN_FDS" },
		{ "more than a number has", "42", "99999999999999999999999", NULL, "LISTEN_FDS" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct inherit in;
		char got[200] = "";
		const char *fault = inherit_read(cases[i].pid, cases[i].fds, cases[i].names, 42, &in);

		UNIT_ROW(!fault || !in.n, "%s: nothing is taken", cases[i].rule);
		for (size_t k = 0, len; k < in.n; k++) {
			const char *name = inherit_name(&in, k, &len);

			snprintf(got + strlen(got), sizeof got - strlen(got), "[%.*s]", (int)len, name);
		}
		UNIT_ROW(fault ? *cases[i].want && !strncmp(fault, cases[i].want, strlen(cases[i].want)) : !strcmp(got, cases[i].want),
			"%s: %s", cases[i].rule, fault ? fault : got);
	}
}

UNIT_SUITE(inherit, { "variables", variables })
