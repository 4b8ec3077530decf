/* Owns what a reload keeps of the former configuration where the new one cannot be used.
 * Must not know: why it cannot be used. Invariant: a route is wholly the new one or wholly the former one. */
#include "conf/conf_internal.h"

#include <stdlib.h>
#include <string.h>

const struct conf_route *conf_route_former(const struct conf *former, const struct conf *conf,
    const struct conf_route *route)
{
	if (route == &conf->direct)
		return &former->direct;
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

int conf_keep(struct conf *conf, const struct conf *former, const char *option)
{
	const struct conf_row *row = conf_row_find(conf_options, CONF_OPTION_COUNT, option, strlen(option));
	struct conf_source *source = &conf->sources[row - conf_options];
	const struct conf_source *from = &former->sources[row - conf_options];
	const void *text = (const char *)former + row->offset;

	source->level = from->level;
	return keep_text(&source->where, from->where) != 0 ? -1 :
		keep_text(conf_member(conf, row), *(char *const *)text);
}
