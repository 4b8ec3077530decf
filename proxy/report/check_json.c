/* A report as JSON; see check_json.h. */
#include "proxy/report/check_json.h"

#include "proxy/report/advice.h"
#include "proxy/report/check_explain.h"
#include "proxy/report/summary.h"

static const char *or_null(const char *text)
{
	return text && *text ? text : NULL;
}

static void json_hex(struct json *j, const char *key, const uint8_t *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * CHECK_DUMP_BYTES + 1];

	for (size_t i = 0; i < len; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[2 * len] = '\0';
	json_string(j, key, text);
}

static const char *const hidden_names[HIDDEN_COUNT] = {
	[HIDDEN_BEHIND_JUNK] = "XMLEnc_behind_junk",
	[HIDDEN_MALFORMED] = "XMLEnc_malformed",
	[HIDDEN_REPEATED] = "XMLEnc_repeated",
};

static void json_evidence(struct json *j, const struct check_report *report)
{
	const struct evidence *evidence = report->evidence;
	struct utf8_count utf8 = evidence_count(evidence);

	json_open(j, "evidence");
	json_string(j, "CTMime", mime_class_name(evidence->type.CTMime));
	json_string(j, "mime", or_null(evidence->type.mime));
	json_string(j, "CTEnc", or_null(evidence->CTEnc.text));
	json_string(j, "BOMEnc", or_null(charset_name(evidence->BOMEnc)));
	json_string(j, "XMLGuessEnc", or_null(charset_name(evidence->guess.charset)));
	json_string(j, "XMLEnc", or_null(evidence->XMLEnc.text));
	for (int i = 0; i < HIDDEN_COUNT; i++)
		json_string(j, hidden_names[i],
		    i == (int)report->prolog.hidden ? or_null(evidence->hidden_enc.text) : NULL);
	json_bool(j, "ascii", evidence->utf8.ascii);
	json_bool(j, "utf8_valid", evidence->utf8.valid);
	json_number(j, "utf8_multibyte", utf8.multibyte);
	json_number(j, "utf8_stray", utf8.stray);
	json_number(j, "window_bytes", evidence->len);
	json_hex(j, "first_bytes", report->first, report->first_len);
	json_close(j);
}

static void json_verdict(struct json *j, const struct verdict *v)
{
	char rule[VERDICT_FORMAT_MAX];

	verdict_rule(v, rule, sizeof rule);
	json_open(j, policy_name(v->policy));
	json_string(j, "rule", rule);
	json_string(j, "charset", v->named ? check_published(v) : or_null(v->unknown));
	json_string(j, "was", v->extended ? NULL : v->was);
	json_string(j, "decoded_as", v->extended ? v->named : NULL);
	json_string(j, "error", verdict_error_name(v->error));
	json_string(j, "outcome", verdict_outcome_name(v->outcome));
	json_close(j);
}

static void json_result(struct json *j, const struct check_report *report)
{
	char rule[VERDICT_FORMAT_MAX];

	verdict_format(report->result, rule, sizeof rule);
	json_string(j, "x_encoding_rule", rule);
	json_bool(j, "revised", report->found->revised);
	json_number(j, "malformed", report->found->malformed);
	json_number(j, "mixed", report->found->others);
	json_number(j, "urls_led", report->found->led);
	json_open(j, "repairs");
	for (int i = 0; i < REPAIR_COUNT; i++)
		json_number(j, repair_name((enum repair_index)i), report->found->repairs[i]);
	json_close(j);
	if (report->normalised)
		json_bool(j, "well_formed", !report->fault);
	else
		json_null(j, "well_formed");
	json_string(j, "fault", report->fault);
	if (report->fault)
		json_number(j, "fault_line", report->fault_line);
}

/* ---- what came later ---- */

static void json_hops(struct json *j, const struct check_response *response)
{
	json_open_list(j, "hops");
	for (size_t i = 0; i < response->n_hops; i++) {
		json_open(j, NULL);
		json_number(j, "status", response->hops[i].status);
		json_string(j, "url", response->hops[i].url);
		json_string(j, "location", or_null(response->hops[i].location));
		json_close(j);
	}
	json_close_list(j);
}

static void json_response(struct json *j, const struct check_response *response)
{
	if (!response) {
		json_null(j, "response");
		return;
	}
	json_open(j, "response");
	json_string(j, "url", response->url);
	json_string(j, "final_url", response->final);
	json_number(j, "status", response->status);
	json_hops(j, response);
	json_string(j, "head", response->head);
	json_close(j);
}

static void json_dump(struct json *j, const struct check_dump *dump)
{
	char letters[CHECK_DUMP_BYTES + 1];

	if (dump->len == 0)
		return;
	for (size_t i = 0; i < dump->len; i++)
		letters[i] = check_mark_letter((enum check_mark)dump->marks[i]);
	letters[dump->len] = '\0';
	json_open(j, NULL);
	json_number(j, "offset", dump->offset);
	json_hex(j, "bytes", dump->bytes, dump->len);
	json_string(j, "marks", letters);
	json_close(j);
}

static void json_words(struct json *j, const struct verdict *v)
{
	const char *at = v->path;
	struct check_step step;

	json_open_list(j, policy_name(v->policy));
	while (check_next_step(v, &at, &step)) {
		json_open(j, NULL);
		json_string(j, "step", step.no);
		json_string(j, "words", step.words);
		json_close(j);
	}
	json_close_list(j);
}

static void json_parted(struct json *j, const struct check_report *report, enum policy leader)
{
	const struct verdict *v = &report->verdicts[leader];

	json_open(j, NULL);
	json_string(j, "charset", or_null(charset_name(v->charset)));
	json_string(j, "named", check_published(v));
	json_string(j, "error", v->kind == VERDICT_ERROR ? verdict_error_name(v->error) : NULL);
	json_open_list(j, "policies");
	for (int i = leader; i < POLICY_COUNT; i++)
		if (report->leaders[i] == leader)
			json_string(j, NULL, policy_name((enum policy)i));
	json_close_list(j);
	json_close(j);
}

static void json_rules(struct json *j, const struct check_report *report)
{
	json_open(j, "rules");
	for (int i = 0; i < POLICY_COUNT; i++)
		json_words(j, &report->verdicts[i]);
	json_close(j);
	json_open_list(j, "parted");
	for (int i = 0; i < POLICY_COUNT; i++)
		if ((int)report->leaders[i] == i)
			json_parted(j, report, (enum policy)i);
	json_close_list(j);
}

static void json_texts(struct json *j, const struct check_report *report)
{
	if (!report->beyond || !report->normalised) {
		json_null(j, "text");
		return;
	}
	json_open(j, "text");
	json_string(j, "label", report->label);
	json_string(j, "before", report->label ? report->before : NULL);
	json_string(j, "after", report->after);
	json_close(j);
}

/* Writes what a function appends to a text. -1: out of memory. */
static int json_text(struct json *j, const char *key, struct text *t)
{
	text_add(t, "", 1);
	bool failed = t->failed;
	json_string(j, key, failed ? NULL : t->bytes);
	text_free(t);
	return failed ? -1 : 0;
}

static int json_advice(struct json *j, const struct check_report *report)
{
	struct text t = { 0 };
	int failed = 0;

	json_open_list(j, "to_fix");
	for (int a = 0; a < ADVICE_COUNT; a++) {
		if (!advice_applies((enum advice)a, report))
			continue;
		json_open(j, NULL);
		json_string(j, "finding", advice_name((enum advice)a));
		advice_text(&t, (enum advice)a, report);
		failed |= json_text(j, "text", &t);
		json_close(j);
	}
	json_close_list(j);
	if (advice_is_none(report)) {
		json_null(j, "mail");
		return failed;
	}
	advice_mail(&t, report);
	return failed | json_text(j, "mail", &t);
}

static void json_stray(struct json *j, const struct stray *stray)
{
	json_open(j, NULL);
	json_number(j, "offset", stray->offset);
	json_number(j, "line", stray->line);
	json_number(j, "length", stray->len);
	json_hex(j, "bytes", stray->bytes, stray->len < STRAY_BYTES ? (size_t)stray->len : STRAY_BYTES);
	json_string(j, "read_as", stray->found ? stray->text : NULL);
	json_close(j);
}

static void json_strays(struct json *j, const struct strays *strays)
{
	if (!strays) {
		json_null(j, "not_utf8");
		return;
	}
	json_open(j, "not_utf8");
	json_number(j, "bytes", strays->bytes);
	json_number(j, "places", strays->places);
	json_number(j, "surrogate_pairs", strays->pairs);
	json_open_list(j, "first");
	for (size_t i = 0; i < strays->n; i++)
		json_stray(j, &strays->first[i]);
	json_close_list(j);
	json_close(j);
}

static int json_additions(struct json *j, const struct check_report *report)
{
	struct text summary = { 0 };

	json_bool(j, "label_seen", report->http);
	json_response(j, report->response);
	json_open_list(j, "dump");
	json_dump(j, &report->start);
	json_dump(j, &report->around);
	json_close_list(j);
	json_rules(j, report);
	json_texts(j, report);
	json_strays(j, report->strays);
	summary_text(&summary, report);
	int failed = json_text(j, "summary", &summary);
	return json_advice(j, report) | failed;
}

int check_report_json(struct json *j, const char *key, const struct check_report *report)
{
	json_open(j, key);
	json_string(j, "file", report->file);
	json_number(j, "bytes", report->found->bytes_in);
	json_string(j, "content_type", report->content_type);
	json_bool(j, "http", report->http);
	json_evidence(j, report);
	json_open(j, "verdicts");
	for (int i = 0; i < POLICY_COUNT; i++)
		json_verdict(j, &report->verdicts[i]);
	json_close(j);
	json_result(j, report);
	if (report->explanation)
		check_explain_json(j, report->explanation, report->evidence->len);
	int failed = json_additions(j, report);
	json_close(j);
	return failed;
}
