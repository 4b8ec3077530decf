/* Owns every TLS context that the configuration asks for; all workers share them.
 * Must not know: connections. Invariant: once made, the set never changes; contexts lock themselves. */
#ifndef UTFEED_PROXY_SETTINGS_TLS_SET_H
#define UTFEED_PROXY_SETTINGS_TLS_SET_H

#include <stddef.h>

#include "conf/conf.h"
#include "proxy/net/tls_context.h"

struct tls_set;

/* Where peers come in over TLS: tls-listen, and admin-listen with a certificate. */
enum tls_door { TLS_DOOR_CLIENTS, TLS_DOOR_ADMIN, TLS_DOORS };

/* A reload goes back to this if a file cannot be used. */
struct tls_former {
	const struct conf *conf;
	struct tls_set *set;
};

/* former NULL: at start. Warns of routes that verify nothing, and of own certificates that have expired. NULL: a file
 * cannot be used, or out of memory. Each such file is logged with the place of the option that names it.
 * A reload goes on without such files. The route stays as it was in the former configuration, options and context; a
 * new route is taken out of conf. The listeners keep their former certificate. *kept counts these. */
struct tls_set *tls_set_new(struct conf *, const struct tls_former *former, size_t *kept);
void tls_set_free(struct tls_set **);

/* The context for https origins of this route, which is a route of the configuration the set was made for, or its
 * conf->direct. */
struct tls_context *tls_set_origin(struct tls_set *, const struct conf_route *);
/* The context for clients of that door; NULL: there is none. */
struct tls_context *tls_set_door(struct tls_set *, enum tls_door);
/* A version as an option has it, for a context. */
enum tls_version tls_set_version(enum conf_tls_min);

#endif
