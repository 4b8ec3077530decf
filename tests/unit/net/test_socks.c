/* Owns the cases of proxy/net/socks.c. Must not know: sockets. Invariant: each row names its rule; what a server says is read alike however
 * it is cut, and nothing behind it is asked for. Sources: RFC 1928, RFC 1929. */
#include "proxy/net/socks.h"
#include "tests/unit/unit.h"

#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define ROW(text) text, sizeof(text) - 1
#define LOGIN "\1\1u\6secret"
#define A_64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A_255 A_64 A_64 A_64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HELLO "\5\1\0"
#define HELLO_LOGIN "\5\2\0\2"
#define GRANTED "\5\0\0\1\177\0\0\1\0\120"

/* Gives the server's bytes in pieces, no more at a time than are asked for. */
static enum socks_result converse(struct socks *s, const char *bytes, size_t len, size_t size, size_t *used, struct text *said, struct failure *f)
{
	enum socks_result r = SOCKS_MORE;

	for (*used = 0; *used < len && (r == SOCKS_MORE || r == SOCKS_SAYS);) {
		size_t room, n = len - *used < size ? len - *used : size;
		uint8_t *to = socks_room(s, &room);

		if (!room || room > SOCKS_ANSWER_MAX)
			return SOCKS_FAILED;
		n = n < room ? n : room;
		memcpy(to, bytes + *used, n);
		*used += n;
		r = socks_take(s, n, said, f);
	}
	return r;
}

static void check(const char *rule, const char *login, const char *host, const char *bytes, size_t len, const char *want, size_t want_len,
	enum socks_result result, enum failure_kind error, size_t behind)
{
	for (size_t size = 1; size <= len; size++) {
		struct failure f = { .error = FAILURE_NONE };
		struct text said = { 0 };
		struct socks s;
		size_t used;
		enum socks_result r;

		socks_begin(&s, login, host, 443, &said);
		r = converse(&s, bytes, len, size, &used, &said, &f);
		UNIT_ROW(r == result && f.error == error, "%s, by %zu: %d %d %s", rule, size, (int)r, (int)f.error, f.details);
		UNIT_ROW(used == len - behind, "%s, by %zu: %zu used", rule, size, used);
		UNIT_ROW(said.len == want_len && !memcmp(said.bytes, want, want_len), "%s, by %zu: %zu said", rule, size, said.len);
		text_free(&said);
	}
}

static void opened(void)
{
	static const struct { const char *rule, *login, *host, *bytes; size_t len; const char *want; size_t want_len, behind; } cases[] = {
		{ "a name goes as a name (1928, 5)", NULL, "a.test", ROW("\5\0" GRANTED), ROW(HELLO "\5\1\0\3\6a.test\1\273"), 0 },
		{ "IPv4", NULL, "192.0.2.7", ROW("\5\0" GRANTED), ROW(HELLO "\5\1\0\1\300\0\2\7\1\273"), 0 },
		{ "IPv6", NULL, "2001:db8::7", ROW("\5\0" GRANTED), ROW(HELLO "\5\1\0\4\40\1\15\270\0\0\0\0\0\0\0\0\0\0\0\7\1\273"), 0 },
		{ "IPv4 in IPv6 is IPv4", NULL, "::ffff:192.0.2.7", ROW("\5\0" GRANTED), ROW(HELLO "\5\1\0\1\300\0\2\7\1\273"), 0 },
		{ "the longest name", NULL, A_255, ROW("\5\0" GRANTED), ROW(HELLO "\5\1\0\3\377" A_255 "\1\273"), 0 },
		{ "user and password (1929)", LOGIN, "a.test", ROW("\5\2\1\0" GRANTED), ROW(HELLO_LOGIN LOGIN "\5\1\0\3\6a.test\1\273"), 0 },
		{ "its answer under another version", LOGIN, "a.test", ROW("\5\2\5\0" GRANTED), ROW(HELLO_LOGIN LOGIN "\5\1\0\3\6a.test\1\273"), 0 },
		{ "nobody asks for the password", LOGIN, "a.test", ROW("\5\0" GRANTED), ROW(HELLO_LOGIN "\5\1\0\3\6a.test\1\273"), 0 },
		{ "bound to a name (1928, 6)", NULL, "a.test", ROW("\5\0\5\0\0\3\1x\0\0"), ROW(HELLO "\5\1\0\3\6a.test\1\273"), 0 },
		{ "bound to a name without letters", NULL, "a.test", ROW("\5\0\5\0\0\3\0\0\0"), ROW(HELLO "\5\1\0\3\6a.test\1\273"), 0 },
		{ "bound to the longest", NULL, "a.test", ROW("\5\0\5\0\0\3\377" A_255 "\0\0"), ROW(HELLO "\5\1\0\3\6a.test\1\273"), 0 },
		{ "bound to IPv6", NULL, "a.test", ROW("\5\0\5\0\0\4aaaaaaaaaaaaaaaa\0\0"), ROW(HELLO "\5\1\0\3\6a.test\1\273"), 0 },
		{ "RSV is not looked at", NULL, "a.test", ROW("\5\0\5\0\7\1\0\0\0\0\0\0"), ROW(HELLO "\5\1\0\3\6a.test\1\273"), 0 },
		{ "what follows is the destination's", NULL, "a.test", ROW("\5\0" GRANTED "HTTP"), ROW(HELLO "\5\1\0\3\6a.test\1\273"), 4 },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		check(cases[i].rule, cases[i].login, cases[i].host, cases[i].bytes, cases[i].len, cases[i].want, cases[i].want_len, SOCKS_OPEN,
			FAILURE_NONE, cases[i].behind);
}

static void refused(void)
{
	static const struct { const char *rule, *login, *bytes; size_t len; enum failure_kind error; } cases[] = {
		{ "no method (1928, 3)", NULL, ROW("\5\377"), FAILURE_PARENT_CREDENTIALS },
		{ "no method beside a password", LOGIN, ROW("\5\377"), FAILURE_PARENT_CREDENTIALS },
		{ "a method that was not offered", NULL, ROW("\5\2"), FAILURE_PARENT_REFUSED },
		{ "GSSAPI", LOGIN, ROW("\5\1"), FAILURE_PARENT_REFUSED },
		{ "a wrong password (1929)", LOGIN, ROW("\5\2\1\1"), FAILURE_PARENT_CREDENTIALS },
		{ "general failure (1928, 6)", NULL, ROW("\5\0\5\1"), FAILURE_PARENT_REFUSED },
		{ "ruleset", NULL, ROW("\5\0\5\2"), FAILURE_PARENT_REFUSED },
		{ "network unreachable", NULL, ROW("\5\0\5\3"), FAILURE_IP_UNROUTABLE },
		{ "host unreachable", NULL, ROW("\5\0\5\4"), FAILURE_IP_UNROUTABLE },
		{ "connection refused", NULL, ROW("\5\0\5\5"), FAILURE_CONNECTION_REFUSED },
		{ "TTL expired", NULL, ROW("\5\0\5\6"), FAILURE_IP_UNROUTABLE },
		{ "command not supported", NULL, ROW("\5\0\5\7"), FAILURE_PARENT_REFUSED },
		{ "address type not supported", NULL, ROW("\5\0\5\10"), FAILURE_PARENT_REFUSED },
		{ "an unassigned reply", NULL, ROW("\5\0\5\11"), FAILURE_PARENT_REFUSED },
		{ "the last of them", NULL, ROW("\5\0\5\377"), FAILURE_PARENT_REFUSED },
		{ "an address of no kind", NULL, ROW("\5\0\5\0\0\2\0"), FAILURE_PARENT_REFUSED },
		{ "SOCKS4", NULL, ROW("\0"), FAILURE_PARENT_REFUSED },
		{ "HTTP", NULL, ROW("H"), FAILURE_PARENT_REFUSED },
		{ "another version later", NULL, ROW("\5\0\4"), FAILURE_PARENT_REFUSED },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *rule = cases[i].rule;

		for (size_t size = 1; size <= 2; size++) {
			struct failure f = { .error = FAILURE_NONE };
			struct text said = { 0 };
			struct socks s;
			size_t used;

			socks_begin(&s, cases[i].login, "a.test", 80, &said);
			UNIT_ROW(converse(&s, cases[i].bytes, cases[i].len, size, &used, &said, &f) == SOCKS_FAILED, "%s", rule);
			UNIT_ROW(f.error == cases[i].error && f.details[0] && used == cases[i].len, "%s: %s, %zu used", rule, f.details, used);
			UNIT_ROW(!strstr(f.details, "secret"), "%s: %s", rule, f.details);
			text_free(&said);
		}
	}
}

/* Every beginning of a right answer asks for more. */
static void cut(void)
{
	static const char whole[] = "\5\2\1\0\5\0\0\3\3abc\0\120";

	for (size_t len = 1; len < sizeof whole - 1; len++) {
		struct failure f = { .error = FAILURE_NONE };
		struct text said = { 0 };
		struct socks s;
		size_t used;
		enum socks_result r;

		socks_begin(&s, LOGIN, "a.test", 80, &said);
		r = converse(&s, whole, len, len, &used, &said, &f);
		UNIT_ROW((r == SOCKS_MORE || r == SOCKS_SAYS) && used == len, "%zu bytes: %d", len, (int)r);
		text_free(&said);
	}
}

static void too_long(void)
{
	struct failure f = { .error = FAILURE_NONE };
	struct text said = { 0 };
	struct socks s;
	size_t used;

	socks_begin(&s, NULL, A_255 "a", 80, &said);
	CU_ASSERT_EQUAL(converse(&s, "\5\0", 2, 2, &used, &said, &f), SOCKS_FAILED);
	CU_ASSERT_EQUAL(f.error, FAILURE_PARENT_REFUSED);
	CU_ASSERT_EQUAL(said.len, sizeof HELLO - 1);
	text_free(&said);
}

UNIT_SUITE(socks, { "opened", opened }, { "refused", refused }, { "cut", cut }, { "too_long", too_long })
