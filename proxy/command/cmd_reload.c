/* Owns `utfeed reload`: has a running utfeed read its configuration again, and tells what came of it. Must not know:
 * how a running utfeed is asked. Invariant: the exit status is the outcome. */
#include "proxy/command/cmd.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/command/running.h"

static const char usage[] = "utfeed reload [-c FILE] [RUNNING]";

enum { RELOAD_IN_PART = 3 };

static const struct {
	const char *said;
	int status;
} outcomes[RELOAD_RESULTS + 1] = {
	[RELOAD_TAKEN] = { "the configuration was read again", CMD_OK },
	[RELOAD_PARTLY] = { "the configuration was read again, but in part", RELOAD_IN_PART },
	[RELOAD_REFUSED] = { "refused: the former configuration stays in force", CMD_USAGE },
	[RELOAD_RESULTS] = { NULL, CMD_BROKEN },
};

/* The running utfeed tells the mistakes of the file, if it can be asked. */
static int reload_run(struct conf *conf, char *file, const char *running)
{
	char name[] = "reload", option[] = "--config", *argv[] = { name, option, file, NULL }, taken[PATH_MAX] = "";
	struct conf_error error;
	int loaded = conf_load(conf, file ? 3 : 1, argv, environ, &error);

	if (loaded && !running && !*conf->takeover_socket && !conf->admin_listen.count) {
		fprintf(stderr, "utfeed: %s\n", error.text);
		return CMD_USAGE;
	}
	enum reload_result result = running_reload(conf, running, false, taken);
	if (outcomes[result].said)
		cmd_tell(stdout, taken, "utfeed: %s%s", outcomes[result].said, *taken ? ": " : "");
	return outcomes[result].status;
}

int cmd_reload(int argc, char **argv)
{
	static const struct option options[] = { { "config", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 } };
	struct conf *conf;
	char *file = NULL;
	int opt;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "c:h", options, NULL)) != -1)
		switch (opt) {
		case 'c': file = optarg; break;
		case 'h': printf("usage: %s\n", usage); return CMD_OK;
		default: return cmd_usage(usage, NULL, NULL);
		}
	if (optind + 1 < argc)
		return cmd_usage(usage, "takes one RUNNING at most", argv[optind + 1]);
	if (!(conf = conf_new())) {
		fputs("utfeed: out of memory\n", stderr);
		return CMD_BROKEN;
	}
	int status = reload_run(conf, file, argv[optind]);
	conf_free(&conf);
	return status;
}
