/* Owns the cases of proxy/fleet/member.c: rows of a fleet's instances as they are written and read, and what is not a row.
 * Invariant: each row names its rule. */
#include "proxy/fleet/member.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define NAMED "name=a version=1 "

static bool reads(struct fleet_member *member, const char *text, size_t len)
{
	char *copy = malloc(len + 1);

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	memcpy(copy, text, len);
	bool is = member_read(member, (struct slice){ copy, len });
	free(copy);
	return is;
}

static void round_trip(void)
{
	const struct fleet_member written = { .name = "node-1", .version = "0.1.0", .admin = "10.0.0.1:9180", .pid = 1, .format = 9,
		.up_s = 12, .requests = UINT64_MAX, .hits = 3, .misses = 4, .fetches = 5, .leases = 6, .waits = 7,
		.lag_ms = 8 };
	struct fleet_member expected = written, member;
	struct text t = { 0 };

	text_puts(&t, "18446744073 250 ");
	member_write(&t, &written);
	CU_ASSERT_FATAL(!t.failed);
	expected.process = UINT64_C(18446744073);
	expected.age_ms = 250;
	CU_ASSERT_TRUE(reads(&member, t.bytes, t.len));
	CU_ASSERT_TRUE(!memcmp(&member, &expected, sizeof member));
	text_free(&t);
}

/* The longest row is one that is read. */
static void longest(void)
{
	struct fleet_member written = { .pid = UINT64_MAX }, member;
	uint64_t *const numbers[] = { &written.format, &written.up_s, &written.requests, &written.hits, &written.misses, &written.fetches,
		&written.leases, &written.waits, &written.lag_ms };
	struct text t = { 0 };

	for (size_t i = 0; i < COUNT(numbers); i++)
		*numbers[i] = written.pid;
	memset(written.name, 'n', MEMBER_NAME_MAX);
	memset(written.version, 'v', MEMBER_VERSION_MAX);
	memset(written.admin, 'a', MEMBER_ADMIN_MAX);
	member_write(&t, &written);
	CU_ASSERT_TRUE(!t.failed && t.len <= MEMBER_ROW_MAX);
	text_free(&t);
	text_puts(&t, "1 2 ");
	member_write(&t, &written);
	CU_ASSERT_TRUE(reads(&member, t.bytes, t.len) && member.lag_ms == written.pid && strlen(member.admin) == MEMBER_ADMIN_MAX);
	text_free(&t);
}

/* Bytes that would end a word are not written. */
static void written_clean(void)
{
	const struct fleet_member written = { .name = "a b\n\tc", .version = "1" };
	struct fleet_member member;
	struct text t = { 0 };

	text_puts(&t, "1 2 ");
	member_write(&t, &written);
	CU_ASSERT_TRUE(reads(&member, t.bytes, t.len) && !strcmp(member.name, "abc"));
	text_free(&t);
}

static const struct {
	const char *rule;
	struct slice line;
	bool is;
} cases[] = {
#define LINE(literal) { literal, sizeof literal - 1 }
	{ "name and version", LINE("1 2 " NAMED), true },
	{ "a word of a later version", LINE("1 2 " NAMED "colour=red new"), true },
	{ "a word twice: the last counts", LINE("1 2 " NAMED "pid=1 pid=2"), true },
	{ "HTML is text", LINE("1 2 version=1 name=<script>alert(1)</script>"), true },
	{ "bytes of no encoding are text", LINE("1 2 version=1 name=\xff\xfe\x80"), true },
	{ "an empty text that nobody needs", LINE("1 2 " NAMED "admin="), true },
	{ "a value with =", LINE("1 2 version=1 name=a=b"), true },
	{ "nothing", LINE(""), false },
	{ "no row", LINE("1 2"), false },
	{ "no name", LINE("1 2 version=1"), false },
	{ "an empty name", LINE("1 2 version=1 name="), false },
	{ "no version", LINE("1 2 name=a"), false },
	{ "no process", LINE("x 2 " NAMED), false },
	{ "no age", LINE("1 x " NAMED), false },
	{ "an age below 0", LINE("1 -2 " NAMED), false },
	{ "the largest number", LINE("18446744073709551615 2 " NAMED), true },
	{ "a larger one", LINE("18446744073709551616 2 " NAMED), false },
	{ "one of 21 digits", LINE("100000000000000000000 2 " NAMED), false },
	{ "a number with a letter", LINE("1 2 " NAMED "pid=1a"), false },
	{ "a number that is empty", LINE("1 2 " NAMED "pid="), false },
	{ "a number without =", LINE("1 2 " NAMED "pid"), false },
	{ "NUL", LINE("1 2 version=1 name=a\0b"), false },
	{ "ESC", LINE("1 2 version=1 name=a\033[2J"), false },
	{ "DEL", LINE("1 2 version=1 name=a\x7f"), false },
	{ "a tab, which divides fields elsewhere", LINE("1 2 version=1 name=a\tb"), false },
	{ "a name of 65 bytes",
	    LINE("1 2 version=1 name=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), false },
	{ "broken JSON", LINE("1 2 {\"name\":\"a\",\"version\":"), false },
};

static void read_or_not(void)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fleet_member member;

		UNIT_ROW(reads(&member, cases[i].line.at, cases[i].line.len) == cases[i].is, "%s", cases[i].rule);
	}
}

/* A row behind MEMBER_ROW_MAX is none, whatever it has. */
static void huge(void)
{
	struct text t = { 0 };
	struct fleet_member member;

	text_puts(&t, "1 2 " NAMED);
	while (t.len <= MEMBER_ROW_MAX + 4)
		text_puts(&t, "x ");
	CU_ASSERT_FALSE(reads(&member, t.bytes, t.len));
	text_free(&t);
}

/* Only rows are read, and at most as many as there is room for. */
static void several(void)
{
	static const char text[] = "1 2 name=a version=1\n\nnone\n2 3 name=b version=1\n3 4 name=c version=1";
	const struct slice lines = { text, sizeof text - 1 };
	struct fleet_member members[3];

	CU_ASSERT_EQUAL(members_read(members, 3, lines), 3);
	CU_ASSERT_TRUE(members[1].process == 2 && members[1].age_ms == 3 && !strcmp(members[1].name, "b"));
	CU_ASSERT_EQUAL(members_read(members, 2, lines), 2);
	CU_ASSERT_EQUAL(members_read(members, 0, lines), 0);
	CU_ASSERT_EQUAL(members_read(members, 3, (struct slice){ NULL, 0 }), 0);
}

UNIT_SUITE(member, { "round trip", round_trip }, { "longest", longest }, { "written clean", written_clean }, { "read or not", read_or_not },
    { "huge", huge }, { "several", several })
