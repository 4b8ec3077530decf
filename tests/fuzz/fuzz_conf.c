/* Owns feeding arbitrary files to the configuration reader.
 * Invariant tested: what loads is dumped to a file that loads to the same dump; nothing else but an error message comes out. */
#include "conf/conf_internal.h"

#include <stdlib.h>
#include <string.h>

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

static char *load(const char *text, size_t size)
{
	struct conf_error error = { "" };
	struct conf *conf = conf_new();
	char *dumped = NULL;

	if (!conf)
		abort();
	if (conf_file_parse(conf, text, size, "f", &error) == 0 && conf_settle(conf, &error) == 0)
		dumped = dump(conf);
	else if (!*error.text)
		abort();
	for (size_t i = 0; dumped && i < conf->routes.count; i++) {
		const struct conf_route *route = &conf->routes.items[i];
		char target[256];
		const struct conf_route *found = conf_route_match(conf, "", 0, route->prefix, route->prefix_len);
		if (!route->host && found != route)
			abort();
		conf_route_target(route, route->prefix, route->prefix_len, target, sizeof(target));
	}
	conf_free(&conf);
	return dumped;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *first = load((const char *)data, size);

	if (first) {
		char *second = load(first, strlen(first));
		if (!second || strcmp(first, second) != 0)
			abort();
		free(second);
	}
	free(first);
	return 0;
}
