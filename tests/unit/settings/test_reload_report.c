/* Owns the cases of proxy/settings/reload_report.c: what a reload came to, in a sentence, as lines and as JSON; and of the ear of
 * proxy/base/log.c, by which it hears. Must not know: how a reload is made. Invariant: each row names its rule. */
#include "proxy/settings/reload_report.h"
#include "proxy/base/json.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

static void shown(void)
{
	static const struct {
		const char *rule;
		bool trial;
		enum reload_result result;
		const char *error, *warning, *waits, *file, *sentence, *lines, *json;
	} cases[] = {
		{ "all of it", false, RELOAD_TAKEN, NULL, NULL, NULL, "/f", "the configuration was read again", "taken /f\n",
			"{\"number\":3,\"at\":7,\"result\":\"taken\",\"file\":\"/f\",\"messages\":[],\"messages_left_out\":0,\"waits_for_restart\":[]}" },
		{ "without a file", false, RELOAD_TAKEN, NULL, NULL, NULL, NULL, "the configuration was read again", "taken \n",
			"{\"number\":3,\"at\":7,\"result\":\"taken\",\"file\":null,\"messages\":[],\"messages_left_out\":0,\"waits_for_restart\":[]}" },
		{ "an option waits", false, RELOAD_PARTLY, NULL, "f:1: workers: a", "f:1: workers", "/f",
			"the configuration was read again, but in part; 1 of the changed options need a restart", "partly /f\nwarning: f:1: workers: a\n",
			"{\"number\":3,\"at\":7,\"result\":\"partly\",\"file\":\"/f\",\"messages\":[{\"level\":\"warning\",\"text\":\"f:1: workers: a\"}],"
			"\"messages_left_out\":0,\"waits_for_restart\":[\"f:1: workers\"]}" },
		{ "the first error is the reason", false, RELOAD_REFUSED, "f:2: b", "c", NULL, "/f", "reload refused: the former configuration stays in force: f:2: b",
			"refused /f\nwarning: c\nerror: f:2: b\n",
			"{\"number\":3,\"at\":7,\"result\":\"refused\",\"file\":\"/f\",\"messages\":[{\"level\":\"warning\",\"text\":\"c\"},"
			"{\"level\":\"error\",\"text\":\"f:2: b\"}],\"messages_left_out\":0,\"waits_for_restart\":[]}" },
		{ "control characters in a name", true, RELOAD_REFUSED, "a\nb", NULL, NULL, "/f\n\tg", "a reload is refused: a b", "refused /f  g\nerror: a b\n",
			"{\"number\":3,\"at\":7,\"result\":\"refused\",\"file\":\"/f  g\",\"messages\":[{\"level\":\"error\",\"text\":\"a b\"}],"
			"\"messages_left_out\":0,\"waits_for_restart\":[]}" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct reload_report *r = reload_report_new(3, cases[i].trial, 7999);
		char sentence[200], *text = NULL;
		size_t len;
		FILE *f = open_memstream(&text, &len);
		struct json j = { f, false };

		CU_ASSERT_FATAL(r && f);
		if (cases[i].warning)
			reload_report_say(r, LOG_LEVEL_WARN, cases[i].warning);
		if (cases[i].error)
			reload_report_say(r, LOG_LEVEL_ERROR, cases[i].error);
		if (cases[i].waits)
			reload_report_wait(r, cases[i].waits);
		reload_report_end(r, cases[i].result, cases[i].file ? strdup(cases[i].file) : NULL);
		reload_report_sentence(r, sentence, sizeof sentence);
		UNIT_ROW(!strcmp(sentence, cases[i].sentence), "%s: %s", cases[i].rule, sentence);
		reload_report_lines(r, f);
		fflush(f);
		UNIT_ROW(!strcmp(text, cases[i].lines), "%s: %s", cases[i].rule, text);
		rewind(f);
		reload_report_json(&j, NULL, r);
		fclose(f);
		UNIT_ROW(!strncmp(text, cases[i].json, strlen(cases[i].json)), "%s: %s", cases[i].rule, text);
		free(text);
		reload_report_unref(&r);
	}
}

static void bounds(void)
{
	struct reload_report *r = reload_report_new(1, false, 0);
	char sentence[30];

	CU_ASSERT_FATAL(r != NULL);
	for (int i = 0; i < RELOAD_TEXTS_MAX + 7; i++) {
		reload_report_say(r, LOG_LEVEL_ERROR, "a long message");
		reload_report_wait(r, "f:1: workers");
	}
	CU_ASSERT(r->n_texts == RELOAD_TEXTS_MAX && r->left_out == 7 && r->n_waiting == RELOAD_TEXTS_MAX);
	reload_report_end(r, RELOAD_REFUSED, NULL);
	reload_report_sentence(r, sentence, sizeof sentence);
	CU_ASSERT_STRING_EQUAL(sentence, "reload refused: the former co");
	for (enum reload_result result = 0; result < RELOAD_RESULTS; result++)
		CU_ASSERT_EQUAL(reload_result_find(reload_result_word(result), strlen(reload_result_word(result))), result);
	CU_ASSERT_EQUAL(reload_result_find("take", 4), RELOAD_RESULTS);
	reload_report_unref(&r);
}

static char heard[64];

static void hear(struct log_ear *ear, enum log_level level, const char *text)
{
	(void)ear;
	snprintf(heard, sizeof heard, "%d %s", (int)level, text);
}

/* Whatever level is written to standard error. */
static void ears(void)
{
	struct log_ear ear = { hear };
	enum log_level before = atomic_load(&log_threshold);

	log_set_level(LOG_LEVEL_ERROR);
	log_lend_ear(&ear);
	log_warn("one %d", 1);
	CU_ASSERT_STRING_EQUAL(heard, "1 one 1");
	log_lend_ear(NULL);
	log_warn("two");
	CU_ASSERT_STRING_EQUAL(heard, "1 one 1");
	log_set_level(before);
}

UNIT_SUITE(reload_report, { "shown", shown }, { "bounds", bounds }, { "ears", ears })
