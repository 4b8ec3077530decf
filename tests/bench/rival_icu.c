/* Owns ICU as bench_decoder's rival: ucnv_convertEx(), its streaming conversion to UTF-8. */
#include <unicode/ucnv.h>

#include "rival.h"

static int decode(const char *charset, const char *in, size_t len, size_t chunk, char *out, size_t cap)
{
	UErrorCode error = U_ZERO_ERROR;
	UConverter *from = ucnv_open(charset, &error), *to = ucnv_open("UTF-8", &error);
	UChar pivot[1024], *pivot_source = pivot, *pivot_target = pivot;
	const char *at = in;
	char *target = out;

	for (UBool reset = 1; U_SUCCESS(error) && at < in + len; reset = 0) {
		const char *limit = (size_t)(in + len - at) < chunk ? in + len : at + chunk;

		ucnv_convertEx(to, from, &target, out + cap, &at, limit, pivot, &pivot_source, &pivot_target, pivot + 1024, reset,
		    limit == in + len, &error);
	}
	ucnv_close(from);
	ucnv_close(to);
	return U_SUCCESS(error) ? 0 : -1;
}

const struct rival rival = { "ICU", decode };
