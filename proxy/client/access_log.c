/* The access log's line; see access_log.h. */
#include "proxy/client/access_log.h"

#include "proxy/base/log.h"
#include "proxy/base/text.h"
#include "proxy/base/url_secrets.h"

static void add_or_dash(struct text *t, const char *name, const char *value)
{
	text_puts(t, name);
	text_puts(t, value && *value ? value : "-");
}

static void add_number(struct text *t, const char *name, uint64_t n)
{
	text_puts(t, name);
	text_number(t, n);
}

/* Adds s escaped, in at most max - 1 bytes. t must be a text_on(). */
static void add_bytes(struct text *t, struct slice s, size_t max)
{
	size_t room = t->cap - t->len, n = log_escape(t->bytes + t->len, room < max ? room : max, s.at, s.len);

	t->len += n;
	if (!n)
		text_puts(t, "-");
}

/* The target without its secrets. A URL with a password is refused, but still logged. */
static struct slice mask(char room[URL_SHOWN_MAX], struct slice target)
{
	if (!url_has_secret_sign(target.at, target.len))
		return target;
	return (struct slice){ room, url_show(room, target.at, target.len) };
}

size_t access_target(char buf[ACCESS_TARGET_MAX], struct slice target)
{
	char room[URL_SHOWN_MAX];

	target = mask(room, target);
	return log_escape(buf, ACCESS_TARGET_MAX, target.at, target.len);
}

static void add_target(struct text *t, struct slice target)
{
	char room[URL_SHOWN_MAX];

	text_puts(t, " ");
	add_bytes(t, mask(room, target), ACCESS_TARGET_MAX);
}

static void add_route(struct text *t, const char *name)
{
	text_puts(t, " route=");
	if (name && *name)
		add_bytes(t, (struct slice){ name, strlen(name) }, ACCESS_ROUTE_MAX);
	else
		text_puts(t, "-");
}

static void add_user(struct text *t, const char *name)
{
	text_puts(t, " user=");
	add_bytes(t, (struct slice){ name, strlen(name) }, ACCESS_USER_MAX);
}

static void add_milliseconds(struct text *t, uint64_t us)
{
	unsigned rest = (unsigned)(us % 1000);
	const char digits[] = { '.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10),
		'm', 's' };

	add_number(t, " time=", us / 1000);
	text_add(t, digits, sizeof digits);
}

const char *access_log_reason(const struct verdict *v)
{
	if (v->kind == VERDICT_ERROR)
		return verdict_error_name(v->error);
	return v->kind == VERDICT_NONE ? verdict_reason_name(v->reason) : NULL;
}

struct slice access_log_address(const char *client, struct slice *port)
{
	const char *colon = strrchr(client, ':');
	struct slice address = { client, colon ? (size_t)(colon - client) : strlen(client) };

	*port = (struct slice){ colon ? colon + 1 : client, colon && colon[1] != '-' ? strlen(colon + 1) : 0 };
	if (*client != '[')
		return address;
	return (struct slice){ client + 1, address.len - 2 };
}

access_log_f *const access_log_formats[] = {
	[CONF_LOG_TEXT] = access_log_text, [CONF_LOG_JSON] = access_log_json, [CONF_LOG_COMBINED] = access_log_combined,
};

size_t access_log_text(char buf[ACCESS_LOG_LINE_MAX], const struct access_log_entry *entry)
{
	static const struct verdict no_verdict;
	const struct object_report *report = entry->report;
	const struct verdict *v = report && report->decided ? &report->verdict : &no_verdict;
	struct text t = text_on(buf, ACCESS_LOG_LINE_MAX - 1);
	char rule[VERDICT_FORMAT_MAX] = "";

	text_puts(&t, entry->when);
	text_puts(&t, " ");
	text_puts(&t, entry->client);
	text_puts(&t, " ");
	add_bytes(&t, entry->method, ACCESS_METHOD_MAX);
	add_target(&t, entry->target);
	add_number(&t, " ", (uint64_t)entry->status);
	add_number(&t, " ", entry->body_bytes);
	if (v != &no_verdict)
		verdict_rule(v, rule, sizeof rule);
	add_or_dash(&t, " ", rule);
	add_or_dash(&t, " charset=", v->named);
	add_or_dash(&t, " was=", v->was);
	add_or_dash(&t, " reason=", access_log_reason(v));
	add_number(&t, " repairs=", report ? report->repairs : 0);
	add_number(&t, " malformed=", report ? report->malformed : 0);
	if (entry->kept)
		add_or_dash(&t, " kept=", entry->kept);
	if (entry->tunnel)
		add_number(&t, " received=", entry->received_bytes);
	add_milliseconds(&t, entry->duration_us);
	text_puts(&t, " end=");
	text_puts(&t, entry->end);
	add_number(&t, " id=c", entry->id.connection);
	add_number(&t, ".", entry->id.request);
	if (entry->user)
		add_user(&t, entry->user);
	add_route(&t, entry->route);
	if (entry->origin_host)
		add_or_dash(&t, " origin_host=", entry->origin_host);
	buf[t.len] = '\n';
	return t.len + 1;
}
