/* Owns feeding arbitrary bytes to the reader of the messages between two processes when one takes over. Must not know: descriptors.
 * Invariants: no byte behind the message is read; what was read is one of the words, and its text is the message's end, without
 * control characters. */
#include "proxy/server/takeover_message.h"

#include <stdint.h>
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
	static struct takeover_message m;
	char *exact = malloc(size ? size : 1);         /* so that a byte too many is found */
	size_t len;

	if (!exact)
		abort();
	memcpy(exact, data, size);
	if (takeover_parse(exact, size, &m)) {
		len = strlen(m.text);
		require(m.word < TAKEOVER_WORDS && len < TAKEOVER_TEXT_MAX && len < size);
		require(!memcmp(m.text, data + size - len, len));
		for (size_t i = 0; i < len; i++)
			require((unsigned char)m.text[i] >= ' ' && m.text[i] != 0x7f);
	}
	free(exact);
	return 0;
}
