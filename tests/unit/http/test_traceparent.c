/* Owns the cases of proxy/http/traceparent.c. Source: W3C Trace Context, sections 3.2 and 4.3; the rows name what of it they are about. */
#include "proxy/http/traceparent.h"
#include "proxy/base/text.h"
#include "tests/unit/unit.h"

#include "proxy/http/http_msg.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"
#define GOOD "00-" TRACE "-" PARENT "-01"

static void valid(void)
{
	static const struct { const char *rule, *value; bool valid; } cases[] = {
		{ "the example", GOOD, true },
		{ "not sampled", "00-" TRACE "-" PARENT "-00", true },
		{ "flags that nobody knows yet", "00-" TRACE "-" PARENT "-ff", true },
		{ "version ff", "ff-" TRACE "-" PARENT "-01", false },
		{ "version 00 is not longer", GOOD "-x", false },
		{ "a later version", "cc-" TRACE "-" PARENT "-01", true },
		{ "a later version is longer", "cc-" TRACE "-" PARENT "-01-what", true },
		{ "a later version, longer without a dash", "cc-" TRACE "-" PARENT "-01.what", false },
		{ "capitals", "00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01", false },
		{ "version in capitals", "CC-" TRACE "-" PARENT "-01", false },
		{ "trace of zeros", "00-00000000000000000000000000000000-" PARENT "-01", false },
		{ "parent of zeros", "00-" TRACE "-0000000000000000-01", false },
		{ "short trace", "00-0af7651916cd43dd8448eb211c80319-" PARENT "-011", false },
		{ "no digit", "00-" TRACE "-b7ad6b716920333g-01", false },
		{ "flags no digits", "00-" TRACE "-" PARENT "-0x", false },
		{ "other signs between", "00_" TRACE "-" PARENT "-01", false },
		{ "other signs between", "00-" TRACE "_" PARENT "-01", false },
		{ "other signs between", "00-" TRACE "-" PARENT "_01", false },
		{ "too short", "00-" TRACE "-" PARENT "-0", false },
		{ "a list", GOOD ", " GOOD, false },
		{ "empty", "", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t len = strlen(cases[i].value);
		char *exact = malloc(len ? len : 1);

		memcpy(exact, cases[i].value, len);
		UNIT_ROW(traceparent_is_valid((struct slice){ exact, len }) == cases[i].valid, "%s", cases[i].rule);
		free(exact);
	}
}

enum { FIELDS = 4 };

struct given { enum header_id id; const char *value; };

static struct http_msg make(struct http_field fields[FIELDS], char *bytes, const struct given *given)
{
	struct http_msg m = { .base = bytes, .fields = fields, .max_fields = FIELDS };
	size_t at = 0;

	for (; given->value; given++) {
		size_t len = strlen(given->value);

		memcpy(bytes + at, given->value, len);
		fields[m.n_fields] = (struct http_field){ .id = (uint8_t)given->id, .value = (uint32_t)at, .value_len = (uint32_t)len };
		http_msg_add(&m);
		at += len;
	}
	return m;
}

static void own(void)
{
	static const struct { const char *rule; bool accepted; struct given given[FIELDS]; const char *trace, *flags, *state; } cases[] = {
		{ "accepted", true, { { H_TRACEPARENT, GOOD } }, TRACE, "01", NULL },
		{ "not sampled stays so", true, { { H_TRACEPARENT, "00-" TRACE "-" PARENT "-00" } }, TRACE, "00", NULL },
		{ "other flags are not sent on", true, { { H_TRACEPARENT, "00-" TRACE "-" PARENT "-fe" } }, TRACE, "00", NULL },
		{ "the sampled one of many", true, { { H_TRACEPARENT, "cc-" TRACE "-" PARENT "-ff-x" } }, TRACE, "01", NULL },
		{ "with its state", true, { { H_TRACEPARENT, GOOD }, { H_TRACESTATE, "a=1" }, { H_TRACESTATE, "b=2" } }, TRACE, "01",
			"tracestate: a=1\r\ntracestate: b=2\r\n" },
		{ "a stranger's", false, { { H_TRACEPARENT, GOOD }, { H_TRACESTATE, "a=1" } }, NULL, "00", NULL },
		{ "invalid: its state is none either", true, { { H_TRACEPARENT, "00-x" }, { H_TRACESTATE, "a=1" } }, NULL, "00", NULL },
		{ "twice", true, { { H_TRACEPARENT, GOOD }, { H_TRACEPARENT, GOOD } }, NULL, "00", NULL },
		{ "none", true, { { H_TRACESTATE, "a=1" } }, NULL, "00", NULL },
	};
	char bytes[512];

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct http_field fields[FIELDS];
		struct http_msg m = make(fields, bytes, cases[i].given);
		struct trace trace = { .accepted = cases[i].accepted }, second = trace;
		const char *text = trace_own(&trace, &m);
		struct text lines = { 0 };
		char want[256];

		UNIT_ROW(strlen(text) == TRACEPARENT_LEN && traceparent_is_valid((struct slice){ text, TRACEPARENT_LEN }), "%s: %s", cases[i].rule, text);
		UNIT_ROW(!strncmp(text, "00-" TRACE, 35) == (cases[i].trace != NULL), "%s: %s", cases[i].rule, text);
		UNIT_ROW(strncmp(text + 36, PARENT, 16) && !strcmp(text + 53, cases[i].flags), "%s: %s", cases[i].rule, text);
		UNIT_ROW(trace_own(&trace, &m) == text, "%s: made once", cases[i].rule);
		trace_add_fields(&lines, &trace, &m);
		snprintf(want, sizeof want, "traceparent: %s\r\n%s", text, cases[i].state ? cases[i].state : "");
		UNIT_ROW(lines.len == strlen(want) && !memcmp(lines.bytes, want, lines.len), "%s: %.*s", cases[i].rule, (int)lines.len, lines.bytes);
		text_free(&lines);
		UNIT_ROW(strcmp(trace_own(&second, &m), text), "%s: each its own", cases[i].rule);
	}
}

static void no_head(void)
{
	struct trace trace = { .accepted = true };

	CU_ASSERT_EQUAL(strlen(trace_own(&trace, NULL)), TRACEPARENT_LEN);
}

UNIT_SUITE(traceparent, { "valid", valid }, { "own", own }, { "no head", no_head })
