/* The TLS contexts of a configuration; see tls_set.h. */
#include "proxy/settings/tls_set.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/net/tls_context.h"

struct tls_set {
	struct tls_context *listener;
	size_t n;
	struct member {
		const struct conf_route *route;
		struct tls_context *context;
		bool shared;           /* an earlier member with the same settings owns it */
	} members[];
};

static bool settings_equal(const struct conf_route *a, const struct conf_route *b)
{
	return a->tls_verify == b->tls_verify && !strcmp(a->tls_ca_file, b->tls_ca_file) &&
	    !strcmp(a->tls_cert, b->tls_cert) && !strcmp(a->tls_key, b->tls_key);
}

/* Logs why a file cannot be used, behind "FILE:LINE: OPTION: " of the option that names it. route NULL: the
 * listener's. */
static void log_unusable(const struct conf *conf, const struct conf_route *route, const struct tls_why *why)
{
	static const char *const names[][TLS_FILES] = { { "tls-listen", "", "tls-listen-cert", "tls-listen-key" },
		{ "tls", "tls-ca-file", "tls-cert", "tls-key" } };

	log_error("%s: %s", conf_place(conf, route, names[route != NULL][why->file]).text, why->text);
}

/* Makes a context. Files that the configuration names are read now, so that faults in them can be reported. */
static struct tls_context *tls_set_context_make(const struct tls_settings *s, const struct conf *conf,
    const struct conf_route *route)
{
	struct tls_why why = { TLS_FILE_NONE, "out of memory" };
	struct tls_context *c = *s->ca_file || *s->cert ? tls_context_new(s, &why) : tls_context_new_later(s->verify);

	if (!c)
		log_unusable(conf, route, &why);
	return c;
}

static int set_add(struct tls_set *set, const struct conf *conf, const struct conf_route *route)
{
	const struct tls_settings settings = { TLS_CLIENT, route->tls_verify, route->tls_ca_file, route->tls_cert,
		route->tls_key };
	struct member *m = &set->members[set->n];

	if (!route->tls_verify)
		log_warn("route %s: tls-verify is off: whoever is in between can read and change what is fetched",
		    route->name);
	m->route = route;
	for (size_t i = 0; i < set->n && !m->context; i++)
		if (settings_equal(route, set->members[i].route))
			m->context = set->members[i].context;
	m->shared = m->context;
	if (!m->context && !(m->context = tls_set_context_make(&settings, conf, route)))
		return -1;
	set->n++;
	return 0;
}

struct tls_set *tls_set_new(const struct conf *conf)
{
	const struct tls_settings listener = { TLS_SERVER, false, "", conf->tls_listen_cert, conf->tls_listen_key };
	struct tls_set *set = calloc(1, sizeof *set + (conf->routes.count + 1) * sizeof *set->members);

	if (!set) {
		log_error("tls: out of memory");
		return NULL;
	}
	if (conf->tls_listen.count && !*conf->tls_listen_cert) {
		log_error("%s: needs tls-listen-cert, a PEM file", conf_place(conf, NULL, "tls-listen").text);
		goto fail;
	}
	/* A service manager may give a socket for TLS that the configuration does not name. */
	if (*conf->tls_listen_cert && !(set->listener = tls_set_context_make(&listener, conf, NULL)))
		goto fail;
	if (set_add(set, conf, &conf->direct))
		goto fail;
	for (size_t i = 0; i < conf->routes.count; i++)
		if (set_add(set, conf, &conf->routes.items[i]))
			goto fail;
	return set;
fail:
	tls_set_free(&set);
	return NULL;
}

void tls_set_free(struct tls_set **setp)
{
	struct tls_set *set = *setp;

	if (!set)
		return;
	for (size_t i = 0; i < set->n; i++)
		if (!set->members[i].shared)
			tls_context_unref(&set->members[i].context);
	tls_context_unref(&set->listener);
	free(set);
	*setp = NULL;
}

struct tls_context *tls_set_origin(struct tls_set *set, const struct conf_route *route)
{
	size_t i = 0;

	while (set->members[i].route != route)
		i++;
	return set->members[i].context;
}

struct tls_context *tls_set_listener(struct tls_set *set)
{
	return set->listener;
}
