/* The access log's line as JSON; see access_log.h. Its shape is conf/access-log.schema.json: every member is always
 * there, in this order or another. */
#include "proxy/client/access_log.h"

#include <inttypes.h>

#include "proxy/base/json_text.h"
#include "proxy/base/url_secrets.h"
#include "proxy/http/cache_status.h"
#include "proxy/origin/fetch_timing.h"

/* The most bytes of strings that peers or operators write; with them all at their longest the line is still one that a
 * pipe takes as a whole (PIPE_BUF). */
enum { JSON_URL_MAX = 1536, JSON_WORDS_MAX = 384, JSON_METHOD_MAX = 32, JSON_NAME_MAX = 128, JSON_HOST_MAX = 264 };

static void json_add_key(struct text *t, const char *key)
{
	text_puts(t, t->len ? ",\"" : "{\"");
	text_puts(t, key);
	text_puts(t, "\":");
}

/* at NULL: null. */
static void json_add_bytes(struct text *t, const char *key, struct slice s, size_t max)
{
	json_add_key(t, key);
	if (s.at)
		json_text_bytes(t, s, max);
	else
		text_puts(t, "null");
}

/* NULL or empty: null. */
static void json_add_word(struct text *t, const char *key, const char *word)
{
	bool is = word && *word;

	json_add_bytes(t, key, (struct slice){ is ? word : NULL, is ? strlen(word) : 0 }, JSON_NAME_MAX);
}

static void json_add_number(struct text *t, const char *key, uint64_t n)
{
	json_add_key(t, key);
	text_number(t, n);
}

static void json_add_bool(struct text *t, const char *key, bool is)
{
	json_add_key(t, key);
	text_puts(t, is ? "true" : "false");
}

/* As milliseconds; negative: null. */
static void json_add_time(struct text *t, const char *key, int64_t us)
{
	const char digits[] = { '.', (char)('0' + us / 100 % 10), (char)('0' + us / 10 % 10), (char)('0' + us % 10) };

	json_add_key(t, key);
	if (us < 0) {
		text_puts(t, "null");
		return;
	}
	text_number(t, (uint64_t)us / 1000);
	text_add(t, digits, sizeof digits);
}

static void json_add_who(struct text *t, const struct access_log_entry *entry)
{
	struct slice port, address = access_log_address(entry->client, &port);

	json_add_bytes(t, "client", address, JSON_NAME_MAX);
	json_add_key(t, "client_port");
	if (port.len)
		text_add(t, port.at, port.len);
	else
		text_puts(t, "null");
}

static void json_add_request(struct text *t, const struct access_log_entry *entry)
{
	char url[URL_SHOWN_MAX];
	size_t url_len = url_show(url, entry->target.at, entry->target.len);

	json_add_bytes(t, "method", (struct slice){ entry->method.len ? entry->method.at : NULL, entry->method.len },
	    JSON_METHOD_MAX);
	json_add_bytes(t, "url", (struct slice){ entry->target.len ? url : NULL, url_len }, JSON_URL_MAX);
	json_add_word(t, "http", entry->version);
	json_add_word(t, "way", entry->way);
	json_add_word(t, "route", entry->route);
	json_add_word(t, "user", entry->user);
	json_add_bytes(t, "user_agent", entry->user_agent, JSON_WORDS_MAX);
}

static void json_add_cache(struct text *t, const struct cache_status *status)
{
	static const struct cache_status none;

	status = status ? status : &none;
	json_add_word(t, "cache", status->hit ? "hit" : cache_status_fwd(status->fwd));
	json_add_key(t, "fwd_status");
	if (status->fwd_status && !status->hit)
		text_integer(t, status->fwd_status);
	else
		text_puts(t, "null");
	json_add_key(t, "ttl");
	if (status->has_ttl)
		text_integer(t, status->ttl);
	else
		text_puts(t, "null");
	json_add_bool(t, "stored", status->stored);
	json_add_bool(t, "collapsed", status->collapsed);
	json_add_word(t, "cache_detail", status->detail);
}

static void json_add_decision(struct text *t, const struct object_report *report)
{
	static const struct object_report none;
	char rule[VERDICT_FORMAT_MAX] = "";

	report = report ? report : &none;
	const struct verdict *v = report->decided ? &report->verdict : &none.verdict;
	if (report->decided)
		verdict_rule(v, rule, sizeof rule);
	json_add_word(t, "rule", rule);
	json_add_word(t, "charset", v->named);
	json_add_word(t, "was", v->was);
	json_add_word(t, "reason", access_log_reason(v));
	json_add_number(t, "repairs", report->repairs);
	json_add_number(t, "malformed", report->malformed);
}

static void json_add_origin(struct text *t, const struct access_log_entry *entry)
{
	static const char *const names[STAGE_COUNT] = {
		[STAGE_QUEUE] = "queue_ms", [STAGE_DNS] = "dns_ms", [STAGE_CONNECT] = "connect_ms",
		[STAGE_TLS] = "tls_ms", [STAGE_ORIGIN] = "origin_ms",
	};
	const struct fetch_timing *timing = entry->timing;

	json_add_bytes(t, "origin_host",
	    (struct slice){ entry->origin_host, entry->origin_host ? strlen(entry->origin_host) : 0 }, JSON_HOST_MAX);
	json_add_word(t, "origin", timing ? timing->address : NULL);
	json_add_word(t, "origin_http", timing ? timing->version : NULL);
	json_add_number(t, "retries", timing ? timing->retries : 0);
	for (size_t i = 0; i < STAGE_COUNT; i++)
		json_add_time(t, names[i], timing ? timing->us[i] : -1);
	json_add_word(t, "failure", timing && timing->failure ? failure_token(timing->failure) : NULL);
}

size_t access_log_json(char buf[ACCESS_LOG_LINE_MAX], const struct access_log_entry *entry)
{
	struct text t = text_on(buf, ACCESS_LOG_LINE_MAX - 1);

	json_add_word(&t, "time", entry->when);
	json_add_key(&t, "id");
	text_printf(&t, "\"c%" PRIu64 ".%" PRIu64 "\"", entry->id.connection, entry->id.request);
	json_add_word(&t, "traceparent", entry->traceparent);
	json_add_who(&t, entry);
	json_add_request(&t, entry);
	json_add_number(&t, "status", (uint64_t)entry->status);
	json_add_number(&t, "bytes_in", entry->received_bytes);
	json_add_number(&t, "bytes_out", entry->sent_bytes);
	json_add_number(&t, "body_bytes", entry->body_bytes);
	json_add_cache(&t, entry->cache);
	json_add_word(&t, "kept", entry->kept);
	json_add_decision(&t, entry->report);
	json_add_origin(&t, entry);
	json_add_time(&t, "first_byte_ms", entry->first_byte_us);
	json_add_time(&t, "total_ms", (int64_t)entry->duration_us);
	json_add_word(&t, "end", entry->end);
	text_puts(&t, "}");
	buf[t.len] = '\n';
	return t.len + 1;
}
