/* Owns `utfeed policies` and `utfeed charsets`, which print the tables of core/; the latter also checks that the system
 * has the converters it needs. */
#include "proxy/command/cmd.h"

#include <stdio.h>
#include <string.h>

#include "core/decode/charset.h"
#include "core/decode/decoder.h"
#include "core/policy/policy.h"

/* A list takes no arguments but --help. True: there are some, and status is that of the process. */
static bool list_is_asked_more(int argc, char **argv, const char *usage, int *status)
{
	if (argc < 2)
		return false;
	if (strcmp(argv[1], "--help") && strcmp(argv[1], "-h")) {
		*status = cmd_usage(usage, "unexpected argument", argv[1]);
		return true;
	}
	printf("usage: %s\n", usage);
	*status = cmd_flush();
	return true;
}

int cmd_policies(int argc, char **argv)
{
	int status;

	if (list_is_asked_more(argc, argv, "utfeed policies", &status))
		return status;
	for (int i = 0; i < POLICY_COUNT; i++)
		printf("%-16s %s\n", policy_name((enum policy)i), policy_summary((enum policy)i));
	return cmd_flush();
}

/* Prints one line for each charset: its name, then the labels that mean it. Fails if iconv lacks a converter, in an
 * image made by hand, say. */
int cmd_charsets(int argc, char **argv)
{
	const struct charset_label *label;
	const char *first;
	size_t missing;
	int status;

	if (list_is_asked_more(argc, argv, "utfeed charsets", &status))
		return status;
	for (int cs = CS_NONE + 1; cs < CS_COUNT; cs++) {
		printf("%-24s", charset_name((enum charset)cs));
		for (size_t i = 0; (label = charset_label_at(i)); i++)
			if (label->charset == (enum charset)cs)
				printf(" %s", label->text);
		putchar('\n');
	}
	if (!(missing = decoder_selftest(&first)))
		return cmd_flush();
	fprintf(stderr, "utfeed: this system has no converter for %zu of these, the first is %s\n", missing, first);
	return CMD_USAGE;
}
