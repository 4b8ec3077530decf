/* Owns who belongs to the fleet: every instance writes its row (member.h) into the store that all share, and reads
 * those of the others. It also tells which of them purged what.
 * Must not know: who shows it. Invariants: as long as the store can be reached, rows of others are at most
 * MEMBERS_GONE_MS old. There are MEMBERS_MAX rows and MEMBERS_PURGES purges at most. */
#ifndef UTFEED_PROXY_FLEET_MEMBERS_H
#define UTFEED_PROXY_FLEET_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/base/stats.h"
#include "proxy/fleet/member.h"
#include "proxy/store/store.h"

enum {
	MEMBERS_EVERY_MS = 2000,
	MEMBERS_GONE_MS = 10000,       /* an instance that has not written its row for so long is gone */
	MEMBERS_MAX = 1000,
	MEMBERS_PURGES = 50,
	MEMBERS_URL_MAX = 255
};

struct fleet;
struct members;

/* What an instance says of itself. The texts are copied, and cut where they are too long. */
struct members_self {
	const char *name, *version, *admin;    /* admin "": not told */
	struct stats *const *sets;             /* outlive the registry */
	size_t n_sets;
};

/* The store of the fleet has purges(). Both, and the loop, outlive the registry. The loop does not run yet, or
 * this is its thread. NULL: out of memory. */
struct members *members_new(struct fleet *, struct loop *, const struct members_self *);
/* The loop does not run any more. */
void members_free(struct members **);

struct members_purge {
	uint64_t process, at_ms, age_ms;       /* at_ms: by the server's clock */
	const struct fleet_member *by; /* who asked for it; NULL: an instance that is not known any more */
	enum store_purge what;
	bool soft;
	char url[MEMBERS_URL_MAX + 1];         /* as it was purged, perhaps cut */
};

/* What is known of the fleet at one moment. */
struct members_seen {
	bool known;                    /* else no row was read yet */
	uint64_t age_ms;               /* since they were read */
	uint64_t self;                 /* this process */
	size_t n, of;                  /* rows, and how many instances there are */
	size_t n_purges;               /* the latest first */
	struct members_purge purges[MEMBERS_PURGES];
	struct fleet_member rows[];
};
/* The caller frees it. NULL: out of memory. */
struct members_seen *members_see(struct members *);
/* members NULL: utfeed is alone, and has none of these numbers. */
void members_stats(const struct members *, struct stats_gauges *);

#endif
