/* A request's way to its origin; see fetch_record.h. */
#include "proxy/origin/fetch_record.h"

#include <stdio.h>
#include <stdlib.h>

#include "proxy/net/loop.h"

static struct fetch_record *fetch_record_new(void)
{
	struct fetch_record *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->refs = 1;
	for (size_t i = 0; i < STAGE_COUNT; i++)
		r->us[i] = -1;
	return r;
}

struct fetch_record *fetch_record_of(struct fetch_record **owner)
{
	if (owner && !*owner)
		*owner = fetch_record_new();
	return owner ? *owner : NULL;
}

struct fetch_record *fetch_record_share(struct fetch_record **owner)
{
	struct fetch_record *r = fetch_record_of(owner);

	if (r)
		r->refs++;
	return r;
}

void fetch_record_unref(struct fetch_record **rp)
{
	struct fetch_record *r = *rp;

	*rp = NULL;
	if (r && !--r->refs)
		free(r);
}

void fetch_record_begin(struct fetch_record *r, enum fetch_stage stage, struct loop *l)
{
	if (r)
		r->begun_us[stage] = loop_now_us(l);
}

void fetch_record_end(struct fetch_record *r, enum fetch_stage stage, struct loop *l)
{
	if (!r || !r->begun_us[stage])
		return;
	r->us[stage] = (r->us[stage] < 0 ? 0 : r->us[stage]) + (int64_t)(loop_now_us(l) - r->begun_us[stage]);
	r->begun_us[stage] = 0;
}

void fetch_record_address(struct fetch_record *r, const char *address)
{
	if (r)
		snprintf(r->address, sizeof r->address, "%s", address);
}
