/* Owns the wait of a fill for the other processes that share the second store: one of them asks the origin, and the
 * others get what it stores. Must not know: how they agree (fleet/lease.h), clients.
 * Invariants: a fetch waits before it asks anybody, and only where any request may have its response. If another
 * process stores the response during the wait, the waiting requests get it as if they had joined its fetch (collapsed
 * forwarding). If the response was stored before, each request looks it up like any stored response. */
#include "proxy/cache/fill_internal.h"

#include <string.h>

#include "proxy/base/container_of.h"

void fill_end_lease(struct fill *fill, bool over)
{
	if (over || fill->came != CAME_NOTHING)
		fleet_lease_end(&fill->lease, fill->came);
}

/* The wait does not count as the origin's time. A purge that came meanwhile does not cover the response that is asked
 * for only now. But it may have covered a stored response that is to be confirmed: then it counts. */
static void fill_go(struct fill *fill, const char *why)
{
	const struct fill_params *params = &fill->params;

	if (!params->entry && !params->part && fleet_lease_waited(&fill->lease))
		fill->ticket = cache_ticket(params->cache, params->key, params->key_len);
	log_step(&fill->id, "lease: %s", why);
	fill->asked = fill->request_time = fill_now(fill);
	fill->asked_ms = loop_now_ms(fill->params.loop);
	fetch_begin(fill->fetch);
}

/* Whether the entry is of another generation of the URL's variants than the one that is known here. */
static bool fill_is_of_another(const struct fill *fill, const struct entry *e)
{
	return e->object && fill->busy.len > fill->params.key_len && e->generation != fill->params.generation;
}

/* Answers all requests that wait with the response that another process stored meanwhile. */
static void fill_share(struct fill *fill, struct entry *e)
{
	struct object *o = fill->object;

	fill->told->shared = true;
	fill->told->freshness = e->freshness;
	object_substitute(o, e->head, e->object);
	fill_leave(fill);
	fetch_answered(fill->fetch);
}

/* Takes over the entry. */
static void fill_take_stored(struct fill *fill, struct entry *e)
{
	struct cache *cache = fill->params.cache;
	bool another = fill_is_of_another(fill, e), waited = fleet_lease_waited(&fill->lease);

	if (another)
		cache_forget_index(cache, fill->key, fill->params.key_len);
	bool good = cache_freshen(cache, e, fill->params.entry, &fill->ticket);
	log_step(&fill->id, "lease: another process has stored %s", good ? "a newer one" : "an older one");
	if (good && waited && e->object && !another &&
	    !cache_ticket_is_spent(cache, &fill->ticket, e)) {
		fill_share(fill, e);
	} else if (good) {
		fill_leave(fill);
		fetch_spare(fill->fetch);
	} else if (fill->lease.anyhow || !fleet_lease_ask(&fill->lease, fill->params.fleet, NULL, true)) {
		fill_go(fill, "none");
	}
	entry_unref(&e);
}

static void fill_on_told(struct fleet_lease *lease, enum fleet_answer answer, struct entry *e)
{
	static const char *const words[] = { [LEASE_MINE] = "taken", [LEASE_PRIVATE] = "none, each client has its own",
		[LEASE_NONE] = "none, the others cannot be asked, or take too long" };
	struct fill *fill = container_of(lease, struct fill, lease);

	if (e)
		fill_take_stored(fill, e);
	else
		fill_go(fill, words[answer]);
}

/* A response for one client alone is not fetched for others, so its fetch does not wait. */
bool fill_waits(void *arg, struct fetch *fetch)
{
	struct fill *fill = arg;
	const struct fill_params *params = &fill->params;

	if (params->alone || params->credentials || fill->ranged || params->request->authorization ||
	    cc_has(&params->request->says, CC_NO_STORE))
		return false;
	fill->fetch = fetch;
	fill->lease.loop = params->loop;
	fill->lease.key = (struct slice){ fill->busy.at, fill->busy.len };
	fill->lease.lasts_ms = params->lease_ms;
	fill->lease.private_ms = CACHE_HIT_FOR_MISS_S * 1000;
	fill->lease.told = fill_on_told;
	return fleet_lease_ask(&fill->lease, params->fleet, params->entry, params->looked);
}
