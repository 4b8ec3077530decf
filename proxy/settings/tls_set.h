/* Owns every TLS context the configuration asks for: shared by all workers.
 * Must not know: connections. Invariant: once made, it never changes; contexts lock themselves. */
#ifndef UTFEED_PROXY_SETTINGS_TLS_SET_H
#define UTFEED_PROXY_SETTINGS_TLS_SET_H

struct conf;
struct conf_route;
struct tls_context;
struct tls_set;

/* NULL: a file cannot be used, or out of memory (logged, with where the option stands that names it). Routes that
 * verify nothing are warned of. */
struct tls_set *tls_set_new(const struct conf *);
void tls_set_free(struct tls_set **);

/* For https origins of this route: one of the configuration the set was made for, or its conf->direct. */
struct tls_context *tls_set_origin(struct tls_set *, const struct conf_route *);
/* For clients of tls-listen; NULL: there is none. */
struct tls_context *tls_set_listener(struct tls_set *);

#endif
