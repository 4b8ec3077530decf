/* News of the fleet; see fleet.h. */
#include "proxy/fleet/fleet_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct fleet *fleet_new(struct store *second)
{
	struct fleet *fleet = calloc(1, sizeof *fleet);

	if (!fleet)
		return NULL;
	fleet->store = second;
	atomic_init(&fleet->instances, 1);
	pthread_mutex_init(&fleet->lock, NULL);
	return fleet;
}

void fleet_free(struct fleet **fp)
{
	if (!*fp)
		return;
	pthread_mutex_destroy(&(*fp)->lock);
	free(*fp);
	*fp = NULL;
}

struct store *fleet_store(const struct fleet *fleet)
{
	return fleet->store;
}

unsigned fleet_instances(const struct fleet *fleet)
{
	return fleet ? atomic_load_explicit(&fleet->instances, memory_order_relaxed) : 1;
}

void fleet_listen(struct fleet *fleet, const char *topic, fleet_heard_f *heard, void *arg)
{
	assert(fleet->n_topics < FLEET_TOPICS_MAX);
	fleet->topics[fleet->n_topics].name = topic;
	fleet->topics[fleet->n_topics].heard = heard;
	fleet->topics[fleet->n_topics++].arg = arg;
}

static void fleet_on_news(void *arg, struct slice topic, struct slice text, uint64_t age_ms)
{
	const struct fleet *fleet = arg;

	for (size_t i = 0; i < fleet->n_topics && text.len <= FLEET_TEXT_MAX; i++)
		if (slice_is(topic, fleet->topics[i].name))
			fleet->topics[i].heard(fleet->topics[i].arg, text, age_ms);
}

static void fleet_on_message(void *arg, struct slice text)
{
	fleet_wake(arg, text);
}

void fleet_begin(struct fleet *fleet)
{
	struct store_ears ears = { fleet_on_news, fleet_on_message, fleet };

	fleet->store->ops->hear(fleet->store, &ears);
}

bool fleet_tell(struct fleet *fleet, const char *topic, struct slice text)
{
	static const char kept[] = "172800";
	_Static_assert(FLEET_NEWS_S == 172800, "as kept says");
	struct store_call call = { .script = SCRIPT_TELL, .name = { "news", 4 }, .n = 3,
		.args = { { topic, strlen(topic) }, text, { kept, sizeof kept - 1 } } };

	return fleet && text.len <= FLEET_TEXT_MAX && fleet->store->ops->call(fleet->store, &call);
}
