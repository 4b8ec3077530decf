/* Owns the way a unit test program runs: one suite a program, its own main.
 * Must not know: any module under test.
 * Invariant: the exit status is 0 only if every assertion of every selected case held.
 *
 *	static void empty(void) { CU_ASSERT_EQUAL(bom_find("", 0), BOM_NONE); }
 *	UNIT_SUITE(bom, { "empty", empty }, { "utf-16", utf16 })
 *
 * In a table, UNIT_ROW(condition, row.name) fails with the row's own words. UNIT_SKIP(reason) ends a case that cannot run here. */
#ifndef UTFEED_TESTS_UNIT_H
#define UTFEED_TESTS_UNIT_H

#include <CUnit/CUnit.h>
#include <stdbool.h>
#include <stddef.h>

struct unit_case {
	const char *name;
	void (*run)(void);
};

/* Runs the cases named on the command line, or all; -l lists them. */
int unit_main(int argc, char **argv, const char *suite, const struct unit_case *cases, size_t count);

/* Remembers why the running case did not run; printed at the end, counted as skipped. */
void unit_skip(const char *reason);

/* Records an assertion of a table row; format says which row and what was seen. */
bool unit_row(bool holds, const char *expression, const char *file, unsigned line, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* Data of /work/shared's kind: the folder named by UTFEED_SHARED, else ../shared beside the source tree; NULL where there is none. */
const char *unit_shared(void);

/* ThreadSanitizer makes each byte that is touched several times as dear, and looks for races: what one thread does to hundreds of megabytes is
 * left to all the other builds. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNIT_RACES_ONLY true
#endif
#endif
#ifndef UNIT_RACES_ONLY
#define UNIT_RACES_ONLY false
#endif

#define UNIT_ROW(condition, ...) unit_row((condition), #condition, __FILE__, __LINE__, __VA_ARGS__)
#define UNIT_SKIP(reason) do { unit_skip(reason); return; } while (0)
#define UNIT_SUITE(suite, ...) \
	int main(int argc, char **argv) { \
		static const struct unit_case unit_cases[] = { __VA_ARGS__ }; \
		return unit_main(argc, argv, #suite, unit_cases, sizeof(unit_cases) / sizeof(unit_cases[0])); \
	}

#endif
