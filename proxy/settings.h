/* Owns one configuration in force and what is made of it: TLS contexts, guards, hashes. All workers share it by references; a reload makes
 * another, and what was begun under this one ends under it.
 * Must not know: who reloads, requests. Invariant: whole, and never changed once made; it lives as long as anything points into it. */
#ifndef UTFEED_PROXY_SETTINGS_H
#define UTFEED_PROXY_SETTINGS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/policy.h"
#include "guard.h"

struct conf;
struct conf_route;
struct tls_set;

struct settings {
	atomic_uint refs;
	unsigned generation;           /* no two alive have the same */
	struct conf *conf;
	size_t max_clients;            /* of one worker: max-connections, or what the limit of open files leaves */
	struct tls_set *tls;
	struct guard guard;            /* for destinations that clients choose */
	struct guard tunnel_guard;     /* the same, for those of CONNECT */
	uint64_t direct_identity, *identities;         /* conf's routes', in their order */
};

/* One reference. Takes over conf. NULL: its certificates or keys cannot be used, or out of memory (logged); conf is the caller's. */
struct settings *settings_new(struct conf *, unsigned generation);
struct settings *settings_ref(struct settings *);
void settings_unref(struct settings **);               /* nulls; NULL inside is fine */
/* What tells stored responses of this route apart from another's, and from those fetched under other options of it: a number that
 * depends on nothing else. The route is one of conf's. */
uint64_t settings_identity(const struct settings *, const struct conf_route *);
/* What makes the bytes of one encoding's answer differ from another's, as a number. */
uint64_t settings_encoding(const struct conf_route *, enum policy);

#endif
