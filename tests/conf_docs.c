/* Owns printing what the option tables generate, for check-options.sh: the sample, the parts of two manuals, or one line an option:
 * with its member (of a file with a secret, the secret's, which is what uses it), or with its default.
 * Must not know: any option. */
#include "conf/conf_internal.h"
#include "tests/conf_manual.h"

#include <stddef.h>
#include <string.h>

static void print_rows(const struct conf_row *rows, const char *const *members, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%s %s\n", rows[i].name, members[rows[i].type == CONF_TYPE_SECRET_FILE ? i - 1 : i]);
}

static void print_names(void)
{
#define OPTION(section, oname, TYPE, member, def, min, max, unit, reload, effect, prose) #member,
	static const char *const members[] = {
#include "conf/options.def"
	};
	static const char *const route_members[] = {
#include "conf/route_options.def"
	};
#undef OPTION

	print_rows(conf_options, members, CONF_OPTION_COUNT);
	print_rows(conf_route_options, route_members, CONF_ROUTE_OWN_COUNT);
}

static void print_defaults(void)
{
	for (size_t i = 0; i < CONF_OPTION_COUNT; i++)
		printf("%s %s\n", conf_options[i].name, conf_options[i].def ? conf_options[i].def : "");
	for (size_t i = 0; i < CONF_ROUTE_OWN_COUNT; i++)
		printf("[route] %s\n", conf_route_options[i].name);
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (strcmp(what, "sample") == 0)
		conf_print_sample(stdout);
	else if (strcmp(what, "flags") == 0)
		print_manual_flags(stdout);
	else if (strcmp(what, "options") == 0)
		print_manual_options(stdout);
	else if (strcmp(what, "names") == 0)
		print_names();
	else if (strcmp(what, "defaults") == 0)
		print_defaults();
	else
		return 2;
	return 0;
}
