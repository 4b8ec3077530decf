/* Owns what became of one reload: the result, the messages, and what waits for a restart. Whoever asked for the reload
 * and whoever looks later read the same report.
 * Must not know: how a reload is made, how it is asked for.
 * Invariants: a report does not change once it is published; it is bounded, and what has no room is counted; no text
 * has a line end. */
#ifndef UTFEED_PROXY_SETTINGS_RELOAD_REPORT_H
#define UTFEED_PROXY_SETTINGS_RELOAD_REPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "proxy/base/log.h"

struct json;
struct stats_gauges;

/* REFUSED: all is as before. PARTLY: an option waits for a restart, or a route or listener stays as it was. */
enum reload_result { RELOAD_TAKEN, RELOAD_PARTLY, RELOAD_REFUSED, RELOAD_RESULTS };

enum { RELOAD_TEXTS_MAX = 100 };

struct reload_text {
	enum log_level level;
	char *text;
};

struct reload_report {
	atomic_uint refs;
	unsigned number;               /* counts this process's reloads and trials from 1; 0: its start */
	bool trial;                    /* the reload was only tried: nothing changed */
	int64_t at_ms;                 /* when the file was read, since the epoch */
	int64_t good_at_ms;            /* when a start or reload was last TAKEN */
	enum reload_result result;
	char *file;                    /* the configuration file, from the root; NULL: there is none */
	struct reload_text texts[RELOAD_TEXTS_MAX];    /* errors and warnings */
	size_t n_texts, left_out;
	char *waiting[RELOAD_TEXTS_MAX];       /* "FILE:LINE: OPTION" of what waits for a restart */
	size_t n_waiting;
};

/* One reference. NULL: out of memory. */
struct reload_report *reload_report_new(unsigned number, bool trial, int64_t at_ms);
struct reload_report *reload_report_ref(struct reload_report *);
/* It may be NULL. */
void reload_report_unref(struct reload_report **);

/* While the report is made. */
void reload_report_say(struct reload_report *, enum log_level, const char *text);
void reload_report_wait(struct reload_report *, const char *place);
/* Takes over the file's name. */
void reload_report_end(struct reload_report *, enum reload_result, char *file);

/* "taken", "partly" or "refused". */
const char *reload_result_word(enum reload_result);
/* RELOAD_RESULTS: no result has that word. */
enum reload_result reload_result_find(const char *word, size_t len);
const char *reload_level_word(enum log_level);

/* A sentence for people: "the configuration was read again", say. */
void reload_report_sentence(const struct reload_report *, char *text, size_t cap);
/* As lines: the result's word and the file, then "LEVEL: TEXT" of each message. */
void reload_report_lines(const struct reload_report *, FILE *);
/* As an object; null for the report of the start. */
void reload_report_json(struct json *, const char *key, const struct reload_report *);
void reload_report_stats(const struct reload_report *, struct stats_gauges *);

#endif
