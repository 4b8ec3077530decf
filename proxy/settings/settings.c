/* A configuration in force; see settings.h. */
#include "proxy/settings/settings.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/base/hash.h"
#include "proxy/base/log.h"
#include "proxy/settings/client_rate.h"
#include "proxy/settings/fd_limit.h"
#include "proxy/settings/interception.h"
#include "proxy/settings/logins.h"
#include "proxy/settings/origin_fields.h"
#include "proxy/settings/signing.h"
#include "proxy/settings/tls_set.h"

/* The clients of one worker. If the limit of open files leaves room for fewer, that is a warning where the
 * configuration sets max-connections; else nobody has asked for so many. */
static size_t settings_max_clients(const struct conf *conf)
{
	size_t admin = conf->admin_listen.count ? FD_LIMIT_ADMIN : 0;
	size_t wanted = (size_t)conf->max_connections, room = fd_limit_clients(admin) / (size_t)conf->workers;

	if (wanted <= room)
		return wanted;
	room = room ? room : 1;
	log_line(conf_where(conf, NULL, "max-connections") ? LOG_LEVEL_WARN : LOG_LEVEL_DEBUG,
	    "max-connections: %zu clients a worker instead of %zu: the limit of open files (ulimit -n) leaves no room "
	    "for more",
	    room, wanted);
	return room;
}

/* Goes up whenever stored heads are made in another way, so that older stored responses do not answer any more. */
enum { SETTINGS_FORM = 2 };

/* -1: out of memory. */
static int hash_effects(const struct conf_route *route, enum conf_effect least, uint64_t *hash)
{
	char *text = conf_route_effects(route, least);

	if (!text)
		return -1;
	*hash = hash_xx64(text, strlen(text));
	free(text);
	return 0;
}

static int route_settings(const struct conf_route *route, struct route_settings *to)
{
	if (hash_effects(route, EFFECT_BYTES, &to->encoding) || hash_effects(route, EFFECT_KEY, &to->identity))
		return -1;
	to->identity =
	    hash_fold(hash_fold(to->identity, SETTINGS_FORM), hash_xx64(route->pattern, strlen(route->pattern)));
	return 0;
}

static struct route_counts *find_counts(const struct route_settings *all, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].counts && !strcmp(all[i].counts->name, name))
			return all[i].counts;
	return NULL;
}

/* Makes the counts of conf's route number n; the routes before it have theirs. -1: out of memory. */
static int make_counts(const struct conf *conf, struct route_settings *all, size_t n)
{
	const struct conf_route *route = conf_route_at(conf, n);

	if (!conf_where(conf, route, "name"))
		return 0;
	struct route_counts *same = find_counts(all, n, route->name);
	all[n].counts = same ? route_counts_ref(same) : route_counts_new(route->name, (size_t)conf->workers);
	return all[n].counts ? 0 : -1;
}

static void free_route_settings(struct route_settings *all, const struct conf *conf)
{
	for (size_t i = 0; all && i < conf_route_count(conf); i++) {
		route_counts_unref(&all[i].counts);
		settings_unref(&all[i].lender);
	}
	free(all);
}

/* Makes one for each of conf's routes, by number. NULL: out of memory. */
static struct route_settings *all_route_settings(const struct conf *conf)
{
	struct route_settings *all = calloc(conf_route_count(conf), sizeof *all);
	int failed = !all;

	for (size_t i = 0; !failed && i < conf_route_count(conf); i++)
		failed = route_settings(conf_route_at(conf, i), &all[i]) || make_counts(conf, all, i);
	if (!failed)
		return all;
	free_route_settings(all, conf);
	return NULL;
}

static struct route_settings *settings_of(const struct settings *settings, const struct conf_route *route)
{
	return &settings->routes[conf_route_number(settings->conf, route)];
}

/* The former settings may have borrowed the route themselves. Then the owner lends it again, so that a reload keeps
 * only settings that own something of it. */
static void inherit_route(struct settings *settings, const struct conf_route *route, struct settings *former)
{
	const struct conf_route *was = conf_route_former(former->conf, settings->conf, route);
	struct settings *lender = was ? settings_of(former, was)->lender : NULL;

	if (route->lent)
		settings_of(settings, route)->lender = settings_ref(lender ? lender : former);
}

static void inherit_counts(struct settings *settings, const struct settings *former, size_t route)
{
	struct route_counts **counts = &settings->routes[route].counts;
	struct route_counts *old =
	    *counts ? find_counts(former->routes, former->conf->routes.count, (*counts)->name) : NULL;

	if (!old)
		return;
	route_counts_unref(counts);
	*counts = route_counts_ref(old);
}

/* Readers still send the Authorization that was meant for utfeed. */
static void settings_warn_of_passwords(const struct conf *conf, const struct conf *former)
{
	bool sent = conf->forward_credentials;

	for (size_t i = 0; i < conf_route_count(conf); i++)
		sent |= conf_route_at(conf, i)->authorization;
	if (sent && former->users.count && !conf->users.count)
		log_warn("client-auth is off now: readers still send their passwords, and authorization = on or "
		    "forward-credentials = on passes them to origins; set it to off until readers have forgotten them");
}

static void settings_inherit(struct settings *settings, struct settings *former)
{
	for (size_t i = 0; i < conf_route_count(settings->conf); i++) {
		inherit_route(settings, conf_route_at(settings->conf, i), former);
		inherit_counts(settings, former, i);
	}
	if (settings->client_rate && former->client_rate) {
		client_rate_unref(&settings->client_rate);
		settings->client_rate = client_rate_ref(former->client_rate);
	}
	settings_warn_of_passwords(settings->conf, former->conf);
	if (settings->logins && former->logins) {
		logins_unref(&settings->logins);
		settings->logins = logins_ref(former->logins);
	}
}

/* Makes what is made of the configuration. -1: logged. */
static int settings_make(struct settings *settings, struct settings *former)
{
	const struct tls_former *before = former ? &(struct tls_former){ former->conf, former->tls } : NULL;

	const struct interception_former opened = former
	    ? (struct interception_former){ former->conf, former->interception }
	    : (struct interception_former){ 0 };

	if (origin_fields_check(settings->conf) ||
	    !(settings->tls = tls_set_new(settings->conf, before, &settings->kept)) ||
	    interception_new(settings->conf, former ? &opened : NULL, &settings->interception, &settings->kept) ||
	    signing_new(settings->conf, &settings->signing))
		return -1;
	if (!(settings->routes = all_route_settings(settings->conf)) ||
	    (settings->conf->client_rate && !(settings->client_rate = client_rate_new())) ||
	    (*settings->conf->client_auth && !(settings->logins = logins_new()))) {
		log_error("out of memory");
		return -1;
	}
	for (size_t i = 0; settings->signing && i < conf_route_count(settings->conf); i++)
		settings->routes[i].signer = signing_of(settings->signing, conf_route_at(settings->conf, i));
	if (former)
		settings_inherit(settings, former);
	return 0;
}

static void settings_free(struct settings *settings)
{
	tls_set_free(&settings->tls);
	interception_unref(&settings->interception);
	signing_free(&settings->signing);
	free_route_settings(settings->routes, settings->conf);
	client_rate_unref(&settings->client_rate);
	logins_unref(&settings->logins);
	free(settings);
}

struct settings *settings_new(struct conf *conf, unsigned generation, struct settings *former)
{
	struct settings *settings = calloc(1, sizeof *settings);

	if (!settings) {
		log_error("out of memory");
		return NULL;
	}
	settings->conf = conf;
	if (settings_make(settings, former)) {
		settings_free(settings);
		return NULL;
	}
	if (settings->kept)
		log_warn("reload: %zu of the routes and listeners above stay as they were; all else is new",
		    settings->kept);
	atomic_init(&settings->refs, 1);
	atomic_init(&settings->awaited, 0);
	settings->generation = generation;
	settings->max_clients = settings_max_clients(conf);
	settings->guard = (struct guard){ &conf->allow, &conf->deny, NULL };
	settings->tunnel_guard = (struct guard){ &conf->allow, &conf->deny, &conf->connect_allow };
	return settings;
}

struct route_counts *settings_counts(const struct settings *settings, const struct conf_route *route)
{
	return settings_of(settings, route)->counts;
}

const struct route_counts *settings_route_counts(const struct settings *settings, size_t i)
{
	const struct route_counts *counts = settings->routes[i].counts;

	return counts && find_counts(settings->routes, i, counts->name) == NULL ? counts : NULL;
}

void settings_print_counts(const struct settings *settings, FILE *f)
{
	for (size_t i = 0; i < settings->conf->routes.count; i++) {
		const struct route_counts *counts = settings_route_counts(settings, i);

		if (counts)
			stats_print_route(f, counts->name, counts->of, counts->n);
	}
}

const struct signer *settings_signer(const struct settings *settings, const struct conf_route *route)
{
	return settings_of(settings, route)->signer;
}

uint64_t settings_identity(const struct settings *settings, const struct conf_route *route)
{
	return settings_of(settings, route)->identity;
}

uint64_t settings_encoding(const struct settings *settings, const struct conf_route *route, enum policy policy)
{
	return hash_fold(settings_of(settings, route)->encoding, policy);
}

struct settings *settings_ref(struct settings *settings)
{
	atomic_fetch_add_explicit(&settings->refs, 1, memory_order_relaxed);
	return settings;
}

void settings_unref(struct settings **sp)
{
	struct settings *settings = *sp;

	*sp = NULL;
	if (!settings || atomic_fetch_sub_explicit(&settings->refs, 1, memory_order_acq_rel) > 1)
		return;
	struct conf *conf = settings->conf;
	settings_free(settings);
	conf_free(&conf);
}

void settings_taken(struct settings *settings)
{
	if (atomic_fetch_sub(&settings->awaited, 1) == 1)
		log_info("reload: the configuration and its certificates were read again");
}
