/* Owns the life of a struct conf: defaults, the order of the sources, settling.
 * Must not know: how a file, a flag or a variable is written, how a value is checked.
 * Invariant: the sources are applied in the order of their level, the lowest first. */
#include "conf/conf_internal.h"

#include <stdlib.h>
#include <string.h>

const char *conf_where(const struct conf *conf, const struct conf_route *route, const char *option)
{
	const struct conf_row *row = conf_route_row(option);

	if (route && row && route->places[row - conf_route_options])
		return route->places[row - conf_route_options];
	row = conf_option_row(option);
	return row ? conf->sources[row - conf_options].where : NULL;
}

/* A flag or variable has the option's name in it, unless it set something larger, such as a route. */
static bool names_option(const char *where, const char *option)
{
	const struct conf_row *row = conf_option_row(option);
	char name[CONF_ENV_NAME_MAX];

	if (strncmp(where, "--", 2) == 0)
		return strcmp(where + 2, option) == 0;
	if (row)
		conf_env_name(row, name);
	return row && strcmp(where, name) == 0;
}

struct conf_place conf_place(const struct conf *conf, const struct conf_route *route, const char *option)
{
	const char *where = conf_where(conf, route, option);
	struct conf_place place;

	if (where && names_option(where, option))
		snprintf(place.text, sizeof(place.text), "%s", where);
	else
		snprintf(place.text, sizeof(place.text), "%.250s%s%.60s", where ? where : "", where ? ": " : "",
		    option);
	return place;
}

struct conf_route *conf_add_route(struct conf *conf, enum conf_level level, const char *pattern, const char *where,
	struct conf_error *error)
{
	struct conf_route *route;

	if (conf_claim(conf, &conf_options[CONF_OPTION_routes], level, where, error) != 0)
		return NULL;
	route = conf_route_append(&conf->routes, pattern, strlen(pattern), where, error);
	if (!route)
		conf_fail_in(error, where);
	return route;
}

/* An utfeed that nobody can ask for anything is a mistake. */
static int settle_ways_in(const struct conf *conf, struct conf_error *error)
{
	if (conf->gateway || conf->forward || conf->routes.count || conf->connect_allow.count)
		return 0;
	return conf_fail(error,
	    "%s: gateway and forward are off and there is no route, so that nothing can be asked for; write one of "
	    "gateway = on, forward = on, a route and connect-allow",
	    conf_place(conf, NULL, "gateway").text);
}

int conf_settle(struct conf *conf, struct conf_error *error)
{
	if (conf_access_settle(conf, error) != 0 || settle_ways_in(conf, error) != 0 ||
	    conf_redis_settle(conf, error) != 0 ||
	    conf_intercept_settle(conf, error) != 0 ||
	    conf_route_inherit(&conf->direct, conf, error) != 0 ||
	    conf_route_inherit(&conf->by_url, conf, error) != 0)
		return -1;
	for (size_t i = 0; i < conf->routes.count; i++)
		if (conf_route_inherit(&conf->routes.items[i], conf, error) != 0)
			return -1;
	if (conf_cors_settle(conf, error) != 0 || conf_agent_settle(conf, error) != 0)
		return -1;
	return conf_route_settle_list(&conf->routes, error);
}

static int set_defaults(struct conf *conf)
{
	struct conf_error error;

	for (size_t i = 0; i < CONF_OPTION_COUNT; i++) {
		struct conf_value value = { conf_options[i].def, NULL };
		if (value.text && conf_set(conf, &conf_options[i], CONF_LEVEL_DEFAULT, &value, &error) != 0)
			return -1;
	}
	return conf_gateway_defaults(conf, &error) != 0 ? -1 : conf_settle(conf, &error);
}

struct conf *conf_new(void)
{
	struct conf *conf = calloc(1, sizeof(*conf));

	if (!conf)
		return NULL;
	conf->sources = calloc(CONF_OPTION_COUNT, sizeof(*conf->sources));
	if (!conf->sources || set_defaults(conf) != 0)
		conf_free(&conf);
	return conf;
}

void conf_free(struct conf **owned)
{
	struct conf *conf = *owned;

	if (!conf)
		return;
	for (size_t i = 0; i < CONF_OPTION_COUNT; i++) {
		const struct conf_type *type = &conf_types[conf_options[i].type];
		if (type->clear)
			type->clear(conf_member(conf, &conf_options[i]));
		if (conf->sources)
			free(conf->sources[i].where);
	}
	conf_route_clear(&conf->direct);
	conf_route_clear(&conf->by_url);
	conf_notes_clear(&conf->notes);
	conf_paths_clear(&conf->included);
	conf_users_clear(&conf->users);
	free(conf->sources);
	free(conf->file);
	free(conf->against);
	free(conf);
	*owned = NULL;
}

/* Values of every source, the lowest first. Their errors are kept. */
static void apply_sources(struct conf *conf, int argc, char *const *argv, char *const *envp)
{
	if (conf->file)
		conf_file_read(conf, conf->file, envp);
	conf_env_apply(conf, envp);
	conf_args_apply(conf, argc, argv);
	conf_secrets_read(conf);
	conf_users_read(conf);
	if (!conf->notes.errors)
		conf_env_fall_back(conf, envp);
}

int conf_load(struct conf *conf, int argc, char *const *argv, char *const *envp, struct conf_error *error)
{
	if (conf_env_first(conf, envp, error) != 0 || conf_args_first(conf, argc, argv, error) != 0)
		return conf_note_error(conf, error);
	if (conf->action == CONF_PRINT_HELP || conf->action == CONF_PRINT_SAMPLE)
		return 0;
	apply_sources(conf, argc, argv, envp);
	if (conf_notes_status(conf, error) != 0)
		return -1;
	if (conf_settle(conf, error) != 0)
		return conf_note_error(conf, error);
	conf_intercept_warn(conf);
	conf_admin_warn(conf);
	conf_users_warn(conf);
	conf_access_warn(conf);
	conf_own_warn(conf);
	conf_cors_warn(conf);
	conf_idle_warn(conf);
	return 0;
}
