/* Owns the environment as a source: UTFEED_ and the option's name in capitals, '-' as '_'; http_proxy and its like.
 * Must not know: flags, files.
 * Invariant: an empty variable counts as absent (compose files pass variables on empty); UTFEED_ variables that name no
 * option are ignored, since Kubernetes sets UTFEED_PORT and its like beside a service of that name. */
#include "conf/conf_internal.h"
#include "conf/conf_quote.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "UTFEED_";

void conf_env_name(const struct conf_row *row, char name[CONF_ENV_NAME_MAX])
{
	size_t len = sizeof(prefix) - 1;

	assert(len + strlen(row->name) < CONF_ENV_NAME_MAX);
	memcpy(name, prefix, len);
	for (const char *at = row->name; *at; at++)
		name[len++] = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
	name[len] = '\0';
}

static const char *env_find(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return (*envp)[len + 1] ? *envp + len + 1 : NULL;
	return NULL;
}

/* The items of a list, separated by line ends or semicolons. */
static int set_list(struct conf *conf, const struct conf_row *row, const char *text, const char *name,
    struct conf_error *error)
{
	static const char blanks[] = " \t\r", ends[] = ";\n";
	int status = 0;

	while (status == 0 && *(text += strspn(text, " \t\r;\n"))) {
		size_t next = conf_item_length(text, ends), len = next;
		char *item;

		while (len && strchr(blanks, text[len - 1]))
			len--;
		if (!(item = strndup(text, len)))
			return conf_fail_memory(error);
		status = conf_set(conf, row, CONF_LEVEL_ENVIRONMENT, &(struct conf_value){ item, name }, error);
		free(item);
		text += next;
	}
	return status;
}

int conf_env_first(struct conf *conf, char *const *envp, struct conf_error *error)
{
	const char *file = env_find(envp, "UTFEED_CONFIG");

	if (!file)
		return 0;
	free(conf->file);
	conf->file = strdup(file);
	return conf->file ? 0 : conf_fail_memory(error);
}

int conf_env_apply(struct conf *conf, char *const *envp, struct conf_error *error)
{
	for (size_t i = 0; i < CONF_OPTION_COUNT; i++) {
		const struct conf_row *row = &conf_options[i];
		char name[CONF_ENV_NAME_MAX];
		conf_env_name(row, name);
		const char *text = env_find(envp, name);
		int status = 0;
		if (text && conf_types[row->type].list)
			status = set_list(conf, row, text, name, error);
		else if (text)
			status = conf_set(conf, row, CONF_LEVEL_ENVIRONMENT, &(struct conf_value){ text, name }, error);
		if (status != 0)
			return status;
	}
	return 0;
}

/* The variables that curl and others read; the first one that is set counts. HTTP_PROXY is not among them: in a CGI
 * program a client can set it by a header field Proxy. */
static const struct { enum conf_option_id option; const char *names[5]; } common[] = {
	{ CONF_OPTION_http_proxy, { "http_proxy", "all_proxy", "ALL_PROXY" } },
	{ CONF_OPTION_https_proxy, { "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY" } },
	{ CONF_OPTION_no_proxy, { "no_proxy", "NO_PROXY" } },
};

/* These variables are meant for all programs, so any other source of an option counts before them. */
int conf_env_fall_back(struct conf *conf, char *const *envp, struct conf_error *error)
{
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		const char *const *name = common[i].names, *text = NULL;
		while (*name && !(text = env_find(envp, *name)))
			name++;
		if (text && conf->sources[common[i].option].level == CONF_LEVEL_DEFAULT &&
		    conf_set(conf, &conf_options[common[i].option], CONF_LEVEL_ENVIRONMENT,
		        &(struct conf_value){ text, *name }, error) != 0)
			return -1;
	}
	return 0;
}
