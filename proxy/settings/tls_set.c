/* The TLS contexts of a configuration; see tls_set.h. */
#include "proxy/settings/tls_set.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/net/tls_context.h"

struct tls_set {
	struct tls_context *doors[TLS_DOORS];
	size_t n;
	struct member {
		const struct conf_route *route;
		struct tls_context *context;   /* a reference */
		bool kept;             /* the former set's, made of what its files were then */
	} members[];
};

/* The making of a set. */
struct tls_making {
	struct tls_set *set;
	struct conf *conf;
	const struct tls_former *former;
	size_t kept;
	bool failed;
};

static bool settings_equal(const struct conf_route *a, const struct conf_route *b)
{
	return a->tls_verify == b->tls_verify && !strcmp(a->tls_ca_file, b->tls_ca_file) &&
	    !strcmp(a->tls_cert, b->tls_cert) && !strcmp(a->tls_key, b->tls_key);
}

static struct tls_settings files_of(const struct conf_route *route)
{
	return (struct tls_settings){ .side = TLS_CLIENT, .verify = route->tls_verify, .ca_file = route->tls_ca_file,
		.cert = route->tls_cert, .key = route->tls_key };
}

/* The options that name the files, as enum tls_file has them, and first that which asks for TLS. */
static const char *const route_options[TLS_FILES] = { "tls", "tls-ca-file", "tls-cert", "tls-key" };
static const char *const door_options[TLS_DOORS][TLS_FILES] = {
	[TLS_DOOR_CLIENTS] = { "tls-listen", "", "tls-listen-cert", "tls-listen-key" },
	[TLS_DOOR_ADMIN] = { "admin-listen", "", "admin-tls-cert", "admin-tls-key" },
};

enum tls_version tls_set_version(enum conf_tls_min min)
{
	static const enum tls_version versions[] = { [CONF_TLS_1_0] = TLS_VERSION_1_0, [CONF_TLS_1_1] = TLS_VERSION_1_1,
		[CONF_TLS_1_2] = TLS_VERSION_1_2, [CONF_TLS_1_3] = TLS_VERSION_1_3 };

	return versions[min];
}

static struct tls_settings files_of_door(const struct conf *conf, enum tls_door door)
{
	bool admin = door == TLS_DOOR_ADMIN, old = !admin && conf->tls_listen_min < CONF_TLS_1_2;

	return (struct tls_settings){ .side = TLS_SERVER, .ciphers = old ? TLS_CIPHERS_ALL : TLS_CIPHERS_STRONG,
		.ca_file = "",
		.cert = admin ? conf->admin_tls_cert : conf->tls_listen_cert,
		.key = admin ? conf->admin_tls_key : conf->tls_listen_key,
		.h2 = true,
		.min = admin ? TLS_VERSION_DEFAULT : tls_set_version(conf->tls_listen_min) };
}

/* Logs what is wrong with a file behind "FILE:LINE: OPTION: " of the option that names it, and what comes of it. route
 * NULL: a listener's. */
static void log_file(enum log_level level, const struct conf *conf, const struct conf_route *route,
    const char *const options[TLS_FILES], const struct tls_why *why, const char *so)
{
	log_line(level, "%s: %s%s", conf_place(conf, route, options[why->file]).text, why->text, so);
}

static void warn_of_dates(struct tls_context *context, const struct conf *conf, const struct conf_route *route,
    const char *const options[TLS_FILES], const char *cert)
{
	struct tls_why why;

	if (tls_context_is_out_of_date(context, cert, &why))
		log_file(LOG_LEVEL_WARN, conf, route, options, &why, "");
}

/* Makes a context. Files that the configuration names are read now, so that faults in them can be reported. */
static struct tls_context *context_make(const struct tls_settings *settings, struct tls_why *why)
{
	*why = (struct tls_why){ TLS_FILE_NONE, "out of memory" };
	return *settings->ca_file || *settings->cert ? tls_context_new(settings, why)
	    : tls_context_new_later(settings->verify);
}

/* A member with the same settings has read the same files. */
static struct tls_context *set_share(const struct tls_set *set, const struct conf_route *route)
{
	for (size_t i = 0; i < set->n; i++)
		if (!set->members[i].kept && settings_equal(route, set->members[i].route)) {
			tls_context_ref(set->members[i].context);
			return set->members[i].context;
		}
	return NULL;
}

/* The listeners of a door stay as they were. */
static int keep_door(struct tls_making *making, enum tls_door door, const struct tls_why *why)
{
	struct tls_context *former = making->former ? tls_set_door(making->former->set, door) : NULL;
	const char *const *options = door_options[door];
	char so[80] = "";

	if (making->former)
		snprintf(so, sizeof so, "; %s stays %s", options[TLS_FILE_NONE],
		    former ? "with its former certificate" : "as it was, without a certificate");
	log_file(LOG_LEVEL_ERROR, making->conf, NULL, options, why, so);
	if (!making->former || conf_keep(making->conf, making->former->conf, options[TLS_FILE_CERT]) != 0 ||
	    conf_keep(making->conf, making->former->conf, options[TLS_FILE_KEY]) != 0)
		return -1;
	if ((making->set->doors[door] = former))
		tls_context_ref(former);
	making->kept++;
	return 0;
}

/* The admin listener speaks TLS where it has a certificate; of clients' listeners those of tls-listen do, which need
 * one. */
static int set_door(struct tls_making *making, enum tls_door door)
{
	const struct tls_settings settings = files_of_door(making->conf, door);
	struct tls_why why = { TLS_FILE_NONE, "needs tls-listen-cert; write tls-listen-cert = FILE, a PEM file" };
	struct tls_context **context = &making->set->doors[door];
	int failed = 0;

	/* A service manager may give a socket for TLS that the configuration does not name. */
	if (!*settings.cert && (door != TLS_DOOR_CLIENTS || !making->conf->tls_listen.count))
		return 0;
	if (!*settings.cert || !(*context = context_make(&settings, &why)))
		failed = keep_door(making, door, &why);
	if (*context)
		warn_of_dates(*context, making->conf, NULL, door_options[door], files_of_door(making->conf, door).cert);
	return failed;
}

/* Whether an earlier route has the same files, by the same line. */
static bool is_told(const struct conf *conf, const struct conf_route *route, const struct tls_why *why)
{
	struct conf_place place = conf_place(conf, route, route_options[why->file]);
	const struct conf_route *other;

	for (size_t i = 0; (other = conf_route_at(conf, i)) != route; i++)
		if (settings_equal(other, route) &&
		    strcmp(conf_place(conf, other, route_options[why->file]).text, place.text) == 0)
			return true;
	return false;
}

/* The route stays as it was, or away. -1: at start. */
static int keep_route(struct tls_making *making, struct conf_route *route, struct member *member,
    const struct tls_why *why)
{
	const struct conf_route *former =
	    making->former ? conf_route_former(making->former->conf, making->conf, route) : NULL;
	char so[160] = "";

	if (!making->former && is_told(making->conf, route, why))
		return -1;
	if (former && !*route->pattern)
		snprintf(so, sizeof so, "; for the %s it stays as it was",
		    route == &making->conf->by_url ? "gateway" : "forward proxy");
	else if (making->former)
		snprintf(so, sizeof so, "; route %.100s %s", route->pattern,
		    former ? "stays as it was" : "is left out");
	log_file(LOG_LEVEL_ERROR, making->conf, route, route_options, why, so);
	if (!making->former)
		return -1;
	making->kept++;
	if (!former) {
		conf_route_drop(making->conf, route);
		return 0;
	}
	conf_route_keep(route, former);
	*member = (struct member){ route, tls_set_origin(making->former->set, former), true };
	tls_context_ref(member->context);
	making->set->n++;
	return 0;
}

static int set_route(struct tls_making *making, struct conf_route *route)
{
	const struct tls_settings settings = files_of(route);
	struct member *member = &making->set->members[making->set->n];
	struct tls_context *context = set_share(making->set, route);
	bool shared = context;
	struct tls_why why;

	if (!context && !(context = context_make(&settings, &why)))
		return keep_route(making, route, member, &why);
	*member = (struct member){ route, context, false };
	making->set->n++;
	if (!shared)
		warn_of_dates(context, making->conf, route, route_options, settings.cert);
	if (!route->tls_verify && (!route->origin.host || route->origin.scheme == URL_HTTPS))
		log_warn("%s: is off, so whoever is in between can read and change what is fetched; write "
		    "tls-ca-file = FILE to trust an authority of your own",
		    conf_place(making->conf, route, "tls-verify").text);
	return 0;
}

/* At start all failures are logged. */
static void set_all(struct tls_making *making)
{
	struct conf_route_list *routes = &making->conf->routes;
	size_t i = 0;

	for (enum tls_door door = 0; door < TLS_DOORS; door++)
		making->failed |= set_door(making, door) != 0;
	making->failed |= set_route(making, &making->conf->direct) != 0;
	making->failed |= set_route(making, &making->conf->by_url) != 0;
	while (i < routes->count) {
		size_t count = routes->count;

		making->failed |= set_route(making, &routes->items[i]) != 0;
		i += routes->count == count;   /* else the route was taken out, and the next one stands there */
	}
}

struct tls_set *tls_set_new(struct conf *conf, const struct tls_former *former, size_t *kept)
{
	struct tls_making m = { .conf = conf, .former = former,
		.set = calloc(1, sizeof *m.set + conf_route_count(conf) * sizeof *m.set->members) };

	if (!m.set) {
		log_error("tls: out of memory");
		return NULL;
	}
	set_all(&m);
	if (m.failed)
		tls_set_free(&m.set);
	*kept = m.kept;
	return m.set;
}

void tls_set_free(struct tls_set **setp)
{
	struct tls_set *set = *setp;

	if (!set)
		return;
	for (size_t i = 0; i < set->n; i++)
		tls_context_unref(&set->members[i].context);
	for (enum tls_door door = 0; door < TLS_DOORS; door++)
		tls_context_unref(&set->doors[door]);
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

struct tls_context *tls_set_door(struct tls_set *set, enum tls_door door)
{
	return set->doors[door];
}
