/* What operators order of stored responses and of pauses, by the interface and by pages; see admin_internal.h. */
#include <string.h>

#include "conf/conf.h"
#include "proxy/admin/admin_internal.h"
#include "proxy/admin/form.h"
#include "proxy/base/json.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/purge.h"
#include "proxy/http/destination.h"
#include "proxy/origin/backoff.h"
#include "proxy/settings/settings.h"

/* ---- purging ---- */

static void admin_on_purged(struct purge_wait *wait)
{
	struct admin_exchange *x = wait->owner;
	const struct purge_told told = { .status = wait->owed ? 202 : 200,
		.n = wait->count,
		.soft = wait->purge.soft,
		.counting = wait->counting || wait->count < 0,
		.owed = wait->owed,
		.others = wait->others,
		.unaware = wait->unaware };

	purge_wait_free(&x->waits);
	x->purge_told(x, &told);
	admin_conn_answer_later(x);
}

static void purge_fail(struct admin_exchange *x, int status, const char *why)
{
	x->purge_told(x, &(struct purge_told){ .status = status, .why = why });
}

struct admin_fault admin_url_fault(const char *name, const char *why)
{
	struct admin_fault fault;

	snprintf(fault.text, sizeof fault.text, "%s: %s; write %s=https://HOST%s", name, why, name,
	    strcmp(name, "host") ? "/PATH" : ", with :PORT if the feed's URL has it");
	return fault;
}

static const char *found_why(enum form_result found)
{
	return found == FORM_ABSENT ? "it is missing" : "it is too long";
}

static void admin_purge(struct admin_exchange *x, const struct purge *purge, const struct destination *to)
{
	struct admin *admin = x->admin;
	struct purge_begun begun;

	if (cache_is_retired(admin->parts.cache)) {
		purge_fail(x, 503, "Another process serves now. Ask again.");
		return;
	}
	if (purge_run(purge, admin->parts.cache, admin->parts.backoff, to, loop_wall_ms(admin->loop) / 1000,
	        loop_now_ms(admin->loop), &begun) ||
	    purge_wait_new(&x->waits, &admin->sweeper, &begun, admin->settings->conf->purge_wait_ms)) {
		purge_fail(x, 500, "utfeed ran out of memory.");
		return;
	}
	stats_add(loop_stats(admin->loop), STAT_CACHE_PURGES, 1);
	if (!x->waits) {
		x->purge_told(x, &(struct purge_told){ .status = 200, .n = begun.count, .soft = purge->soft,
		    .counting = begun.count < 0 });
		return;
	}
	x->waits->done = admin_on_purged;
	x->waits->owner = x;
	x->waits->purge = *purge;
}

void admin_purge_url(struct admin_exchange *x, const struct purge *purge, const char *url, purge_told_f *tell)
{
	struct destination to = { .path = NULL };
	const char *why = "";

	x->purge_told = tell;
	switch (destination_from_url(&to, (struct slice){ url, strlen(url) }, &why)) {
	case DESTINATION_OK:
		admin_purge(x, purge, &to);
		break;
	case DESTINATION_BAD_URL:
		purge_fail(x, 400, admin_url_fault("url", why).text);
		break;
	case DESTINATION_NO_MEMORY:
		purge_fail(x, 500, "utfeed ran out of memory.");
	}
	destination_free(&to);
}

static void purge_api_told(struct admin_exchange *x, const struct purge_told *told)
{
	if (told->why) {
		admin_api_error(x, told->status, told->why);
		return;
	}
	struct json j = api_json_begin(x);

	x->status = told->status;
	json_number(&j, told->soft ? "marked_stale" : "purged", told->n < 0 ? 0 : (uint64_t)told->n);
	if (told->counting)
		json_bool(&j, "counting", true);
	json_bool(&j, "confirmed", !told->owed);
	if (told->owed && told->others) {
		json_number(&j, "instances", told->others + 1);
		json_number(&j, "confirmed_by", told->others - told->unaware + 1);
	}
	api_json_end(&j);
}

/* url=URL names what is purged, what=WORDS how, in the words of X-Purge. */
void admin_api_purge(struct admin_exchange *x)
{
	char url[8192], what[64];
	struct purge purge;

	if (form_get(x->query, x->body, "what", what, sizeof what) == FORM_TOO_LONG ||
	    !purge_read(&purge, (struct slice){ what, strlen(what) })) {
		admin_api_error(x, 400, "what is url, prefix, host or all, and may have \", soft\" behind it.");
		return;
	}
	if (purge.what == PURGE_ALL) {
		x->purge_told = purge_api_told;
		admin_purge(x, &purge, NULL);
		return;
	}
	enum form_result found = form_get(x->query, x->body, "url", url, sizeof url);

	if (found == FORM_FOUND)
		admin_purge_url(x, &purge, url, purge_api_told);
	else
		admin_api_error(x, 400, admin_url_fault("url", found_why(found)).text);
}

/* ---- ending pauses ---- */

const char *admin_resume_url(struct admin_exchange *x, const char *name, const char *value, size_t *ended)
{
	static const struct {
		const char *name;
		enum backoff_scope scope;
	} scopes[] = { { "url", BACKOFF_URL }, { "host", BACKOFF_HOST }, { "all", BACKOFF_ALL } };
	struct destination to = { .path = NULL };
	struct text url = { 0 };
	const char *why = "utfeed has no memory for it";
	size_t i = 0;

	while (i < 3 && strcmp(scopes[i].name, name))
		i++;
	if (i == 3)
		return "Name what to resume: url=URL, host=URL or all=1.";
	if (scopes[i].scope != BACKOFF_ALL &&
	    destination_from_url(&to, (struct slice){ value, strlen(value) }, &why) != DESTINATION_OK)
		return why;
	if (to.path)
		destination_url(&url, &to);
	*ended = url.failed ? 0 : backoff_resume(x->admin->parts.backoff, scopes[i].scope,
	    (struct slice){ url.bytes, url.len }, loop_now_ms(x->admin->loop));
	why = url.failed ? "utfeed ran out of memory." : NULL;
	text_free(&url);
	destination_free(&to);
	return why;
}

bool admin_resume(struct admin_exchange *x, size_t *ended, struct admin_fault *fault)
{
	static const char *const names[] = { "url", "host", "all", "" };
	char value[8192];
	enum form_result found = FORM_ABSENT;
	size_t i = 0;

	while (*names[i] && (found = form_get(x->query, x->body, names[i], value, sizeof value)) == FORM_ABSENT)
		i++;
	const char *why = found == FORM_TOO_LONG ? found_why(found) : admin_resume_url(x, names[i], value, ended);

	if (why && i < 2)
		*fault = admin_url_fault(names[i], why);
	else if (why)
		snprintf(fault->text, sizeof fault->text, "%s", why);
	return !why;
}

void admin_api_resume(struct admin_exchange *x)
{
	struct admin_fault fault;
	size_t ended;

	if (!admin_resume(x, &ended, &fault)) {
		admin_api_error(x, 400, fault.text);
		return;
	}
	struct json j = api_json_begin(x);

	json_number(&j, "resumed", ended);
	api_json_end(&j);
}
