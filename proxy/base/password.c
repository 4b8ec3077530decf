/* Passwords and hashes; see password.h. */
#include "proxy/base/password.h"

#include <crypt.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ARGON2
#include <argon2.h>
#endif

#define ARGON2ID "$argon2id$"

/* In the same time whatever differs. */
static bool same_hash(const char *made, const char *hash)
{
	size_t len = strlen(hash);
	unsigned char differs = 0;

	if (strlen(made) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(made[i] ^ hash[i]);
	return !differs;
}

/* Not by crypt_r(): a sanitizer has a function of that name, and with it the linker leaves libcrypt out. */
static bool crypt_is(const char *hash, const char *password)
{
	struct crypt_data *room = calloc(1, sizeof *room);
	const char *made = room ? crypt_rn(password, hash, room, sizeof *room) : NULL;
	bool is = made && same_hash(made, hash);

	if (room)
		explicit_bzero(room, sizeof *room);
	free(room);
	return is;
}

bool password_is(const char *hash, const char *password, size_t len)
{
#ifdef HAVE_ARGON2
	if (!strncmp(hash, ARGON2ID, sizeof ARGON2ID - 1))
		return argon2id_verify(hash, password, len) == ARGON2_OK;
#endif
	return len <= PASSWORD_MAX && crypt_is(hash, password);
}
