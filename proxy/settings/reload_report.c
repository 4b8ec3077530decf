/* What became of a reload; see reload_report.h. */
#include "proxy/settings/reload_report.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/base/json.h"
#include "proxy/base/stats.h"

static const struct {
	const char *word, *done, *tried;
} results[RELOAD_RESULTS] = {
	[RELOAD_TAKEN] = { "taken", "the configuration was read again", "a reload takes all of it" },
	[RELOAD_PARTLY] = { "partly", "the configuration was read again, but in part",
		"a reload takes a part of it" },
	[RELOAD_REFUSED] = { "refused", "reload refused: the former configuration stays in force",
		"a reload is refused" },
};

static const char *const levels[] = { [LOG_LEVEL_ERROR] = "error", [LOG_LEVEL_WARN] = "warning",
	[LOG_LEVEL_INFO] = "info", [LOG_LEVEL_DEBUG] = "debug" };

struct reload_report *reload_report_new(unsigned number, bool trial, int64_t at_ms)
{
	struct reload_report *reload = calloc(1, sizeof *reload);

	if (!reload)
		return NULL;
	atomic_init(&reload->refs, 1);
	reload->number = number;
	reload->trial = trial;
	reload->at_ms = reload->good_at_ms = at_ms;
	return reload;
}

struct reload_report *reload_report_ref(struct reload_report *reload)
{
	atomic_fetch_add_explicit(&reload->refs, 1, memory_order_relaxed);
	return reload;
}

void reload_report_unref(struct reload_report **rp)
{
	struct reload_report *reload = *rp;

	*rp = NULL;
	if (!reload || atomic_fetch_sub_explicit(&reload->refs, 1, memory_order_acq_rel) > 1)
		return;
	while (reload->n_texts)
		free(reload->texts[--reload->n_texts].text);
	while (reload->n_waiting)
		free(reload->waiting[--reload->n_waiting]);
	free(reload->file);
	free(reload);
}

/* Makes it one line, because the name of a file may contain control characters. Returns it; NULL stays. */
static char *report_line(char *text)
{
	for (char *at = text; at && *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = ' ';
	return text;
}

void reload_report_say(struct reload_report *reload, enum log_level level, const char *text)
{
	char *copy = reload->n_texts < RELOAD_TEXTS_MAX ? report_line(strdup(text)) : NULL;

	if (copy)
		reload->texts[reload->n_texts++] = (struct reload_text){ level, copy };
	else
		reload->left_out++;
}

void reload_report_wait(struct reload_report *reload, const char *place)
{
	char *copy = reload->n_waiting < RELOAD_TEXTS_MAX ? report_line(strdup(place)) : NULL;

	if (copy)
		reload->waiting[reload->n_waiting++] = copy;
}

void reload_report_end(struct reload_report *reload, enum reload_result result, char *file)
{
	reload->result = result;
	reload->file = report_line(file);
	if (result == RELOAD_TAKEN)
		reload->good_at_ms = reload->at_ms;
}

const char *reload_result_word(enum reload_result result)
{
	return results[result].word;
}

enum reload_result reload_result_find(const char *word, size_t len)
{
	enum reload_result result = 0;

	while (result < RELOAD_RESULTS &&
	    (strlen(results[result].word) != len || memcmp(results[result].word, word, len) != 0))
		result++;
	return result;
}

const char *reload_level_word(enum log_level level)
{
	return levels[level];
}

/* The first error is the reason of a refusal. */
static const char *report_reason(const struct reload_report *reload)
{
	for (size_t i = 0; i < reload->n_texts; i++)
		if (reload->result == RELOAD_REFUSED && reload->texts[i].level == LOG_LEVEL_ERROR)
			return reload->texts[i].text;
	return NULL;
}

void reload_report_sentence(const struct reload_report *reload, char *text, size_t cap)
{
	const char *reason = report_reason(reload);
	int n = snprintf(text, cap, "%s", reload->trial ? results[reload->result].tried : results[reload->result].done);

	if (reason && n < (int)cap)
		n += snprintf(text + n, cap - (size_t)n, ": %s", reason);
	if (reload->n_waiting && n < (int)cap)
		snprintf(text + n, cap - (size_t)n, "; %zu of the changed options need a restart", reload->n_waiting);
}

void reload_report_lines(const struct reload_report *reload, FILE *f)
{
	fprintf(f, "%s %s\n", results[reload->result].word, reload->file ? reload->file : "");
	for (size_t i = 0; i < reload->n_texts; i++)
		fprintf(f, "%s: %s\n", levels[reload->texts[i].level], reload->texts[i].text);
	if (reload->left_out)
		fprintf(f, "%s: %zu more messages, not kept\n", levels[LOG_LEVEL_WARN], reload->left_out);
}

void reload_report_json(struct json *j, const char *key, const struct reload_report *reload)
{
	if (!reload->number) {
		json_null(j, key);
		return;
	}
	json_open(j, key);
	json_number(j, "number", reload->number);
	json_number(j, "at", (uint64_t)(reload->at_ms / 1000));
	json_string(j, "result", results[reload->result].word);
	json_string(j, "file", reload->file);
	json_open_list(j, "messages");
	for (size_t i = 0; i < reload->n_texts; i++) {
		json_open(j, NULL);
		json_string(j, "level", levels[reload->texts[i].level]);
		json_string(j, "text", reload->texts[i].text);
		json_close(j);
	}
	json_close_list(j);
	json_number(j, "messages_left_out", reload->left_out);
	json_open_list(j, "waits_for_restart");
	for (size_t i = 0; i < reload->n_waiting; i++)
		json_string(j, NULL, reload->waiting[i]);
	json_close_list(j);
	json_close(j);
}

void reload_report_stats(const struct reload_report *reload, struct stats_gauges *to)
{
	stats_tell(to, GAUGE_RELOAD_GOOD, reload->result == RELOAD_TAKEN);
	stats_tell(to, GAUGE_RELOAD_GOOD_AT, (uint64_t)(reload->good_at_ms / 1000));
	stats_tell(to, GAUGE_RELOAD_WAITING, reload->n_waiting);
}
