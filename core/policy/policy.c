/* Owns the names of the eight policies, the call of each, and the text form of a verdict (utfeed-rules(7),
 * X-ENCODING-RULE).
 * Must not know: any policy's rules. */
#include "core/policy/policy.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/policy/policy_rules.h"

static const struct {
	const char *name, *summary;
} texts[] = {
#define POLICY_TEXT(id, name, summary) [POLICY_##id] = { name, summary },
	POLICIES(POLICY_TEXT)
#undef POLICY_TEXT
};

static void (*const deciders[POLICY_COUNT])(const struct evidence *, struct verdict *) = {
	[POLICY_AUTO] = policy_auto,
	[POLICY_ROME_STRICT] = policy_rome_strict,
	[POLICY_ROME_LENIENT] = policy_rome_lenient,
	[POLICY_ROME_2004_09_10] = policy_rome_2004,
	[POLICY_RFC7303] = policy_rfc7303,
	[POLICY_FEEDPARSER] = policy_feedparser,
	[POLICY_FOURSUITE] = policy_4suite,
	[POLICY_APPENDIX_F] = policy_appendix_f,
};

static const char *const error_names[] = {
	[VERR_NONE] = NULL, [VERR_MISMATCH] = "mismatch", [VERR_UNKNOWN_CHARSET] = "unknown-charset",
	[VERR_BOM_FORBIDDEN] = "bom-forbidden", [VERR_BOM_MISSING] = "bom-missing", [VERR_NOT_XML] = "not-xml",
	[VERR_UNDECODABLE] = "undecodable",
};

static const char *const reason_names[] = {
	[VREASON_NONE] = NULL, [VREASON_NOT_XML] = "not-xml", [VREASON_NO_TRANSFORM] = "no-transform",
	[VREASON_ENCODED] = "encoded", [VREASON_STATUS] = "status", [VREASON_EMPTY] = "empty",
	[VREASON_PARTIAL] = "partial",
	[VREASON_DISABLED] = "disabled",
};

static const char *const outcome_names[] = {
	[OUTCOME_OK] = "ok", [OUTCOME_OVERRIDE] = "override", [OUTCOME_UNKNOWN] = "unknown",
	[OUTCOME_NONXML] = "nonxml",
};

int policy_decide(enum policy policy, const struct evidence *e, struct verdict *v)
{
	struct evidence seen = *e;
	bool starved = false;

	assert(policy < POLICY_COUNT);
	seen.starved = &starved;
	verdict_begin(v, policy);
	deciders[policy](&seen, v);
	return starved ? -1 : 0;
}

void verdict_untouched(struct verdict *v, enum policy policy, enum verdict_reason reason)
{
	verdict_begin(v, policy);
	v->kind = VERDICT_NONE;
	v->reason = reason;
}

const char *policy_name(enum policy policy)
{
	return texts[policy].name;
}

const char *policy_summary(enum policy policy)
{
	return texts[policy].summary;
}

int policy_lookup(const char *name, size_t len)
{
	for (int i = 0; i < POLICY_COUNT; i++)
		if (strlen(texts[i].name) == len && memcmp(texts[i].name, name, len) == 0)
			return i;
	return -1;
}

const char *verdict_error_name(enum verdict_error error)
{
	return error_names[error];
}

const char *verdict_reason_name(enum verdict_reason reason)
{
	return reason_names[reason];
}

const char *verdict_outcome_name(enum verdict_outcome outcome)
{
	return outcome_names[outcome];
}

/* Appends KEY VALUE, as much of it as there is room for, and nothing without a value. Returns where the text ends. */
static size_t policy_append(char *buf, size_t cap, size_t at, const char *key, const char *value)
{
	const char *const parts[] = { key, value };

	for (size_t i = 0; value && i < 2; i++)
		for (const char *s = parts[i]; *s && at < cap - 1; s++)
			buf[at++] = *s;
	buf[at] = '\0';
	return at;
}

size_t verdict_rule(const struct verdict *v, char *buf, size_t cap)
{
	assert(cap > 0);
	buf[0] = '\0';
	if (v->kind == VERDICT_NONE)
		return policy_append(buf, cap, 0, "none", "");
	size_t n = policy_append(buf, cap, 0, policy_name(v->policy), "");
	return policy_append(buf, cap, n, ":", v->path);
}

/* A name that starts with a digit (8859_1, 866, rules of 4suite) is not a token by RFC 9651 section 3.3.4, so it is
 * written as a String. */
static size_t append_name(char *buf, size_t cap, size_t at, const char *key, const char *name)
{
	if (!name || name[0] < '0' || name[0] > '9')
		return policy_append(buf, cap, at, key, name);
	at = policy_append(buf, cap, at, key, "\"");
	at = policy_append(buf, cap, at, name, "");
	return policy_append(buf, cap, at, "\"", "");
}

size_t verdict_format(const struct verdict *v, char *buf, size_t cap)
{
	size_t n = verdict_rule(v, buf, cap);
	char number[24];

	if (v->kind == VERDICT_NONE)
		return policy_append(buf, cap, n, ";reason=", verdict_reason_name(v->reason));
	n = append_name(buf, cap, n, ";charset=", v->named);
	n = append_name(buf, cap, n, ";was=", v->was);
	if (v->next != CS_NONE) {
		snprintf(number, sizeof number, "%d", v->margin);
		n = append_name(buf, cap, n, ";next=", charset_name(v->next));
		n = policy_append(buf, cap, n, ";margin=", number);
	}
	if (v->also != CS_NONE) {
		snprintf(number, sizeof number, "%zu", v->mixed);
		n = append_name(buf, cap, n, ";also=", charset_name(v->also));
		n = policy_append(buf, cap, n, ";mixed=", number);
	}
	return policy_append(buf, cap, n, ";error=", verdict_error_name(v->error));
}
