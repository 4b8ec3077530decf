/* Reading the configuration again; see server_internal.h. */
#include "proxy/server/server_internal.h"

#include <stdlib.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/admin/admin.h"
#include "proxy/base/container_of.h"
#include "proxy/base/log.h"
#include "proxy/server/stores.h"
#include "proxy/server/worker.h"
#include "proxy/settings/reload_report.h"
#include "proxy/settings/settings.h"

enum { RELOAD_SENTENCE_MAX = 400 };

/* Each error and warning that is logged while the configuration is read goes into the report. */
struct reload_ear {
	struct log_ear ear;
	struct reload_report *report;
};

static void reload_hear(struct log_ear *ear, enum log_level level, const char *text)
{
	if (level <= LOG_LEVEL_WARN)
		reload_report_say(container_of(ear, struct reload_ear, ear)->report, level, text);
}

static void reload_log_note(enum conf_note_level level, const char *text)
{
	log_line(level == CONF_NOTE_ERROR ? LOG_LEVEL_ERROR : LOG_LEVEL_WARN, "%s", text);
}

static void reload_on_held(void *report, const char *place, const char *sentence)
{
	reload_report_wait(report, place);
	log_warn("%s: %s", place, sentence);
}

/* The configuration as it is written now, for conf, which is new, with the running values of what needs a restart. -1:
 * it cannot be used, logged. */
static int reload_load(const struct server *server, struct conf *conf, struct reload_report *report)
{
	struct conf_error error;
	int status = conf_load(conf, server->argc, server->argv, environ, &error);

	conf_tell(conf, reload_log_note);
	sandbox_tell(&server->sandbox, conf);
	if (status)
		return -1;
	if (conf_hold(conf, server->first->conf, reload_on_held, report, &error) >= 0)
		return 0;
	log_error("%s (with the former values of what needs a restart)", error.text);
	return -1;
}

/* NULL: it cannot be used, logged. */
static struct settings *reload_read(const struct server *server, struct reload_report *report)
{
	struct conf *conf = conf_new();
	struct settings *fresh = NULL;
	char *file = NULL;

	if (!conf)
		log_error("out of memory");
	else if (!reload_load(server, conf, report) && !sockets_check(&server->sockets, conf))
		fresh = settings_new(conf, server->settings->generation + 1, server->settings);
	if (conf && conf->file)
		file = realpath(conf->file, NULL);
	reload_report_end(report,
	    !fresh                                ? RELOAD_REFUSED
	    : report->n_waiting || fresh->kept ? RELOAD_PARTLY
	    : RELOAD_TAKEN,
	    file);
	if (!fresh)
		conf_free(&conf);
	return fresh;
}

/* From now on everybody works under the new settings, one after another. */
static void reload_put_in_force(struct server *server, struct settings *fresh)
{
	log_set_level((enum log_level)fresh->conf->log_level);
	server_say_parents(fresh->conf);
	stores_renew(server->redis, fresh->conf);
	atomic_store(&fresh->awaited, (unsigned)server->running + (server->admin != NULL));
	for (size_t i = 0; i < server->running; i++)
		worker_renew(server->workers[i], fresh);
	if (server->admin)
		admin_renew(server->admin, fresh);
	settings_unref(&server->settings);
	server->settings = fresh;
}

/* Takes over the report, and tells it to whoever waits for it. */
static void reload_publish(struct server *server, struct reload_report *report)
{
	char text[RELOAD_SENTENCE_MAX], status[RELOAD_SENTENCE_MAX + 32];

	reload_report_sentence(report, text, sizeof text);
	if (server->takeover)
		takeover_report(server->takeover, report);
	if (server->admin)
		admin_report(server->admin, report);
	if (report->result == RELOAD_PARTLY)
		log_warn("reload: %s", text);
	if (!report->trial) {
		snprintf(status, sizeof status, "%s%s", report->result == RELOAD_REFUSED ? "" : "ready; ", text);
		notify_ready(&server->notify, status);
		reload_report_unref(&server->report);
		server->report = reload_report_ref(report);
	}
	reload_report_unref(&report);
}

/* A newer reload counts for everybody; what became of the one before is known. */
static void reload_publish_due(struct server *server)
{
	struct reload_report *due = server->due;

	server->due = NULL;
	if (!due)
		return;
	server_outdate_feeds(server, (struct slice){ "", 0 }, true); /* what is stored may be another route's now */
	reload_publish(server, due);
}

static void reload_try(struct server *server, struct reload_report *report)
{
	struct settings *fresh = reload_read(server, report);

	settings_unref(&fresh);
	log_lend_ear(NULL);
	log_info("reload: tried on request, and nothing was changed");
	reload_publish(server, report);
}

static void reload_do(struct server *server, struct reload_report *report)
{
	notify_reloading(&server->notify);
	server_reopen_logs(server);
	struct settings *fresh = reload_read(server, report);
	log_lend_ear(NULL);
	if (!fresh) {
		log_error("reload: the former configuration stays in force");
		reload_publish(server, report);
		return;
	}
	server->due = report;
	reload_put_in_force(server, fresh);
}

void server_reload(struct server *server, bool trial)
{
	unsigned number = atomic_fetch_add(&server->reloads, 1) + 1;
	struct reload_report *report = reload_report_new(number, trial, server_wall_ms());
	struct reload_ear hearing = { { reload_hear }, report };

	if (!report) {
		log_error("reload: out of memory");
		return;
	}
	if (!trial)
		reload_publish_due(server);
	report->good_at_ms = server->report->good_at_ms;
	log_lend_ear(&hearing.ear);
	if (trial)
		reload_try(server, report);
	else
		reload_do(server, report);
}

void server_end_reload(struct server *server)
{
	if (server->due && !atomic_load(&server->settings->awaited))
		reload_publish_due(server);
}
