/* Owns options whose value may stand in a file: an option with a secret has a twin NAME-file in the row behind it.
 * Must not know: which options these are, what a secret is for.
 * Invariant: no message has anything of the file, nor the text in the place of its name, which may be the secret itself
 * by mistake. */
#include "conf/conf_internal.h"

#include <errno.h>
#include <stdlib.h>

enum { SECRET_MAX_BYTES = 8192 };

/* The row of the option that names a file for the value of that row; NULL: there is none. */
static const struct conf_row *secret_file(const struct conf_row *rows, size_t count, const struct conf_row *row)
{
	return row + 1 < rows + count && row[1].type == CONF_TYPE_SECRET_FILE ? row + 1 : NULL;
}

bool conf_secret_in_file(const struct conf_row *rows, size_t count, const struct conf_row *row, const void *base)
{
	const struct conf_row *file = secret_file(rows, count, row);

	return file && **(char *const *)(const void *)((const char *)base + file->offset);
}

/* One line end at the end does not count: editors and echo write it. */
static void cut_line_end(char *text, size_t *len)
{
	if (*len && text[*len - 1] == '\n')
		text[--*len] = '\0';
	if (*len && text[*len - 1] == '\r')
		text[--*len] = '\0';
}

/* A secret as a value of its option. Messages begin with place, which names its file. */
static char *read_secret(struct conf *conf, const char *path, const char *place, struct conf_error *error)
{
	struct stat about;
	size_t len;
	char *text = conf_read(path, SECRET_MAX_BYTES, &about, &len);

	if (!text) {
		conf_fail(error, "%s: the file cannot be read: %s; write the name of a file that utfeed may read",
		    place, strerror(errno));
		return NULL;
	}
	cut_line_end(text, &len);
	if (len == 0 || strlen(text) != len) {
		conf_fail(error, "%s: the file %s; write the value into it, and nothing else", place,
		    len ? "has a zero byte" : "is empty");
		free(text);
		return NULL;
	}
	if (about.st_mode & S_IROTH)
		conf_warn(conf, "%s: everybody on this machine may read the file (mode %04o); chmod 600 it", place,
		    (unsigned)about.st_mode & 07777);
	return text;
}

static int fail_both(const struct conf_row *secret, const char *place, const char *other, struct conf_error *error)
{
	return conf_fail(error, "%s: %s is set too, at %s; write one of them", place, secret->name, other);
}

static int read_global(struct conf *conf, const struct conf_row *secret, const struct conf_row *file,
    struct conf_error *error)
{
	const struct conf_source *source = &conf->sources[secret - conf_options];
	const struct conf_source *from = &conf->sources[file - conf_options];
	struct conf_place place = conf_place(conf, NULL, file->name);
	char *text;
	int status;

	if (source->level != CONF_LEVEL_DEFAULT)
		return fail_both(secret, place.text, source->where, error);
	if (!(text = read_secret(conf, *(char **)conf_member(conf, file), place.text, error)))
		return -1;
	status = conf_set(conf, secret, from->level, &(struct conf_value){ text, from->where }, error);
	free(text);
	return status;
}

static int read_route(struct conf *conf, struct conf_route *route, const struct conf_row *secret,
    const struct conf_row *file, struct conf_error *error)
{
	const char *where = route->places[file - conf_route_options];
	const char *other = route->places[secret - conf_route_options];
	struct conf_place place = conf_place(conf, route, file->name);
	char *text;
	int status;

	if (other)
		return fail_both(secret, place.text, other, error);
	if (!(text = read_secret(conf, *(char **)conf_member(route, file), place.text, error)))
		return -1;
	status = conf_route_set(route, secret, &(struct conf_value){ text, where }, error);
	free(text);
	return status == 0 ? 0 : conf_fail_in(error, where);
}

static void read_route_secrets(struct conf *conf, struct conf_route *route)
{
	struct conf_error error;

	for (size_t i = 0; i < CONF_ROUTE_OPTION_COUNT; i++) {
		const struct conf_row *row = &conf_route_options[i];
		if (conf_secret_in_file(conf_route_options, CONF_ROUTE_OPTION_COUNT, row, route) &&
		    read_route(conf, route, row, row + 1, &error) != 0)
			conf_note_error(conf, &error);
	}
}

void conf_secrets_read(struct conf *conf)
{
	struct conf_error error;

	for (size_t i = 0; i < CONF_OPTION_COUNT; i++) {
		const struct conf_row *row = &conf_options[i];
		if (conf_secret_in_file(conf_options, CONF_OPTION_COUNT, row, conf) &&
		    read_global(conf, row, row + 1, &error) != 0)
			conf_note_error(conf, &error);
	}
	read_route_secrets(conf, &conf->by_url);
	for (size_t i = 0; i < conf->routes.count; i++)
		read_route_secrets(conf, &conf->routes.items[i]);
}
