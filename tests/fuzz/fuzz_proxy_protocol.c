/* Owns feeding arbitrary bytes to the reader of PROXY protocol headers.
 * Invariants: an answer holds however many bytes follow; no more than PROXY_PROTOCOL_MAX are asked for; who asked for more gets to an end
 * by one byte more; a client's address comes only with a header that names one. */
#include "proxy/net/proxy_protocol.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum proxy_protocol_result former = PROXY_PROTOCOL_MORE;
	struct proxy_protocol first = { .length = 0 };

	for (size_t len = 0; len <= size && len <= 2 * PROXY_PROTOCOL_MAX; len++) {
		struct proxy_protocol p;
		uint8_t *exact = malloc(len ? len : 1);        /* so that a byte too many is found */
		enum proxy_protocol_result r;

		if (!exact)
			abort();
		memcpy(exact, data, len);
		r = proxy_protocol_read(&p, exact, len);
		free(exact);
		require(r != PROXY_PROTOCOL_MORE || len < PROXY_PROTOCOL_MAX);
		require(former == PROXY_PROTOCOL_MORE || r == former);
		if (r == PROXY_PROTOCOL_DONE) {
			require(p.length >= 15 && p.length <= 16 + 65535);
			require(former != r || (p.length == first.length && p.whose == first.whose && p.port == first.port &&
			    !memcmp(&p.ip, &first.ip, sizeof p.ip)));
			require(p.whose == PROXY_PROTOCOL_CLIENT || !p.port);
			first = p;
		}
		former = r;
	}
	return 0;
}
