/* Owns feeding arbitrary bytes to the request parser; invariants: fuzz_http.h. */
#include "tests/fuzz/fuzz_http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_http(true, data, size);
	return 0;
}
