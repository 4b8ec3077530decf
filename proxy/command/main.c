/* Owns the first word of the command line, which names the command. Must not know: what a command does. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/conf_near.h"
#include "proxy/command/cmd.h"
#include "proxy/command/running.h"
#include "proxy/server/server.h"
#include "proxy/server/stores.h"
#include "proxy/settings/settings.h"

extern char **environ;

static void tell_note(enum conf_note_level level, const char *text)
{
	fprintf(stderr, "utfeed: %s%s\n", level == CONF_NOTE_WARNING ? "warning: " : "", text);
}

/* Whether the running utfeed would take all of the file, which has to be its own. */
static int check_against(const struct conf *conf)
{
	char taken[PATH_MAX] = "", own[PATH_MAX] = "";
	enum reload_result result = running_reload(conf, conf->against, true, taken);

	if (result == RELOAD_RESULTS)
		return -1;
	if (conf->file && !realpath(conf->file, own))
		perror("utfeed");
	if (strcmp(own, taken)) {
		cmd_tell(stderr, *taken ? taken : "no file", "utfeed: --against: that utfeed reads ");
		return -1;
	}
	return result == RELOAD_TAKEN ? 0 : -1;
}

/* Takes over conf. */
static int check_configuration(struct conf *conf)
{
	struct settings *settings = server_check(conf);
	int status = settings && (!conf->against || !check_against(conf)) ? EXIT_SUCCESS : 2;

	if (!status) {
		conf_act(conf, stdout);
		stores_tell_memory(settings, stdout);
	}
	settings_unref(&settings);
	return status;
}

static int cmd_serve(int argc, char **argv)
{
	struct conf *conf = conf_new();
	struct conf_error error;

	if (!conf) {
		fputs("utfeed: out of memory\n", stderr);
		return EXIT_FAILURE;
	}
	int status = conf_load(conf, argc, argv, environ, &error);
	conf_tell(conf, tell_note);
	if (!status && conf->action == CONF_SERVE)
		return server_run(conf, argc, argv);
	if (!status && conf->action == CONF_CHECK_CONFIG)
		return check_configuration(conf);
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
	{ "reload", "have a running utfeed read its configuration again", cmd_reload },
	{ "top", "show on a terminal what a running utfeed does", cmd_top },
	{ "fleet", "show the utfeeds that share a Redis server", cmd_fleet },
	{ "opml", "lead a reader's subscription list through a gateway", cmd_opml },
	{ "ca", "make the authority that intercepting https takes, or show it", cmd_ca },
	{ "report", "tell from access logs which publishers to write to", cmd_report },
	{ "policies", "list the policies", cmd_policies },
	{ "charsets", "list the charsets and their labels", cmd_charsets },
};

static void print_usage(FILE *f)
{
	fputs("usage: utfeed COMMAND [OPTION...]\n       utfeed help [COMMAND]\n       utfeed version\n\n"
	      "Makes any XML feed readable by any consumer.\n\n",
	    f);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		fprintf(f, "  %-11s %s\n", commands[i].name, commands[i].summary);
}

/* Commands of other programs. */
static const struct { const char *word, *advice; } elsewhere[] = {
	{ "start", "utfeed serve" }, { "run", "utfeed serve" },
	{ "server", "utfeed serve" }, { "daemon", "utfeed serve" },
	{ "stop", "kill -TERM PID, or systemctl stop utfeed" }, { "quit", "kill -TERM PID, or systemctl stop utfeed" },
	{ "restart", "utfeed reload for a new configuration, or systemctl restart utfeed" },
	{ "status", "utfeed top, or utfeed healthcheck" }, { "stats", "utfeed top" },
	{ "purge", "curl -X PURGE URL" }, { "ban", "curl -X PURGE -H 'X-Purge: prefix' URL" },
	{ "test", "utfeed serve -c FILE --check-config" }, { "validate", "utfeed serve -c FILE --check-config" },
	{ "configtest", "utfeed serve -c FILE --check-config" }, { "config", "utfeed serve -c FILE --print-config" },
	{ "normalize", "utfeed normalise" }, { "convert", "utfeed normalise" },
};

static int fail_command(const char *word)
{
	struct conf_near near = { .text = word, .len = strlen(word) };

	const char *advice = NULL;

	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		conf_near_try(&near, commands[i].name);
	for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
		if (!strcmp(elsewhere[i].word, word))
			advice = elsewhere[i].advice;
	fprintf(stderr, "utfeed: unknown command '%.40s'", word);
	if (advice)
		fprintf(stderr, "; write %s", advice);
	else if (near.name)
		fprintf(stderr, "; did you mean %s?", near.name);
	putc('\n', stderr);
	print_usage(stderr);
	return 2;
}

/* Runs the command of that name; -1: there is none. */
static int run_command(const char *name, int argc, char **argv)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(name, commands[i].name))
			return commands[i].run(argc, argv);
	return -1;
}

/* `utfeed help`, or `utfeed help COMMAND` for `utfeed COMMAND --help`. */
static int print_help(const char *name)
{
	char command[16] = "", flag[] = "--help", *argv[] = { command, flag, NULL };

	if (!name || name[0] == '-') {
		print_usage(stdout);
		return EXIT_SUCCESS;
	}
	snprintf(command, sizeof command, "%s", name);
	int status = run_command(name, 2, argv);
	return status < 0 ? fail_command(name) : status;
}

/* The words that every command line understands, with and without dashes. */
static bool is_word(const char *word, const char *plain, const char *letter)
{
	return !strcmp(word, plain) || !strcmp(word, letter) || (!strncmp(word, "--", 2) && !strcmp(word + 2, plain));
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	int status = run_command(word, argc - 1, argv + 1);

	if (status >= 0)
		return status;
	if (is_word(word, "version", "-V"))
		return puts("utfeed " PACKAGE_VERSION) < 0;
	if (is_word(word, "help", "-h"))
		return print_help(argc > 2 ? argv[2] : NULL);
	/* `utfeed -c FILE` means serve. */
	if (word[0] == '-')
		return cmd_serve(argc, argv);
	if (*word)
		return fail_command(word);
	print_usage(stderr);
	return 2;
}
