/* The settings under which `utfeed check` fetches URLs; see check_settings.h. */
#include "proxy/command/check_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/settings/settings.h"

/* The environment without the configuration file: that of a server is not the user's, who may not even read it. */
static char **check_environment(void)
{
	static const char file[] = "UTFEED_CONFIG=";
	size_t n = 0, kept = 0;

	while (environ[n])
		n++;
	char **copy = calloc(n + 1, sizeof *copy);
	for (size_t i = 0; copy && i < n; i++)
		if (strncmp(environ[i], file, sizeof file - 1))
			copy[kept++] = environ[i];
	return copy;
}

struct settings *check_settings_new(void)
{
	static char word[] = "serve";
	char *argv[] = { word, NULL }, **env = check_environment();
	struct conf_error error = { "out of memory" };
	struct conf *conf = env ? conf_new() : NULL;
	struct settings *settings = NULL;

	if (!conf || conf_load(conf, 1, argv, env, &error))
		fprintf(stderr, "utfeed: %s\n", error.text);
	else
		settings = settings_new(conf, 0, NULL);
	if (!settings)
		conf_free(&conf);
	free(env);
	return settings;
}
