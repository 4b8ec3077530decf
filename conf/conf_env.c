/* Owns the environment as a source: UTFEED_ and the option's name in capitals, '-' as '_'; http_proxy and its like.
 * Must not know: flags, files.
 * Invariant: an empty variable counts as absent (compose files pass variables on empty). A variable UTFEED_* that names
 * no option is warned of, except UTFEED_PORT and its like: Kubernetes sets these beside a service of that name. */
#include "conf/conf_internal.h"
#include "conf/conf_quote.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = CONF_ENV_PREFIX, config[] = CONF_ENV_PREFIX "CONFIG";

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
	const char *file = env_find(envp, config);

	conf->inherits = env_find(envp, "LISTEN_FDS");
	if (!file)
		return 0;
	free(conf->file);
	conf->file = strdup(file);
	return conf->file ? 0 : conf_fail_memory(error);
}

static bool is_of_rows(const struct conf_row *rows, size_t count, const char *name, size_t len)
{
	char own[CONF_ENV_NAME_MAX];

	for (size_t i = 0; i < count; i++) {
		conf_env_name(&rows[i], own);
		if (strlen(own) == len && memcmp(own, name, len) == 0)
			return true;
	}
	return false;
}

static bool is_own(const char *name, size_t len)
{
	return is_of_rows(conf_options, CONF_OPTION_COUNT, name, len) ||
	    is_of_rows(conf_former_options, conf_former_count, name, len) ||
	    (len == sizeof(config) - 1 && memcmp(config, name, len) == 0);
}

/* For a service called utfeed or utfeed-something Kubernetes sets {NAME}_SERVICE_HOST, _SERVICE_PORT, _PORT,
 * _PORT_8080_TCP and more of that kind. */
static bool is_of_kubernetes(const char *name, size_t len)
{
	const char *port = memmem(name, len, "_PORT", 5);

	return memmem(name, len, "_SERVICE_", 9) ||
	    (port && (port + 5 == name + len ? strstr(port, "://") != NULL : port[5] == '_'));
}

/* The value is never shown; nor is a name that may be one. */
static void warn_of_stranger(struct conf *conf, const char *variable)
{
	static const char characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t len = strspn(variable, characters);
	struct conf_near near = { .text = variable + sizeof(prefix) - 1, .len = len - (sizeof(prefix) - 1) };
	char name[CONF_ENV_NAME_MAX];
	const char *advice;

	if (variable[len] != '=' || !variable[len + 1] || len >= CONF_ENV_NAME_MAX || is_own(variable, len) ||
	    is_of_kubernetes(variable, len))
		return;
	struct conf_near of_route = near;

	conf_near_rows(&of_route, conf_route_options, CONF_ROUTE_OPTION_COUNT);
	conf_near_rows(&near, conf_options, CONF_OPTION_COUNT);
	if (near.name)
		conf_env_name(conf_option_row(near.name), name);
	if (of_route.name && of_route.distance == 0)
		conf_warn(conf, "%.*s: %s is an option of a route; write " CONF_ENV_PREFIX "ROUTE='PATTERN=ORIGIN "
		    "%s=VALUE'", (int)len, variable, of_route.name, of_route.name);
	else if ((advice = conf_near_foreign(&near)))
		conf_warn(conf, "%.*s is not the variable of an option; %s", (int)len, variable, advice);
	else
		conf_warn(conf, "%.*s is not the variable of an option%s%s%s", (int)len, variable,
		    near.name ? "; did you mean " : "", near.name ? name : "",
		    near.name ? "?" : "; leave it out, or see utfeed serve --help");
}

/* A file of variables, such as docker --env-file reads, keeps the quotes around a value. */
static void note_variable(struct conf *conf, const char *text, struct conf_error *error)
{
	size_t len = strlen(text), said = strlen(error->text);

	if (len > 1 && (*text == '"' || *text == '\'') && text[len - 1] == *text)
		snprintf(error->text + said, sizeof(error->text) - said, "; leave the quotes out");
	conf_note_error(conf, error);
}

static void apply_rows(struct conf *conf, const struct conf_row *rows, size_t count, char *const *envp)
{
	struct conf_error error;

	for (size_t i = 0; i < count; i++) {
		const struct conf_row *row = &rows[i];
		char name[CONF_ENV_NAME_MAX];
		conf_env_name(row, name);
		const char *text = env_find(envp, name);
		int status = 0;
		if (text && conf_types[row->type].list)
			status = set_list(conf, row, text, name, &error);
		else if (text)
			status = conf_give(conf, row, CONF_LEVEL_ENVIRONMENT, &(struct conf_value){ text, name },
			    &error);
		if (status != 0)
			note_variable(conf, text, &error);
	}
}

void conf_env_apply(struct conf *conf, char *const *envp)
{
	apply_rows(conf, conf_options, CONF_OPTION_COUNT, envp);
	apply_rows(conf, conf_former_options, conf_former_count, envp);
	for (; *envp; envp++)
		if (strncmp(*envp, prefix, sizeof(prefix) - 1) == 0)
			warn_of_stranger(conf, *envp);
}

/* The variables that curl and others read; the first one that is set counts. HTTP_PROXY is not among them: in a CGI
 * program a client can set it by a header field Proxy. */
static const struct { enum conf_option_id option; const char *names[5]; } common[] = {
	{ CONF_OPTION_http_proxy, { "http_proxy", "all_proxy", "ALL_PROXY" } },
	{ CONF_OPTION_https_proxy, { "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY" } },
	{ CONF_OPTION_no_proxy, { "no_proxy", "NO_PROXY" } },
};

/* These variables are meant for all programs, so any other source of an option counts before them. */
void conf_env_fall_back(struct conf *conf, char *const *envp)
{
	struct conf_error error;

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		const char *const *name = common[i].names, *text = NULL;
		while (*name && !(text = env_find(envp, *name)))
			name++;
		if (text && conf->sources[common[i].option].level == CONF_LEVEL_DEFAULT &&
		    conf_set(conf, &conf_options[common[i].option], CONF_LEVEL_ENVIRONMENT,
		        &(struct conf_value){ text, *name }, &error) != 0)
			conf_note_error(conf, &error);
	}
}
