/* Owns feeding arbitrary bytes to the reader of ClientHellos.
 * Invariants: a complete message is read the same however many bytes follow, and no shorter beginning is complete; a name is a text without
 * capitals that fits; what is no ClientHello never becomes one by more bytes. */
#include "proxy/net/tls_hello.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* In memory of exactly that size, so that a byte too many is found. */
static enum tls_hello_kind read_exactly(struct tls_hello *h, const uint8_t *data, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1), *room = malloc(len ? len : 1);
	enum tls_hello_kind kind;

	if (!exact || !room)
		abort();
	memcpy(exact, data, len);
	kind = tls_hello_read(h, exact, len, room);
	free(exact);
	free(room);
	return kind;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum tls_hello_kind former = TLS_HELLO_MORE;
	struct tls_hello first;

	for (size_t len = 0; len <= size && len < 2048; len++) {
		struct tls_hello h;
		enum tls_hello_kind kind = read_exactly(&h, data, len);

		require(former == TLS_HELLO_MORE || kind == former);
		if (kind == TLS_HELLO_DONE) {
			require(memchr(h.name, '\0', sizeof h.name) && (h.named || !h.name[0]));
			for (const char *at = h.name; *at; at++)
				require(*at < 'A' || *at > 'Z');
			if (former == kind)
				require(!strcmp(h.name, first.name) && h.http == first.http && h.ecdsa == first.ecdsa && h.version == first.version);
			first = h;
		}
		former = kind;
	}
	return 0;
}
