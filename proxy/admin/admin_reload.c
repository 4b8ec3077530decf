/* Reloads that are asked for at the admin listener, and what became of the last one; see admin_internal.h. */
#include <stdlib.h>
#include <string.h>

#include "proxy/admin/admin_internal.h"
#include "proxy/admin/form.h"
#include "proxy/base/container_of.h"
#include "proxy/base/json.h"
#include "proxy/base/log.h"
#include "proxy/settings/reload_report.h"

/* An exchange that waits for the report of a reload that began after it asked. */
struct reload_wait {
	LIST_ENTRY(reload_wait) link;
	struct admin_exchange *x;
	unsigned after;                /* the number of the last reload that had begun */
	bool trial, lines;             /* lines: the answer is text, not JSON */
};

static void reload_answer(struct admin_exchange *x, const struct reload_report *reload, bool lines)
{
	struct json j = { x->out, false };

	x->status = reload->result == RELOAD_REFUSED ? 422 : 200;
	if (lines) {
		x->type = "text/plain; charset=utf-8";
		reload_report_lines(reload, x->out);
		return;
	}
	x->type = "application/json";
	reload_report_json(&j, NULL, reload);
	putc('\n', x->out);
}

/* trial=1: nothing is changed. as=lines: the answer is for people and for `utfeed reload`. */
void admin_api_reload(struct admin_exchange *x)
{
	struct reload_wait *wait = calloc(1, sizeof *wait);
	char word[8];

	if (!wait) {
		admin_api_error(x, 500, "utfeed ran out of memory.");
		return;
	}
	wait->x = x;
	wait->trial = form_get(x->query, x->body, "trial", word, sizeof word) == FORM_FOUND && !strcmp(word, "1");
	wait->lines = form_get(x->query, x->body, "as", word, sizeof word) == FORM_FOUND && !strcmp(word, "lines");
	wait->after = atomic_load(x->admin->parts.reloads);
	x->reload = wait;
	LIST_INSERT_HEAD(&x->admin->waits, wait, link);
	log_info("admin: asked %s", wait->trial ? "what a reload would come to" : "for a reload");
	x->admin->parts.reload(x->admin->parts.arg, wait->trial);
}

void admin_reload_forget(struct reload_wait *wait)
{
	LIST_REMOVE(wait, link);
	free(wait);
}

void admin_report(struct admin *admin, struct reload_report *reload)
{
	struct reload_report *missed = atomic_exchange(&admin->told[reload->trial], reload_report_ref(reload));

	reload_report_unref(&missed);
	loop_wake(admin->loop, &admin->reported);
}

/* To answer ends an exchange, and with it its wait. */
static void reload_tell(struct admin *admin, const struct reload_report *reload)
{
	struct reload_wait *next;

	for (struct reload_wait *wait = LIST_FIRST(&admin->waits); wait; wait = next) {
		struct admin_exchange *x = wait->x;

		next = LIST_NEXT(wait, link);
		if (wait->trial != reload->trial || reload->number <= wait->after)
			continue;
		reload_answer(x, reload, wait->lines);
		x->reload = NULL;
		admin_reload_forget(wait);
		admin_conn_answer_later(x);
	}
}

void admin_on_report(struct task *task)
{
	struct admin *admin = container_of(task, struct admin, reported);

	for (size_t trial = 0; trial < 2; trial++) {
		struct reload_report *reload = atomic_exchange(&admin->told[trial], NULL);

		if (!reload)
			continue;
		if (!reload->trial) {
			reload_report_unref(&admin->report);
			admin->report = reload_report_ref(reload);
		}
		reload_tell(admin, reload);
		reload_report_unref(&reload);
	}
}

void admin_reload_end(struct admin *admin)
{
	for (size_t trial = 0; trial < 2; trial++) {
		struct reload_report *reload = atomic_exchange(&admin->told[trial], NULL);

		reload_report_unref(&reload);
	}
	reload_report_unref(&admin->report);
}
