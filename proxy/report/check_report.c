/* What every way of showing a report asks of it; see check_report.h. */
#include "proxy/report/check_report.h"

#include <stdio.h>
#include <string.h>

#include "core/policy/policy_words.h"

const char *check_published(const struct verdict *v)
{
	return v->extended ? v->was : v->named;
}

bool check_same_name(const struct verdict *a, const struct verdict *b)
{
	const char *x = check_published(a), *y = check_published(b);

	return x && y ? !strcmp(x, y) : x == y;
}

bool check_agrees(const struct check_report *report, enum policy policy)
{
	return report->leaders[policy] == report->leaders[POLICY_AUTO];
}

const char *check_beside_auto(const struct check_report *report, enum policy policy)
{
	if (!check_agrees(report, policy))
		return "parts";
	return check_same_name(&report->verdicts[policy], &report->verdicts[POLICY_AUTO]) ? "same" : "same text";
}

bool check_label_fits(const struct charset_label *label, const struct check_report *report)
{
	const struct charset_info *said = charset_info(label->charset), *is = charset_info(report->result->charset);

	if (!report->beyond)
		return said->family == is->family || said->family == FAMILY_STATEFUL;
	if (label->charset == CS_UTF_16 || label->charset == CS_UTF_32)
		return said->family == is->family;
	return label->charset == report->result->charset && !label->ascii;
}

const struct evidence_label *check_declared(const struct check_report *report)
{
	return report->evidence->XMLEnc.text[0] ? &report->evidence->XMLEnc : &report->evidence->hidden_enc;
}

void check_put_peer(struct text *t, const char *text)
{
	for (; *text; text++) {
		bool control = (unsigned char)*text < 0x20 || *text == 0x7f;

		text_add(t, control ? "?" : text, 1);
	}
}

bool check_next_step(const struct verdict *v, const char **at, struct check_step *step)
{
	size_t len = strcspn(*at, "/");

	if (len == 0)
		return false;
	snprintf(step->no, sizeof step->no, "%.*s", (int)len, *at);
	step->words = rule_words(v->policy, *at, len);
	*at += len + ((*at)[len] == '/');
	return true;
}
