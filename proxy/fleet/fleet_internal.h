/* Owns what the files of the fleet share: fleet.c has the news, lease.c the leases that are waited for, members.c the
 * instances. Must not know: the requests that wait. Only they include it. */
#ifndef UTFEED_PROXY_FLEET_FLEET_INTERNAL_H
#define UTFEED_PROXY_FLEET_FLEET_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "proxy/fleet/fleet.h"
#include "proxy/store/store.h"

enum { FLEET_BUCKETS = 256 };

struct fleet_lease;
struct fleet {
	struct store *store;
	size_t n_topics;
	struct { const char *name; fleet_heard_f *heard; void *arg; } topics[FLEET_TOPICS_MAX];
	atomic_uint_fast64_t last;     /* number of a lease */
	atomic_size_t held, waits;     /* leases held here, and waited for */
	atomic_uint instances;         /* of members.c */
	pthread_mutex_t lock;          /* guards what follows */
	LIST_HEAD(, fleet_lease) waiting[FLEET_BUCKETS];       /* leases that may be told of, by message */
};

/* Wakes the leases of that message; text.at NULL: all. On the store's thread. */
void fleet_wake(struct fleet *, struct slice text);

#endif
