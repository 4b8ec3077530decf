/* Owns the routes that no pattern leads to (the gateway's, and that of all other destinations which clients name), and
 * the defaults of options by way.
 * Must not know: where values come from.
 * Invariant: what a section or a route sets counts before a global value, and that before a default. */
#include "conf/conf_internal.h"

#include <stdlib.h>

const struct conf_way conf_ways[CONF_ROUTE_OPTION_COUNT] = {
#define WAY(member, gateway, plain) [CONF_ROUTE_##member] = { gateway, plain },
#include "conf/ways.def"
#undef WAY
};

/* Options of routes that the gateway has not: they belong to one origin, or give away what its clients sent. */
static const enum conf_route_option_id not_of_gateway[] = { CONF_ROUTE_origin, CONF_ROUTE_name, CONF_ROUTE_charset,
	CONF_ROUTE_follow_redirects, CONF_ROUTE_cookies, CONF_ROUTE_authorization, CONF_ROUTE_origin_fields,
	CONF_ROUTE_origin_fields_file, CONF_ROUTE_tls_verify,
	CONF_ROUTE_tls_cert, CONF_ROUTE_tls_key };

bool conf_is_of_gateway(const struct conf_row *row)
{
	for (size_t i = 0; i < sizeof(not_of_gateway) / sizeof(not_of_gateway[0]); i++)
		if (row == &conf_route_options[not_of_gateway[i]])
			return false;
	return true;
}

int conf_gateway_defaults(struct conf *conf, struct conf_error *error)
{
	struct conf_route *routes[] = { &conf->direct, &conf->by_url };

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (!(routes[i]->pattern = strdup("")) ||
		    !(routes[i]->places = calloc(CONF_ROUTE_OPTION_COUNT, sizeof(*routes[i]->places))))
			return conf_fail_memory(error);
	return conf_route_defaults(&conf->direct, error) != 0 ? -1 : conf_route_defaults(&conf->by_url, error);
}

const char *conf_way_default(const struct conf *conf, const struct conf_route *route, const struct conf_row *row)
{
	const struct conf_way *way = &conf_ways[row - conf_route_options];
	const struct conf_row *global = conf_option_row(row->name);

	if (route == &conf->direct || !route->normalise)
		return way->plain;
	if (route == &conf->by_url && global && conf->sources[global - conf_options].level == CONF_LEVEL_DEFAULT)
		return way->gateway;
	return NULL;
}

size_t conf_route_count(const struct conf *conf)
{
	return conf->routes.count + 2;
}

const struct conf_route *conf_route_at(const struct conf *conf, size_t i)
{
	if (i < conf->routes.count)
		return &conf->routes.items[i];
	return i == conf->routes.count ? &conf->direct : &conf->by_url;
}

size_t conf_route_number(const struct conf *conf, const struct conf_route *route)
{
	if (*route->pattern)
		return (size_t)(route - conf->routes.items);
	return conf->routes.count + (route == &conf->by_url);
}
