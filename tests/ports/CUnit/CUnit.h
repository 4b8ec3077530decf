/* Owns the assertions of CUnit that core's unit tests use, where there is no CUnit for the system that they are compiled for
 * (tests/check-ports.sh). unit.c here counts them. Must not know: any test. */
#ifndef UTFEED_TESTS_PORTS_CUNIT_H
#define UTFEED_TESTS_PORTS_CUNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts one assertion; one that fails is printed, and ends the case where it is fatal. Returns whether it held. */
bool port_assert(bool holds, bool fatal, unsigned line, const char *text, const char *file);

#define PORT_ASSERT(holds, fatal, text) ((void)port_assert((holds), (fatal), __LINE__, (text), __FILE__))
#define CU_ASSERT(value) PORT_ASSERT((value), false, #value)
#define CU_ASSERT_FATAL(value) PORT_ASSERT((value), true, #value)
#define CU_ASSERT_TRUE(value) CU_ASSERT(value)
#define CU_ASSERT_FALSE(value) CU_ASSERT(!(value))
#define CU_ASSERT_EQUAL(actual, expected) CU_ASSERT((actual) == (expected))
#define CU_ASSERT_EQUAL_FATAL(actual, expected) CU_ASSERT_FATAL((actual) == (expected))
#define CU_ASSERT_NOT_EQUAL(actual, expected) CU_ASSERT((actual) != (expected))
#define CU_ASSERT_NOT_EQUAL_FATAL(actual, expected) CU_ASSERT_FATAL((actual) != (expected))
#define CU_ASSERT_PTR_EQUAL(actual, expected) CU_ASSERT((const void *)(actual) == (const void *)(expected))
#define CU_ASSERT_PTR_EQUAL_FATAL(actual, expected) CU_ASSERT_FATAL((const void *)(actual) == (const void *)(expected))
#define CU_ASSERT_PTR_NULL(value) CU_ASSERT((value) == NULL)
#define CU_ASSERT_PTR_NOT_NULL(value) CU_ASSERT((value) != NULL)
#define CU_ASSERT_PTR_NOT_NULL_FATAL(value) CU_ASSERT_FATAL((value) != NULL)
#define CU_ASSERT_STRING_EQUAL(actual, expected) CU_ASSERT(strcmp((actual), (expected)) == 0)
#define CU_FAIL(text) PORT_ASSERT(false, false, text)
#define CU_FAIL_FATAL(text) PORT_ASSERT(false, true, text)

#endif
