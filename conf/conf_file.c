/* Owns the file format: NAME = VALUE lines, # comments, quoted values, sections [route PATTERN] and [gateway],
 * include lines.
 * Must not know: what any option means.
 * Invariant: every message names the line. An error anywhere in a file makes the load fail, but the lines behind it are
 * still read, so that the user sees all errors. */
#include "conf/conf_expand.h"
#include "conf/conf_internal.h"
#include "conf/conf_quote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CONF_FILE_MAX_BYTES = 16 << 20, INCLUDE_DEPTH_MAX = 8, INCLUDE_FILES_MAX = 1000 };

/* What the lines belong to. */
enum part { PART_GLOBAL, PART_ROUTE, PART_GATEWAY, PART_REFUSED };   /* REFUSED: a section that could not be read */

struct conf_reader {
	struct conf *conf;
	struct conf_error *error;   /* of the line that is read */
	char *const *envp;
	const char *file;
	unsigned line;
	enum part part;
	size_t route;               /* in conf->routes, for PART_ROUTE */
	const struct conf_reader *outer; /* whose include line this file is of; NULL: none */
	unsigned *files;            /* how many were read by include lines, of all readers */

	bool foreign;               /* the file is of another format, and is not read to its end */
};

static struct conf_shown file_where(const struct conf_reader *reader)
{
	struct conf_shown where;

	snprintf(where.text, sizeof(where.text), "%.190s:%u", reader->file, reader->line);
	return where;
}

static int fail_here(const struct conf_reader *reader)
{
	return conf_fail_in(reader->error, file_where(reader).text);
}

static char *file_trim(char *text)
{
	char *end;

	text += strspn(text, " \t");
	end = text + strlen(text);
	while (end > text && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	*end = '\0';
	return text;
}

/* Removes the quotes in place; only blanks or a comment may follow the value. */
static int file_unquote(char *text, struct conf_error *error)
{
	size_t len = conf_quoted_length(text);
	const char *behind = text + len + strspn(text + len, " \t");

	if (len == 0)
		return conf_fail(error, CONF_NO_QUOTE);
	if (*behind && *behind != '#')
		return conf_fail(error, CONF_BEHIND_QUOTE "; write \\\" for a quote within, or # before a comment");
	conf_unquote(text);
	return 0;
}

/* A # begins a comment only at the start of a line and after a blank, because URLs and tokens may contain one. */
static void cut_comment(char *text)
{
	for (char *at = text; *at; at++) {
		if (*at == '#' && (at == text || at[-1] == ' ' || at[-1] == '\t')) {
			*at = '\0';
			return;
		}
	}
}

/* The value at text, which is changed: without its quotes or the comment behind it, and with its variables. The caller
 * frees it; NULL with the error. */
static char *file_value(const struct conf_reader *reader, char *text)
{
	text = file_trim(text);
	if (*text == '"') {
		if (file_unquote(text, reader->error) != 0)
			return NULL;
	} else {
		cut_comment(text);
		text = file_trim(text);
	}
	return conf_expand(text, reader->envp, reader->error);
}

static int begin_route(struct conf_reader *reader, const char *pattern)
{
	struct conf_route_list *routes = &reader->conf->routes;

	if (!conf_add_route(reader->conf, CONF_LEVEL_FILE, pattern, file_where(reader).text, reader->error))
		return -1;
	reader->part = PART_ROUTE;
	reader->route = routes->count - 1;
	return 0;
}

static int read_section(struct conf_reader *reader, char *line)
{
	static const char word[] = "[route";
	char *close, *pattern;
	int status;

	cut_comment(line);
	line = file_trim(line);
	reader->part = strcmp(line, "[gateway]") == 0 ? PART_GATEWAY : PART_REFUSED;
	if (reader->part == PART_GATEWAY)
		return 0;
	close = line + strlen(line) - 1;
	if (strncmp(line, word, sizeof(word) - 1) != 0 || !strchr(" \t", line[sizeof(word) - 1]) || *close != ']') {
		conf_fail(reader->error,
		    "not a section; write [route PATTERN] or [gateway]; all other options stand above both");
		return fail_here(reader);
	}
	*close = '\0';
	pattern = conf_expand(file_trim(line + sizeof(word) - 1), reader->envp, reader->error);
	if (!pattern)
		return fail_here(reader);
	status = begin_route(reader, pattern);
	free(pattern);
	return status;
}

/* The name is not one of this part's options. */
static int fail_name(const struct conf_reader *reader, const char *name, bool global, bool of_route)
{
	struct conf_near near = { .text = name, .len = strlen(name), .of_route = reader->part != PART_GLOBAL };

	conf_near_rows(&near, conf_options, CONF_OPTION_COUNT);
	conf_near_rows(&near, conf_route_options, CONF_ROUTE_OPTION_COUNT);
	if (strncmp(name, CONF_ENV_PREFIX, sizeof(CONF_ENV_PREFIX) - 1) == 0)
		conf_fail(reader->error, "a variable stands here, which does not count in a file; write the option's "
		    "name, such as listen for " CONF_ENV_PREFIX "LISTEN");
	else if (global)
		conf_fail(reader->error, "%s: is not an option of %s; write it above the first section", name,
		    reader->part == PART_GATEWAY ? "the gateway" : "a route");
	else if (of_route)
		conf_fail(reader->error, "%s: is an option of a route; write it below %sa [route PATTERN]", name,
		    conf_is_of_gateway(conf_route_row(name)) ? "[gateway] or " : "");
	else
		conf_fail(reader->error, "%s is not an option; %s", conf_shown_name(name, near.len).text,
		    conf_near_hint(&near, "").text);
	return fail_here(reader);
}

static int set_option(struct conf_reader *reader, const char *name, const char *text)
{
	const struct conf_row *row = conf_option_find(name, strlen(name));
	const struct conf_row *route_row = conf_route_row(name);
	struct conf_shown where = file_where(reader);
	struct conf_value value = { text, where.text };
	/* NULL: the line stands above all sections. */
	struct conf_route *route = reader->part == PART_ROUTE ? &reader->conf->routes.items[reader->route] :
		reader->part == PART_GATEWAY ? &reader->conf->by_url : NULL;

	if (route && route_row && (reader->part != PART_GATEWAY || conf_is_of_gateway(route_row)))
		return conf_route_set(route, route_row, &value, reader->error) == 0 ? 0 : fail_here(reader);
	if (row && (!route || conf_is_removed(row)))
		return conf_give(reader->conf, row, CONF_LEVEL_FILE, &value, reader->error);
	return fail_name(reader, name, row, route_row);
}

static void read_text(struct conf_reader *, const char *text, size_t len);

static bool is_read_already(const struct conf_reader *reader, const char *path)
{
	struct stat file, other;

	if (stat(path, &file) != 0)
		return false;
	for (; reader; reader = reader->outer)
		if (stat(reader->file, &other) == 0 && file.st_dev == other.st_dev && file.st_ino == other.st_ino)
			return true;
	return false;
}

static int include_refused(const struct conf_reader *reader, const char *path)
{
	unsigned depth = 0;

	for (const struct conf_reader *at = reader; at->outer; at = at->outer)
		depth++;
	if (is_read_already(reader, path))
		return conf_fail(reader->error, "include: %.200s includes itself; leave this line out", path);
	if (depth >= INCLUDE_DEPTH_MAX)
		return conf_fail(reader->error,
		    "include: more than %d files include each other; include them from one file",
		    INCLUDE_DEPTH_MAX);
	if (++*reader->files > INCLUDE_FILES_MAX)
		return conf_fail(reader->error, "include: more than %d files; write fewer, larger ones",
			INCLUDE_FILES_MAX);
	return 0;
}

/* The lines of an included file belong where the include line stands; sections that it begins end with it. */
static int include_file(const struct conf_reader *reader, const char *path)
{
	struct conf_reader inner = *reader;
	size_t len;
	char *text;

	if (include_refused(reader, path) != 0 ||
	    conf_paths_add(&reader->conf->included, strdup(path), reader->error) != 0)
		return -1;
	if (!(text = conf_read(path, CONF_FILE_MAX_BYTES, NULL, &len)))
		return conf_fail(reader->error,
		    "include: %.200s: %s; write the name of a file that utfeed may read, of a folder, or FOLDER/*.conf",
		    path, strerror(errno));
	inner.file = path;
	inner.outer = reader;
	read_text(&inner, text, len);
	free(text);
	return 0;
}

static int include(const struct conf_reader *reader, char *text)
{
	char *value = file_value(reader, text);
	struct conf_paths paths = { NULL, 0 };
	int status = value
	    ? conf_include_paths(reader->file, value, &paths, &reader->conf->included, reader->error)
	    : -1;

	for (size_t i = 0; status == 0 && i < paths.count; i++)
		status = include_file(reader, paths.items[i]);
	conf_paths_clear(&paths);
	free(value);
	return status == 0 ? 0 : fail_here(reader);
}

/* The text behind the word of `include PATH` or `include = PATH`; NULL: the line is another one. */
static char *include_text(char *line)
{
	static const char word[] = "include";
	size_t len = sizeof(word) - 1;
	char *text = line + len + (strncmp(line, word, len) == 0 ? strspn(line + len, " \t") : 0);

	if (strncmp(line, word, len) != 0 || (text == line + len && *text && *text != '='))
		return NULL;
	return *text == '=' ? text + 1 : text;
}

/* The format of another program that has such lines; NULL: none is known. */
static const char *foreign_format(const char *line)
{
	char last = line[strlen(line) - 1];

	if (*line == '{' || *line == '}' || *line == '"')
		return "JSON";
	if (*line == '<')
		return "XML";
	if (strncmp(line, "export ", 7) == 0 || strncmp(line, "#!", 2) == 0)
		return "a shell script";
	if (strncmp(line, "---", 3) == 0 || strncmp(line, "- ", 2) == 0)
		return "YAML";
	if (strchr(line, '='))
		return NULL;
	return last == ':' ? "YAML" : last == ';' || last == '{' ? "the format of nginx, Varnish or Caddy" : NULL;
}

/* The rest of the file would only bring the same error for each line. */
static int fail_format(struct conf_reader *reader, const char *format)
{
	reader->foreign = true;
	conf_fail(reader->error, "is %s; write lines of the form NAME = VALUE; "
	    "utfeed serve --print-sample prints a file to begin with", format);
	return fail_here(reader);
}

/* A line without "=". Other programs write NAME VALUE or NAME: VALUE. */
static int fail_line(const struct conf_reader *reader, const char *line)
{
	size_t len = strcspn(line, " \t:;");
	char name[CONF_ENV_NAME_MAX];

	snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : sizeof(name) - 1), line);
	if (conf_option_find(name, strlen(name)) || conf_route_row(name))
		conf_fail(reader->error, "%s: has no = behind its name; write %s = VALUE", name, name);
	else
		conf_fail(reader->error, "not a line that utfeed knows; write NAME = VALUE, [route PATTERN], "
		    "[gateway], include = FILE or a # comment");
	return fail_here(reader);
}

static int read_line(struct conf_reader *reader, char *line)
{
	char *equals, *text;
	const char *format;
	int status;

	line = file_trim(line);
	if (!*line || *line == '#')
		return 0;
	if ((format = foreign_format(line)))
		return fail_format(reader, format);
	if (*line == '[')
		return read_section(reader, line);
	if (reader->part == PART_REFUSED)
		return 0;
	if ((text = include_text(line)))
		return include(reader, text);
	equals = strchr(line, '=');
	if (!equals)
		return fail_line(reader, line);
	*equals = '\0';
	line = file_trim(line);
	if (!(text = file_value(reader, equals + 1))) {
		if (conf_option_find(line, strlen(line)) || conf_route_row(line))
			conf_fail_in(reader->error, line);
		return fail_here(reader);
	}
	status = set_option(reader, line, text);
	free(text);
	return status;
}

static int read_bytes(struct conf_reader *reader, const char *text, size_t len)
{
	char *line;
	int status;

	if (memchr(text, '\0', len)) {
		conf_fail(reader->error, "a zero byte; write text");
		return fail_here(reader);
	}
	/* The text is not terminated, so strndup() cannot copy it. */
	if (!(line = malloc(len + 1)))
		return conf_fail_memory(reader->error);
	memcpy(line, text, len);
	line[len] = '\0';
	status = read_line(reader, line);
	free(line);
	return status;
}

static void read_text(struct conf_reader *reader, const char *text, size_t len)
{
	/* Skip a byte order mark, which some editors write. */
	size_t at = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	reader->line = 0;
	while (at < len && !reader->foreign) {
		const char *newline = memchr(text + at, '\n', len - at);
		size_t line_len = newline ? (size_t)(newline - text) - at : len - at;
		reader->line++;
		if (read_bytes(reader, text + at, line_len) != 0)
			conf_note_error(reader->conf, reader->error);
		at += line_len + 1;
	}
}

int conf_file_parse(struct conf *conf, const char *text, size_t len, const char *name, char *const *envp,
    struct conf_error *error)
{
	struct conf_error scratch;
	unsigned files = 0;
	struct conf_reader reader = { .conf = conf, .error = &scratch, .envp = envp, .file = name, .files = &files };

	read_text(&reader, text, len);
	return conf_notes_status(conf, error);
}

void conf_file_read(struct conf *conf, const char *path, char *const *envp)
{
	struct conf_error error;
	size_t len;
	char *text = conf_read(path, CONF_FILE_MAX_BYTES, NULL, &len);

	if (text)
		conf_file_parse(conf, text, len, path, envp, &error);
	else {
		conf_fail(&error, "%.200s: %s; write -c FILE (or UTFEED_CONFIG) with a file that utfeed may read; "
		    "utfeed serve --print-sample prints one to begin with", path, strerror(errno));
		conf_note_error(conf, &error);
	}
	free(text);
}
