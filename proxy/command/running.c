/* Asking a running utfeed to reload; see running.h. */
#include "proxy/command/running.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/command/admin_ask.h"
#include "proxy/command/cmd.h"
#include "proxy/server/takeover.h"

/* The answer comes once every worker has the new configuration. */
enum { RUNNING_ANSWER_S = 60 };

static int running_complain(const char *whom, const char *why)
{
	cmd_tell(stderr, why, "utfeed: %s: ", whom);
	return -1;
}

/* An answer with another status has a sentence that says why. */
static int running_take(const char *whom, int status, char *body, FILE *lines)
{
	char why[300];

	if (status == 200 || status == 422) {
		fputs(body, lines);
		return 0;
	}
	if (status == 404)
		return running_complain(whom, CMD_NO_ADMIN);
	body[strcspn(body, "\r\n")] = '\0';
	snprintf(why, sizeof why, "the admin listener answers %d: %.200s", status, body);
	return running_complain(whom, why);
}

static int running_ask_admin(const struct conf *conf, struct admin_target *target, const char *whom, bool trial,
    FILE *lines)
{
	char *answer = NULL, why[160];
	int status;

	snprintf(target->path, sizeof target->path, "/api/reload?as=lines%s", trial ? "&trial=1" : "");
	target->token = conf->admin_token;
	target->post = true;
	target->patience_s = RUNNING_ANSWER_S;
	if ((status = admin_ask(target, &answer)) < 0) {
		snprintf(why, sizeof why, "%s; write the admin-listen of a running utfeed", strerror(errno));
		status = running_complain(whom, why);
	} else {
		status = running_take(whom, status, admin_body(answer), lines);
	}
	free(answer);
	return status;
}

static int running_ask_takeover(const char *path, bool trial, FILE *lines)
{
	char why[TAKEOVER_WHY_MAX];

	return takeover_ask_reload(path, trial, lines, why) ? running_complain(path, why) : 0;
}

static int running_ask_by_conf(const struct conf *conf, bool trial, FILE *lines)
{
	struct admin_target t = { .port = 0 };

	if (*conf->takeover_socket)
		return running_ask_takeover(conf->takeover_socket, trial, lines);
	if (!conf->admin_listen.count)
		return running_complain("reload",
		    "the configuration has neither takeover-socket nor admin-listen; one of them is needed to ask the "
		    "running utfeed, or RUNNING: " RUNNING_FORMS);
	if (*conf->admin_tls_cert)
		return running_complain("reload",
		    "the admin listener speaks TLS, and this command does not; it asks by takeover-socket too");
	admin_target_of_listener(&t, &conf->admin_listen.items[0], "");
	return running_ask_admin(conf, &t, "admin-listen", trial, lines);
}

static int running_ask(const struct conf *conf, const char *running, bool trial, FILE *lines)
{
	struct admin_target t = { .port = 0 };

	if (*running == '/')
		return running_ask_takeover(running, trial, lines);
	if (admin_target_of_text(&t, running, ""))
		return running_complain(running, "does not name a running utfeed; write " RUNNING_FORMS);
	return running_ask_admin(conf, &t, running, trial, lines);
}

/* Prints the messages behind the first line, which has the result and the file. */
static enum reload_result running_tell(char *lines, char *file)
{
	char *line = strsep(&lines, "\n"), *blank = line ? strchr(line, ' ') : NULL;
	enum reload_result result = blank ? reload_result_find(line, (size_t)(blank - line)) : RELOAD_RESULTS;

	if (result == RELOAD_RESULTS) {
		running_complain("reload", "the answer is not that of a reload");
		return result;
	}
	snprintf(file, PATH_MAX, "%s", blank + 1);
	while ((line = strsep(&lines, "\n")))
		if (*line)
			cmd_tell(stderr, line, "utfeed: ");
	return result;
}

enum reload_result running_reload(const struct conf *conf, const char *running, bool trial, char *file)
{
	enum reload_result result = RELOAD_RESULTS;
	char *text = NULL;
	size_t len;
	FILE *lines = open_memstream(&text, &len);

	if (!lines) {
		running_complain("reload", strerror(errno));
		return result;
	}
	int status = running ? running_ask(conf, running, trial, lines) : running_ask_by_conf(conf, trial, lines);
	if (!fclose(lines) && !status)
		result = running_tell(text, file);
	free(text);
	return result;
}
