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
static int reload_load(const struct server *s, struct conf *conf, struct reload_report *report)
{
	struct conf_error error;
	int status = conf_load(conf, s->argc, s->argv, environ, &error);

	conf_tell(conf, reload_log_note);
	sandbox_tell(&s->sandbox, conf);
	if (status)
		return -1;
	if (conf_hold(conf, s->first->conf, reload_on_held, report, &error) >= 0)
		return 0;
	log_error("%s (with the former values of what needs a restart)", error.text);
	return -1;
}

/* NULL: it cannot be used, logged. */
static struct settings *reload_read(const struct server *s, struct reload_report *report)
{
	struct conf *conf = conf_new();
	struct settings *fresh = NULL;
	char *file = NULL;

	if (!conf)
		log_error("out of memory");
	else if (!reload_load(s, conf, report) && !sockets_check(&s->sockets, conf))
		fresh = settings_new(conf, s->settings->generation + 1, s->settings);
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
static void reload_put_in_force(struct server *s, struct settings *fresh)
{
	log_set_level((enum log_level)fresh->conf->log_level);
	server_say_parents(fresh->conf);
	stores_renew(s->redis, fresh->conf);
	atomic_store(&fresh->awaited, (unsigned)s->running + (s->admin != NULL));
	for (size_t i = 0; i < s->running; i++)
		worker_renew(s->workers[i], fresh);
	if (s->admin)
		admin_renew(s->admin, fresh);
	settings_unref(&s->settings);
	s->settings = fresh;
}

/* Takes over the report, and tells it to whoever waits for it. */
static void reload_publish(struct server *s, struct reload_report *report)
{
	char text[RELOAD_SENTENCE_MAX], status[RELOAD_SENTENCE_MAX + 32];

	reload_report_sentence(report, text, sizeof text);
	if (s->takeover)
		takeover_report(s->takeover, report);
	if (s->admin)
		admin_report(s->admin, report);
	if (report->result == RELOAD_PARTLY)
		log_warn("reload: %s", text);
	if (!report->trial) {
		snprintf(status, sizeof status, "%s%s", report->result == RELOAD_REFUSED ? "" : "ready; ", text);
		notify_ready(&s->notify, status);
		reload_report_unref(&s->report);
		s->report = reload_report_ref(report);
	}
	reload_report_unref(&report);
}

/* A newer reload counts for everybody; what became of the one before is known. */
static void reload_publish_due(struct server *s)
{
	struct reload_report *due = s->due;

	s->due = NULL;
	if (!due)
		return;
	server_outdate_feeds(s, (struct slice){ "", 0 }, true);      /* what is stored may be another route's now */
	reload_publish(s, due);
}

static void reload_try(struct server *s, struct reload_report *report)
{
	struct settings *fresh = reload_read(s, report);

	settings_unref(&fresh);
	log_lend_ear(NULL);
	log_info("reload: tried on request, and nothing was changed");
	reload_publish(s, report);
}

static void reload_do(struct server *s, struct reload_report *report)
{
	struct settings *fresh;

	notify_reloading(&s->notify);
	server_reopen_logs(s);
	fresh = reload_read(s, report);
	log_lend_ear(NULL);
	if (!fresh) {
		log_error("reload: the former configuration stays in force");
		reload_publish(s, report);
		return;
	}
	s->due = report;
	reload_put_in_force(s, fresh);
}

void server_reload(struct server *s, bool trial)
{
	unsigned number = atomic_fetch_add(&s->reloads, 1) + 1;
	struct reload_report *report = reload_report_new(number, trial, server_wall_ms());
	struct reload_ear hearing = { { reload_hear }, report };

	if (!report) {
		log_error("reload: out of memory");
		return;
	}
	if (!trial)
		reload_publish_due(s);
	report->good_at_ms = s->report->good_at_ms;
	log_lend_ear(&hearing.ear);
	if (trial)
		reload_try(s, report);
	else
		reload_do(s, report);
}

void server_end_reload(struct server *s)
{
	if (s->due && !atomic_load(&s->settings->awaited))
		reload_publish_due(s);
}
