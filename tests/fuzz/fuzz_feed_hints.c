/* Owns feeding arbitrary bytes to the reader of a feed's freshness hints.
 * Invariants tested: hours and days are such, dates are never to come, a lifetime never exceeds its maximum nor falls below the interval, and what follows an
 * unfinished end of the text changes nothing that was read before it. */
#include "proxy/feeds/feed_hints.h"

#include <stdlib.h>

enum { MONDAY = 784166400 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t maxima[] = { 0, 1, 3600, 7 * 86400, UINT32_MAX };
	struct feed_hints h, half;

	feed_hints_read(&h, (const char *)data, size, MONDAY);
	feed_hints_read(&half, (const char *)data, size / 2, MONDAY);
	require(h.newest >= half.newest && half.newest >= 0 && h.newest <= MONDAY);
	require(!(h.skip_hours >> FEED_HINTS_HOURS) && !(h.skip_days >> FEED_HINTS_DAYS));
	require((h.skip_hours & half.skip_hours) == half.skip_hours && (h.skip_days & half.skip_days) == half.skip_days);
	for (size_t i = 0; i < sizeof maxima / sizeof *maxima; i++) {
		uint32_t max = maxima[i], floor = h.interval_s < max ? h.interval_s : max;
		uint32_t lifetime = feed_hints_lifetime(&h, MONDAY + (int64_t)size * 60, max);

		require(lifetime <= max && lifetime >= floor);
	}
	return 0;
}
