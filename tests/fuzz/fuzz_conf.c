/* Owns feeding arbitrary settings to the configuration reader: a file; or, where the first line begins with "--", flags and
 * variables, one a line.
 * Invariant tested: whatever loads is printed as a file that loads to the same value of every option, of each route too, but for what
 * is secret, and that prints the same again; nothing else but an error message comes out. */
#include "conf/conf_internal.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The dump without the comment lines that say where a value came from. */
static char *dump(const struct conf *conf)
{
	char *text = NULL, *out, *in;
	size_t len;
	FILE *file = open_memstream(&text, &len);

	if (!file)
		abort();
	conf_dump(file, conf);
	fclose(file);
	for (in = out = text; *in;) {
		size_t line = strcspn(in, "\n") + 1;
		if (*in != '#') {
			memmove(out, in, line);
			out += line;
		}
		in += line;
	}
	*out = '\0';
	return text;
}

static void match_routes(const struct conf *conf)
{
	for (size_t i = 0; i < conf->routes.count; i++) {
		const struct conf_route *route = &conf->routes.items[i];
		char target[256];
		const struct conf_route *found = conf_route_match(conf, "", 0, route->prefix, route->prefix_len);
		if (!route->host && found != route)
			abort();
		conf_route_target(route, route->prefix, route->prefix_len, target, sizeof(target));
	}
}

static int read_file(struct conf *conf, const char *text, size_t size, struct conf_error *error)
{
	static char word[] = "WORD=a ${WORD} \"$$\"", empty[] = "EMPTY=";
	static char *const variables[] = { word, empty, NULL };

	return conf_file_parse(conf, text, size, "f", variables, error) == 0 ? conf_settle(conf, error) : -1;
}

/* Lines that begin with UTFEED_ or a small letter are variables, the others arguments. */
static int read_words(struct conf *conf, const char *text, size_t size, struct conf_error *error)
{
	char *copy = malloc(size + 1), *rest = copy, *line;
	char *argv[WORDS_MAX + 1] = { copy }, *envp[WORDS_MAX + 1] = { NULL };
	int argc = 1, envc = 0, status;

	if (!copy)
		abort();
	memcpy(copy, text, size);
	copy[size] = '\0';
	while ((line = strsep(&rest, "\n")) && argc < WORDS_MAX && envc < WORDS_MAX) {
		/* No file of this machine's */
		if (strncmp(line, "-c", 2) == 0 || strncmp(line, "--config", 8) == 0 || strncmp(line, "UTFEED_CONFIG", 13) == 0)
			continue;
		if (strncmp(line, "UTFEED_", 7) == 0 || (*line >= 'a' && *line <= 'z'))
			envp[envc++] = line;
		else
			argv[argc++] = line;
	}
	status = conf_load(conf, argc, argv, envp, error);
	free(copy);
	return status;
}

typedef int reader(struct conf *, const char *, size_t, struct conf_error *);

static struct conf *load(reader *read, const char *text, size_t size)
{
	struct conf_error error = { "" };
	struct conf *conf = conf_new();

	if (!conf)
		abort();
	if (read(conf, text, size, &error) != 0) {
		if (!*error.text)
			abort();
		conf_free(&conf);
	}
	return conf;
}

static void compare(const struct conf_row *row, const void *a, const void *b)
{
	char *one = conf_show(row, a), *other = conf_show(row, b);

	if (!one || !other || strcmp(one, other) != 0)
		abort();
	free(one);
	free(other);
}

static void compare_all(const struct conf *a, const struct conf *b)
{
	for (size_t i = 0; i < CONF_OPTION_COUNT; i++)
		compare(&conf_options[i], a, b);
	if (a->routes.count != b->routes.count)
		abort();
	for (size_t i = 0; i < conf_route_count(a); i++)
		for (size_t j = 0; j < CONF_ROUTE_OPTION_COUNT; j++)
			if (*conf_route_at(a, i)->pattern || j != CONF_ROUTE_origin)
				compare(&conf_route_options[j], conf_route_at(a, i), conf_route_at(b, i));
}

/* No file of this machine's is to be read. */
static bool names_files(const char *text, size_t size)
{
	bool names = memmem(text, size, "include", 7);

	for (size_t i = 0; i < CONF_OPTION_COUNT; i++) {
		const struct conf_row *row = &conf_options[i];
		char variable[CONF_ENV_NAME_MAX];
		conf_env_name(row, variable);
		names |= row->type == CONF_TYPE_SECRET_FILE &&
			(memmem(text, size, row->name, strlen(row->name)) || memmem(text, size, variable, strlen(variable)));
	}
	return names;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	if (names_files(text, size))
		return 0;
	reader *read = size >= 2 && memcmp(text, "--", 2) == 0 ? read_words : read_file;
	struct conf *first = load(read, text, size), *second;
	char *printed, *again;

	/* A word that asks for something other than to serve settles nothing. */
	if (!first || first->action == CONF_PRINT_HELP || first->action == CONF_PRINT_SAMPLE) {
		conf_free(&first);
		return 0;
	}
	match_routes(first);
	printed = dump(first);
	second = load(read_file, printed, strlen(printed));
	if (!second)
		abort();
	compare_all(first, second);
	again = dump(second);
	if (strcmp(printed, again) != 0)
		abort();
	free(printed);
	free(again);
	conf_free(&first);
	conf_free(&second);
	return 0;
}
