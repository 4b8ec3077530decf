/* Owns running one suite without CUnit: what tests/unit/unit.c does with it, in the words of CUnit/CUnit.h here.
 * Must not know: any module under test. */
#include "tests/unit/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf case_ended;
static const char *skipped_because;
static unsigned assertions, failures;

bool port_assert(bool holds, bool fatal, unsigned line, const char *text, const char *file)
{
	assertions++;
	if (holds)
		return true;
	failures++;
	printf("  %s:%u: %s\n", file, line, text);
	if (fatal)
		longjmp(case_ended, 1);
	return false;
}

bool unit_row(bool holds, const char *expression, const char *file, unsigned line, const char *format, ...)
{
	char row[512];
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(row, sizeof(row), format, arguments);
	va_end(arguments);
	snprintf(text, sizeof(text), "%s [%s]", expression, row);
	return port_assert(holds, false, line, text, file);
}

void unit_skip(const char *reason)
{
	skipped_because = reason;
}

/* The corpora of others are read by the builds of the machine itself. */
const char *unit_shared(void)
{
	return NULL;
}

static unsigned failures_of(const struct unit_case *one)
{
	unsigned before = failures;

	skipped_because = NULL;
	if (setjmp(case_ended) == 0)
		one->run();
	return failures - before;
}

int unit_main(int argc, char **argv, const char *suite, const struct unit_case *cases, size_t count)
{
	unsigned passed = 0, failed = 0, skipped = 0;

	(void)argc, (void)argv;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < count; i++) {
		if (failures_of(&cases[i])) {
			failed++;
			printf("FAIL %s\n", cases[i].name);
		} else if (skipped_because) {
			skipped++;
			printf("SKIP %s: %s\n", cases[i].name, skipped_because);
		} else {
			passed++;
		}
	}
	printf("%s: %u passed, %u failed, %u skipped (%u assertions)\n", suite, passed, failed, skipped, assertions);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
