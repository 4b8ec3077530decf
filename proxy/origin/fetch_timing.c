/* A request's way to its origin; see fetch_timing.h. */
#include "proxy/origin/fetch_timing.h"

#include <stdio.h>
#include <stdlib.h>

#include "proxy/net/loop.h"

static struct fetch_timing *fetch_timing_new(void)
{
	struct fetch_timing *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->refs = 1;
	for (size_t i = 0; i < STAGE_COUNT; i++)
		r->us[i] = -1;
	return r;
}

struct fetch_timing *fetch_timing_of(struct fetch_timing **owner)
{
	if (owner && !*owner)
		*owner = fetch_timing_new();
	return owner ? *owner : NULL;
}

struct fetch_timing *fetch_timing_share(struct fetch_timing **owner)
{
	struct fetch_timing *r = fetch_timing_of(owner);

	if (r)
		r->refs++;
	return r;
}

void fetch_timing_unref(struct fetch_timing **rp)
{
	struct fetch_timing *r = *rp;

	*rp = NULL;
	if (r && !--r->refs)
		free(r);
}

void fetch_timing_begin(struct fetch_timing *r, enum fetch_stage stage, struct loop *l)
{
	if (r)
		r->begun_us[stage] = loop_now_us(l);
}

void fetch_timing_end(struct fetch_timing *r, enum fetch_stage stage, struct loop *l)
{
	if (!r || !r->begun_us[stage])
		return;
	r->us[stage] = (r->us[stage] < 0 ? 0 : r->us[stage]) + (int64_t)(loop_now_us(l) - r->begun_us[stage]);
	r->begun_us[stage] = 0;
}

void fetch_timing_address(struct fetch_timing *r, const char *address)
{
	if (r)
		snprintf(r->address, sizeof r->address, "%s", address);
}
