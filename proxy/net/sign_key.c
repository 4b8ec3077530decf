/* Ed25519 keys; see sign_key.h. */
#include "proxy/net/sign_key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proxy/net/tls_context_internal.h"
#include "proxy/net/tls_pem.h"

#define SIGN_KEY_MAKE "openssl genpkey -algorithm ed25519 -out FILE makes one"

struct sign_keys {
	size_t count;
	EVP_PKEY *private[SIGN_KEYS_MAX];
	unsigned char public[SIGN_KEYS_MAX][SIGN_PUBLIC_BYTES];
};

static void __attribute__((format(printf, 2, 3))) sign_keys_fail(struct sign_keys_why *why, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why->text, sizeof why->text, format, arguments);
	va_end(arguments);
	ERR_clear_error();
}

static BIO *sign_keys_open(const char *path, bool *exposed, struct sign_keys_why *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	struct stat about;
	BIO *bio = NULL;

	if (!file || fstat(fd, &about))
		sign_keys_fail(why, "%s: %s; write the name of a PEM file that utfeed may read; " SIGN_KEY_MAKE, path,
		    strerror(errno));
	else if (!S_ISREG(about.st_mode))
		sign_keys_fail(why, "%s is not a file; write the name of a PEM file; " SIGN_KEY_MAKE, path);
	else if (!(bio = BIO_new_fp(file, BIO_CLOSE)))
		sign_keys_fail(why, "out of memory");
	else
		*exposed = about.st_mode & (S_IRWXO | S_IWGRP);
	if (!bio && file)
		fclose(file);
	else if (fd >= 0 && !file)
		close(fd);
	return bio;
}

/* Adds the key of a block. der NULL: it is encrypted. */
static bool sign_keys_add(struct sign_keys *keys, const unsigned char *der, long len, const char *path,
    struct sign_keys_why *why)
{
	EVP_PKEY *key = der && keys->count < SIGN_KEYS_MAX ? d2i_AutoPrivateKey(NULL, &der, len) : NULL;
	size_t size = SIGN_PUBLIC_BYTES;

	if (key && EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 &&
	    EVP_PKEY_get_raw_public_key(key, keys->public[keys->count], &size) == 1) {
		keys->private[keys->count++] = key;
		return true;
	}
	EVP_PKEY_free(key);
	if (keys->count == SIGN_KEYS_MAX)
		sign_keys_fail(why, "%s has more than %d keys; leave out those that nobody knows any more", path,
		    SIGN_KEYS_MAX);
	else if (!der)
		sign_keys_fail(why,
		    "%s is encrypted, and there is nobody to ask for its password; write it without one by openssl "
		    "pkey", path);
	else
		sign_keys_fail(why, "key %zu of %s is not an Ed25519 key; " SIGN_KEY_MAKE, keys->count + 1, path);
	return false;
}

/* Reads the next block of the file, and adds it if it is a private key. False: there is none, or it cannot be used:
 * why. */
static bool sign_keys_next(struct sign_keys *keys, BIO *bio, const char *path, struct sign_keys_why *why)
{
	char *name = NULL, *header = NULL;
	unsigned char *der = NULL;
	bool goes_on = false;
	long len = 0;

	if (PEM_read_bio(bio, &name, &header, &der, &len) == 1) {
		bool encrypted = !strcmp(name, PEM_STRING_PKCS8) || *header;

		goes_on = !strstr(name, PEM_STRING_PKCS8INF) ||
		    sign_keys_add(keys, encrypted ? NULL : der, len, path, why);
	} else if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		sign_keys_fail(why, "%s cannot be read behind %zu of its keys; " SIGN_KEY_MAKE, path, keys->count);
	OPENSSL_free(name);
	OPENSSL_free(header);
	OPENSSL_clear_free(der, (size_t)len);
	ERR_clear_error();
	return goes_on;
}

static bool sign_keys_fill(struct sign_keys *keys, BIO *bio, const char *path, struct sign_keys_why *why)
{
	why->text[0] = '\0';
	ERR_clear_error();
	while (sign_keys_next(keys, bio, path, why))
		;
	const char *lacks = keys->count || *why->text ? NULL : tls_pem_lacks(path, TLS_PEM_KEY);
	if (lacks)
		sign_keys_fail(why, "%s %s", path, lacks);
	return keys->count && !*why->text;
}

struct sign_keys *sign_keys_read(const char *path, bool *exposed, struct sign_keys_why *why)
{
	struct sign_keys *keys = calloc(1, sizeof *keys);
	BIO *bio = keys ? sign_keys_open(path, exposed, why) : NULL;

	if (!keys)
		sign_keys_fail(why, "out of memory");
	if (!bio || !sign_keys_fill(keys, bio, path, why))
		sign_keys_free(&keys);
	BIO_free(bio);
	return keys;
}

void sign_keys_free(struct sign_keys **kp)
{
	struct sign_keys *keys = *kp;

	*kp = NULL;
	if (!keys)
		return;
	while (keys->count)
		EVP_PKEY_free(keys->private[--keys->count]);
	free(keys);
}

size_t sign_keys_count(const struct sign_keys *keys)
{
	return keys->count;
}

const unsigned char *sign_keys_public(const struct sign_keys *keys, size_t i)
{
	return keys->public[i];
}

bool sign_keys_sign(const struct sign_keys *keys, size_t i, struct slice text,
    unsigned char signature[SIGN_SIGNATURE_BYTES])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t len = SIGN_SIGNATURE_BYTES;
	bool done = ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, keys->private[i]) == 1 &&
	    EVP_DigestSign(ctx, signature, &len, (const unsigned char *)text.at, text.len) == 1;

	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	return done;
}

bool sign_digest(struct slice text, unsigned char digest[SIGN_DIGEST_BYTES])
{
	bool done = EVP_Digest(text.at, text.len, digest, NULL, EVP_sha256(), NULL) == 1;

	ERR_clear_error();
	return done;
}
