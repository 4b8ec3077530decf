/* Reading ClientHellos; see tls_hello.h. */
#include "proxy/net/tls_hello.h"

#include <ctype.h>
#include <string.h>

enum {
	RECORD_HEAD = 5, RECORD_HANDSHAKE = 22, RECORD_MAX = 16384,
	HANDSHAKE_HEAD = 4, CLIENT_HELLO = 1,
	SSL2_HEAD = 11, SSL2_LENGTH = 0x80,    /* the bit that tells a header of two bytes */
	EXT_SERVER_NAME = 0, EXT_GROUPS = 10, EXT_SIGNATURES = 13, EXT_ALPN = 16, EXT_VERSIONS = 43,
	GROUP_P256 = 23, ECDSA_P256_SHA256 = 0x0403,
	TLS_1_2 = 0x0303, TLS_1_3 = 0x0304
};

/* A part of the message. Bytes read beyond its end are 0 and mark it as short. */
struct hello_part { const uint8_t *at; size_t len; bool is_short; };

static unsigned take(struct hello_part *part, unsigned bytes)
{
	unsigned n = 0;

	for (; bytes; bytes--) {
		part->is_short |= !part->len;
		n = n << 8 | (part->len ? *part->at : 0);
		part->at += part->len != 0;
		part->len -= part->len != 0;
	}
	return n;
}

/* A vector: its length in that many bytes, then its bytes. */
static struct hello_part take_part(struct hello_part *part, unsigned length_bytes)
{
	size_t len = take(part, length_bytes);
	struct hello_part inner = { part->at, len, false };

	if (part->is_short || len > part->len) {
		part->is_short = true;
		return (struct hello_part){ part->at, 0, true };
	}
	part->at += len;
	part->len -= len;
	return inner;
}

/* What the message says of each thing that the choice of a key depends on. */
struct offer {
	bool signatures, groups, versions;     /* the extension is there */
	bool ecdsa_signature, p256, ecdsa_suite, tls13;
};

/* Cipher suites that authenticate by ECDSA (RFC 8422, RFC 5289, RFC 7251, RFC 7905). */
static bool is_ecdsa_suite(unsigned suite)
{
	return (suite >= 0xc006 && suite <= 0xc00a) || suite == 0xc023 || suite == 0xc024 || suite == 0xc02b ||
	    suite == 0xc02c || (suite >= 0xc0ac && suite <= 0xc0af) || suite == 0xcca9;
}

static void read_server_name(struct tls_hello *hello, struct hello_part list)
{
	struct hello_part names = take_part(&list, 2);
	unsigned type = take(&names, 1);

	struct hello_part name = take_part(&names, 2);
	if (type || names.is_short)
		return;
	hello->named = true;
	if (name.len && name.at[name.len - 1] == '.')
		name.len--;
	if (!name.len || name.len >= sizeof hello->name || memchr(name.at, '\0', name.len))
		return;
	for (size_t i = 0; i < name.len; i++)
		hello->name[i] = (char)tolower(name.at[i]);
	hello->name[name.len] = '\0';
}

static bool is_http(struct hello_part name)
{
	static const char *const names[] = { "h2", "http/1.1", "http/1.0" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (name.len == strlen(names[i]) && !memcmp(name.at, names[i], name.len))
			return true;
	return false;
}

static void read_protocols(struct tls_hello *hello, struct hello_part list)
{
	struct hello_part names = take_part(&list, 2);

	hello->http = false;
	while (names.len)
		hello->http |= is_http(take_part(&names, 1));
}

/* Whether a list of numbers of two bytes has that one. */
static bool has_number(struct hello_part list, unsigned length_bytes, unsigned wanted)
{
	struct hello_part numbers = take_part(&list, length_bytes);

	while (numbers.len)
		if (take(&numbers, 2) == wanted)
			return true;
	return false;
}

static void read_versions(struct tls_hello *hello, struct hello_part list)
{
	struct hello_part versions = take_part(&list, 1);

	while (versions.len) {
		unsigned version = take(&versions, 2);

		/* 0x?a?a is there to be ignored (RFC 8701) */
		if (version >> 8 == 3 && version > hello->version)
			hello->version = (uint16_t)version;
	}
}

static void read_extension(struct tls_hello *hello, struct offer *offer, unsigned type, struct hello_part value)
{
	switch (type) {
	case EXT_SERVER_NAME:
		read_server_name(hello, value);
		break;
	case EXT_ALPN:
		read_protocols(hello, value);
		break;
	case EXT_GROUPS:
		offer->groups = true;
		offer->p256 = has_number(value, 2, GROUP_P256);
		break;
	case EXT_SIGNATURES:
		offer->signatures = true;
		offer->ecdsa_signature = has_number(value, 2, ECDSA_P256_SHA256);
		break;
	case EXT_VERSIONS:
		read_versions(hello, value);
	}
}

/* In TLS 1.3 the signatures alone decide. Before, a suite has to be of ECDSA too. A client that lists no curves may
 * know any (RFC 8422 section 4). A client that lists no signatures means SHA-1 (RFC 5246 section 7.4.1.4.1): it is too
 * old to be trusted with ECDSA. */
static bool verifies_ecdsa(const struct tls_hello *hello, const struct offer *offer)
{
	if (!offer->ecdsa_signature)
		return false;
	return hello->version >= TLS_1_3 || (offer->ecdsa_suite && (offer->p256 || !offer->groups));
}

static void read_hello(struct tls_hello *hello, struct hello_part p)
{
	struct offer o = { 0 };

	hello->version = (uint16_t)take(&p, 2);
	p.is_short |= p.len < 32;
	if (!p.is_short) {
		p.at += 32;            /* random */
		p.len -= 32;
	}
	take_part(&p, 1);              /* session */
	struct hello_part suites = take_part(&p, 2);
	while (suites.len)
		o.ecdsa_suite |= is_ecdsa_suite(take(&suites, 2));
	take_part(&p, 1);              /* compression */
	struct hello_part extensions = take_part(&p, 2);
	while (extensions.len) {
		unsigned type = take(&extensions, 2);

		read_extension(hello, &o, type, take_part(&extensions, 2));
	}
	hello->ecdsa = verifies_ecdsa(hello, &o);
}

static enum tls_hello_kind read_ssl2(struct tls_hello *hello, const uint8_t *at, size_t len)
{
	size_t whole = ((size_t)(at[0] & 0x7f) << 8 | at[1]) + 2;

	if (whole < SSL2_HEAD)
		return TLS_HELLO_OTHER;
	if (len < whole)
		return TLS_HELLO_MORE;
	hello->version = (uint16_t)(at[3] << 8 | at[4]);
	return TLS_HELLO_DONE;
}

/* Copies the handshake's bytes out of the records into room, as many as are there. -1: these are no such records. */
static long gather(const uint8_t *at, size_t len, uint8_t *room)
{
	size_t n = 0;

	while (len) {
		size_t record = len >= RECORD_HEAD ? (size_t)at[3] << 8 | at[4] : 0, part;

		if (at[0] != RECORD_HANDSHAKE || (len > 1 && at[1] != 3) ||
		    (len >= RECORD_HEAD && (!record || record > RECORD_MAX)))
			return -1;
		if (len < RECORD_HEAD)
			break;
		part = record < len - RECORD_HEAD ? record : len - RECORD_HEAD;
		memcpy(room + n, at + RECORD_HEAD, part);
		n += part;
		at += RECORD_HEAD + part;
		len -= RECORD_HEAD + part;
		if (n >= HANDSHAKE_HEAD &&
		    n - HANDSHAKE_HEAD >= ((size_t)room[1] << 16 | (size_t)room[2] << 8 | room[3]))
			break;         /* the message is complete; what follows is another */
	}
	return (long)n;
}

enum tls_hello_kind tls_hello_read(struct tls_hello *hello, const uint8_t *at, size_t len, uint8_t *room)
{
	long n;

	*hello = (struct tls_hello){ .http = true };
	if (!len)
		return TLS_HELLO_MORE;
	if (at[0] & SSL2_LENGTH) {
		if (len > 2 && at[2] != CLIENT_HELLO)
			return TLS_HELLO_OTHER;
		if (len < 5)
			return TLS_HELLO_MORE;
		return at[3] == 3 ? read_ssl2(hello, at, len) : TLS_HELLO_OTHER;
	}
	if ((n = gather(at, len, room)) < 0 || (n && room[0] != CLIENT_HELLO))
		return TLS_HELLO_OTHER;
	if (n < HANDSHAKE_HEAD)
		return TLS_HELLO_MORE;
	size_t whole = ((size_t)room[1] << 16 | (size_t)room[2] << 8 | room[3]) + HANDSHAKE_HEAD;
	if (whole > TLS_HELLO_BYTES_MAX)
		return TLS_HELLO_OTHER;
	if ((size_t)n < whole)
		return TLS_HELLO_MORE;
	read_hello(hello, (struct hello_part){ room + HANDSHAKE_HEAD, whole - HANDSHAKE_HEAD, false });
	return TLS_HELLO_DONE;
}
