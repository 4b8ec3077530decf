/* Owns the cases of proxy/http/credentials.c and proxy/base/base64.c. Must not know: users. Invariant: each row names its rule. */
#include "proxy/base/base64.h"
#include "proxy/http/credentials.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define IS(text) (struct slice){ (text), strlen(text) }

static void expect(const char *rule, bool read, const struct credentials *got, const char *name, const char *password)
{
	UNIT_ROW(read == (name != NULL), "%s", rule);
	if (!read || !name)
		return;
	UNIT_ROW(got->name_len == strlen(name) && !strcmp(got->name, name), "%s: %s", rule, got->name);
	UNIT_ROW(got->password_len == strlen(password) && !strcmp(got->password, password), "%s: %s", rule, got->password);
}

/* RFC 7617 section 2 */
static void basic(void)
{
	static const struct { const char *rule, *value, *name, *password; } rows[] = {
		{ "the example of the RFC", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame" },
		{ "the scheme in any case", "bAsIc QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame" },
		{ "blanks between", "Basic    QWxhZGRpbjpvcGVuIHNlc2FtZQ==  ", "Aladdin", "open sesame" },
		{ "without the signs at its end", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ", "Aladdin", "open sesame" },
		{ "UTF-8 (section 2.1)", "Basic dGVzdDoxMjPCow==", "test", "123\xc2\xa3" },
		{ "a colon in the password", "Basic YTpiOmM=", "a", "b:c" },
		{ "another scheme", "Bearer QWxhZGRpbjpvcGVuIHNlc2FtZQ==", NULL, NULL },
		{ "no scheme", "QWxhZGRpbjpvcGVuIHNlc2FtZQ==", NULL, NULL },
		{ "nothing behind it", "Basic", NULL, NULL },
		{ "nothing but blanks behind it", "Basic  ", NULL, NULL },
		{ "no base64", "Basic QWxhZGRpb!pvcGVuIHNlc2FtZQ==", NULL, NULL },
		{ "of URLs", "Basic dGVzdDoxMjPC-w==", NULL, NULL },
		{ "a sign of equality within", "Basic QWxh=ZGRpbjpvcGVuIHNlc2FtZQ", NULL, NULL },
		{ "two", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==, Basic YTpi", NULL, NULL },
		{ "no colon", "Basic YWI=", NULL, NULL },
		{ "no name", "Basic OmI=", NULL, NULL },
		{ "no password", "Basic YTo=", NULL, NULL },
		{ "a zero byte in the password: crypt would take what is before it", "Basic YTpiAGM=", NULL, NULL },
		{ "a line end in the name", "Basic YQo6Yg==", NULL, NULL },
		{ "nothing", "", NULL, NULL },
	};
	struct credentials got;

	for (size_t i = 0; i < COUNT(rows); i++)
		expect(rows[i].rule, credentials_read_basic(&got, IS(rows[i].value)), &got, rows[i].name, rows[i].password);
	UNIT_ROW(!credentials_read_basic(&got, (struct slice){ NULL, 0 }), "no field");
}

/* The longest name and password that are read, and one byte more of each. */
static void longest(void)
{
	char path[2048];
	struct credentials got;

	for (size_t more = 0; more < 4; more++) {
		size_t name = CREDENTIALS_NAME_MAX + (more & 1), password = CREDENTIALS_PASSWORD_MAX + (more >> 1), len = 0;

		path[len++] = '/';
		memset(path + len, 'n', name);
		len += name;
		path[len++] = ':';
		memset(path + len, 'p', password);
		len += password;
		path[len++] = '@';
		UNIT_ROW(credentials_read_token(&got, (struct slice){ path, len }) == !more, "%zu of a name, %zu of a password", name, password);
		path[len++] = '/';
		UNIT_ROW(credentials_token((struct slice){ path, len }) == len - 1, "%zu of a name, %zu of a password", name, password);
	}
}

/* len: of the segment; name NULL: nobody has such a one. */
static void tokens(void)
{
	static const struct { const char *rule, *path; size_t len; const char *name, *password; } rows[] = {
		{ "before a URL", "/a:b@/https://h/f", 5, "a", "b" },
		{ "before a URL with one slash too few", "/a:b@/https:/h/f", 5, "a", "b" },
		{ "before a route", "/a:b@/f/news?x=y@/", 5, "a", "b" },
		{ "before nothing", "/a:b@/", 5, "a", "b" },
		{ "before a query", "/a:b@/?url=https://h/f", 5, "a", "b" },
		{ "an @ in the password", "/a:b@c@/f", 7, "a", "b@c" },
		{ "a colon in the password", "/a:b:c@/f", 7, "a", "b:c" },
		{ "a slash, percent-encoded", "/a:b%2fc@/f", 9, "a", "b/c" },
		{ "all percent-encoded", "/a%3Ab%40/f", 9, "a", "b" },
		{ "UTF-8, percent-encoded", "/%C3%B6:%c3%a4@/f", 15, "\xc3\xb6", "\xc3\xa4" },
		{ "a + is a +", "/a:b+c@/f", 7, "a", "b+c" },
		{ "no name", "/:b@/f", 4, NULL, NULL },
		{ "no password", "/a:@/f", 4, NULL, NULL },
		{ "a zero byte", "/a:b%00c@/f", 9, NULL, NULL },
		{ "a broken escape", "/a:b%2@/f", 7, NULL, NULL },
		{ "a URL with a password", "/https://a:b@h/f", 0, NULL, NULL },
		{ "a host with a port", "/h:80/f", 0, NULL, NULL },
		{ "no colon", "/ab@/f", 0, NULL, NULL },
		{ "nothing behind it", "/a:b@", 0, NULL, NULL },
		{ "a query behind it", "/a:b@?/", 0, NULL, NULL },
		{ "the second segment", "/x/a:b@/f", 0, NULL, NULL },
		{ "no path", "http://h/a:b@/f", 0, NULL, NULL },
		{ "the root", "/", 0, NULL, NULL },
		{ "nothing", "", 0, NULL, NULL },
	};
	struct credentials got;

	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t len = credentials_token(IS(rows[i].path));

		UNIT_ROW(len == rows[i].len, "%s: %zu", rows[i].rule, len);
		if (len)
			expect(rows[i].rule, credentials_read_token(&got, (struct slice){ rows[i].path, len }), &got, rows[i].name, rows[i].password);
	}
}

static void same(void)
{
	static const struct { const char *rule, *one, *other; bool same; } rows[] = {
		{ "the same", "/a:b@", "/a:b@", true },
		{ "the same, written otherwise", "/a:b@", "/%61:%62@", true },
		{ "another name", "/a:b@", "/c:b@", false },
		{ "another password", "/a:b@", "/a:c@", false },
		{ "a longer password", "/a:b@", "/a:bb@", false },
	};
	struct credentials one, other;

	for (size_t i = 0; i < COUNT(rows); i++) {
		UNIT_ROW(credentials_read_token(&one, IS(rows[i].one)) && credentials_read_token(&other, IS(rows[i].other)), "%s", rows[i].rule);
		UNIT_ROW(credentials_same(&one, &other) == rows[i].same, "%s", rows[i].rule);
	}
	credentials_forget(&one);
	CU_ASSERT(!*one.password);
}

/* RFC 4648 section 10, in each room. */
static void base64(void)
{
	static const struct { const char *text, *want; } rows[] = {
		{ "", "" }, { "Zg==", "f" }, { "Zm8=", "fo" }, { "Zm9v", "foo" }, { "Zm9vYg==", "foob" }, { "Zm9vYmE=", "fooba" }, { "Zm9vYmFy", "foobar" },
	};
	char out[8];

	for (size_t i = 0; i < COUNT(rows); i++)
		for (size_t cap = 0; cap <= sizeof out; cap++) {
			size_t len = strlen(rows[i].want), n = base64_read(IS(rows[i].text), out, cap);

			UNIT_ROW(n == (len <= cap ? len : 0) && !memcmp(out, rows[i].want, n), "%s in %zu", rows[i].text, cap);
		}
}

UNIT_SUITE(credentials, { "basic", basic }, { "longest", longest }, { "tokens", tokens }, { "same", same }, { "base64", base64 })
