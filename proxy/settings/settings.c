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
#include "proxy/settings/origin_fields.h"
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
static int hash_effects(const struct conf_route *r, enum conf_effect least, uint64_t *hash)
{
	char *text = conf_route_effects(r, least);

	if (!text)
		return -1;
	*hash = hash_xx64(text, strlen(text));
	free(text);
	return 0;
}

static int route_settings(const struct conf_route *r, struct route_settings *to)
{
	if (hash_effects(r, EFFECT_BYTES, &to->encoding) || hash_effects(r, EFFECT_KEY, &to->identity))
		return -1;
	to->identity = hash_fold(hash_fold(to->identity, SETTINGS_FORM), hash_xx64(r->pattern, strlen(r->pattern)));
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
	const struct conf_route *r = conf_route_at(conf, n);
	struct route_counts *same;

	if (!conf_where(conf, r, "name"))
		return 0;
	same = find_counts(all, n, r->name);
	all[n].counts = same ? route_counts_ref(same) : route_counts_new(r->name, (size_t)conf->workers);
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

static struct route_settings *settings_of(const struct settings *s, const struct conf_route *r)
{
	return &s->routes[conf_route_number(s->conf, r)];
}

/* The former settings may have borrowed the route themselves. Then the owner lends it again, so that a reload keeps
 * only settings that own something of it. */
static void inherit_route(struct settings *s, const struct conf_route *r, struct settings *former)
{
	const struct conf_route *was = conf_route_former(former->conf, s->conf, r);
	struct settings *lender = was ? settings_of(former, was)->lender : NULL;

	if (r->lent)
		settings_of(s, r)->lender = settings_ref(lender ? lender : former);
}

static void inherit_counts(struct settings *s, const struct settings *former, size_t route)
{
	struct route_counts **counts = &s->routes[route].counts;
	struct route_counts *old =
	    *counts ? find_counts(former->routes, former->conf->routes.count, (*counts)->name) : NULL;

	if (!old)
		return;
	route_counts_unref(counts);
	*counts = route_counts_ref(old);
}

static void settings_inherit(struct settings *s, struct settings *former)
{
	for (size_t i = 0; i < conf_route_count(s->conf); i++) {
		inherit_route(s, conf_route_at(s->conf, i), former);
		inherit_counts(s, former, i);
	}
	if (!s->client_rate || !former->client_rate)
		return;
	client_rate_unref(&s->client_rate);
	s->client_rate = client_rate_ref(former->client_rate);
}

/* Makes what is made of the configuration. -1: logged. */
static int settings_make(struct settings *s, struct settings *former)
{
	const struct tls_former *before = former ? &(struct tls_former){ former->conf, former->tls } : NULL;

	const struct interception_former opened = former
	    ? (struct interception_former){ former->conf, former->interception }
	    : (struct interception_former){ 0 };

	if (origin_fields_check(s->conf) ||
	    !(s->tls = tls_set_new(s->conf, before, &s->kept)) ||
	    interception_new(s->conf, former ? &opened : NULL, &s->interception, &s->kept))
		return -1;
	if (!(s->routes = all_route_settings(s->conf)) ||
	    (s->conf->client_rate && !(s->client_rate = client_rate_new()))) {
		log_error("out of memory");
		return -1;
	}
	if (former)
		settings_inherit(s, former);
	return 0;
}

static void settings_free(struct settings *s)
{
	tls_set_free(&s->tls);
	interception_unref(&s->interception);
	free_route_settings(s->routes, s->conf);
	client_rate_unref(&s->client_rate);
	free(s);
}

struct settings *settings_new(struct conf *conf, unsigned generation, struct settings *former)
{
	struct settings *s = calloc(1, sizeof *s);

	if (!s) {
		log_error("out of memory");
		return NULL;
	}
	s->conf = conf;
	if (settings_make(s, former)) {
		settings_free(s);
		return NULL;
	}
	if (s->kept)
		log_warn("reload: %zu of the routes and listeners above stay as they were; all else is new", s->kept);
	atomic_init(&s->refs, 1);
	atomic_init(&s->awaited, 0);
	s->generation = generation;
	s->max_clients = settings_max_clients(conf);
	s->guard = (struct guard){ &conf->allow, &conf->deny, NULL };
	s->tunnel_guard = (struct guard){ &conf->allow, &conf->deny, &conf->connect_allow };
	return s;
}

struct route_counts *settings_counts(const struct settings *s, const struct conf_route *r)
{
	return settings_of(s, r)->counts;
}

const struct route_counts *settings_route_counts(const struct settings *s, size_t i)
{
	const struct route_counts *c = s->routes[i].counts;

	return c && find_counts(s->routes, i, c->name) == NULL ? c : NULL;
}

void settings_print_counts(const struct settings *s, FILE *f)
{
	for (size_t i = 0; i < s->conf->routes.count; i++) {
		const struct route_counts *c = settings_route_counts(s, i);

		if (c)
			stats_print_route(f, c->name, c->of, c->n);
	}
}

uint64_t settings_identity(const struct settings *s, const struct conf_route *r)
{
	return settings_of(s, r)->identity;
}

uint64_t settings_encoding(const struct settings *s, const struct conf_route *r, enum policy policy)
{
	return hash_fold(settings_of(s, r)->encoding, policy);
}

struct settings *settings_ref(struct settings *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void settings_unref(struct settings **sp)
{
	struct settings *s = *sp;
	struct conf *conf;

	*sp = NULL;
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
		return;
	conf = s->conf;
	settings_free(s);
	conf_free(&conf);
}

void settings_taken(struct settings *s)
{
	if (atomic_fetch_sub(&s->awaited, 1) == 1)
		log_info("reload: the configuration and its certificates were read again");
}
