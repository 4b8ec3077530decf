/* Owns `utfeed healthcheck`: one blocking request to a running utfeed, for images that have neither shell nor curl.
 * Must not know: how an answer is made. Invariant: it ends within HEALTHCHECK_S, whatever the other side does. */
#include "proxy/command/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/command/admin_ask.h"

static const char usage[] = "utfeed healthcheck [http://ADDRESS:PORT[/PATH]]";

enum { HEALTHCHECK_S = 4 };

/* Takes the address from the environment variables that would configure utfeed. any: any answer will do, because the
 * address is not that of an admin listener. -1: the address is missing (told). */
static int health_from_conf(struct admin_target *target, bool *any)
{
	char name[] = "healthcheck", *argv[] = { name, NULL };
	struct conf *conf = conf_new();
	struct conf_error error = { "out of memory" };
	int status = -1;

	if (!conf || conf_load(conf, 1, argv, environ, &error))
		fprintf(stderr, "utfeed: %s\n", error.text);
	else if (conf->admin_listen.count) {
		admin_target_of_listener(target, &conf->admin_listen.items[0], "/healthz");
		status = 0;
	} else if (conf->listen.count) {
		admin_target_of_listener(target, &conf->listen.items[0], "/");
		*any = true;
		status = 0;
	} else
		fputs("utfeed: neither admin-listen nor listen says where to ask\n", stderr);
	conf_free(&conf);
	return status;
}

static int health_tell(bool any, int status, const char *body)
{
	if (status == 200 || (any && status < 500)) {
		puts("healthy");
		return CMD_OK;
	}
	cmd_tell(stdout, body, "unhealthy: %d: ", status);
	return CMD_BROKEN;
}

int cmd_healthcheck(int argc, char **argv)
{
	struct admin_target t = { .patience_s = HEALTHCHECK_S };
	bool any = false;
	char *answer;
	int status;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-'))
		return argc == 2 && !strcmp(argv[1], "--help") ? (printf("usage: %s\n", usage), CMD_OK)
		                                               : cmd_usage(usage, NULL, NULL);
	if (argc == 2 ? admin_target_of_url(&t, argv[1], "/healthz") : health_from_conf(&t, &any))
		return CMD_USAGE;
	if ((status = admin_ask(&t, &answer)) < 0) {
		printf("unhealthy: %s; write the admin-listen of a running utfeed, as UTFEED_ADMIN_LISTEN or as URL\n",
		    strerror(errno));
		status = CMD_BROKEN;
	} else
		status = health_tell(any, status, admin_body(answer));
	free(answer);
	return status;
}
