/* Owns running one suite through CUnit and telling what failed, and what a test program draws at random.
 * Must not know: any module under test.
 * Invariant: failures and skips are printed under the case's name, with the command that runs the program again. */
#include "unit.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

enum { UNIT_ROWS_SHOWN = 20, UNIT_SEED = 1 };

static const char *program;
static const char *skipped_because;
static unsigned cases_skipped;
static unsigned failures_before;
static unsigned cases_failed;
static CU_pSuite registered;

static uint64_t unit_seed(void)
{
	const char *named = getenv("UTFEED_TEST_SEED");

	return named ? strtoull(named, NULL, 10) : UNIT_SEED;
}

/* In the place of the C library's, for all that is linked with this: secrets are drawn before main() too. SplitMix64. */
ssize_t getrandom(void *bytes, size_t len, unsigned flags)
{
	static atomic_uint_fast64_t draws;
	uint8_t *at = bytes;

	(void)flags;
	for (size_t i = 0; i < len; i += sizeof(uint64_t)) {
		uint64_t z = unit_seed() + (atomic_fetch_add(&draws, 1) + 1) * UINT64_C(0x9e3779b97f4a7c15);

		z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
		z ^= z >> 31;
		memcpy(at + i, &z, len - i < sizeof z ? len - i : sizeof z);
	}
	return (ssize_t)len;
}

void unit_skip(const char *reason)
{
	skipped_because = reason;
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
	return CU_assertImplementation(holds, line, text, file, "", CU_FALSE);
}

const char *unit_shared(void)
{
	static char beside[4096];
	const char *named = getenv("UTFEED_SHARED");
	struct stat found;

	if (!named) {
		const char *source = getenv("UTFEED_SRCDIR");
		snprintf(beside, sizeof(beside), "%s/../shared", source ? source : ".");
		named = beside;
	}
	return stat(named, &found) == 0 && S_ISDIR(found.st_mode) ? named : NULL;
}

static bool named_on_command_line(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc < 2;
}

static void case_starts(const CU_pTest test, const CU_pSuite suite)
{
	(void)test;
	(void)suite;
	skipped_because = NULL;
	failures_before = CU_get_number_of_failure_records();
}

static void case_ends(const CU_pTest test, const CU_pSuite suite, const CU_pFailureRecord failure)
{
	unsigned failed = CU_get_number_of_failure_records() - failures_before;
	unsigned shown = 0;

	(void)suite;
	if (skipped_because && failed == 0) {
		cases_skipped++;
		printf("SKIP %s: %s\n", test->pName, skipped_because);
	}
	if (failed == 0)
		return;
	cases_failed++;
	printf("FAIL %s: %u assertion%s\n", test->pName, failed, failed == 1 ? "" : "s");
	for (const struct CU_FailureRecord *record = failure; record && shown < UNIT_ROWS_SHOWN; record = record->pNext) {
		if (record->pTest != test)
			continue;
		shown++;
		printf("  %s:%u: %s\n", record->strFileName, record->uiLineNumber, record->strCondition);
	}
	if (shown < failed)
		printf("  ... and %u more\n", failed - shown);
	printf("  again: UTFEED_TEST_SEED=%llu %s\n", (unsigned long long)unit_seed(), program);
}

int unit_main(int argc, char **argv, const char *suite, const struct unit_case *cases, size_t count)
{
	unsigned selected = 0;

	program = argv[0];
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && strcmp(argv[1], "-l") == 0) {
		for (size_t i = 0; i < count; i++)
			puts(cases[i].name);
		return EXIT_SUCCESS;
	}
	if (CU_initialize_registry() != CUE_SUCCESS || !(registered = CU_add_suite(suite, NULL, NULL))) {
		fprintf(stderr, "%s: %s\n", program, CU_get_error_msg());
		return EXIT_FAILURE;
	}
	for (size_t i = 0; i < count; i++) {
		if (!named_on_command_line(argc, argv, cases[i].name))
			continue;
		if (!CU_add_test(registered, cases[i].name, cases[i].run)) {
			fprintf(stderr, "%s: %s: %s\n", program, cases[i].name, CU_get_error_msg());
			return EXIT_FAILURE;
		}
		selected++;
	}
	if (selected == 0) {
		fprintf(stderr, "%s: no such case; -l lists them\n", program);
		return EXIT_FAILURE;
	}
	CU_set_test_start_handler(case_starts);
	CU_set_test_complete_handler(case_ends);
	CU_run_all_tests();
	printf("%s: %u passed, %u failed, %u skipped (%u assertions)\n", suite, selected - cases_failed - cases_skipped, cases_failed,
		cases_skipped, CU_get_number_of_asserts());
	unsigned failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
