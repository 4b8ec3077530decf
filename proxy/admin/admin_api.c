/* The interface of the admin listener for programs, /api; see admin_internal.h. Every answer is one JSON object. */
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/admin/admin_internal.h"
#include "proxy/admin/feeds_page.h"
#include "proxy/admin/form.h"
#include "proxy/base/json.h"
#include "proxy/base/log.h"
#include "proxy/settings/reload_report.h"
#include "proxy/settings/settings.h"

struct json api_json_begin(struct admin_exchange *x)
{
	struct json j = { x->out, false };

	x->type = "application/json";
	json_open(&j, NULL);
	return j;
}

void api_json_end(struct json *j)
{
	json_close(j);
	putc('\n', j->out);
}

void admin_api_error(struct admin_exchange *x, int status, const char *sentence)
{
	struct json j = api_json_begin(x);

	x->status = status;
	json_string(&j, "error", sentence);
	api_json_end(&j);
}

void admin_api_drain(struct admin_exchange *x)
{
	struct json j = api_json_begin(x);

	x->status = 202;
	json_bool(&j, "draining", true);
	api_json_end(&j);
	log_info("admin: asked to end");
	x->admin->parts.drain(x->admin->parts.arg);
}

static const char *const admin_levels[] = { [LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug" };
enum { ADMIN_LEVELS = sizeof admin_levels / sizeof *admin_levels };

/* Tells the log level, and changes it first where level=WORD is given. It holds until the next reload. */
void admin_api_log_level(struct admin_exchange *x)
{
	char word[16];
	enum form_result r = form_get(x->query, x->body, "level", word, sizeof word);
	size_t level = ADMIN_LEVELS;

	if (!admin_reads(x)) {
		for (size_t i = 0; r == FORM_FOUND && i < ADMIN_LEVELS; i++)
			if (!strcmp(admin_levels[i], word))
				level = i;
		if (level == ADMIN_LEVELS) {
			admin_api_error(x, 400, "level is error, warn, info or debug.");
			return;
		}
		log_set_level((enum log_level)level);
	}
	struct json j = api_json_begin(x);

	json_string(&j, "level", admin_levels[atomic_load(&log_threshold)]);
	api_json_end(&j);
}

void admin_api_feeds(struct admin_exchange *x)
{
	struct feeds_asked asked;
	const char *wrong = feeds_asked_read(&asked, x->query, x->admin->parts.feeds,
	    feeds_now(x->admin->loop, x->admin->parts.backoff));

	x->type = "application/json";
	if (wrong)
		admin_api_error(x, 400, wrong);
	else if (feeds_write_json(x->out, x->admin->parts.feeds, &asked))
		admin_api_error(x, 500, "utfeed ran out of memory.");
}

/* The lines of --print-config as one text. Out of memory: it is empty. */
void admin_api_config(struct admin_exchange *x)
{
	const struct settings *settings = x->admin->settings;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f) {
		conf_dump(f, settings->conf);
		fclose(f);
	}
	struct json j = api_json_begin(x);

	json_number(&j, "generation", settings->generation);
	json_string(&j, "file", settings->conf->file);
	json_string(&j, "text", text ? text : "");
	reload_report_json(&j, "last_reload", x->admin->report);
	api_json_end(&j);
	free(text);
}
