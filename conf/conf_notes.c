/* Owns what is to be said of a configuration while it is read: errors and warnings, in the order they are found.
 * Must not know: where they are printed or logged.
 * Invariant: at most CONF_NOTES_MAX are kept, the others are counted; an error is never lost from the count. */
#include "conf/conf_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void conf_note(struct conf *conf, enum conf_note_level level, const char *text)
{
	struct conf_notes *notes = &conf->notes;
	notes->errors += level == CONF_NOTE_ERROR;
	if (notes->count && notes->items[notes->count - 1].level == level &&
	    strcmp(notes->items[notes->count - 1].text, text) == 0)
		return;
	char *copy = notes->count < CONF_NOTES_MAX ? strdup(text) : NULL;

	/* The name of a file may contain any character, even one that a terminal obeys. */
	for (char *at = copy; at && *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = '?';
	if (copy)
		notes->items[notes->count++] = (struct conf_note){ level, copy };
	else
		notes->left_out++;
}

int conf_note_error(struct conf *conf, const struct conf_error *error)
{
	conf_note(conf, CONF_NOTE_ERROR, error->text);
	return -1;
}

void conf_warn(struct conf *conf, const char *format, ...)
{
	struct conf_error warning;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(warning.text, sizeof(warning.text), format, arguments);
	va_end(arguments);
	conf_note(conf, CONF_NOTE_WARNING, warning.text);
}

int conf_notes_status(const struct conf *conf, struct conf_error *error)
{
	const struct conf_notes *notes = &conf->notes;

	if (!notes->errors)
		return 0;
	for (size_t i = 0; i < notes->count; i++)
		if (notes->items[i].level == CONF_NOTE_ERROR)
			return conf_fail(error, "%s", notes->items[i].text);
	return conf_fail_memory(error);
}

void conf_tell(const struct conf *conf, conf_tell_f *tell)
{
	const struct conf_notes *notes = &conf->notes;
	struct conf_error more;

	for (size_t i = 0; i < notes->count; i++)
		tell(notes->items[i].level, notes->items[i].text);
	if (notes->left_out) {
		snprintf(more.text, sizeof(more.text), "%zu more, not shown", notes->left_out);
		tell(notes->errors ? CONF_NOTE_ERROR : CONF_NOTE_WARNING, more.text);
	}
}

void conf_notes_clear(struct conf_notes *notes)
{
	while (notes->count)
		free(notes->items[--notes->count].text);
	*notes = (struct conf_notes){ .count = 0 };
}
