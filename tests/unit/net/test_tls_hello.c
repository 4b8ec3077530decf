/* Owns the cases of proxy/net/tls_hello.c. Must not know: OpenSSL. Invariant: each row names its rule; a message is read the same in one
 * record and in many, and cut anywhere it asks for more. */
#include "proxy/net/tls_hello.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define BYTES(text) { text, sizeof(text) - 1 }

struct bytes { const char *at; size_t len; };
struct out { uint8_t at[1024]; size_t len; };

static void put(struct out *o, const void *at, size_t len)
{
	memcpy(o->at + o->len, at, len);
	o->len += len;
}

static void number(struct out *o, size_t n, unsigned bytes)
{
	while (bytes--)
		o->at[o->len++] = (uint8_t)(n >> 8 * bytes);
}

/* A handshake message with these suites and extensions (at NULL: none at all). */
static void hello(struct out *o, unsigned version, struct bytes suites, struct bytes extensions)
{
	static const uint8_t random[32] = { 7 };
	struct out body = { .len = 0 };

	number(&body, version, 2);
	put(&body, random, sizeof random);
	number(&body, 0, 1);
	number(&body, suites.len, 2);
	put(&body, suites.at, suites.len);
	put(&body, "\1\0", 2);
	if (extensions.at) {
		number(&body, extensions.len, 2);
		put(&body, extensions.at, extensions.len);
	}
	number(o, 1, 1);
	number(o, body.len, 3);
	put(o, body.at, body.len);
}

static void records(struct out *o, const struct out *message, size_t each)
{
	for (size_t at = 0; at < message->len; at += each) {
		size_t n = message->len - at < each ? message->len - at : each;

		put(o, "\x16\3\1", 3);
		number(o, n, 2);
		put(o, message->at + at, n);
	}
}

/* "VERSION kind http|other name", or "more", or "other". */
static void say(char text[320], const uint8_t *at, size_t len)
{
	static uint8_t room[4096];
	struct tls_hello h;
	enum tls_hello_kind kind = tls_hello_read(&h, at, len, room);

	if (kind == TLS_HELLO_DONE)
		snprintf(text, 320, "%04x %s %s %s", h.version, h.ecdsa ? "ecdsa" : "rsa", h.http ? "http" : "other",
			h.name[0] ? h.name : h.named ? "?" : "-");
	else
		snprintf(text, 320, "%s", kind == TLS_HELLO_MORE ? "more" : "other");
}

#define ECDSA_SUITES "\xc0\x2b\xc0\x2f"
#define RSA_SUITES "\0\x2f\xc0\x2f"
#define SIGS "\0\x0d\0\x06\0\4\4\3\4\1"
#define RSA_SIGS "\0\x0d\0\4\0\2\4\1"
#define P256 "\0\x0a\0\4\0\2\0\x17"
#define P384 "\0\x0a\0\4\0\2\0\x18"
#define V13 "\0\x2b\0\x05\4\x5a\x5a\3\4"
#define SNI(len2, len1, len0, name) "\0\0\0" len2 "\0" len1 "\0\0" len0 name

static void hellos(void)
{
	static const struct {
		const char *rule;
		unsigned version;
		struct bytes suites, extensions;
		const char *want;
	} rows[] = {
		{ "RFC 5246: no extensions", 0x0301, BYTES(RSA_SUITES), { NULL, 0 }, "0301 rsa http -" },
		{ "RFC 5246: an empty list of them", 0x0303, BYTES(RSA_SUITES), BYTES(""), "0303 rsa http -" },
		{ "RFC 8422: ECDSA in 1.2", 0x0303, BYTES(ECDSA_SUITES), BYTES(SIGS P256), "0303 ecdsa http -" },
		{ "RFC 8422: any curve where none is named", 0x0303, BYTES(ECDSA_SUITES), BYTES(SIGS), "0303 ecdsa http -" },
		{ "RFC 8422: another curve", 0x0303, BYTES(ECDSA_SUITES), BYTES(SIGS P384), "0303 rsa http -" },
		{ "RFC 8422: no suite of it", 0x0303, BYTES(RSA_SUITES), BYTES(SIGS P256), "0303 rsa http -" },
		{ "RFC 5246: no signature of it", 0x0303, BYTES(ECDSA_SUITES), BYTES(RSA_SIGS P256), "0303 rsa http -" },
		{ "RFC 5246: signatures not named", 0x0303, BYTES(ECDSA_SUITES), BYTES(P256), "0303 rsa http -" },
		{ "RFC 8446: 1.3, GREASE before it", 0x0303, BYTES("\x13\1"), BYTES(V13 SIGS P256), "0304 ecdsa http -" },
		{ "RFC 8446: 1.3 without it", 0x0303, BYTES("\x13\1"), BYTES(V13 RSA_SIGS), "0304 rsa http -" },
		{ "RFC 6066: a name, in lower case", 0x0303, BYTES(RSA_SUITES), BYTES(SNI("\x0a", "\x08", "\5", "A.org")), "0303 rsa http a.org" },
		{ "a final dot", 0x0303, BYTES(RSA_SUITES), BYTES(SNI("\x0b", "\x09", "\6", "a.org.")), "0303 rsa http a.org" },
		{ "another kind of name", 0x0303, BYTES(RSA_SUITES), BYTES("\0\0\0\7\0\5\1\0\2ab"), "0303 rsa http -" },
		{ "an empty name", 0x0303, BYTES(RSA_SUITES), BYTES(SNI("\5", "\3", "\0", "")), "0303 rsa http ?" },
		{ "a NUL in it", 0x0303, BYTES(RSA_SUITES), BYTES(SNI("\x08", "\x06", "\3", "a\0b")), "0303 rsa http ?" },
		{ "longer than its list", 0x0303, BYTES(RSA_SUITES), BYTES(SNI("\x0a", "\x08", "\x09", "A.org")), "0303 rsa http -" },
		{ "RFC 7301: HTTP/1.1 among them", 0x0303, BYTES(RSA_SUITES), BYTES("\0\x10\0\x0e\0\x0c\2h2\x08http/1.1"), "0303 rsa http -" },
		{ "HTTP/2 alone", 0x0303, BYTES(RSA_SUITES), BYTES("\0\x10\0\5\0\3\2h2"), "0303 rsa http -" },
		{ "HTTP/1.0 alone", 0x0303, BYTES(RSA_SUITES), BYTES("\0\x10\0\x0b\0\x09\x08http/1.0"), "0303 rsa http -" },
		{ "names that begin alike, or end early", 0x0303, BYTES(RSA_SUITES), BYTES("\0\x10\0\x0a\0\x08\3h2c\1h\1i"), "0303 rsa other -" },
		{ "RFC 7301: none", 0x0303, BYTES(RSA_SUITES), BYTES("\0\x10\0\2\0\0"), "0303 rsa other -" },
		{ "an extension longer than all", 0x0303, BYTES(RSA_SUITES), BYTES("\0\x10\xff\xff\0\3\2h2"), "0303 rsa other -" },
		{ "half an extension", 0x0303, BYTES(RSA_SUITES), BYTES("\0"), "0303 rsa http -" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct out message = { .len = 0 };
		char got[320];

		hello(&message, rows[i].version, rows[i].suites, rows[i].extensions);
		for (size_t each = 1; each <= message.len; each = each * 3 + 1) {
			struct out wire = { .len = 0 };

			records(&wire, &message, message.len < 150 ? each : message.len);
			say(got, wire.at, wire.len);
			UNIT_ROW(!strcmp(got, rows[i].want), "%s, %zu a record: %s", rows[i].rule, each, got);
			for (size_t cut = 0; cut < wire.len; cut++) {
				say(got, wire.at, cut);
				UNIT_ROW(!strcmp(got, "more"), "%s, cut at %zu: %s", rows[i].rule, cut, got);
			}
		}
	}
}

static void others(void)
{
	static const struct { const char *rule; struct bytes bytes; const char *want; } rows[] = {
		{ "nothing", BYTES(""), "more" },
		{ "HTTP", BYTES("GET / HTTP/1.1\r\n"), "other" },
		{ "SSH", BYTES("SSH-2.0"), "other" },
		{ "another record", BYTES("\x17\3\3\0\1a"), "other" },
		{ "SSL 2 by its number", BYTES("\x16\2\0\0\1\1"), "other" },
		{ "an empty record", BYTES("\x16\3\1\0\0"), "other" },
		{ "a record too long", BYTES("\x16\3\1\x40\1"), "other" },
		{ "another message", BYTES("\x16\3\1\0\4\2\0\0\0"), "other" },
		{ "a message too long", BYTES("\x16\3\1\0\4\1\0\x80\0"), "other" },
		{ "half a head", BYTES("\x16\3\1\0\4\1\0"), "more" },
		{ "RFC 5246 E.2: SSLv2 form, begun", BYTES("\x80\x2e\1\3\1\0\x15"), "more" },
		{ "RFC 5246 E.2: SSLv2 form", BYTES("\x80\x0c\1\3\1\0\3\0\0\0\0\0\0\x2f"), "0301 rsa http -" },
		{ "SSLv2 form of SSL 2", BYTES("\x80\x0c\1\0\2\0\3\0\0\0\0\0\0\x2f"), "other" },
		{ "SSLv2 form, too short for one", BYTES("\x80\x02\1\3\1"), "other" },
		{ "SSLv2, another message", BYTES("\x80\x0c\2\3\1"), "other" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char got[320];

		say(got, (const uint8_t *)rows[i].bytes.at, rows[i].bytes.len);
		UNIT_ROW(!strcmp(got, rows[i].want), "%s: %s", rows[i].rule, got);
	}
}

UNIT_SUITE(tls_hello, { "hellos", hellos }, { "others", others })
