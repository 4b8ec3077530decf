/* Owns how the findings of `utfeed check` are shown. See check_report.h. */
#include "proxy/report/check_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "proxy/report/check_explain.h"
#include "proxy/base/json.h"

static const char *or_null(const char *text)
{
	return text && *text ? text : NULL;
}

static const char *or_dash(const char *text)
{
	return text && *text ? text : "-";
}

/* The charset that the policy gives as published; other programs can be compared by it. */
static const char *published(const struct verdict *v)
{
	return v->extended ? v->was : v->named;
}

static void check_report_hex(char out[2 * CHECK_FIRST_BYTES + 1], const struct check_report *c)
{
	out[0] = '\0';
	for (size_t i = 0; i < c->first_len; i++)
		sprintf(out + 2 * i, "%02x", c->first[i]);
}

/* ---- JSON ---- */

static void json_evidence(struct json *j, const struct check_report *c)
{
	const struct evidence *e = c->evidence;
	struct utf8_count utf8 = evidence_count(e);
	char first[2 * CHECK_FIRST_BYTES + 1];

	check_report_hex(first, c);
	json_open(j, "evidence");
	json_string(j, "CTMime", mime_class_name(e->type.CTMime));
	json_string(j, "mime", or_null(e->type.mime));
	json_string(j, "CTEnc", or_null(e->CTEnc.text));
	json_string(j, "BOMEnc", or_null(charset_name(e->BOMEnc)));
	json_string(j, "XMLGuessEnc", or_null(charset_name(e->guess.charset)));
	json_string(j, "XMLEnc", or_null(e->XMLEnc.text));
	json_string(j, "XMLEnc_behind_junk", or_null(e->hidden_enc.text));
	json_bool(j, "ascii", e->utf8.ascii);
	json_bool(j, "utf8_valid", e->utf8.valid);
	json_number(j, "utf8_multibyte", utf8.multibyte);
	json_number(j, "utf8_stray", utf8.stray);
	json_number(j, "window_bytes", e->len);
	json_string(j, "first_bytes", first);
	json_close(j);
}

static void json_verdict(struct json *j, const struct verdict *v)
{
	char rule[VERDICT_FORMAT_MAX];

	verdict_rule(v, rule, sizeof(rule));
	json_open(j, policy_name(v->policy));
	json_string(j, "rule", rule);
	json_string(j, "charset", v->named ? published(v) : or_null(v->unknown));
	json_string(j, "was", v->extended ? NULL : v->was);
	json_string(j, "decoded_as", v->extended ? v->named : NULL);
	json_string(j, "error", verdict_error_name(v->error));
	json_string(j, "outcome", verdict_outcome_name(v->outcome));
	json_close(j);
}

void check_report_json(const struct check_report *c)
{
	struct json j = { .out = stdout };
	char rule[VERDICT_FORMAT_MAX];

	json_open(&j, NULL);
	json_string(&j, "file", c->file);
	json_number(&j, "bytes", c->report->bytes_in);
	json_string(&j, "content_type", c->content_type);
	json_bool(&j, "http", c->http);
	json_evidence(&j, c);
	json_open(&j, "verdicts");
	for (int i = 0; i < POLICY_COUNT; i++)
		json_verdict(&j, &c->verdicts[i]);
	json_close(&j);
	verdict_format(c->result, rule, sizeof(rule));
	json_string(&j, "x_encoding_rule", rule);
	json_bool(&j, "revised", c->report->revised);
	json_number(&j, "malformed", c->report->malformed);
	json_number(&j, "mixed", c->report->others);
	json_open(&j, "repairs");
	for (int i = 0; i < REPAIR_COUNT; i++)
		json_number(&j, repair_name((enum repair_index)i), c->report->repairs[i]);
	json_close(&j);
	if (c->normalised)
		json_bool(&j, "well_formed", !c->fault);
	else
		json_null(&j, "well_formed");
	json_string(&j, "fault", c->fault);
	if (c->fault)
		json_number(&j, "fault_line", c->fault_line);
	if (c->explanation)
		check_explain_json(&j, c->explanation, c->evidence->len);
	json_close(&j);
	putchar('\n');
}

/* ---- text ---- */

static void row(const char *name, const char *text)
{
	printf("  %-14s %s\n", name, or_dash(text));
}

/* Prints a name or a peer's text: printable ASCII as it is, everything else and the backslash as \xHH. */
static void put_safe(const char *text)
{
	for (; *text; text++) {
		if (*text >= 0x20 && *text < 0x7f && *text != '\\')
			putchar(*text);
		else
			printf("\\x%02x", (unsigned char)*text);
	}
}

static void row_peer(const char *name, const char *text)
{
	printf("  %-14s ", name);
	put_safe(or_dash(text));
	putchar('\n');
}

static void print_first(const struct check_report *c)
{
	printf("  %-14s", "first bytes");
	for (size_t i = 0; i < c->first_len; i++)
		printf("%s%02x", i % 4 ? "" : " ", c->first[i]);
	printf("  |");
	for (size_t i = 0; i < c->first_len; i++)
		putchar(c->first[i] >= 0x20 && c->first[i] < 0x7f ? c->first[i] : '.');
	printf("|\n");
}

static void print_evidence(const struct check_report *c)
{
	const struct evidence *e = c->evidence;
	struct utf8_count utf8 = evidence_count(e);

	print_first(c);
	row("CTMime", c->http ? mime_class_name(e->type.CTMime) : "- (a file)");
	row_peer("CTEnc", e->CTEnc.text);
	row("BOMEnc", charset_name(e->BOMEnc));
	row("XMLGuessEnc", charset_name(e->guess.charset));
	row_peer("XMLEnc", e->XMLEnc.text);
	if (e->hidden_enc.text[0])
		row_peer("  behind junk", e->hidden_enc.text);
	if (e->utf8.ascii)
		row("bytes", "ASCII only");
	else
		printf("  %-14s %s UTF-8: %zu characters beyond ASCII, %zu stray sequences\n", "bytes",
		    e->utf8.valid ? "valid" : "not", utf8.multibyte, utf8.stray);
}

static void print_verdict(const struct verdict *v)
{
	const char *error = verdict_error_name(v->error), *outcome = verdict_outcome_name(v->outcome);
	char rule[VERDICT_FORMAT_MAX];

	verdict_rule(v, rule, sizeof(rule));
	printf("  %-36s %-14s", rule, or_dash(published(v)));
	if (v->extended)
		printf(" decoded as %s", v->named);
	else if (v->was)
		printf(" was %s", v->was);
	if (error)
		printf(" error %s", error);
	if (v->outcome != OUTCOME_OK)
		printf(" outcome %s", outcome);
	putchar('\n');
}

static void print_repairs(const struct normalise_report *r)
{
	bool any = r->malformed > 0 || r->others > 0;

	printf("  %-14s", "repairs");
	for (int i = 0; i < REPAIR_COUNT; i++) {
		if (r->repairs[i] == 0)
			continue;
		printf(" %s %" PRIu64, repair_name((enum repair_index)i), r->repairs[i]);
		any = true;
	}
	if (r->malformed > 0)
		printf(" malformed %" PRIu64, r->malformed);
	if (r->others > 0)
		printf(" mixed %" PRIu64, r->others);
	printf("%s\n", any ? "" : " none");
}

void check_report_text(const struct check_report *c)
{
	char rule[VERDICT_FORMAT_MAX];

	put_safe(c->file);
	printf(": %" PRIu64 " bytes\n", c->report->bytes_in);
	row_peer("Content-Type", c->content_type);
	print_evidence(c);
	printf("verdicts\n");
	for (int i = 0; i < POLICY_COUNT; i++)
		print_verdict(&c->verdicts[i]);
	verdict_format(c->result, rule, sizeof(rule));
	printf("result\n");
	row("rule", rule);
	print_repairs(c->report);
	if (!c->normalised)
		row("well-formed", "not looked at: the body passes untouched");
	else if (c->fault)
		printf("  %-14s no: line %lu: %s\n", "well-formed", c->fault_line, c->fault);
	else
		row("well-formed", "yes");
	if (c->explanation)
		check_explain_text(c->explanation, c->evidence->len);
}
