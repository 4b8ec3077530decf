/* Owns the text that a function of conf/ prints of a configuration, which the caller frees. */
#ifndef UTFEED_TESTS_PRINTED_H
#define UTFEED_TESTS_PRINTED_H

#include "conf/conf.h"
#include "tests/unit/unit.h"

#include <stdio.h>

/* Not inline: gcc 12 would take the text for the local variable (-Wdangling-pointer). */
static __attribute__((noinline)) char *printed(void (*print)(FILE *, const struct conf *), const struct conf *conf)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	print(out, conf);
	fclose(out);
	return text;
}

#endif
