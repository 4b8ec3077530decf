/* Owns lists of paths as a value, and the answer to which files and folders a configuration names, by the types of its
 * options.
 * Must not know: what is there, and whether it may be read.
 * Invariant: an option whose value is a path has one of the types in path_uses. */
#include "conf/conf_internal.h"

#include <stdlib.h>
#include <string.h>

int conf_paths_add(struct conf_paths *paths, char *path, struct conf_error *error)
{
	char **grown = path ? reallocarray(paths->items, paths->count + 1, sizeof(*grown)) : NULL;

	if (!grown) {
		free(path);
		return conf_fail_memory(error);
	}
	paths->items = grown;
	paths->items[paths->count++] = path;
	return 0;
}

int conf_paths_set(const struct conf_row *row, void *paths, const struct conf_value *value, struct conf_error *error)
{
	const char *text = value->text;

	(void)row;
	if (!*text)
		return 0;              /* none */
	if (*text != '/' || strpbrk(text, "\n\r"))
		return conf_fail(error, "'%.64s' does not begin with /; write a path such as /etc/utfeed", SHOWN(text));
	return conf_paths_add(paths, strdup(text), error);
}

void conf_paths_format(FILE *out, const struct conf_row *row, const void *member)
{
	const struct conf_paths *paths = member;

	(void)row;
	for (size_t i = 0; i < paths->count; i++)
		fprintf(out, "%s\n", paths->items[i]);
}

void conf_paths_clear(void *member)
{
	struct conf_paths *paths = member;

	while (paths->count)
		free(paths->items[--paths->count]);
	free(paths->items);
	*paths = (struct conf_paths){ NULL, 0 };
}

/* ---- the paths of a configuration ---- */

static const enum conf_use path_uses[CONF_TYPE_COUNT] = {
	[CONF_TYPE_READ_FILE] = CONF_USE_READ,
	[CONF_TYPE_SECRET_FILE] = CONF_USE_READ,
	[CONF_TYPE_LOG_FILE] = CONF_USE_APPEND,
	[CONF_TYPE_FOLDER] = CONF_USE_FOLDER,
	[CONF_TYPE_SOCKET_PATH] = CONF_USE_SOCKET,
};

bool conf_is_path(enum conf_type_id type)
{
	return path_uses[type] != CONF_USE_NONE;
}

struct visit {
	conf_path_f *f;
	void *arg;
};

static void visit_path(const struct visit *v, enum conf_use use, const char *path)
{
	if (path && *path)
		v->f(v->arg, use, path);
}

static void visit_paths(const struct visit *v, const struct conf_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		visit_path(v, CONF_USE_READ, paths->items[i]);
}

static void visit_value(const struct visit *v, const struct conf_row *row, const void *base)
{
	const void *member = (const char *)base + row->offset;

	if (conf_is_path(row->type))
		visit_path(v, path_uses[row->type], *(char *const *)member);
	else if (row->type == CONF_TYPE_PATHS)
		visit_paths(v, member);
	else if (row->type == CONF_TYPE_LISTEN) {
		const struct conf_listen_list *list = member;

		for (size_t i = 0; i < list->count; i++)
			visit_path(v, CONF_USE_SOCKET, list->items[i].path);
	}
}

void conf_each_path(const struct conf *conf, conf_path_f *f, void *arg)
{
	const struct visit v = { f, arg };

	visit_path(&v, CONF_USE_READ, conf->file);
	visit_paths(&v, &conf->included);
	for (size_t i = 0; i < CONF_OPTION_COUNT; i++)
		visit_value(&v, &conf_options[i], conf);
	/* A value that a route inherits is the global option's. */
	for (size_t i = 0; i < conf_route_count(conf); i++)
		for (size_t k = 0; k < CONF_ROUTE_OPTION_COUNT; k++)
			if (conf_route_at(conf, i)->places[k])
				visit_value(&v, &conf_route_options[k], conf_route_at(conf, i));
}
