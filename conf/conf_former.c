/* Owns names that options had: those with another place now, and those that are gone.
 * Must not know: where values come from.
 * Invariant: a former name never makes a load fail by itself; it is warned of with its place and what to do. */
#include "conf/conf_internal.h"

#include <stdlib.h>

/* Of these rows only name, type and prose count. prose: what to do about an option that is gone; NULL: it has moved. */
const struct conf_row conf_former_options[] = {
#define MOVED(oname, member) { .name = oname, .type = CONF_TYPE_TIME },
#define REMOVED(oname, advice) { .name = oname, .type = CONF_TYPE_TEXT, .prose = advice },
#include "conf/former.def"
#undef MOVED
#undef REMOVED
};
const size_t conf_former_count = sizeof(conf_former_options) / sizeof(conf_former_options[0]);

static const enum conf_route_option_id names_now[] = {
#define MOVED(name, member) CONF_ROUTE_##member,
#define REMOVED(name, advice) CONF_ROUTE_OPTION_COUNT,
#include "conf/former.def"
#undef MOVED
#undef REMOVED
};

const struct conf_row *conf_option_find(const char *name, size_t len)
{
	const struct conf_row *row = conf_row_find(conf_options, CONF_OPTION_COUNT, name, len);

	return row ? row : conf_row_find(conf_former_options, conf_former_count, name, len);
}

static bool is_former(const struct conf_row *row)
{
	return row >= conf_former_options && row < conf_former_options + conf_former_count;
}

bool conf_is_removed(const struct conf_row *row)
{
	return row && is_former(row) && row->prose;
}

static int set_moved(struct conf *conf, const struct conf_row *row, enum conf_level level,
    const struct conf_value *value, struct conf_error *error)
{
	enum conf_route_option_id now = names_now[row - conf_former_options];
	char **place = &conf->by_url.places[now];

	if (level > CONF_LEVEL_FILE) {
		free(*place);
		*place = NULL;
	}
	if (conf_route_set(&conf->by_url, &conf_route_options[now], value, error) != 0) {
		if (level == CONF_LEVEL_FILE)
			conf_fail_in(error, row->name);
		return conf_fail_in(error, value->where);
	}
	return 0;
}

int conf_give(struct conf *conf, const struct conf_row *row, enum conf_level level, const struct conf_value *value,
    struct conf_error *error)
{
	bool in_file = level == CONF_LEVEL_FILE;
	const char *between = in_file ? ": " : "", *name = in_file ? row->name : "";

	if (!is_former(row))
		return conf_set(conf, row, level, value, error);
	if (conf_is_removed(row)) {
		conf_warn(conf, "%s%s%s: utfeed does not have this option any more; %s", value->where, between, name,
		    row->prose);
		return 0;
	}
	if (set_moved(conf, row, level, value, error) != 0)
		return -1;
	const char *now = conf_route_options[names_now[row - conf_former_options]].name;
	conf_warn(conf, "%s%s%s: is a former name; write %s below [gateway] in the file, or --%s for the gateway and "
	    "the routes", value->where, between, name, now, now);
	return 0;
}
