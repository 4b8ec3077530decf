/* Owns one configuration in force and what is made of it: TLS contexts, guards, hashes. All workers share it by
 * references. A reload makes another one; what was begun under this one ends under it.
 * Must not know: who reloads, requests. Invariant: settings are complete and never changed once made, and live as long
 * as anything points into them. */
#ifndef UTFEED_PROXY_SETTINGS_SETTINGS_H
#define UTFEED_PROXY_SETTINGS_SETTINGS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/policy/policy.h"
#include "proxy/settings/guard.h"
#include "proxy/settings/route_counts.h"

struct client_rate;
struct interception;
struct logins;
struct conf;
struct conf_route;
struct signer;
struct signing;
struct tls_set;

/* What is made of one route's options; their effect column says which options count (conf/options.def). */
struct route_settings {
	uint64_t identity;             /* Hash of the options of effect KEY or BYTES and of the pattern. */
	uint64_t encoding;             /* Hash of the options of effect BYTES. */
	struct route_counts *counts;   /* One reference; NULL: the route has no name. */
	const struct signer *signer;   /* of the settings' signing; NULL: its requests are not signed */
	/* A reload kept the route: these settings own its options (one reference). NULL: it is our own. */
	struct settings *lender;
};

struct settings {
	atomic_uint refs;
	unsigned generation;           /* no two settings that are alive have the same */
	atomic_uint awaited;           /* after a reload: threads that do not answer under these settings yet */
	struct conf *conf;
	size_t max_clients;            /* of one worker: max-connections, or what the limit of open files leaves */
	size_t kept;                   /* how many routes and listeners stay as they were, for a file of theirs */
	struct tls_set *tls;
	struct signing *signing;       /* NULL: no request is signed. */
	struct interception *interception;     /* One reference; NULL: no CONNECT is opened. */
	struct guard guard;            /* For destinations that clients choose. */
	struct guard tunnel_guard;     /* For destinations of CONNECT. */
	struct client_rate *client_rate;       /* One reference; NULL: there is no limit. */
	struct logins *logins;         /* One reference; NULL: nobody is asked for a password. */
	struct route_settings *routes; /* One for each of conf's routes, by number. */
};

/* One reference. Takes over conf. NULL: its certificates, keys or origin-fields cannot be used, or out of memory
 * (logged); conf stays the caller's. former: the settings that a reload replaces. Certificates of conf that cannot be
 * used then stay as they were (tls_set_new()). Routes with a name keep their counts, and clients their rates. Called
 * before anybody serves under the new ones. NULL: at start. */
struct settings *settings_new(struct conf *, unsigned generation, struct settings *former);
struct settings *settings_ref(struct settings *);
void settings_unref(struct settings **);               /* sets it to NULL; it may be NULL already */
/* Called when an awaited worker serves under these settings, or was given newer ones before it did. The last such call
 * logs the reload. */
void settings_taken(struct settings *);
/* The counts of a route, which is one of conf's; NULL: it is not counted. */
struct route_counts *settings_counts(const struct settings *, const struct conf_route *);
/* The counts of the route at place i of conf's; NULL: it has no name, or an earlier route has the same one. */
const struct route_counts *settings_route_counts(const struct settings *, size_t i);
/* Prints the counts of all routes, once for each name, as "name value" lines. */
void settings_print_counts(const struct settings *, FILE *);
/* The signer of the route's requests; the route is one of conf's. NULL: they are not signed. */
const struct signer *settings_signer(const struct settings *, const struct conf_route *);
/* A number that tells stored responses of this route apart from another route's, and from those fetched under other
 * options of it; it depends on nothing else. The route is one of conf's. */
uint64_t settings_identity(const struct settings *, const struct conf_route *);
/* A number that differs where the route's options or the policy make different bytes of a response; the policy may be
 * the client's choice. */
uint64_t settings_encoding(const struct settings *, const struct conf_route *, enum policy);

#endif
