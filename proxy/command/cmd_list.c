/* Owns `utfeed policies` and `utfeed charsets`, which print the tables of core/; the latter also checks that the system
 * has the converters it needs. */
#include "proxy/command/cmd.h"

#include <stdio.h>

#include "core/decode/charset.h"
#include "core/decode/decoder.h"
#include "core/policy/policy.h"

static int finish(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return CMD_OK;
	perror("utfeed: standard output");
	return CMD_USAGE;
}

int cmd_policies(int argc, char **argv)
{
	if (argc > 1)
		return cmd_usage("utfeed policies", "unexpected argument", argv[1]);
	for (int i = 0; i < POLICY_COUNT; i++)
		printf("%-16s %s\n", policy_name((enum policy)i), policy_summary((enum policy)i));
	return finish();
}

/* Prints one line for each charset: its name, then the labels that mean it. Fails if iconv lacks a converter, in an
 * image made by hand, say. */
int cmd_charsets(int argc, char **argv)
{
	const struct charset_label *label;
	const char *first;
	size_t missing;

	if (argc > 1)
		return cmd_usage("utfeed charsets", "unexpected argument", argv[1]);
	for (int cs = CS_NONE + 1; cs < CS_COUNT; cs++) {
		printf("%-24s", charset_name((enum charset)cs));
		for (size_t i = 0; (label = charset_label_at(i)) != NULL; i++)
			if (label->charset == (enum charset)cs)
				printf(" %s", label->text);
		putchar('\n');
	}
	if (!(missing = decoder_selftest(&first)))
		return finish();
	fprintf(stderr, "utfeed: this system has no converter for %zu of these, the first is %s\n", missing, first);
	return CMD_USAGE;
}
