/* Owns the file format: NAME = VALUE lines, # comments, quoted values, [route PATTERN] sections.
 * Must not know: what any option means.
 * Invariant: every message names the line; an error anywhere in a file makes the load fail. */
#include "conf/conf_internal.h"
#include "conf/conf_quote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CONF_FILE_MAX_BYTES = 16 << 20, CONF_FILE_READ_BYTES = 65536 };

struct reader {
	struct conf *conf;
	struct conf_error *error;
	const char *file;
	unsigned line;
	bool in_route;              /* lines set options of the last route of conf->routes */
};

static int fail_here(const struct reader *reader)
{
	char where[256];

	snprintf(where, sizeof(where), "%.200s:%u", reader->file, reader->line);
	return conf_fail_in(reader->error, where);
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
		return conf_fail(error, "a quoted value has no closing quote");
	if (*behind && *behind != '#')
		return conf_fail(error, "text after a closing quote; allowed: a # comment");
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

static int read_section(struct reader *reader, char *line)
{
	static const char word[] = "[route";
	char where[256];
	char *close, *pattern;

	cut_comment(line);
	line = file_trim(line);
	close = line + strlen(line) - 1;
	if (strncmp(line, word, sizeof(word) - 1) != 0 || !strchr(" \t", line[sizeof(word) - 1]) || *close != ']') {
		conf_fail(reader->error, "not a section; allowed: [route PATTERN]");
		return fail_here(reader);
	}
	*close = '\0';
	pattern = file_trim(line + sizeof(word) - 1);
	snprintf(where, sizeof(where), "%.200s:%u", reader->file, reader->line);
	reader->in_route = conf_add_route(reader->conf, CONF_LEVEL_FILE, pattern, where, reader->error) != NULL;
	return reader->in_route ? 0 : -1;
}

static int set_option(struct reader *reader, const char *name, const char *text)
{
	const struct conf_row *row = conf_row_find(conf_options, CONF_OPTION_COUNT, name, strlen(name));
	struct conf_route_list *routes = &reader->conf->routes;
	const struct conf_row *route_row =
	    conf_row_find(conf_route_options, CONF_ROUTE_OPTION_COUNT, name, strlen(name));
	char where[256];
	struct conf_value value = { text, where };

	snprintf(where, sizeof(where), "%.200s:%u", reader->file, reader->line);
	if (reader->in_route && route_row)
		return conf_route_set(&routes->items[routes->count - 1], route_row, &value, reader->error) == 0
		    ? 0
		    : fail_here(reader);
	if (!reader->in_route && row)
		return conf_set(reader->conf, row, CONF_LEVEL_FILE, &value, reader->error);
	if (reader->in_route && row)
		conf_fail(reader->error, "%s: not an option of a route; allowed: above the first [route PATTERN]",
		    name);
	else if (route_row)
		conf_fail(reader->error, "%s: an option of a route; allowed: below a [route PATTERN]", name);
	else
		conf_fail(reader->error, "%s is not an option; utfeed serve --help lists them",
		    conf_shown_name(name, strlen(name)).text);
	return fail_here(reader);
}

static int read_line(struct reader *reader, char *line)
{
	char *equals, *text;

	line = file_trim(line);
	if (!*line || *line == '#')
		return 0;
	if (*line == '[')
		return read_section(reader, line);
	equals = strchr(line, '=');
	if (!equals) {
		conf_fail(reader->error, "not a line NAME = VALUE");
		return fail_here(reader);
	}
	*equals = '\0';
	text = file_trim(equals + 1);
	if (*text == '"') {
		if (file_unquote(text, reader->error) != 0)
			return fail_here(reader);
	} else {
		cut_comment(text);
		text = file_trim(text);
	}
	return set_option(reader, file_trim(line), text);
}

int conf_file_parse(struct conf *conf, const char *text, size_t len, const char *name, struct conf_error *error)
{
	struct reader reader = { conf, error, name, 0, false };
	/* Skip a byte order mark, which some editors write. */
	size_t at = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	int status = 0;

	while (status == 0 && at < len) {
		const char *newline = memchr(text + at, '\n', len - at);
		size_t line_len = newline ? (size_t)(newline - text) - at : len - at;
		reader.line++;
		if (memchr(text + at, '\0', line_len)) {
			conf_fail(error, "a zero byte; allowed: text");
			return fail_here(&reader);
		}
		char *line = malloc(line_len + 1);
		if (!line)
			return conf_fail_memory(error);
		memcpy(line, text + at, line_len);
		line[line_len] = '\0';
		status = read_line(&reader, line);
		free(line);
		at += line_len + 1;
	}
	return status;
}

static char *read_whole(FILE *file, size_t *len)
{
	char *text = NULL;

	for (*len = 0; *len < CONF_FILE_MAX_BYTES;) {
		char *grown = realloc(text, *len + CONF_FILE_READ_BYTES);
		if (!grown)
			break;
		text = grown;
		size_t got = fread(text + *len, 1, CONF_FILE_READ_BYTES, file);
		*len += got;
		if (got == 0 && !ferror(file))
			return text;
		if (ferror(file))
			break;
	}
	if (*len >= CONF_FILE_MAX_BYTES)
		errno = EFBIG;
	free(text);
	return NULL;
}

int conf_file_read(struct conf *conf, const char *path, struct conf_error *error)
{
	FILE *file = fopen(path, "re");
	size_t len;
	char *text;
	int status;

	if (!file)
		return conf_fail(error, "%.200s: %s", path, strerror(errno));
	text = read_whole(file, &len);
	status = text
	    ? conf_file_parse(conf, text, len, path, error)
	    : conf_fail(error, "%.200s: %s", path, strerror(errno));
	free(text);
	fclose(file);
	return status;
}
