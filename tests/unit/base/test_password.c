/* Owns the cases of proxy/base/password.c. Sources: the test vectors of Openwall's crypt_blowfish and of Drepper's SHA-crypt. */
#include "proxy/base/password.h"
#include "tests/unit/unit.h"

#include <string.h>

#define ARGON2ID_HASH "$argon2id$v=19$m=64,t=1,p=1$YWJjZGVmZ2g$yrOQ2vkb1dt3XGGoF+q8LTqv0kmoOvub4JZXCDerOGg"
#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void compared(void)
{
	static const struct { const char *rule, *hash, *password; bool is; } rows[] = {
		{ "bcrypt", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U", true },
		{ "bcrypt, one byte more", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U*", false },
		{ "bcrypt, 2b", "$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy", "open sesame", true },
		{ "bcrypt, 2y", "$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy", "open sesame", true },
		{ "another case of letters", "$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy", "Open sesame", false },
		{ "SHA-512", "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1", "Hello world!", true },
		{ "SHA-512, wrong", "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1", "Hello world", false },
		{ "yescrypt", "$y$j1T$abcdefgh$qzwqVcEWE0mPi.yJeqj8t1Kot7pInV7Cuz1vrjXf0r.", "open sesame", true },
		{ "yescrypt, wrong", "$y$j1T$abcdefgh$qzwqVcEWE0mPi.yJeqj8t1Kot7pInV7Cuz1vrjXf0r.", "open sesame ", false },
#ifdef HAVE_ARGON2
		{ "Argon2id", ARGON2ID_HASH, "open sesame", true },
		{ "Argon2id, wrong", ARGON2ID_HASH, "open sesame!", false },
		{ "Argon2id, broken", "$argon2id$v=19$m=1024,t=1,p=1$YWJjZGVmZ2g", "open sesame", false },
#endif
		{ "what crypt refuses", "*0", "*0", false },
		{ "what crypt refuses otherwise", "$2b$04$", "", false },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		UNIT_ROW(password_is(rows[i].hash, rows[i].password, strlen(rows[i].password)) == rows[i].is, "%s", rows[i].rule);
}

UNIT_SUITE(password, { "compared", compared })
