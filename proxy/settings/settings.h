/* Owns one configuration in force and what is made of it: TLS contexts, guards, hashes. All workers share it by
 * references; a reload makes another, and what was begun under this one ends under it.
 * Must not know: who reloads, requests. Invariant: whole, and never changed once made; it lives as long as anything
 * points into it. */
#ifndef UTFEED_PROXY_SETTINGS_SETTINGS_H
#define UTFEED_PROXY_SETTINGS_SETTINGS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/policy/policy.h"
#include "proxy/settings/guard.h"
#include "proxy/settings/route_counts.h"

struct conf;
struct conf_route;
struct tls_set;

/* What is made of one route's options, whose effect column says which count (conf/route_options.def). */
struct route_settings {
	uint64_t identity;             /* hash of what is KEY or BYTES, and of the pattern */
	uint64_t encoding;             /* hash of what is BYTES */
	struct route_counts *counts;   /* a reference; NULL: the route has no name of its own */
};

struct settings {
	atomic_uint refs;
	unsigned generation;           /* no two alive have the same */
	atomic_uint awaited;           /* workers that do not serve under it yet, after a reload */
	struct conf *conf;
	size_t max_clients;            /* of one worker: max-connections, or what the limit of open files leaves */
	struct tls_set *tls;
	struct guard guard;            /* for destinations that clients choose */
	struct guard tunnel_guard;     /* the same, for those of CONNECT */
	struct route_settings *routes; /* conf's, in their order, and direct behind them */
};

/* One reference. Takes over conf. NULL: its certificates or keys cannot be used, or out of memory (logged); conf is the
 * caller's. */
struct settings *settings_new(struct conf *, unsigned generation);
struct settings *settings_ref(struct settings *);
/* Before anybody serves under it: what was counted of routes with a name is counted on. */
void settings_inherit(struct settings *, const struct settings *former);
void settings_unref(struct settings **);               /* nulls; NULL inside is fine */
/* One of the awaited workers serves under these settings now, or was given newer ones before it did. The last one to
 * say so has the reload logged. */
void settings_taken(struct settings *);
/* What is counted of the route, one of conf's; NULL: nothing. */
struct route_counts *settings_counts(const struct settings *, const struct conf_route *);
/* The same of all routes whose names differ, as "name value" lines. */
void settings_print_counts(const struct settings *, FILE *);
/* What tells stored responses of this route apart from another's, and from those fetched under other options of it: a
 * number that depends on nothing else. The route is one of conf's. */
uint64_t settings_identity(const struct settings *, const struct conf_route *);
/* What makes the bytes of one encoding's answer differ from another's, as a number; the policy may be a client's
 * choice. */
uint64_t settings_encoding(const struct settings *, const struct conf_route *, enum policy);

#endif
