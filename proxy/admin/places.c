/* Places of the admin listener's connections; see places.h. */
#include "proxy/admin/places.h"

#include <assert.h>

#include "conf/cidr.h"
#include "proxy/base/hash.h"

static const size_t places_max[PLACE_KINDS] = {
	[PLACE_WAIT] = PLACES_WAIT, [PLACE_PROBE] = PLACES_PROBE, [PLACE_WORK] = PLACES_WORK
};

void places_init(struct places *all)
{
	*all = (struct places){ .n = { 0 } };
	for (enum place_kind kind = 0; kind < PLACE_KINDS; kind++)
		TAILQ_INIT(&all->of[kind]);
}

uint8_t places_crowd(const struct ip *ip)
{
	struct ip client = ip ? ip_client(ip) : (struct ip){ .ipv6 = false };

	return (uint8_t)hash_keyed(client.bytes, sizeof client.bytes);
}

bool places_are_full(const struct places *all, enum place_kind kind)
{
	return all->n[kind] >= places_max[kind];
}

struct place *places_victim(const struct places *all, enum place_kind kind)
{
	struct place *place, *victim = NULL;

	TAILQ_FOREACH(place, &all->of[kind], link)
		if (!place->kept && (!victim || all->crowds[kind][place->crowd] > all->crowds[kind][victim->crowd]))
			victim = place;
	return victim;
}

void places_take(struct places *all, struct place *place, enum place_kind kind, bool kept)
{
	assert(!places_are_full(all, kind));
	place->kind = kind;
	place->kept = kept;
	TAILQ_INSERT_TAIL(&all->of[kind], place, link);
	all->n[kind]++;
	all->crowds[kind][place->crowd]++;
}

void places_leave(struct places *all, struct place *place)
{
	TAILQ_REMOVE(&all->of[place->kind], place, link);
	all->n[place->kind]--;
	all->crowds[place->kind][place->crowd]--;
}
