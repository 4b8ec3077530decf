/* Owns the warnings of options that have no effect because another one is off (idle.def).
 It also warns of patterns that mean less than in other programs.
 * Must not know: what any option does.
 * Invariant: neither a value that is the default nor what a route inherits is warned of. */
#include "conf/conf_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- questions that are longer than a word ---- */

static bool idle_caches(const struct conf *conf, const struct conf_route *route)
{
	bool any = false;

	for (size_t i = 0; i < conf_route_count(conf); i++)
		any = any || conf_route_at(conf, i)->cache;
	return route ? route->cache : any;
}

static bool idle_follows(const struct conf *conf)
{
	bool any = conf->gateway;

	for (size_t i = 0; i < conf->routes.count; i++)
		any = any || conf->routes.items[i].follow_redirects;
	return any;
}

static bool idle_has_parent(const struct conf *conf)
{
	bool any = false;

	for (size_t i = 0; i < conf_route_count(conf); i++)
		any = any || conf_route_at(conf, i)->http_proxy.host || conf_route_at(conf, i)->https_proxy.host;
	return any;
}

static bool idle_listens_at_path(const struct conf *conf)
{
	const struct conf_listen_list *const lists[] = { &conf->listen, &conf->tls_listen, &conf->admin_listen };
	bool any = conf->inherits;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (size_t k = 0; k < lists[i]->count; k++)
			any = any || lists[i]->items[k].path;
	return any;
}

/* The admin listener, too, fetches URLs that it is asked to check. */
static bool idle_guards(const struct conf *conf)
{
	return conf->gateway || conf->forward || conf->connect_allow.count || conf->admin_listen.count ||
	    conf->inherits;
}

/* A route without an origin is that of the gateway or of the forward proxy, which have many. */
static bool idle_speaks_tls(const struct conf_route *route)
{
	return !route->origin.host || route->origin.scheme == URL_HTTPS || route->upgrade_https ||
	    route->follow_redirects;
}

/* ---- the rows ---- */

static const struct { const char *option, *because, *write; } idle_rows[] = {
#define IDLE(option, needs, because, write) { option, because, write },
#include "conf/idle.def"
#undef IDLE
};
enum { IDLE_ROWS = sizeof(idle_rows) / sizeof(idle_rows[0]) };

/* Whether the option of that row has an effect. route NULL: it is not one of routes. */
static bool idle_is_met(size_t row, const struct conf *conf, const struct conf_route *route)
{
	size_t at = 0;

#define IDLE(option, needs, because, write) \
	if (row == at++) \
		return needs;
#include "conf/idle.def"
#undef IDLE
	return true;
}

static void idle_tell(struct conf *conf, const struct conf_route *route, size_t row)
{
	conf_warn(conf, "%s: has no effect, because %s; write %s, or leave this out",
	    conf_place(conf, route, idle_rows[row].option).text, idle_rows[row].because, idle_rows[row].write);
}

static bool idle_same(const struct conf_row *row, const void *base, const char *otherwise)
{
	char *text = conf_format(row, base);
	bool same = text && otherwise && strcmp(text, otherwise) == 0;

	free(text);
	return same;
}

/* Whether the option is set, and to another value than it would have otherwise. defaults: a configuration without any
 * value. */
static bool idle_is_set(const struct conf *conf, const struct conf_row *row, const struct conf *defaults)
{
	if (conf->sources[row - conf_options].level == CONF_LEVEL_DEFAULT)
		return false;
	char *otherwise = conf_format(row, defaults);
	bool is = !idle_same(row, conf, otherwise);

	free(otherwise);
	return is;
}

static bool idle_route_sets(const struct conf *conf, const struct conf_route *route, const struct conf_row *row)
{
	if (!route->places[row - conf_route_options])
		return false;
	const struct conf_row *global = conf_option_row(row->name);
	const char *by_way = global ? conf_way_default(conf, route, row) : row->def;
	/* --print-config writes the defaults of the gateway, beside global values that would count without them. */
	const char *printed = route == &conf->by_url ? conf_ways[row - conf_route_options].gateway : NULL;
	char *otherwise = by_way ? strdup(by_way) : global ? conf_format(global, conf) : NULL;
	bool is = !idle_same(row, route, otherwise) && !idle_same(row, route, printed);

	free(otherwise);
	return is;
}

/* Whether a global value has an effect, in one of the routes that inherit it. */
static bool idle_counts(const struct conf *conf, size_t row, const struct conf_row *of_route)
{
	bool any = !of_route && idle_is_met(row, conf, NULL);

	for (size_t i = 0; of_route && i < conf_route_count(conf); i++) {
		const struct conf_route *route = conf_route_at(conf, i);

		any = any || (!route->places[of_route - conf_route_options] && idle_is_met(row, conf, route));
	}
	return any;
}

/* Returns whether a warning was given. */
static bool idle_warn_row(struct conf *conf, size_t row, const struct conf *defaults)
{
	const struct conf_row *global = conf_option_row(idle_rows[row].option);
	const struct conf_row *of_route = conf_route_row(idle_rows[row].option);
	bool told = false;

	for (size_t i = 0; of_route && i < conf_route_count(conf); i++) {
		const struct conf_route *route = conf_route_at(conf, i);

		if (idle_route_sets(conf, route, of_route) && !idle_is_met(row, conf, route)) {
			idle_tell(conf, route, row);
			told = true;
		}
	}
	if (!global || !idle_is_set(conf, global, defaults) || idle_counts(conf, row, of_route))
		return told;
	idle_tell(conf, NULL, row);
	return true;
}

/* In other programs * at the end stands for all below. */
static void idle_warn_of_stars(struct conf *conf)
{
	for (size_t i = 0; i < conf->routes.count; i++) {
		const struct conf_route *route = &conf->routes.items[i];
		size_t len = strlen(route->pattern);

		if (len > 1 && route->pattern[len - 1] == '*')
			conf_warn(conf, "%.190s: the * of route %.100s stands for itself; write %.*s, which has all "
			    "below it", route->where, route->pattern, (int)(len - 1), route->pattern);
	}
}

void conf_idle_warn(struct conf *conf)
{
	struct conf *defaults = conf_new();
	bool told = false;

	for (size_t i = 0; defaults && i < IDLE_ROWS; i++) {
		bool first = i == 0 || strcmp(idle_rows[i].option, idle_rows[i - 1].option) != 0;

		if (first || !told)
			told = idle_warn_row(conf, i, defaults);
	}
	conf_free(&defaults);
	idle_warn_of_stars(conf);
}
