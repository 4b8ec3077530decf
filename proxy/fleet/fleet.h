/* Owns what all parts of a process share of its fleet: the processes that share the second store. They tell each other
 * news, and lease fetches (lease.h). Must not know: what the news say, how they travel.
 * Invariants: nothing here waits for a store that is away; without it each process is on its own. Any thread may call,
 * but for fleet_listen() and fleet_begin(), which come before there are others. */
#ifndef UTFEED_PROXY_FLEET_FLEET_H
#define UTFEED_PROXY_FLEET_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/base/slice.h"

struct fleet;
struct store;

/* second must have call(). It outlives the fleet's use, but not the fleet: it may still tell of something while it
 * ends. NULL: out of memory. */
struct fleet *fleet_new(struct store *second);
void fleet_free(struct fleet **);
struct store *fleet_store(const struct fleet *);
/* How many instances live, this one included; 1 while nothing is known of others. fleet NULL: there is none. */
unsigned fleet_instances(const struct fleet *);

/* News: small texts of a topic, a literal. Each other process hears them at least once, in the order that they were
 * told; one that has just come, or comes back, hears the latest some thousand of FLEET_NEWS_S again. They may get lost
 * while the store is away, or where it is shared by mistake; so what they say must be checked, and must not harm if it
 * comes twice or late. */
enum { FLEET_TOPICS_MAX = 8, FLEET_TEXT_MAX = 4096, FLEET_NEWS_S = 2 * 24 * 3600 };
/* heard() is called on the store's thread, with the age of the news by the store's clock. */
typedef void fleet_heard_f(void *arg, struct slice text, uint64_t age_ms);
void fleet_listen(struct fleet *, const char *topic, fleet_heard_f *heard, void *arg);
/* From now on everybody who listens hears. */
void fleet_begin(struct fleet *);
/* fleet NULL: there is none. False: it is not told, because the store is away, or the text is longer. */
bool fleet_tell(struct fleet *, const char *topic, struct slice text);

/* Leases that this process holds, and fetches here that wait for those of others. fleet NULL: there is none. */
struct fleet_leases { size_t held, waits; };
struct fleet_leases fleet_leases(const struct fleet *);

#endif
