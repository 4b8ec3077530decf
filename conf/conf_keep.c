/* Owns what a reload keeps of the former configuration, because the new value cannot be used or needs a restart.
 * Must not know: why a value cannot be used. Invariant: a route is wholly the new one or wholly the former one. */
#include "conf/conf_internal.h"

#include <stdlib.h>
#include <string.h>

const struct conf_route *conf_route_former(const struct conf *former, const struct conf *conf,
    const struct conf_route *route)
{
	if (route == &conf->direct)
		return &former->direct;
	if (route == &conf->by_url)
		return &former->by_url;
	for (size_t i = 0; i < former->routes.count; i++)
		if (conf_route_compare(&former->routes.items[i], route) == 0)
			return &former->routes.items[i];
	return NULL;
}

void conf_route_keep(struct conf_route *route, const struct conf_route *former)
{
	conf_route_clear(route);
	*route = *former;
	route->lent = true;
}

void conf_route_drop(struct conf *conf, struct conf_route *route)
{
	struct conf_route_list *list = &conf->routes;

	conf_route_clear(route);
	list->count--;
	memmove(route, route + 1, (size_t)(list->items + list->count - route) * sizeof(*route));
}

static int keep_text(char **text, const char *former)
{
	char *copy = former ? strdup(former) : NULL;

	if (former && !copy)
		return -1;
	free(*text);
	*text = copy;
	return 0;
}

/* Sets a value as it is written; a list has an item a line. */
static int keep_value(struct conf *conf, const struct conf *former, const struct conf_row *row)
{
	char *text = conf_format(row, former), *rest = text, *line;
	int status = text ? 0 : -1;
	struct conf_error error;

	if (text && conf_types[row->type].clear)
		conf_types[row->type].clear(conf_member(conf, row));
	while (status == 0 && (line = strsep(&rest, "\n"))) {
		struct conf_value value = { line, NULL };

		if (*line)
			status = conf_types[row->type].set(row, conf_member(conf, row), &value, &error);
	}
	free(text);
	return status;
}

int conf_keep(struct conf *conf, const struct conf *former, const char *option)
{
	const struct conf_row *row = conf_option_row(option);
	struct conf_source *source = &conf->sources[row - conf_options];
	const struct conf_source *from = &former->sources[row - conf_options];
	const void *text = (const char *)former + row->offset;

	source->level = from->level;
	if (keep_text(&source->where, from->where) != 0)
		return -1;
	if (row->type == CONF_TYPE_TEXT || conf_is_path(row->type))
		return keep_text(conf_member(conf, row), *(char *const *)text);
	return keep_value(conf, former, row);
}

/* 1: the values differ; -1: out of memory. */
static int differs(const struct conf_row *row, const struct conf *fresh, const struct conf *running)
{
	char *new = conf_format(row, fresh), *old = conf_format(row, running);
	int status = !new || !old ? -1 : strcmp(new, old) != 0;

	free(new);
	free(old);
	return status;
}

/* If a value is not given any more, the message names the place where it was. */
static void tell_held(const struct conf *fresh, const struct conf *running, const char *option, conf_held_f *f,
    void *arg)
{
	bool given = conf_where(fresh, NULL, option);
	struct conf_place place = conf_place(given ? fresh : running, NULL, option);

	f(arg, place.text, given ? "a changed value needs a restart; the former one stays in force" :
		"is not given any more, which needs a restart; the former value stays in force");
}

int conf_hold(struct conf *fresh, const struct conf *running, conf_held_f *f, void *arg, struct conf_error *error)
{
	int held = 0;

	for (size_t i = 0; i < CONF_OPTION_COUNT; i++) {
		const struct conf_row *row = &conf_options[i];
		int status = row->reload == NO_RELOAD ? differs(row, fresh, running) : 0;

		if (status > 0) {
			held++;
			tell_held(fresh, running, row->name, f, arg);
			status = conf_keep(fresh, running, row->name);
		}
		if (status < 0)
			return conf_fail_memory(error);
	}
	return held && conf_settle(fresh, error) != 0 ? -1 : held;
}
