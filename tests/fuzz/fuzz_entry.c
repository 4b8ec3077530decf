/* Owns feeding arbitrary bytes to entry_unpack(), as they are and with the checksum and magic put right, so that the contents are
 * reached. Invariants: what is taken packs again and unpacks again to the same bytes; what is damaged is not taken. */
#include "proxy/store/entry.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void unpack(const char *bytes, size_t len)
{
	struct entry *e = entry_unpack(bytes, len), *again;
	char *packed, *repacked;
	size_t packed_len, repacked_len;

	entry_packed_key(bytes, len);
	if (!e)
		return;
	require(!e->object || (object_phase(e->object) == OBJECT_DONE && object_is_retained(e->object)));
	require((packed = entry_pack(e, &packed_len)) != NULL);
	require((again = entry_unpack(packed, packed_len)) != NULL);
	require((repacked = entry_pack(again, &repacked_len)) != NULL);
	require(packed_len == repacked_len && !memcmp(packed, repacked, packed_len));
	packed[packed_len / 2] ^= 1;
	require(!entry_unpack(packed, packed_len));
	free(repacked);
	free(packed);
	entry_unref(&again);
	entry_unref(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char start[] = { 'u', 't', 'f', 'e', 'e', 'd', '\r', '\n', ENTRY_FORMAT, 0, 0, 0 };
	size_t len = sizeof start + size + sizeof(uint64_t);
	char *whole = malloc(len);
	uint64_t sum;

	require(whole != NULL);
	unpack((const char *)data, size);
	memcpy(whole, start, sizeof start);
	if (size)
		memcpy(whole + sizeof start, data, size);
	sum = htole64(hash_xx64(whole, sizeof start + size));
	memcpy(whole + sizeof start + size, &sum, sizeof sum);
	unpack(whole, len);
	free(whole);
	return 0;
}
