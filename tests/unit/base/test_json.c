/* Owns the cases of proxy/base/json.c. Must not know: what is written with it. Invariant: each row names its rule (RFC 8259). */
#include "proxy/base/json.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

static void strings(void)
{
	static const struct {
		const char *rule, *text, *want;
	} cases[] = {
		{ "none", NULL, "null" },
		{ "empty", "", "\"\"" },
		{ "section 7: quotes and backslashes", "a\"b\\c", "\"a\\\"b\\\\c\"" },
		{ "section 7: controls", "\x01\t\n\x1f", "\"\\u0001\\u0009\\u000a\\u001f\"" },
		{ "DEL and C1, for terminals", "\x7f\xc2\x80\xc2\x9b\xc2\xa0", "\"\\u007f\\u0080\\u009b\xc2\xa0\"" },
		{ "section 8.1: UTF-8", "é€😀", "\"é€😀\"" },
		{ "what is not UTF-8", "a\xff\xe9z\xe2\x82", "\"a\\ufffd\\ufffdz\\ufffd\"" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = NULL, want[128];
		size_t len = 0;
		struct json j = { .out = open_memstream(&text, &len) };

		CU_ASSERT_PTR_NOT_NULL_FATAL(j.out);
		json_open(&j, NULL);
		json_string(&j, "k", cases[i].text);
		json_close(&j);
		fclose(j.out);
		snprintf(want, sizeof(want), "{\"k\":%s}", cases[i].want);
		UNIT_ROW(strcmp(text, want) == 0, "%s: %s", cases[i].rule, text);
		free(text);
	}
}

static void members(void)
{
	char *text = NULL;
	size_t len = 0;
	struct json j = { .out = open_memstream(&text, &len) };

	CU_ASSERT_PTR_NOT_NULL_FATAL(j.out);
	json_open(&j, NULL);
	json_number(&j, "n", UINT64_MAX);
	json_open(&j, "empty");
	json_close(&j);
	json_open(&j, "inner \"one\"");
	json_bool(&j, "t", true);
	json_bool(&j, "f", false);
	json_close(&j);
	json_null(&j, "z");
	json_open_list(&j, "list");
	json_open(&j, NULL);
	json_decimal(&j, "d", -2.5);
	json_close(&j);
	json_open(&j, NULL);
	json_close(&j);
	json_close_list(&j);
	json_open_list(&j, "none");
	json_close_list(&j);
	json_close(&j);
	fclose(j.out);
	CU_ASSERT_STRING_EQUAL(text, "{\"n\":18446744073709551615,\"empty\":{},\"inner \\\"one\\\"\":{\"t\":true,\"f\":false},\"z\":null,"
	    "\"list\":[{\"d\":-2.50},{}],\"none\":[]}");
	free(text);
}

UNIT_SUITE(json, { "strings", strings }, { "members", members })
