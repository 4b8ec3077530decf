/* Owns `utfeed top` and `utfeed fleet`: what a running utfeed does, and what the utfeeds do that share its store, on a
 * terminal, each second anew; without a terminal once. Must not know: what a frame looks like, how a terminal is
 * handled. Invariant: no byte of a feed or of another utfeed reaches the terminal unless it is printable ASCII
 * (frame.h). */
#include "proxy/command/cmd.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/command/admin_ask.h"
#include "proxy/command/fleet_frame.h"
#include "proxy/command/terminal.h"
#include "proxy/command/top.h"

enum { TOP_PATIENCE_S = 5, TOP_REFRESH_MS = 1000, TOP_ONCE_FEEDS = 20, TOP_WHY_MAX = 300 };

/* The orders that the key s goes through; those of /api/feeds. */
static const char *const top_sorts[] = { "requests", "errors", "bytes", "last" };
enum { TOP_SORTS = sizeof top_sorts / sizeof *top_sorts };

struct top_command;
struct top_view {
	const char *name, *usage;
	void (*draw)(FILE *, const struct frame *, char *told, struct top_command *);
	bool sorts;
};

struct top_command {
	const struct top_view *view;
	struct admin_target target;
	const char *sort;
	bool json;
	struct top_before before;
	char why[TOP_WHY_MAX]; /* what is wrong, if nothing answers */
};

static void top_draw_feeds(FILE *out, const struct frame *frame, char *told, struct top_command *command)
{
	top_draw(out, frame, told, &command->before);
}

static void top_draw_fleet(FILE *out, const struct frame *frame, char *told, struct top_command *command)
{
	(void)command;
	fleet_draw(out, frame, told);
}

static const struct top_view top_feeds = { .name = "top",
	.usage = "utfeed top [-c FILE] [--admin URL] [--sort requests|hits|errors|repairs|bytes|last|expires|url]",
	.draw = top_draw_feeds, .sorts = true };
static const struct top_view top_fleet = { .name = "fleet",
	.usage = "utfeed fleet [-c FILE] [--admin URL] [--json]", .draw = top_draw_fleet };

static uint64_t top_clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The answer, which the caller frees; its body. NULL: there is none, as why says. */
static char *top_ask(struct top_command *command, unsigned feeds, char **answer)
{
	int status;

	if (command->view->sorts)
		snprintf(command->target.path, sizeof command->target.path, "/api/top?limit=%u&sort=%.16s",
		    feeds ? feeds : 1, command->sort);
	else
		strcpy(command->target.path, command->json ? "/api/fleet" : "/api/fleet?lines=1");
	if ((status = admin_ask(&command->target, answer)) < 0) {
		snprintf(command->why, sizeof command->why, "the admin listener does not answer: %s; write "
		    "--admin with the admin-listen of a running utfeed", strerror(errno));
		return NULL;
	}
	char *body = admin_body(*answer);
	if (status == 200)
		return body;
	if (status == 404) {
		snprintf(command->why, sizeof command->why, "%s", CMD_NO_ADMIN);
		return NULL;
	}
	body[strcspn(body, "\r\n")] = '\0';
	snprintf(command->why, sizeof command->why, "the admin listener answers %d: %.200s", status, body);
	return NULL;
}

static int top_once(struct top_command *command)
{
	const struct frame frame = { .size = { .columns = 0 } };
	char *answer, *body = top_ask(command, TOP_ONCE_FEEDS, &answer);

	if (body && command->json)
		fputs(body, stdout);
	else if (body)
		command->view->draw(stdout, &frame, body, command);
	else
		cmd_tell(stderr, command->why, "utfeed: ");
	free(answer);
	return body ? cmd_flush() : CMD_BROKEN;
}

static void top_show(struct top_command *command)
{
	char help[64], *answer, *body;
	struct frame frame = { .size.screen = true, .help = help };

	snprintf(help, sizeof help, command->view->sorts ? "q: quit   s: sort (%s)" : "q: quit", command->sort);
	terminal_size(&frame.size.columns, &frame.size.rows);
	body = top_ask(command, frame.size.rows, &answer);
	frame.now_ms = top_clock_ms();
	if (body)
		command->view->draw(stdout, &frame, body, command);
	else
		frame_sentence(stdout, &frame, command->why);
	free(answer);
}

static void top_next_sort(struct top_command *command)
{
	size_t i = 0;

	while (i < TOP_SORTS && strcmp(top_sorts[i], command->sort))
		i++;
	command->sort = top_sorts[i < TOP_SORTS ? (i + 1) % TOP_SORTS : 0];
}

static int top_run(struct top_command *command)
{
	int key = 0;

	if (command->json || terminal_take())
		return top_once(command);
	while (key >= 0 && key != 'q' && !ferror(stdout)) {
		top_show(command);
		(void)fflush(stdout);
		if ((key = terminal_wait(TOP_REFRESH_MS)) == 's')
			top_next_sort(command);
	}
	terminal_give_back();
	return CMD_OK;
}

/* Takes address and token from the configuration; the address only if none is given. -1: told. */
static int top_configure(struct top_command *command, struct conf *conf, char *file, const char *admin)
{
	char name[16], option[] = "--config", *argv[] = { name, option, file, NULL };
	struct conf_error error;

	snprintf(name, sizeof name, "%s", command->view->name);
	int loaded = conf_load(conf, file ? 3 : 1, argv, environ, &error);

	command->target.patience_s = TOP_PATIENCE_S;
	command->target.token = conf->admin_token;
	if (loaded && (file || !admin))
		fprintf(stderr, "utfeed: %s\n", error.text);
	else if (admin)
		return admin_target_of_text(&command->target, admin, "");
	else if (!conf->admin_listen.count)
		fprintf(stderr,
		    "utfeed: %s: no admin listener is named: write --admin http://ADDRESS:PORT, or -c FILE with "
		    "admin-listen in it\n",
		    name);
	else if (*conf->admin_tls_cert)
		fprintf(stderr, "utfeed: %s: the admin listener speaks TLS, and this command does not\n", name);
	else {
		admin_target_of_listener(&command->target, &conf->admin_listen.items[0], "");
		return 0;
	}
	return -1;
}

static int top_main(const struct top_view *view, int argc, char **argv)
{
	const struct option options[] = { { "config", required_argument, NULL, 'c' },
		{ "admin", required_argument, NULL, 'a' }, { "help", no_argument, NULL, 'h' },
		view->sorts ? (struct option){ "sort", required_argument, NULL, 's' }
		            : (struct option){ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 } };
	struct top_command command = { .view = view, .sort = top_sorts[0] };
	char *file = NULL, *admin = NULL;
	struct conf *conf;
	int opt, status = CMD_USAGE;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "c:h", options, NULL)) != -1)
		switch (opt) {
		case 'c': file = optarg; break;
		case 'a': admin = optarg; break;
		case 's': command.sort = optarg; break;
		case 'j': command.json = true; break;
		case 'h': printf("usage: %s\n", view->usage); return CMD_OK;
		default: return cmd_usage(view->usage, NULL, NULL);
		}
	if (optind < argc)
		return cmd_usage(view->usage, "unexpected argument", argv[optind]);
	if (command.sort[strspn(command.sort, "abcdefghijklmnopqrstuvwxyz")])
		return cmd_usage(view->usage, "--sort", command.sort);
	if (!(conf = conf_new()))
		return cmd_no_memory();
	if (!top_configure(&command, conf, file, admin))
		status = top_run(&command);
	conf_free(&conf);
	return status;
}

int cmd_top(int argc, char **argv)
{
	return top_main(&top_feeds, argc, argv);
}

int cmd_fleet(int argc, char **argv)
{
	return top_main(&top_fleet, argc, argv);
}
