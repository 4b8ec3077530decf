/* Owns `utfeed check`: reading files and URLs, and showing the report on each. A body is read as a stream; only its
 * first window is held. */
#include "proxy/command/cmd.h"

#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/url.h"
#include "proxy/base/log.h"
#include "proxy/base/url_mask.h"
#include "proxy/command/check_settings.h"
#include "proxy/report/check.h"
#include "proxy/report/check_html.h"
#include "proxy/report/check_json.h"
#include "proxy/report/check_text.h"
#include "proxy/report/check_url.h"
#include "proxy/report/visible.h"
#include "proxy/settings/settings.h"

static const char usage[] =
    "utfeed check [--json | --html[=OUT]] [--explain] [-t CONTENT-TYPE] [--content-language TAG]\n"
    "    [--base URL] [--gateway URL] FILE|URL...";

enum { CHECK_READ_BYTES = 65536, CHECK_URL_SHOWN = 2048 };

enum check_output { CHECK_TEXT, CHECK_JSON, CHECK_HTML };

struct check_command {
	enum check_output output;
	FILE *out;
	const char *path;           /* of the document of HTML; NULL: standard output */
	struct check_style style;
	struct check_options options;
	unsigned shown;             /* reports so far */
};

static int check_show(struct check_command *command, const struct check_report *report)
{
	struct json j = { .out = command->out };

	command->shown++;
	switch (command->output) {
	case CHECK_TEXT:
		check_report_text(command->out, report, &command->style);
		break;
	case CHECK_JSON:
		if (check_report_json(&j, NULL, report))
			return cmd_no_memory();
		putc('\n', command->out);
		break;
	case CHECK_HTML:
		check_html_report(command->out, report, command->shown);
		break;
	}
	return check_is_fine(report) ? CMD_OK : CMD_BROKEN;
}

/* Feeds the whole file. CMD_USAGE: reading failed, or out of memory; told. */
static int check_pump(struct check *check, int fd, const char *path)
{
	static uint8_t buf[CHECK_READ_BYTES];
	ssize_t got;

	while ((got = cmd_read(fd, path, buf, sizeof buf)) > 0)
		if (check_feed(check, buf, (size_t)got))
			return cmd_no_memory();
	if (got < 0)
		return CMD_USAGE;
	return check_finish(check) ? cmd_no_memory() : CMD_OK;
}

static int check_file(struct check_command *command, const char *path)
{
	int fd = cmd_open(path, "check", true), status;
	struct check *check;

	if (fd < 0)
		return CMD_USAGE;
	check = check_new(&command->options);
	status = check ? check_pump(check, fd, path) : cmd_no_memory();
	cmd_close(fd);
	if (status == CMD_OK) {
		check_report_of(check)->file = path;
		status = check_show(command, check_report_of(check));
	}
	check_free(&check);
	return status;
}

/* Tells why a URL gave no body, after the redirects that led there; a password in it is not shown. */
static int check_tell(const char *url, const struct check_url *u)
{
	const struct check_response *response = check_url_response(u);
	char shown[CHECK_URL_SHOWN];

	for (size_t i = 0; i < response->n_hops; i++) {
		const struct check_hop *hop = &response->hops[i];

		fprintf(stderr, "utfeed: %u: ", hop->status);
		visible_bytes(stderr, hop->url ? hop->url : "");
		fputs(" -> ", stderr);
		visible_bytes(stderr, hop->location ? hop->location : "");
		putc('\n', stderr);
	}
	url_mask(shown, sizeof shown, url, strlen(url));
	fputs("utfeed: ", stderr);
	visible_bytes(stderr, shown);
	fprintf(stderr, ": %s\n", check_url_why(u));
	return CMD_USAGE;
}

static int check_fetched(struct check_command *command, struct settings *settings, const char *url)
{
	struct check_url *u = check_url_new(url, &command->options, settings, NULL);
	struct sigaction ignore = { .sa_handler = SIG_IGN }, former;

	if (!u)
		return cmd_no_memory();
	log_set_level(LOG_LEVEL_WARN);
	sigaction(SIGPIPE, &ignore, &former);
	int status = check_url_run(u) ? check_tell(url, u) : check_show(command, check_url_report(u));
	sigaction(SIGPIPE, &former, NULL);
	check_url_free(&u);
	return status;
}

static int check_one(struct check_command *command, const char *word)
{
	struct settings *settings;

	if (!url_is_http(word, strlen(word)))
		return check_file(command, word);
	if (!(settings = check_settings_new()))
		return CMD_USAGE;
	int status = check_fetched(command, settings, word);
	settings_unref(&settings);
	return status;
}

/* ---- the output ---- */

/* Whether output is UTF-8: on a terminal if the locale says so, elsewhere unless the locale names another charset. The
 * locales C and POSIX, which cron and containers have, name none. */
static bool check_writes_utf_8(bool terminal)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	const char *charset = locale ? nl_langinfo_l(CODESET, locale) : "";
	bool utf_8 = !strcmp(charset, "UTF-8") || (!terminal && (!*charset || !strcmp(charset, "ANSI_X3.4-1968")));

	if (locale)
		freelocale(locale);
	return utf_8;
}

/* NO_COLOR counts if it is not empty (https://no-color.org). */
static struct check_style check_style_of(int fd)
{
	const char *no_colour = getenv("NO_COLOR"), *name = getenv("TERM");
	bool plain = (no_colour && *no_colour) || !name || !strcmp(name, "dumb"), terminal = isatty(fd);

	return (struct check_style){ terminal && !plain, check_writes_utf_8(terminal) };
}

static int check_open(struct check_command *command)
{
	command->out = command->path ? fopen(command->path, "we") : stdout;
	if (!command->out) {
		fprintf(stderr, "utfeed: %s: %s\n", command->path, strerror(errno));
		return CMD_USAGE;
	}
	command->style = check_style_of(STDOUT_FILENO);
	if (command->output == CHECK_HTML)
		check_html_begin(command->out);
	return CMD_OK;
}

static int check_close(struct check_command *command, int status)
{
	if (command->output == CHECK_HTML)
		check_html_end(command->out);
	bool failed = fflush(command->out) != 0 || ferror(command->out);
	if (command->path && fclose(command->out) != 0)
		failed = true;
	if (!failed)
		return status;
	fprintf(stderr, "utfeed: %s: %s\n", command->path ? command->path : "standard output", strerror(errno));
	return CMD_USAGE;
}

/* ---- the command line ---- */

enum { OPT_JSON = 256, OPT_HTML, OPT_EXPLAIN, OPT_BASE, OPT_GATEWAY, OPT_LANGUAGE, OPT_HELP };

static const struct option check_options[] = {
	{ "json", no_argument, NULL, OPT_JSON },
	{ "html", optional_argument, NULL, OPT_HTML },
	{ "explain", no_argument, NULL, OPT_EXPLAIN },
	{ "content-type", required_argument, NULL, 't' },
	{ "content-language", required_argument, NULL, OPT_LANGUAGE },
	{ "base", required_argument, NULL, OPT_BASE },
	{ "gateway", required_argument, NULL, OPT_GATEWAY },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* Takes one option. -1: go on; else the exit status. */
static int check_option(struct check_command *command, int opt)
{
	switch (opt) {
	case OPT_JSON:
		command->output = CHECK_JSON;
		return -1;
	case OPT_HTML:
		command->output = CHECK_HTML;
		command->path = optarg && strcmp(optarg, "-") ? optarg : NULL;
		return -1;
	case OPT_EXPLAIN:
		command->options.explain = true;
		return -1;
	case 't':
		return cmd_content_type(&command->options.normalise, optarg, usage) == CMD_OK ? -1 : CMD_USAGE;
	case OPT_LANGUAGE:
		cmd_content_language(&command->options.normalise, optarg);
		return -1;
	case OPT_BASE:
		cmd_base(&command->options.normalise, optarg);
		return -1;
	case OPT_GATEWAY:
		return cmd_gateway(&command->options.normalise, optarg, usage) == CMD_OK ? -1 : CMD_USAGE;
	case OPT_HELP:
		printf("usage: %s\n", usage);
		return CMD_OK;
	default:
		return cmd_usage(usage, NULL, NULL);
	}
}

int cmd_check(int argc, char **argv)
{
	struct check_command command = { .options.normalise = { .policy = POLICY_AUTO, .repairs = REPAIR_ALL } };
	int opt, status, worst = CMD_OK;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "t:", check_options, NULL)) != -1)
		if ((status = check_option(&command, opt)) >= 0)
			return status;
	if (optind == argc)
		return cmd_usage(usage, "nothing to check; write a file or a URL", NULL);
	if (command.output != CHECK_HTML)
		command.path = NULL;
	if (check_open(&command) != CMD_OK)
		return CMD_USAGE;
	for (int i = optind; i < argc; i++) {
		status = check_one(&command, argv[i]);
		if (status > worst)
			worst = status;
	}
	return check_close(&command, worst);
}
