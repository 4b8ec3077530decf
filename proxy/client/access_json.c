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

static void json_add_who(struct text *t, const struct access_log_entry *e)
{
	struct slice port, address = access_log_address(e->client, &port);

	json_add_bytes(t, "client", address, JSON_NAME_MAX);
	json_add_key(t, "client_port");
	if (port.len)
		text_add(t, port.at, port.len);
	else
		text_puts(t, "null");
}

static void json_add_request(struct text *t, const struct access_log_entry *e)
{
	char url[URL_SHOWN_MAX];
	size_t url_len = url_show(url, e->target.at, e->target.len);

	json_add_bytes(t, "method", (struct slice){ e->method.len ? e->method.at : NULL, e->method.len },
	    JSON_METHOD_MAX);
	json_add_bytes(t, "url", (struct slice){ e->target.len ? url : NULL, url_len }, JSON_URL_MAX);
	json_add_word(t, "http", e->version);
	json_add_word(t, "way", e->way);
	json_add_word(t, "route", e->route);
	json_add_bytes(t, "user_agent", e->user_agent, JSON_WORDS_MAX);
}

static void json_add_cache(struct text *t, const struct cache_status *s)
{
	static const struct cache_status none;

	s = s ? s : &none;
	json_add_word(t, "cache", s->hit ? "hit" : cache_status_fwd(s->fwd));
	json_add_key(t, "fwd_status");
	if (s->fwd_status && !s->hit)
		text_integer(t, s->fwd_status);
	else
		text_puts(t, "null");
	json_add_key(t, "ttl");
	if (s->has_ttl)
		text_integer(t, s->ttl);
	else
		text_puts(t, "null");
	json_add_bool(t, "stored", s->stored);
	json_add_bool(t, "collapsed", s->collapsed);
	json_add_word(t, "cache_detail", s->detail);
}

static void json_add_decision(struct text *t, const struct object_report *r)
{
	static const struct object_report none;
	char rule[VERDICT_FORMAT_MAX] = "";
	const struct verdict *v;

	r = r ? r : &none;
	v = r->decided ? &r->verdict : &none.verdict;
	if (r->decided)
		verdict_rule(v, rule, sizeof rule);
	json_add_word(t, "rule", rule);
	json_add_word(t, "charset", v->named);
	json_add_word(t, "was", v->was);
	json_add_word(t, "reason", access_log_reason(v));
	json_add_number(t, "repairs", r->repairs);
	json_add_number(t, "malformed", r->malformed);
}

static void json_add_origin(struct text *t, const struct access_log_entry *e)
{
	static const char *const names[STAGE_COUNT] = {
		[STAGE_QUEUE] = "queue_ms", [STAGE_DNS] = "dns_ms", [STAGE_CONNECT] = "connect_ms",
		[STAGE_TLS] = "tls_ms", [STAGE_ORIGIN] = "origin_ms",
	};
	const struct fetch_timing *r = e->timing;

	json_add_bytes(t, "origin_host", (struct slice){ e->origin_host, e->origin_host ? strlen(e->origin_host) : 0 },
	    JSON_HOST_MAX);
	json_add_word(t, "origin", r ? r->address : NULL);
	json_add_number(t, "retries", r ? r->retries : 0);
	for (size_t i = 0; i < STAGE_COUNT; i++)
		json_add_time(t, names[i], r ? r->us[i] : -1);
	json_add_word(t, "failure", r && r->failure ? failure_token(r->failure) : NULL);
}

size_t access_log_json(char buf[ACCESS_LOG_LINE_MAX], const struct access_log_entry *e)
{
	struct text t = text_on(buf, ACCESS_LOG_LINE_MAX - 1);

	json_add_word(&t, "time", e->when);
	json_add_key(&t, "id");
	text_printf(&t, "\"c%" PRIu64 ".%" PRIu64 "\"", e->id.connection, e->id.request);
	json_add_word(&t, "traceparent", e->traceparent);
	json_add_who(&t, e);
	json_add_request(&t, e);
	json_add_number(&t, "status", (uint64_t)e->status);
	json_add_number(&t, "bytes_in", e->received_bytes);
	json_add_number(&t, "bytes_out", e->sent_bytes);
	json_add_number(&t, "body_bytes", e->body_bytes);
	json_add_cache(&t, e->cache);
	json_add_word(&t, "kept", e->kept);
	json_add_decision(&t, e->report);
	json_add_origin(&t, e);
	json_add_time(&t, "first_byte_ms", e->first_byte_us);
	json_add_time(&t, "total_ms", (int64_t)e->duration_us);
	json_add_word(&t, "end", e->end);
	text_puts(&t, "}");
	buf[t.len] = '\n';
	return t.len + 1;
}
