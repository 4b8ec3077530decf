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

static void reload_answer(struct admin_exchange *x, const struct reload_report *r, bool lines)
{
	struct json j = { x->out, false };

	x->status = r->result == RELOAD_REFUSED ? 422 : 200;
	if (lines) {
		x->type = "text/plain; charset=utf-8";
		reload_report_lines(r, x->out);
		return;
	}
	x->type = "application/json";
	reload_report_json(&j, NULL, r);
	putc('\n', x->out);
}

/* trial=1: nothing is changed. as=lines: the answer is for people and for `utfeed reload`. */
void admin_api_reload(struct admin_exchange *x)
{
	struct reload_wait *w = calloc(1, sizeof *w);
	char word[8];

	if (!w) {
		admin_api_error(x, 500, "utfeed ran out of memory.");
		return;
	}
	w->x = x;
	w->trial = form_get(x->query, x->body, "trial", word, sizeof word) == FORM_FOUND && strcmp(word, "1") == 0;
	w->lines = form_get(x->query, x->body, "as", word, sizeof word) == FORM_FOUND && strcmp(word, "lines") == 0;
	w->after = atomic_load(x->admin->parts.reloads);
	x->reload = w;
	LIST_INSERT_HEAD(&x->admin->waits, w, link);
	log_info("admin: asked %s", w->trial ? "what a reload would come to" : "for a reload");
	x->admin->parts.reload(x->admin->parts.arg, w->trial);
}

void admin_reload_forget(struct reload_wait *w)
{
	LIST_REMOVE(w, link);
	free(w);
}

void admin_report(struct admin *a, struct reload_report *r)
{
	struct reload_report *missed = atomic_exchange(&a->told[r->trial], reload_report_ref(r));

	reload_report_unref(&missed);
	loop_wake(a->loop, &a->reported);
}

/* To answer ends an exchange, and with it its wait. */
static void reload_tell(struct admin *a, const struct reload_report *r)
{
	struct reload_wait *next;

	for (struct reload_wait *w = LIST_FIRST(&a->waits); w; w = next) {
		struct admin_exchange *x = w->x;

		next = LIST_NEXT(w, link);
		if (w->trial != r->trial || r->number <= w->after)
			continue;
		reload_answer(x, r, w->lines);
		x->reload = NULL;
		admin_reload_forget(w);
		admin_conn_answer_later(x);
	}
}

void admin_on_report(struct task *t)
{
	struct admin *a = container_of(t, struct admin, reported);

	for (size_t trial = 0; trial < 2; trial++) {
		struct reload_report *r = atomic_exchange(&a->told[trial], NULL);

		if (!r)
			continue;
		if (!r->trial) {
			reload_report_unref(&a->report);
			a->report = reload_report_ref(r);
		}
		reload_tell(a, r);
		reload_report_unref(&r);
	}
}

void admin_reload_end(struct admin *a)
{
	for (size_t trial = 0; trial < 2; trial++) {
		struct reload_report *r = atomic_exchange(&a->told[trial], NULL);

		reload_report_unref(&r);
	}
	reload_report_unref(&a->report);
}
