/* Owns every TLS context that the configuration asks for; all workers share them.
 * Must not know: connections. Invariant: once made, the set never changes; contexts lock themselves. */
#ifndef UTFEED_PROXY_SETTINGS_TLS_SET_H
#define UTFEED_PROXY_SETTINGS_TLS_SET_H

struct conf;
struct conf_route;
struct tls_context;
struct tls_set;

/* NULL: a file cannot be used, or out of memory (logged with the place of the option that names the file). Warns of
 * routes that verify nothing. */
struct tls_set *tls_set_new(const struct conf *);
void tls_set_free(struct tls_set **);

/* The context for https origins of this route, which is a route of the configuration the set was made for, or its
 * conf->direct. */
struct tls_context *tls_set_origin(struct tls_set *, const struct conf_route *);
/* The context for clients of tls-listen; NULL: there is none. */
struct tls_context *tls_set_listener(struct tls_set *);

#endif
