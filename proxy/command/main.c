/* Owns the first word of the command line, which names the command. Must not know: what a command does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/command/cmd.h"
#include "proxy/server/server.h"

extern char **environ;

static void tell_note(enum conf_note_level level, const char *text)
{
	fprintf(stderr, "utfeed: %s%s\n", level == CONF_NOTE_WARNING ? "warning: " : "", text);
}

static int cmd_serve(int argc, char **argv)
{
	struct conf *conf = conf_new();
	struct conf_error error;
	int status;

	if (!conf) {
		fputs("utfeed: out of memory\n", stderr);
		return EXIT_FAILURE;
	}
	status = conf_load(conf, argc, argv, environ, &error);
	conf_tell(conf, tell_note);
	if (!status && conf->action == CONF_SERVE)
		return server_run(conf, argc, argv);
	if (!status && conf->action == CONF_CHECK_CONFIG)
		status = server_check(conf);
	if (!status)
		conf_act(conf, stdout);
	conf_free(&conf);
	return status ? 2 : EXIT_SUCCESS;
}

static const struct {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "serve", "run the proxy (utfeed serve --help)", cmd_serve },
	{ "check", "show what files and URLs are, and what to fix", cmd_check },
	{ "normalise", "write a file as UTF-8, as the proxy would", cmd_normalise },
	{ "healthcheck", "ask a running utfeed whether it is well", cmd_healthcheck },
	{ "opml", "lead a reader's subscription list through a gateway", cmd_opml },
	{ "report", "tell from access logs which publishers to write to", cmd_report },
	{ "policies", "list the policies", cmd_policies },
	{ "charsets", "list the charsets and their labels", cmd_charsets },
};

static void print_usage(FILE *f)
{
	fputs("usage: utfeed COMMAND [OPTION...]\n       utfeed --version | --help\n\n"
	      "Makes any XML feed readable by any consumer.\n\n",
	    f);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		fprintf(f, "  %-11s %s\n", commands[i].name, commands[i].summary);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(word, commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		puts("utfeed " PACKAGE_VERSION);
		return EXIT_SUCCESS;
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
		print_usage(stdout);
		return EXIT_SUCCESS;
	}
	/* `utfeed -c FILE` means serve. */
	if (word[0] == '-')
		return cmd_serve(argc, argv);
	if (*word)
		fprintf(stderr, "utfeed: unknown command '%s'\n", word);
	print_usage(stderr);
	return 2;
}
