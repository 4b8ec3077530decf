/* Owns the texts that are made from the option tables: --help, the sample file, the values in force.
 * Must not know: any single option.
 * Invariant: the sample and what conf_dump() writes load without error. */
#include "conf/conf_expand.h"
#include "conf/conf_internal.h"
#include "conf/conf_quote.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 78 };

/* Prints the words of text in lines that begin with indent. */
static void print_wrapped(FILE *out, const char *indent, const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t len = strcspn(text, " ");
		if (column && column + 1 + len > WIDTH) {
			fputc('\n', out);
			column = 0;
		}
		fprintf(out, "%s%.*s", column ? " " : indent, (int)len, text);
		column += len + (column ? 1 : strlen(indent));
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

/* The defaults by way; nothing for an option that has one for all. */
static size_t describe_ways(char *text, size_t cap, const struct conf_row *row)
{
	const struct conf_row *of_route = conf_route_row(row->name);
	const struct conf_way *way = of_route ? &conf_ways[of_route - conf_route_options] : NULL;

	if (!row->def || !way || !way->plain)
		return 0;
	return (size_t)snprintf(text, cap, "%s%s%sForward proxy and normalise = off: %s. ",
	    way->gateway ? "Gateway: " : "", way->gateway ? way->gateway : "", way->gateway ? ". " : "", way->plain);
}

void conf_describe(char *text, size_t cap, const struct conf_row *row)
{
	const struct conf_type *type = &conf_types[row->type];
	const char *unit = row->unit ? row->unit : "";
	bool has_default = row->def && *row->def;
	size_t len = 0;

	text[0] = '\0';
	if (has_default)
		len += (size_t)snprintf(text + len, cap - len, "Default %s%s%s%s", row->def, *unit ? " (" : "", unit,
		    *unit ? ")" : "");
	if (row->min)
		len += (size_t)snprintf(text + len, cap - len, "%s %s to %s", has_default ? ", from" : "From", row->min,
		    row->max);
	if (has_default || row->min)
		len += (size_t)snprintf(text + len, cap - len, ". ");
	len += describe_ways(text + len, cap - len, row);
	if (type->list)
		len += (size_t)snprintf(text + len, cap - len, "May be repeated. ");
	if (row->effect != EFFECT_GLOBAL && conf_option_row(row->name))
		len += (size_t)snprintf(text + len, cap - len, "A route may set it. ");
	if (row->reload == NO_RELOAD)
		len += (size_t)snprintf(text + len, cap - len, "A change needs a restart. ");
	if (len)
		text[len - 1] = '\0';
}

struct conf_shared conf_shared(void)
{
	struct conf_shared shared;
	size_t len = 0;

	for (size_t i = CONF_ROUTE_OWN_COUNT; i < CONF_ROUTE_OPTION_COUNT; i++)
		len += (size_t)snprintf(shared.text + len, sizeof(shared.text) - len, "%s%s", len ? ", " : "",
		    conf_route_options[i].name);
	assert(len < sizeof(shared.text));
	return shared;
}

static void print_row(FILE *out, const struct conf_row *row, const char *before, char between)
{
	char about[256];

	conf_describe(about, sizeof(about), row);
	fprintf(out, "  %s%s%c%s\n", before, row->name, between, conf_types[row->type].placeholder);
	print_wrapped(out, "      ", row->prose);
	if (*about)
		print_wrapped(out, "      ", about);
}

static void conf_print_help(FILE *out)
{
	const char *section = "";

	fputs("Usage: utfeed serve [-c FILE] [--NAME VALUE | --NAME=VALUE]...\n\n"
	      "Each option is a flag, an environment variable (--sniff-bytes: UTFEED_SNIFF_BYTES) and a line of FILE\n"
	      "(sniff-bytes = 64k). A flag counts before a variable, a variable before the file; a list as a whole.\n"
	      "A variable holds several items of a list separated by ; or line ends.\n\n",
	    out);
	conf_args_print(out);
	for (size_t i = 0; i < CONF_OPTION_COUNT; i++) {
		if (strcmp(section, conf_options[i].section) != 0)
			fprintf(out, "\n%s\n", conf_options[i].section);
		section = conf_options[i].section;
		print_row(out, &conf_options[i], "--", ' ');
	}
	fputs("\noptions of one route: NAME=VALUE behind --route PATTERN=ORIGIN, "
	      "lines below [route PATTERN] in the file\n",
	    out);
	for (size_t i = 0; i < CONF_ROUTE_OWN_COUNT; i++)
		print_row(out, &conf_route_options[i], "", '=');
	fputs("\nA route may also set these of the options above:\n", out);
	print_wrapped(out, "      ", conf_shared().text);
}

static void print_sample_row(FILE *out, const struct conf_row *row, const char *example)
{
	char about[256];

	conf_describe(about, sizeof(about), row);
	fputc('\n', out);
	if (*about)
		print_wrapped(out, "# ", about);
	print_wrapped(out, "# ", row->prose);
	fprintf(out, "#%s = %s\n", row->name, *example ? example : "\"\"");
}

static void print_sample_gateway(FILE *out)
{
	const char *between = "";

	fputs("\n### The gateway: a route for every URL that clients name. It has the options of a route, except", out);
	for (size_t i = 0; i < CONF_ROUTE_OPTION_COUNT; i++)
		if (!conf_is_of_gateway(&conf_route_options[i])) {
			fprintf(out, "%s %s", between, conf_route_options[i].name);
			between = ",";
		}
	fputs("\n\n#[gateway]\n", out);
	for (size_t i = 0; i < CONF_ROUTE_OPTION_COUNT; i++)
		if (conf_ways[i].gateway)
			fprintf(out, "#%s = %s\n", conf_route_options[i].name, conf_ways[i].gateway);
}

void conf_print_sample(FILE *out)
{
	const char *section = "";

	fputs("# utfeed.conf: every option of utfeed serve with its default. "
	      "To set an option, remove the # before it.\n"
	      "\n"
	      "#   NAME = VALUE                  A # after a blank begins a comment.\n"
	      "#   NAME = \"VALUE\"                Quotes keep blanks and #. Inside, write \\\" and \\\\.\n"
	      "\n"
	      "#   ${NAME}, ${NAME:-TEXT}, $$    An environment variable; the same, or TEXT if it is empty; a dollar.\n"
	      "#   include = FILE                Reads FILE here, or FOLDER/*.conf, or the *.conf files of a FOLDER.\n"
	      "\n"
	      "# Sizes: bytes, or a number with k, m, g or t. Times: a number with ms, s, m, h, d or w.\n",
	    out);
	for (size_t i = 0; i < CONF_OPTION_COUNT; i++) {
		const struct conf_row *row = &conf_options[i];
		if (strcmp(section, row->section) != 0)
			fprintf(out, "\n### %s\n", row->section);
		section = row->section;
		print_sample_row(out, row,
		    row->def                           ? row->def
		        : row->type == CONF_TYPE_ROUTE ? "/news/=http://127.0.0.1:8100/feeds/ policy=rome-lenient"
		                                       : ".feeds.example:8080");
	}
	print_sample_gateway(out);
	fputs("\n### Routes as sections. They end the file, because every line below a [route] belongs to it.\n"
	      "\n#[route //feeds.example/old/]\n",
	    out);
	for (size_t i = 0; i < CONF_ROUTE_OWN_COUNT; i++) {
		const struct conf_row *row = &conf_route_options[i];
		print_sample_row(out, row, row->def ? row->def : "http://127.0.0.1:8100/");
	}
	fputs("\n# A route may also set these of the options above:\n", out);
	print_wrapped(out, "# ", conf_shared().text);
}

/* Writes one value as a file has it: with $ doubled, and in quotes where it needs them. */
static void print_value(FILE *out, const char *text, size_t len)
{
	bool quote = len == 0 || memchr(text, '#', len) || text[0] == '"' || text[0] == ' ' || text[len - 1] == ' ';
	char *escaped = conf_expand_escape(text, len);

	if (escaped && quote)
		conf_quote(out, escaped, strlen(escaped));
	else if (escaped)
		fputs(escaped, out);
	fputc('\n', out);
	free(escaped);
}

/* The name of a file may contain any character, even a line end. */
static void print_where(FILE *out, const char *name, const char *where)
{
	fprintf(out, "# %s: ", name);
	for (; *where; where++)
		fputc((unsigned char)*where < 0x20 ? '?' : *where, out);
	fputc('\n', out);
}

static void dump_row(FILE *out, const struct conf_row *row, const char *text)
{
	for (const char *at = text; *at || !conf_types[row->type].list;) {
		size_t len = strcspn(at, "\n");
		fprintf(out, "%s = ", row->name);
		print_value(out, at, len);
		if (!conf_types[row->type].list)
			break;
		at += len + 1;
	}
}

/* Row number i, of the configuration or of a route, which is base. */
static void dump_option(FILE *out, const struct conf_row *rows, size_t count, size_t i, const void *base,
    const char *where)
{
	char *text = conf_show(&rows[i], base);

	if (!text)
		return;
	print_where(out, rows[i].name, where ? where : "default");
	/* Both together would be an error. */
	if (!conf_secret_in_file(rows, count, &rows[i], base))
		dump_row(out, &rows[i], text);
	free(text);
}

void conf_dump(FILE *out, const struct conf *conf)
{
	const struct conf_route *gateway = &conf->by_url;

	for (size_t i = 0; i < CONF_OPTION_COUNT; i++)
		dump_option(out, conf_options, CONF_OPTION_COUNT, i, conf, conf->sources[i].where);
	fputs("\n[gateway]\n", out);
	for (size_t i = 0; i < CONF_ROUTE_OPTION_COUNT; i++)
		if (conf_ways[i].plain || gateway->places[i])
			dump_option(out, conf_route_options, CONF_ROUTE_OPTION_COUNT, i, gateway,
			    conf_where(conf, gateway, conf_route_options[i].name));
}

void conf_act(const struct conf *conf, FILE *out)
{
	switch (conf->action) {
	case CONF_SERVE:
		break;
	case CONF_PRINT_HELP:
		conf_print_help(out);
		break;
	case CONF_PRINT_SAMPLE:
		conf_print_sample(out);
		break;
	case CONF_PRINT_CONFIG:
		conf_dump(out, conf);
		break;
	case CONF_CHECK_CONFIG:
		fprintf(out, "utfeed: the configuration is right%s%s\n", conf->file ? ": " : "",
		    conf->file ? conf->file : "");
		break;
	}
}
