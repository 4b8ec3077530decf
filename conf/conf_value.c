/* Owns setting one value (its check, its member, its level), writing it as text, and the messages about wrong values.
 * Must not know: where values come from, which options there are.
 * Invariant: a value of a higher level is never replaced by one of a lower level. */
#include "conf/conf_internal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int conf_fail(struct conf_error *error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return -1;
}

int conf_fail_memory(struct conf_error *error)
{
	return conf_fail(error, "out of memory");
}

int conf_fail_in(struct conf_error *error, const char *what)
{
	struct conf_error inner = *error;

	return conf_fail(error, "%s: %s", what, inner.text);
}

static char *value_text(const struct conf_row *row, const void *base, bool shown)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	if (shown)
		conf_write_shown(out, row, base);
	else
		conf_types[row->type].format(out, row, (const char *)base + row->offset);
	bool failed = ferror(out) != 0;
	if (fclose(out) != 0 || failed) {
		free(text);
		return NULL;
	}
	return text;
}

char *conf_format(const struct conf_row *row, const void *base)
{
	return value_text(row, base, false);
}

char *conf_show(const struct conf_row *row, const void *base)
{
	return value_text(row, base, true);
}

int conf_claim(struct conf *conf, const struct conf_row *row, enum conf_level level, const char *where,
    struct conf_error *error)
{
	const struct conf_type *type = &conf_types[row->type];
	struct conf_source *source = &conf->sources[row - conf_options];
	char *copy = where ? strdup(where) : NULL;

	if (where && !copy)
		return conf_fail_memory(error);
	assert(source->level <= level);
	if (type->list && source->level < level)
		type->clear(conf_member(conf, row));
	free(source->where);
	source->level = level;
	source->where = copy;
	return 0;
}

int conf_set(struct conf *conf, const struct conf_row *row, enum conf_level level, const struct conf_value *value,
	struct conf_error *error)
{
	const struct conf_type *type = &conf_types[row->type];
	const struct conf_source *source = &conf->sources[row - conf_options];
	int status;

	if (level == CONF_LEVEL_FILE && source->level == level && !type->list)
		status = conf_fail(error, "is given twice, first at %s; write it once", source->where);
	else if (conf_claim(conf, row, level, value->where, error) != 0)
		status = -1;
	else
		status = type->set(row, conf_member(conf, row), value, error);
	if (status != 0 && level == CONF_LEVEL_FILE)
		conf_fail_in(error, row->name);
	if (status != 0 && value->where)
		conf_fail_in(error, value->where);
	return status;
}
