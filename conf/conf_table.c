/* Owns the option tables as data. Must not know: anything else.
 * Invariant: row i of conf_options is the option whose enum conf_option_id (conf_internal.h) is i, since both come from
 * options.def. Those of a route are route_options.def, then the rows of options.def that routes have, with a default of
 * NULL, which means that they are inherited. */
#include "conf/conf_internal.h"

#include <string.h>

#define ROW(base, section, oname, TYPE, member, def, min, max, unit, reload, effect, prose) \
	{ #section, oname, CONF_TYPE_##TYPE, offsetof(struct base, member), def, min, max, unit, reload, \
		EFFECT_##effect, prose },

const struct conf_row conf_options[CONF_OPTION_COUNT] = {
#define OPTION(...) ROW(conf, __VA_ARGS__)
#include "conf/options.def"
#undef OPTION
};

const struct conf_row conf_route_options[CONF_ROUTE_OPTION_COUNT] = {
#define OPTION(...) ROW(conf_route, __VA_ARGS__)
#include "conf/route_options.def"
#undef OPTION
#define OPTION(section, oname, TYPE, member, def, min, max, unit, reload, effect, prose) \
	OF_ROUTE_##effect(ROW(conf_route, section, oname, TYPE, member, NULL, min, max, unit, reload, effect, prose))
#include "conf/options.def"
#undef OPTION
};

const struct conf_row *conf_row_find(const struct conf_row *rows, size_t count, const char *name, size_t len)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0)
			return &rows[i];
	return NULL;
}

const struct conf_row *conf_option_row(const char *name)
{
	return conf_row_find(conf_options, CONF_OPTION_COUNT, name, strlen(name));
}

const struct conf_row *conf_route_row(const char *name)
{
	return conf_row_find(conf_route_options, CONF_ROUTE_OPTION_COUNT, name, strlen(name));
}
