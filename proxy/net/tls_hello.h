/* Owns reading the first message of a TLS client, the ClientHello, before any answer to it: whether it is one, which
 * host it names, what it can verify. Pure.
 * Must not know: OpenSSL, who reads it. Invariant: every byte is a stranger's; what is wrong with the message is left
 * to the handshake, which refuses it. Sources: RFC 8446 section 4.1.2, RFC 5246 section 7.4.1.2, RFC 6066 section 3,
 * RFC 7301, RFC 8422; RFC 5246 appendix E.2 for the SSLv2 form of old clients. */
#ifndef UTFEED_PROXY_NET_TLS_HELLO_H
#define UTFEED_PROXY_NET_TLS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TLS_HELLO_NAME_MAX = 256, TLS_HELLO_BYTES_MAX = 32 * 1024 };

enum tls_hello_kind { TLS_HELLO_MORE, TLS_HELLO_DONE, TLS_HELLO_OTHER };

struct tls_hello {
	char name[TLS_HELLO_NAME_MAX]; /* lower case; "": none, or one that cannot be a host's */
	bool named;                    /* there was a name, whatever it was. */
	bool http;                     /* It offers HTTP/1.x or HTTP/2, or lists no protocols (ALPN) */
	bool ecdsa;                    /* it verifies ECDSA signatures by P-256 */
	uint16_t version;              /* the newest that it speaks: 0x0301 is TLS 1.0 */
};

/* Looks at what has arrived so far. TLS_HELLO_DONE: the message is complete and *h filled; TLS_HELLO_OTHER: it is
 * another message, or too long for this one. room: len bytes of scratch memory. */
enum tls_hello_kind tls_hello_read(struct tls_hello *hello, const uint8_t *at, size_t len, uint8_t *room);

#endif
