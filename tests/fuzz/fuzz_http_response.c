/* Owns feeding arbitrary bytes to the response parser; invariants: fuzz_http.h. */
#include "tests/fuzz/fuzz_http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_http(false, data, size);
	return 0;
}
