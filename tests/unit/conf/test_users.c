/* Owns the cases of conf/conf_users.c. Must not know: how passwords are compared. Invariant: each row names its rule; no message has
 * anything of a hash. */
#include "conf/conf_internal.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define SALTED "abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy"
#define BCRYPT "$2b$04$" SALTED
#define YESCRYPT "$y$j1T$abcdefgh$qzwqVcEWE0mPi.yJeqj8t1Kot7pInV7Cuz1vrjXf0r."
#define DIGEST "abcdefgh$Xh.7.kL3HzhnviFlsn40n4gUrDaYioIIiDlHiWZorP18.1JsnixO1BkqKbso/o60j4iwJz6yRdVGlrUTIYtXT/"
#define KIND "f:1: the hash of 'a' is not of a kind that utfeed takes; write bcrypt (htpasswd -B), yescrypt or SHA-512 (mkpasswd), or Argon2id"
#define FORM "is not NAME:HASH; htpasswd -nB NAME writes such a line"
#define LONG "f:1: the hash of 'a' takes too long; write one with a cost of at most 15 for bcrypt or 9 for yescrypt, 5000000 rounds for SHA-512, or 256 MiB, 4 passes and 16 threads for Argon2id"
#define ARGON2_END "$YWJjZGVmZ2g$yrOQ2vkb1dt3XGGoF+q8LTqv0kmoOvub4JZXCDerOGg"
#define YESCRYPT_END "$abcdefgh$qzwqVcEWE0mPi.yJeqj8t1Kot7pInV7Cuz1vrjXf0r."

static struct conf *parse(const char *text, size_t len)
{
	struct conf *conf = conf_new();

	CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
	conf_users_parse(conf, "f", text, len);
	return conf;
}

/* users: how many there are; want: the first error, NULL: none */
static void expect(const char *rule, const char *text, size_t len, size_t users, const char *want)
{
	struct conf *conf = parse(text, len);
	const char *got = conf->notes.count ? conf->notes.items[0].text : NULL;

	UNIT_ROW(conf->users.count == users, "%s: %zu", rule, conf->users.count);
	UNIT_ROW(want ? got && !strcmp(got, want) : !got, "%s: %s", rule, got ? got : "no error");
	conf_free(&conf);
}

static void files(void)
{
	static const struct { const char *rule, *text; size_t users; const char *want; } rows[] = {
		{ "several; blank lines and # say nothing", "# us\n\na:" BCRYPT "\n  \nb:" YESCRYPT "\n", 2, NULL },
		{ "the last line has no end", "a:" BCRYPT, 1, NULL },
		{ "line ends of Windows", "a:" BCRYPT "\r\nb:" BCRYPT "\r\n", 2, NULL },
		{ "a blank and UTF-8 in a name", "J\xc3\xb6 R.:" BCRYPT "\n", 1, NULL },
		{ "nothing", "", 0, NULL },
		{ "no colon: it may be a password", "a:" BCRYPT "\nopensesame\n", 1, "f:2: " FORM },
		{ "no name", ":" BCRYPT "\n", 0, "f:1: " FORM },
		{ "a zero byte", "a\0b:" BCRYPT "\n", 0, "f:1: " FORM },
		{ "a control character in a name", "a\tb:" BCRYPT "\n", 1, "f:1: the name has a control character; write the name without it" },
		{ "no hash", "a:\n", 1, KIND },
		{ "more behind the hash", "a:" BCRYPT ":x\n", 1, KIND },
		{ "a name twice", "a:" BCRYPT "\nb:" BCRYPT "\na:" YESCRYPT "\n", 3, "f:3: 'a' is in line 1 too; write one line for each name" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t len = strcmp(rows[i].rule, "a zero byte") ? strlen(rows[i].text) : sizeof "a\0b:" BCRYPT - 1;

		expect(rows[i].rule, rows[i].text, len, rows[i].users, rows[i].want);
	}
}

/* Of one user, whose line names it a. */
static void hashes(void)
{
	static const struct { const char *rule, *hash, *want; } rows[] = {
		{ "bcrypt", BCRYPT, NULL },
		{ "bcrypt as PHP and htpasswd call it", "$2y$04$" SALTED, NULL },
		{ "bcrypt as it was called at first", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", NULL },
		{ "yescrypt", YESCRYPT, NULL },
		{ "yescrypt, as mkpasswd makes it", "$y$j9T" YESCRYPT_END, NULL },
		{ "yescrypt of cost 9", "$y$jDT" YESCRYPT_END, NULL },
		{ "yescrypt of cost 10", "$y$jET" YESCRYPT_END, LONG },
		{ "yescrypt with larger blocks", "$y$jDU" YESCRYPT_END, LONG },
		{ "yescrypt with other parameters", "$y$jD./" YESCRYPT_END, LONG },
		{ "yescrypt, another flavour", "$y$.9T" YESCRYPT_END, LONG },
		{ "SHA-512", "$6$" DIGEST, NULL },
		{ "SHA-512 with rounds", "$6$rounds=1000$" DIGEST, NULL },
#ifdef HAVE_ARGON2
		{ "Argon2id", "$argon2id$v=19$m=64,t=1,p=1" ARGON2_END, NULL },
		{ "Argon2id, RFC 9106 section 4", "$argon2id$v=19$m=65536,t=3,p=4" ARGON2_END, NULL },
		{ "Argon2id, as much as there may be", "$argon2id$v=19$m=262144,t=4,p=16" ARGON2_END, NULL },
		{ "Argon2id: memory", "$argon2id$v=19$m=262145,t=1,p=1" ARGON2_END, LONG },
		{ "Argon2id: passes", "$argon2id$v=19$m=65536,t=17,p=1" ARGON2_END, LONG },
		{ "Argon2id: threads", "$argon2id$v=19$m=262144,t=1,p=17" ARGON2_END, LONG },
		{ "Argon2id: what is no number", "$argon2id$v=19$m=99999999999,t=1,p=1" ARGON2_END, LONG },
#endif
		{ "a password in the place of its hash", "opensesame", KIND },
		{ "MD5, which htpasswd makes without -B", "$apr1$abcdefgh$abcdefghijklmnopqrstuv", KIND },
		{ "SHA-1", "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", KIND },
		{ "DES", "abJnggxhB/yWI", KIND },
		{ "a hash that was cut", "$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/c", KIND },
		{ "a cost that takes days", "$2b$31$" SALTED, LONG },
		{ "a cost that is none", "$2b$x4$" SALTED, LONG },
		{ "rounds that take minutes", "$6$rounds=999999999$" DIGEST, LONG },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char line[256];
		int len = snprintf(line, sizeof line, "a:%s\n", rows[i].hash);

		CU_ASSERT_FATAL(len > 0 && (size_t)len < sizeof line);
		expect(rows[i].rule, line, (size_t)len, 1, rows[i].want);
	}
}

static void found(void)
{
	static const char text[] = "bob:" BCRYPT "\nal:" BCRYPT "\nalice:" YESCRYPT "\nb\xc3\xb6:" BCRYPT "\n";
	static const struct { const char *rule, *name; bool there; } rows[] = {
		{ "the first", "al", true },
		{ "one that begins with another", "alice", true },
		{ "beyond ASCII", "b\xc3\xb6", true },
		{ "the last", "bob", true },
		{ "the beginning of one", "ali", false },
		{ "another case", "Bob", false },
		{ "before all", "a", false },
		{ "behind all", "zoe", false },
		{ "none", "", false },
	};
	struct conf *conf = parse(text, sizeof text - 1);

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct conf_user *user = conf_user_find(&conf->users, rows[i].name, strlen(rows[i].name));

		UNIT_ROW(rows[i].there ? user && !strcmp(user->name, rows[i].name) : !user, "%s", rows[i].rule);
	}
	conf_free(&conf);
}

UNIT_SUITE(users, { "files", files }, { "hashes", hashes }, { "found", found })
