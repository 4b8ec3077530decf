/* Owns the cases of proxy/http/http_msg.c: field names, lists, slices. Must not know: parsing. Invariant: each row names its rule. */
#include "proxy/http/http_msg.h"
#include "tests/unit/unit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static const char *const header_names[H_COUNT] = {
#define HEADER(id, name, request, response) [H_##id] = name,
#define FAMILY(id, name, request, response)
#include "proxy/http/headers.def"
#undef HEADER
#undef FAMILY
};

static const char *const families[H_COUNT] = {
#define HEADER(id, name, request, response)
#define FAMILY(id, name, request, response) [H_##id] = name,
#include "proxy/http/headers.def"
#undef HEADER
#undef FAMILY
};

static struct slice slice(const char *text)
{
	return (struct slice){ text, strlen(text) };
}

static bool equals(struct slice s, const char *want)
{
	return want ? s.at && s.len == strlen(want) && memcmp(s.at, want, s.len) == 0 : s.at == NULL && s.len == 0;
}

/* Every row of headers.def is found by its name in any case, and by nothing near it. */
static void names(void)
{
	for (int id = 1; id < H_COUNT; id++) {
		const char *name = header_names[id];
		size_t len = name ? strlen(name) : 0;
		char other[64];

		if (families[id])
			continue;
		CU_ASSERT_FATAL(len > 0 && len + 1 < sizeof(other));
		UNIT_ROW(http_header_id(name, len) == (enum header_id)id, "%s", name);
		for (size_t i = 0; i <= len; i++)
			other[i] = (char)toupper((unsigned char)name[i]);
		UNIT_ROW(http_header_id(other, len) == (enum header_id)id, "%s", other);
		UNIT_ROW(http_header_id(name, len - 1) != (enum header_id)id, "%s, cut", name);
		snprintf(other, sizeof(other), "%sx", name);
		UNIT_ROW(http_header_id(other, len + 1) != (enum header_id)id, "%s", other);
		UNIT_ROW(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len, "%s: lower case", name);
	}
	CU_ASSERT_EQUAL(http_header_id("", 0), H_OTHER);
	CU_ASSERT_EQUAL(http_header_id("x-other", 7), H_OTHER);
}

/* With a character of it changed, wherever it stands and for whichever character of tokens (RFC 9110 section 5.6.2), the name is
 * another, unless only the case of a letter changed. */
static void near_names(void)
{
	static const char token[] = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	for (int id = 1; id < H_COUNT; id++) {
		const char *name = header_names[id];
		size_t len = name ? strlen(name) : 0;
		char other[64];

		for (size_t i = 0; i < len; i++)
			for (const char *c = token; *c; c++) {
				memcpy(other, name, len + 1);
				other[i] = *c;
				if ((http_header_id(other, len) == (enum header_id)id) != (strcasecmp(other, name) == 0))
					UNIT_ROW(false, "%s, not %s", other, name);
			}
	}
}

/* A family is whatever begins as it does and has no row of its own. */
static void family_names(void)
{
	for (int id = 1; id < H_COUNT; id++) {
		char other[64];
		int len;

		if (!families[id])
			continue;
		len = snprintf(other, sizeof(other), "%sX9", families[id]);
		UNIT_ROW(http_header_id(other, (size_t)len) == (enum header_id)id, "trust 18: %s", other);
		other[0] = (char)toupper((unsigned char)other[0]);
		UNIT_ROW(http_header_id(other, (size_t)len) == (enum header_id)id, "trust 18: %s", other);
		UNIT_ROW(http_header_id(other, strlen(families[id]) - 1) == H_OTHER, "trust 18: %s, cut", families[id]);
		UNIT_ROW(strspn(families[id], "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(families[id]), "%s: lower case", families[id]);
	}
	CU_ASSERT_EQUAL(http_header_id("x-lighttpd-send-file", 20), H_X_LIGHTTPD_SEND_FILE);
	CU_ASSERT_EQUAL(http_header_id("zx-accel-redirect", 17), H_OTHER);
}

/* RFC 9110 section 7.6.1 and RFC 9112 section 7: what never goes to the next hop as it came. */
static void hop_by_hop(void)
{
	static const enum header_id ids[] = {
		H_CONNECTION, H_KEEP_ALIVE, H_PROXY_AUTHENTICATE, H_PROXY_AUTHORIZATION, H_PROXY_CONNECTION, H_TE, H_TRAILER,
		H_TRANSFER_ENCODING, H_UPGRADE, H_HTTP2_SETTINGS,
	};
	for (size_t i = 0; i < COUNT(ids); i++) {
		UNIT_ROW(http_header_request(ids[i]) != REQUEST_SEND, "%s", header_names[ids[i]]);
		UNIT_ROW(http_header_response(ids[i]) == RESPONSE_DROP || http_header_response(ids[i]) == RESPONSE_OWN, "%s",
			header_names[ids[i]]);
	}
	CU_ASSERT_EQUAL(http_header_response(H_OTHER), RESPONSE_KEEP);
}

static void lists(void)
{
	static const struct { const char *rule, *first, *second, *want; } cases[] = {
		{ "one", "a", NULL, "a" },
		{ "two", "a,b", NULL, "a|b" },
		{ "trimmed", " a \t,\tb c ", NULL, "a|b c" },
		{ "empty members (9110 5.6.1.2)", ",, a , ,b,", NULL, "a|b" },
		{ "nothing", "", NULL, "" },
		{ "only commas", " , ,", NULL, "" },
		{ "two fields", "a,b", "c", "a|b|c" },
		{ "an empty field between", "", "c", "c" },
		{ "comma in quotes (9110 5.6.4)", "\"a,b\",c", NULL, "\"a,b\"|c" },
		{ "quote in quotes", "\"a\\\",b\",c", NULL, "\"a\\\",b\"|c" },
		{ "backslash outside quotes", "a\\,b", NULL, "a\\|b" },
		{ "backslash before the closing quote", "\"a\\\\\",b", NULL, "\"a\\\\\"|b" },
		{ "quote left open", "\"a,b", "c", "\"a,b|c" },
		{ "backslash at the end", "\"a\\", "c", "\"a\\|c" },
		{ "weak entity tag", "W/\"a,\", \"b\"", NULL, "W/\"a,\"|\"b\"" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char buffer[256], got[256] = "";
		struct http_field fields[4];
		struct http_msg m = { .base = buffer, .max_fields = 4, .fields = fields };
		struct http_list it = { 0, 0 };
		struct slice member;
		size_t members = 0;
		int second = snprintf(buffer, sizeof(buffer), "%s", cases[i].first);

		snprintf(buffer + second, sizeof(buffer) - (size_t)second, "%s;other,field", cases[i].second ? cases[i].second : "");
		memset(fields, 0, sizeof(fields));
		fields[0] = (struct http_field){ .id = H_OTHER, .value = (uint32_t)strcspn(buffer, ";"), .value_len = 5 };
		fields[1] = (struct http_field){ .id = H_VARY, .value_len = (uint32_t)second };
		fields[2] = fields[0];
		fields[3] = (struct http_field){ .id = cases[i].second ? H_VARY : H_OTHER, .value = (uint32_t)second,
			.value_len = cases[i].second ? (uint32_t)strlen(cases[i].second) : 0 };
		while (m.n_fields < COUNT(fields))
			http_msg_add(&m);
		CU_ASSERT(http_msg_has(&m, H_VARY) && !http_msg_has(&m, H_ETAG));
		while (http_msg_next_member(&m, H_VARY, &it, &member) && members++ < 16)
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%.*s", *got ? "|" : "", (int)member.len, member.at);
		UNIT_ROW(strcmp(got, cases[i].want) == 0, "%s: wanted %s, got %s", cases[i].rule, cases[i].want, got);
		CU_ASSERT_FALSE(http_msg_next_member(&m, H_VARY, &it, &member));
		CU_ASSERT_EQUAL(http_msg_count(&m, H_VARY), cases[i].second ? 2 : 1);
		UNIT_ROW(equals(http_msg_get(&m, H_VARY), cases[i].first), "%s", cases[i].rule);
		CU_ASSERT_PTR_NULL(http_msg_get(&m, H_ETAG).at);
	}
}

static void slices(void)
{
	static const struct { const char *rule, *text, *part, *rest; } cases[] = {
		{ "both", "a;b", "a", "b" },
		{ "blanks off the part", " a\t; b ", "a", " b " },
		{ "none", "a", "a", NULL },
		{ "first of two", "a;b;c", "a", "b;c" },
		{ "nothing before", ";b", "", "b" },
		{ "nothing after", "a;", "a", "" },
		{ "nothing", "", "", NULL },
	};
	static const struct { const char *text, *want; } trims[] = {
		{ "", "" }, { " ", "" }, { "\t \t", "" }, { "a", "a" }, { " a b\t", "a b" }, { "\va\n", "\va\n" },
	};
	static const struct { const char *text, *word; bool is; } words[] = {
		{ "chunked", "chunked", true }, { "ChunKED", "chunked", true }, { "chunke", "chunked", false }, { "chunkedx", "chunked", false },
		{ "", "", true }, { "chunked ", "chunked", false }, { "\xe9", "\xc9", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct slice rest, part = slice_until(slice(cases[i].text), ';', &rest);

		UNIT_ROW(equals(part, cases[i].part), "%s: %.*s", cases[i].rule, (int)part.len, part.at);
		UNIT_ROW(equals(rest, cases[i].rest), "%s", cases[i].rule);
	}
	for (size_t i = 0; i < COUNT(trims); i++)
		UNIT_ROW(equals(slice_trim(slice(trims[i].text)), trims[i].want), "[%s]", trims[i].text);
	for (size_t i = 0; i < COUNT(words); i++)
		UNIT_ROW(slice_is(slice(words[i].text), words[i].word) == words[i].is, "%s", words[i].text);
	CU_ASSERT_FALSE(slice_is((struct slice){ NULL, 0 }, ""));
}

static void reset(void)
{
	struct http_msg m;
	struct http_field *fields;

	CU_ASSERT_EQUAL_FATAL(http_msg_init(&m, 3), 0);
	fields = m.fields;
	m.base = "x";
	fields[0].id = H_ETAG;
	http_msg_add(&m);
	m.status = 200;
	m.chunked = true;
	http_msg_reset(&m);
	CU_ASSERT_PTR_EQUAL(m.fields, fields);
	CU_ASSERT(m.max_fields == 3 && m.n_fields == 0 && !http_msg_has(&m, H_ETAG) && m.status == 0 && !m.chunked && m.base[0] == 'x');
	http_msg_free(&m);
	CU_ASSERT_PTR_NULL(m.fields);
}

/* All fields of one id go, in whatever places; the others stay in their order. */
static void dropped(void)
{
	static const enum header_id ids[] = { H_AUTHORIZATION, H_HOST, H_AUTHORIZATION, H_OTHER, H_COOKIE, H_AUTHORIZATION };
	static const struct { const char *rule; enum header_id id; uint32_t left; enum header_id first; } rows[] = {
		{ "several", H_AUTHORIZATION, 3, H_HOST },
		{ "none", H_AUTHORIZATION, 3, H_HOST },
		{ "the first", H_HOST, 2, H_OTHER },
		{ "the last", H_COOKIE, 1, H_OTHER },
	};
	struct http_msg m = { .base = "" };

	CU_ASSERT_EQUAL_FATAL(http_msg_init(&m, COUNT(ids)), 0);
	for (size_t i = 0; i < COUNT(ids); i++) {
		m.fields[i] = (struct http_field){ .id = (uint8_t)ids[i] };
		http_msg_add(&m);
	}
	for (size_t i = 0; i < COUNT(rows); i++) {
		http_msg_drop(&m, rows[i].id);
		UNIT_ROW(m.n_fields == rows[i].left && m.fields[0].id == rows[i].first, "%s", rows[i].rule);
		UNIT_ROW(!http_msg_has(&m, rows[i].id) && !http_msg_count(&m, rows[i].id), "%s", rows[i].rule);
	}
	http_msg_free(&m);
}

UNIT_SUITE(http_msg, { "names", names }, { "near names", near_names }, { "trust 18: families", family_names }, { "hop by hop", hop_by_hop }, { "lists", lists }, { "slices", slices }, { "reset", reset }, { "dropped", dropped })
