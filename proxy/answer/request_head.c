/* Request heads for origins; see request_head.h. */
#include "proxy/answer/request_head.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/base/text.h"
#include "proxy/http/accept_feeds.h"
#include "proxy/http/cdn_loop.h"
#include "proxy/http/conditional.h"
#include "proxy/http/etag.h"
#include "proxy/http/max_forwards.h"
#include "proxy/http/target.h"
#include "proxy/http/traceparent.h"

static void request_head_add_line(struct text *t, const char *name, struct slice value)
{
	if (!value.at)
		return;
	text_puts(t, name);
	text_puts(t, ": ");
	text_add(t, value.at, value.len);
	text_puts(t, "\r\n");
}

static void request_head_add_field(struct text *t, const struct http_msg *m, const struct http_field *field)
{
	struct slice name = http_field_name(m, field), value = http_field_value(m, field);

	text_field(t, name, value);
}

/* Whether name is in the comma-separated list, or the list has "*". */
static bool list_has(const char *list, struct slice name)
{
	struct slice rest = { list, strlen(list) };

	while (rest.at) {
		struct slice one = slice_until(rest, ',', &rest);

		if (slice_is(one, "*") || (one.len == name.len && name.len && !strncasecmp(one.at, name.at, name.len)))
			return true;
	}
	return false;
}

static bool is_disguised(const struct http_msg *m, const struct http_field *field)
{
	return http_header_is_disguised((enum header_id)field->id, http_field_name(m, field));
}

/* Whether the route has a field of its own in the place of the client's. */
static bool route_replaces(const struct http_msg *m, const struct http_field *field, const struct target *target)
{
	const struct conf_fields *own = &target->route->origin_fields;
	struct slice name = http_field_name(m, field);

	return own->count && conf_fields_have(own, name.at, name.len);
}

/* What becomes of a client's field. A signature of the client's own would stand beside utfeed's. */
static enum header_request treated(const struct http_field *field, const struct target *target)
{
	enum header_request request = http_header_request((enum header_id)field->id);

	if (request == REQUEST_SIGNATURE)
		return *target->route->sign_key ? REQUEST_DROP : REQUEST_OTHER;
	return request;
}

/* Whether a client's field goes along. On methods other than GET and HEAD (read is false), whose requests are the
 * operator's own business, all end-to-end fields do. */
static bool is_sent(const struct http_msg *m, const struct http_field *field, bool read, const struct target *target)
{
	if (field->hop || is_disguised(m, field))
		return false;
	switch (treated(field, target)) {
	case REQUEST_SEND:
		return true;
	case REQUEST_OTHER:
		return !read || target->mode == TARGET_FORWARD;
	case REQUEST_RELAY:
		return !read;
	default:
		return false;
	}
}

/* Adds a list of entity tags, as the origin knows them. stale: tags of ours that no longer name any bytes go along as
 * they are. An unsafe request must not lose a precondition. */
static void add_tags(struct text *t, const struct http_msg *m, enum header_id id, const char *name, bool stale,
    struct response_settings *settings)
{
	struct http_list it = { 0, 0 };
	struct slice member;
	struct text list = { 0 };

	while (http_msg_next_member(m, id, &it, &member)) {
		size_t before = list.len;
		enum etag_owner owner;

		if (before)
			text_puts(&list, ", ");
		owner = etag_restore(&list, member, settings->etag_suffix);
		if (owner == ETAG_STALE && stale)
			text_add(&list, member.at, member.len);
		else if (owner == ETAG_STALE)
			list.len = before;
		settings->etag_ours |= owner == ETAG_OURS || owner == ETAG_OURS_GZIP;
		settings->etag_gzip |= owner == ETAG_OURS_GZIP;
	}
	if (list.len)
		request_head_add_line(t, name, (struct slice){ list.bytes, list.len });
	t->failed |= list.failed;
	text_free(&list);
}

/* Writes "utfeed/1.0 (+CONTACT) (client/2.0)". Parentheses of the client's are replaced: they would end the comment
 * early. */
static void add_user_agent(struct text *t, struct slice client, const struct conf_route *route)
{
	const char *wanted = route->user_agent;
	size_t at;

	if (!strcmp(wanted, "client")) {
		request_head_add_line(t, "User-Agent", client);
		return;
	}
	text_puts(t, "User-Agent: ");
	text_puts(t, *wanted ? wanted : "utfeed/" PACKAGE_VERSION);
	if (!*wanted && *route->contact_url)
		text_printf(t, " (+%s)", route->contact_url);
	if (!*wanted && client.len) {
		text_puts(t, " (");
		at = t->len;
		text_add(t, client.at, client.len);
		for (; !t->failed && at < t->len; at++)
			if (t->bytes[at] == '(' || t->bytes[at] == ')' || t->bytes[at] == '\\')
				t->bytes[at] = t->bytes[at] == '(' ? '[' : ']';
		text_puts(t, ")");
	}
	text_puts(t, "\r\n");
}

/* Whether only the route's own origin may see the field: it does not go along where a redirect leads elsewhere. */
static bool request_head_is_private(const struct http_msg *m, const struct http_field *field,
    const struct target *target)
{
	if (field->hop || is_disguised(m, field))
		return false;
	if (treated(field, target) == REQUEST_OTHER)
		return list_has(target->route->request_fields, http_field_name(m, field));
	return (field->id == H_COOKIE && target->cookies) || (field->id == H_AUTHORIZATION && target->authorization);
}

/* Whether the request needs "Content-Length: 0": methods that give a body a meaning say so when there is none, or
 * origins may answer 411 (RFC 9110 section 8.6). */
static bool says_empty(const struct http_msg *m, const char *method)
{
	return !m->chunked && !m->content_length &&
	    (!strcmp(method, "POST") || !strcmp(method, "PUT") || !strcmp(method, "PATCH"));
}

bool request_head_ranged(const struct http_msg *m)
{
	return http_msg_has(m, H_RANGE) && range_asked(m) && http_msg_count(m, H_IF_RANGE) <= 1 &&
	    !etag_is_ours(http_msg_get(m, H_IF_RANGE));
}

static bool reads(const struct http_msg *m)
{
	return m->method == METHOD_GET || m->method == METHOD_HEAD;
}

/* Writes Accept. In the gateway feeds come first whatever the client says, and alike for all who do not name feeds
 * themselves, so that an origin's Vary: Accept does not part them. */
static void add_accept(struct text *t, const struct http_msg *m, const struct target *target)
{
	const char *wanted = target->route->accept;
	struct slice accept = http_msg_get(m, H_ACCEPT);
	bool own = target->mode != TARGET_GATEWAY || !strcmp(wanted, "client") || accept_feeds_first(m);

	if (*wanted && strcmp(wanted, "client"))
		accept = (struct slice){ wanted, strlen(wanted) };
	else if (!accept.len || !own)
		accept = (struct slice){ ACCEPT_FEEDS, sizeof ACCEPT_FEEDS - 1 };
	request_head_add_line(t, "Accept", accept);
}

/* Adds those of the client's fields that any origin may see. */
static void add_client_fields(struct text *t, const struct http_msg *m, const struct target *target)
{
	for (uint32_t i = 0; i < m->n_fields; i++)
		if (is_sent(m, &m->fields[i], reads(m), target) &&
		    !route_replaces(m, &m->fields[i], target))
			request_head_add_field(t, m, &m->fields[i]);
	add_accept(t, m, target);
	add_user_agent(t, http_msg_get(m, H_USER_AGENT), target->route);
}

static void add_private_fields(struct text *t, const struct http_msg *m, const struct target *target)
{
	const struct conf_fields *own = &target->route->origin_fields;

	for (uint32_t i = 0; i < m->n_fields; i++)
		if (!is_sent(m, &m->fields[i], reads(m), target) &&
		    request_head_is_private(m, &m->fields[i], target) && !route_replaces(m, &m->fields[i], target))
			request_head_add_field(t, m, &m->fields[i]);
	for (size_t i = 0; i < own->count; i++)
		text_printf(t, "%s: %s\r\n", own->items[i].name, own->items[i].value);
}

/* Adds the proxies that the request came through, and name behind them; NULL: without it. Others' members of CDN-Loop
 * always go along. */
static void add_passes(struct text *t, const struct http_msg *m, const struct target *target, const char *name)
{
	bool loop = target->route->cdn_loop;          /* RFC 8586 */

	for (uint32_t i = 0; !loop && i < m->n_fields; i++)
		if (m->fields[i].id == H_VIA)
			request_head_add_field(t, m, &m->fields[i]);
	if (!loop && name)
		http_msg_add_via(t, m, name);
	cdn_loop_add(t, m, loop ? name : NULL);
}

size_t request_head_sent(struct text *t, const struct http_msg *m, const struct target *target)
{
	size_t before = t->len;

	add_client_fields(t, m, target);
	size_t open = t->len - before;
	add_passes(t, m, target, NULL);
	add_private_fields(t, m, target);
	return open;
}

static void add_lower_case(struct text *t, struct slice name)
{
	for (size_t i = 0; i < name.len; i++)
		text_add(t, &(char){ (char)tolower((unsigned char)name.at[i]) }, 1);
}

void request_head_key(struct text *key, const struct http_msg *m, const struct target *target)
{
	bool forward = target->mode == TARGET_FORWARD;
	size_t n = 0;

	for (uint32_t i = 0; forward && i < m->n_fields; i++) {
		const struct http_field *field = &m->fields[i];
		struct slice value = http_field_value(m, field);

		if (treated(field, target) != REQUEST_OTHER || !is_sent(m, field, reads(m), target))
			continue;
		text_puts(key, n++ ? "" : "\n");
		add_lower_case(key, http_field_name(m, field));
		text_puts(key, ":");
		text_add(key, value.at, value.len);
		text_puts(key, "\n");
	}
}

int request_head_write(struct fetch_request *asked, const struct http_msg *m, const struct conf *conf,
    const struct target *target, bool conditional, struct trace *trace, struct slice begin)
{
	bool read = reads(m);
	struct response_settings own = asked->transform.head;
	struct text t = { 0 }, private = { 0 };
	uint64_t forwards;

	if (read)
		memcpy(asked->method, "GET", sizeof "GET");
	else
		snprintf(asked->method, sizeof asked->method, "%.*s", (int)m->method_len, m->base + m->method_at);
	if (begin.at)
		text_add(&t, begin.at, begin.len);
	else
		add_client_fields(&t, m, target);
	size_t before = t.len;
	if (read && conditional) {
		add_tags(&t, m, H_IF_NONE_MATCH, "If-None-Match", false, &asked->transform.head);
		request_head_add_line(&t, "If-Modified-Since", http_msg_get(m, H_IF_MODIFIED_SINCE));
	}
	if (!read) {
		add_tags(&t, m, H_IF_MATCH, "If-Match", true, &own);
		add_tags(&t, m, H_IF_NONE_MATCH, "If-None-Match", true, &own);
	}
	asked->preconditions = t.len > before;
	add_passes(&t, m, target, conf->via);
	if (asked->ranged) {
		request_head_add_line(&t, "Range", http_msg_get(m, H_RANGE));
		request_head_add_line(&t, "If-Range", http_msg_get(m, H_IF_RANGE));
	}
	/* A part of a coded body is of no use to a client that has the decoded one. */
	text_puts(&t,
	    asked->ranged ? "Accept-Encoding: identity\r\n" : "Accept-Encoding: " CONTENT_CODING_ACCEPT "\r\n");
	if (max_forwards(m, &forwards) && forwards)
		text_printf(&t, "Max-Forwards: %llu\r\n", (unsigned long long)(forwards - 1));
	if (says_empty(m, asked->method))
		text_puts(&t, "Content-Length: 0\r\n");
	add_private_fields(&private, m, target);
	if (trace && target->route->traceparent)
		trace_add_fields(&private, trace, m);
	asked->fields = text_take(&t, &asked->fields_len);
	asked->private_fields = text_take(&private, &asked->private_len);
	return asked->fields ? 0 : -1;
}

/* Which fields are left out of a copy. vary NULL: only what the client says to caches. */
struct leaving_out { const struct target *target; const char *vary; };

static bool is_left_out(const struct http_msg *m, const struct http_field *field, const struct leaving_out *by)
{
	struct slice name = http_field_name(m, field);

	if (!by->vary)
		return field->id == H_CACHE_CONTROL || field->id == H_PRAGMA;
	if (list_has(by->vary, name) || (strcmp(by->target->route->request_fields, "*") &&
	        list_has(by->target->route->request_fields, name)))
		return false;
	switch (field->id) {
	case H_USER_AGENT:
		return strcmp(by->target->route->user_agent, "client") != 0;
	case H_ACCEPT:
	case H_VIA:
	case H_CDN_LOOP:
		return true;
	default:
		return http_header_request((enum header_id)field->id) == REQUEST_SEND;
	}
}

static int request_head_copy(struct http_msg *m, const struct http_msg *from, const struct leaving_out *by)
{
	if (http_msg_init(m, from->n_fields ? from->n_fields : 1))
		return -1;
	struct http_field *fields = m->fields;
	*m = *from;
	m->fields = fields;
	m->n_fields = 0;
	memset(m->ids, 0, sizeof m->ids);
	for (uint32_t i = 0; i < from->n_fields; i++)
		if (!is_left_out(from, &from->fields[i], by)) {
			fields[m->n_fields] = from->fields[i];
			http_msg_add(m);
		}
	return 0;
}

int request_head_for_anybody(struct http_msg *m, const struct http_msg *from)
{
	return request_head_copy(m, from, &(struct leaving_out){ NULL, NULL });
}

int request_head_plain(struct http_msg *m, const struct http_msg *from, const struct target *target, const char *vary)
{
	return request_head_copy(m, from, &(struct leaving_out){ target, vary });
}
