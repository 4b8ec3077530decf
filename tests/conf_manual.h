/* Owns the parts of the manuals that the option tables generate, in mdoc(7): the flags of utfeed(1), the options of
 * utfeed.conf(5).
 * Must not know: any single option.
 * Invariant: a line is at most WIDTH columns long and ends where a sentence ends, as mandoc -Tlint wants it; none
 * begins like a macro. */
#ifndef UTFEED_TESTS_CONF_MANUAL_H
#define UTFEED_TESTS_CONF_MANUAL_H

#include "conf/conf_internal.h"

#include <string.h>

enum { WIDTH = 78 };

/* A backslash would begin an escape. */
static size_t print_word(FILE *out, const char *word, size_t len)
{
	size_t columns = 0;

	for (size_t i = 0; i < len; i++)
		columns += (size_t)fprintf(out, word[i] == '\\' ? "\\e" : "%c", word[i]);
	return columns;
}

/* A word with a dot or an apostrophe at the beginning of a line would be a macro, so it is put behind an empty
 * escape. */
static size_t print_first_word(FILE *out, const char *word, size_t len)
{
	bool escaped = word[0] == '.' || word[0] == '\'';

	return (size_t)fprintf(out, "%s", escaped ? "\\&" : "") + print_word(out, word, len);
}

static void print_text(FILE *out, const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t len = strcspn(text, " ");
		if (column && column + 1 + len > WIDTH) {
			fputc('\n', out);
			column = 0;
		}
		if (column)
			column += (size_t)fprintf(out, " ") + print_word(out, text, len);
		else
			column = print_first_word(out, text, len);
		if (len > 1 && strchr(".?", text[len - 1]) && text[len - 2] != '.') {
			fputc('\n', out);
			column = 0;
		}
		text += len;
		text += strspn(text, " ");
	}
	if (column)
		fputc('\n', out);
}

/* Prints list items under a heading for each section. begin and end enclose the items of a section. */
static void print_sections(FILE *out, const char *begin, const char *end,
    void (*print)(FILE *, const struct conf_row *))
{
	for (size_t i = 0; i < CONF_OPTION_COUNT; i++) {
		const struct conf_row *row = &conf_options[i];
		if (i == 0 || strcmp(conf_options[i - 1].section, row->section) != 0)
			fprintf(out, "%s.Ss %s\n%s", i ? end : "", row->section, begin);
		print(out, row);
	}
	fputs(end, out);
}

static void print_flag(FILE *out, const struct conf_row *row)
{
	fprintf(out, ".It Fl Fl %s Ar %s Ta%s%s\n", row->name, conf_types[row->type].placeholder,
	    row->def && *row->def ? " " : "", row->def ? row->def : "");
}

static void print_manual_flags(FILE *out)
{
	print_sections(out, ".Bl -column \"--connect-allow DESTINATION[,DESTINATION]...\" \"127.0.0.0/8, ::1\"\n",
	    ".El\n", print_flag);
}

static void print_option(FILE *out, const struct conf_row *row)
{
	char about[256];

	conf_describe(about, sizeof(about), row);
	fprintf(out, ".It Cm %s No = Ar %s\n", row->name, conf_types[row->type].placeholder);
	print_text(out, about);
	fputs(*about ? ".br\n" : "", out);
	print_text(out, row->prose);
}

static void print_manual_options(FILE *out)
{
	print_sections(out, ".Bl -tag -width Ds\n", ".El\n", print_option);
	fputs(".Ss options of one route\n.Bl -tag -width Ds\n", out);
	for (size_t i = 0; i < CONF_ROUTE_OWN_COUNT; i++)
		print_option(out, &conf_route_options[i]);
	fputs(".El\n.Pp\nA route may also set these of the options above:\n", out);
	print_text(out, conf_shared().text);
}

#endif
