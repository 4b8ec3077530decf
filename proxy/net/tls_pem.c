/* What PEM files hold; see tls_pem.h. Source: RFC 7468 section 2. */
#include "proxy/net/tls_pem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { PEM_READ_BYTES = 16 * 1024, PEM_DER_SEQUENCE = 0x30 };

/* Reads the start of the file. -1: errno says why not. */
static ssize_t pem_read(const char *path, char bytes[PEM_READ_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t len = fd < 0 ? -1 : read(fd, bytes, PEM_READ_BYTES);

	int err = errno;
	if (fd >= 0)
		close(fd);
	errno = err;
	return len;
}

static bool pem_has(const char *bytes, ssize_t len, const char *words)
{
	return memmem(bytes, (size_t)len, words, strlen(words));
}

const char *tls_pem_lacks(const char *path, enum tls_pem wanted)
{
	static const struct { const char *other, *nothing; } texts[] = {
		[TLS_PEM_CERTIFICATE] = { "has a private key and no certificate; were the two files swapped?",
			"has no certificate; write the name of a file with -----BEGIN CERTIFICATE----- in it" },
		[TLS_PEM_KEY] = { "has a certificate and no private key; name the file of the key, too",
			"has no private key; write the name of a file with -----BEGIN PRIVATE KEY----- in it" },
	};
	char bytes[PEM_READ_BYTES];
	ssize_t len = pem_read(path, bytes);
	bool key;

	if (len < 0)
		return errno == EISDIR ? "is a folder; write the name of a PEM file" : NULL;
	bool cert = pem_has(bytes, len, " CERTIFICATE-----");
	key = pem_has(bytes, len, "PRIVATE KEY-----");
	if (wanted == TLS_PEM_KEY ? key : cert)
		return NULL;
	if (cert || key)
		return texts[wanted].other;
	if (len > 0 && bytes[0] == PEM_DER_SEQUENCE)
		return "is DER; write a PEM file, which openssl x509 (or pkey) -inform DER -outform PEM makes of it";
	return texts[wanted].nothing;
}
