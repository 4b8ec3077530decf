/* A request's way to its origin; see fetch_timing.h. */
#include "proxy/origin/fetch_timing.h"

#include <stdio.h>
#include <stdlib.h>

#include "proxy/net/loop.h"

static struct fetch_timing *fetch_timing_new(void)
{
	struct fetch_timing *timing = calloc(1, sizeof *timing);

	if (!timing)
		return NULL;
	timing->refs = 1;
	for (size_t i = 0; i < STAGE_COUNT; i++)
		timing->us[i] = -1;
	return timing;
}

struct fetch_timing *fetch_timing_of(struct fetch_timing **owner)
{
	if (owner && !*owner)
		*owner = fetch_timing_new();
	return owner ? *owner : NULL;
}

struct fetch_timing *fetch_timing_share(struct fetch_timing **owner)
{
	struct fetch_timing *timing = fetch_timing_of(owner);

	if (timing)
		timing->refs++;
	return timing;
}

void fetch_timing_unref(struct fetch_timing **rp)
{
	struct fetch_timing *timing = *rp;

	*rp = NULL;
	if (timing && !--timing->refs)
		free(timing);
}

void fetch_timing_begin(struct fetch_timing *timing, enum fetch_stage stage, struct loop *loop)
{
	if (timing)
		timing->begun_us[stage] = loop_now_us(loop);
}

void fetch_timing_end(struct fetch_timing *timing, enum fetch_stage stage, struct loop *loop)
{
	if (!timing || !timing->begun_us[stage])
		return;
	if (timing->us[stage] < 0)
		timing->us[stage] = 0;
	timing->us[stage] += (int64_t)(loop_now_us(loop) - timing->begun_us[stage]);
	timing->begun_us[stage] = 0;
}

void fetch_timing_address(struct fetch_timing *timing, const char *address)
{
	if (timing)
		snprintf(timing->address, sizeof timing->address, "%s", address);
}
