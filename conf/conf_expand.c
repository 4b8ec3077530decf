/* Variables in values; see conf_expand.h. */
#include "conf/conf_expand.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf_internal.h"

enum { EXPANDED_MAX_BYTES = 64 << 10 };

#define FORMS "write ${NAME}, ${NAME:-TEXT}, or $$ for a dollar"

/* ${NAME} or ${NAME:-TEXT} in its parts; they point into the value. */
struct variable {
	const char *name, *otherwise;       /* otherwise NULL: there is no :-TEXT */
	size_t name_len, otherwise_len;
};

/* A name as a shell takes it (POSIX.1-2017 XBD 3.235). */
static size_t variable_length(const char *text)
{
	static const char characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return *text >= '0' && *text <= '9' ? 0 : strspn(text, characters);
}

/* Reads what stands behind "${". Returns the text behind the closing brace; NULL: it is not of that form. */
static const char *read_reference(const char *text, struct variable *ref)
{
	const char *end = strchr(text, '}'), *behind;

	*ref = (struct variable){ .name = text, .name_len = variable_length(text) };
	behind = text + ref->name_len;
	if (!end || !ref->name_len)
		return NULL;
	if (behind == end)
		return end + 1;
	if (strncmp(behind, ":-", 2) != 0)
		return NULL;
	ref->otherwise = behind + 2;
	ref->otherwise_len = (size_t)(end - ref->otherwise);
	return memmem(ref->otherwise, ref->otherwise_len, "${", 2) ? NULL : end + 1;
}

static const char *variable(char *const *envp, const struct variable *ref)
{
	for (; *envp; envp++)
		if (strncmp(*envp, ref->name, ref->name_len) == 0 && (*envp)[ref->name_len] == '=')
			return (*envp)[ref->name_len + 1] ? *envp + ref->name_len + 1 : NULL;
	return NULL;
}

static int write_reference(FILE *out, const struct variable *ref, char *const *envp, struct conf_error *error)
{
	const char *value = variable(envp, ref);

	if (value)
		fputs(value, out);
	else if (ref->otherwise)
		fwrite(ref->otherwise, 1, ref->otherwise_len, out);
	else
		return conf_fail(error,
		    "the variable %.*s is not set, or empty; set it, or write ${NAME:-TEXT} for a default",
		    ref->name_len < 64 ? (int)ref->name_len : 64, ref->name);
	return 0;
}

static int write_expanded(FILE *out, const char *text, char *const *envp, struct conf_error *error)
{
	struct variable ref;

	while (*text) {
		size_t len = strcspn(text, "$");
		fwrite(text, 1, len, out);
		text += len;
		if (*text == '$' && text[1] == '{') {
			text = read_reference(text + 2, &ref);
			if (!text)
				return conf_fail(error, "what stands behind ${ is not a variable; " FORMS);
			if (write_reference(out, &ref, envp, error) != 0)
				return -1;
		} else if (*text) {
			fputc('$', out);
			text += text[1] == '$' ? 2 : 1;
		}
		if (ftell(out) > EXPANDED_MAX_BYTES)
			return conf_fail(error, "is longer than %d bytes with its variables; write less",
				EXPANDED_MAX_BYTES);
	}
	return 0;
}

char *conf_expand(const char *text, char *const *envp, struct conf_error *error)
{
	char *expanded = NULL;
	size_t len;
	FILE *out = open_memstream(&expanded, &len);
	int status;

	if (!out) {
		conf_fail_memory(error);
		return NULL;
	}
	status = write_expanded(out, text, envp, error);
	if (status == 0 && ferror(out))
		status = conf_fail_memory(error);
	if (fclose(out) != 0 && status == 0)
		status = conf_fail_memory(error);
	if (status != 0) {
		free(expanded);
		return NULL;
	}
	return expanded;
}

char *conf_expand_escape(const char *text, size_t len)
{
	char *escaped = malloc(2 * len + 1), *out = escaped;

	for (size_t i = 0; escaped && i < len; i++) {
		if (text[i] == '$')
			*out++ = '$';
		*out++ = text[i];
	}
	if (escaped)
		*out = '\0';
	return escaped;
}
