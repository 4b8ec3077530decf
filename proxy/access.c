/* The access log's line; see access.h. */
#include "access.h"

#include <stdio.h>
#include <time.h>

#include "log.h"

enum { ACCESS_METHOD_MAX = 64, ACCESS_TARGET_MAX = 2048, ACCESS_RULE_MAX = 96 };

static const char *or_dash(const char *s)
{
	return s && *s ? s : "-";
}

size_t access_format(char buf[ACCESS_LINE_MAX], const struct access_entry *e)
{
	static const struct verdict no_verdict;
	const struct object_report *r = e->report;
	const struct verdict *v = r && r->decided ? &r->verdict : &no_verdict;
	char when[32], method[ACCESS_METHOD_MAX], target[ACCESS_TARGET_MAX], rule[ACCESS_RULE_MAX] = "-", received[32] = "";
	time_t seconds = (time_t)(e->wall_ms / 1000);
	struct tm tm;
	int n;

	gmtime_r(&seconds, &tm);
	strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
	log_escape(method, sizeof method, e->method.at, e->method.len);
	log_escape(target, sizeof target, e->target.at, e->target.len);
	if (v != &no_verdict)
		verdict_rule(v, rule, sizeof rule);
	if (e->tunnel)
		snprintf(received, sizeof received, " received=%llu", (unsigned long long)e->received_bytes);
	n = snprintf(buf, ACCESS_LINE_MAX,
	    "%s.%03dZ %s %s %s %d %llu %s charset=%s was=%s reason=%s repairs=%llu malformed=%llu%s time=%llu.%03llums end=%s\n",
	    when, (int)(e->wall_ms % 1000), e->client, or_dash(method), or_dash(target), e->status,
	    (unsigned long long)e->body_bytes, rule, or_dash(v->named), or_dash(v->was),
	    or_dash(v->kind == VERDICT_NONE ? verdict_reason_name(v->reason) : v->kind == VERDICT_ERROR ? verdict_error_name(v->error) : NULL),
	    (unsigned long long)(r ? r->repairs : 0), (unsigned long long)(r ? r->malformed : 0), received,
	    (unsigned long long)(e->duration_us / 1000), (unsigned long long)(e->duration_us % 1000), e->end);
	return n < ACCESS_LINE_MAX ? (size_t)n : ACCESS_LINE_MAX - 1;
}
