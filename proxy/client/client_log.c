/* What the access log says of a request, gathered when it ends; see client_internal.h. */
#include "proxy/client/client_internal.h"

#include "proxy/client/access_log.h"
#include "proxy/client/client_intercept.h"
#include "proxy/net/conn.h"
#include "proxy/net/tunnel.h"

/* The times and the address of a fetch belong to the request that began the fetch and gets its response. A hit has
 * none, even if a refresh runs behind it. */
static const struct fetch_timing *client_timing(const struct exchange *exchange)
{
	const struct cache_status *status = answer_status(&exchange->answer);

	return status && status->hit ? NULL : exchange->timing;
}

static const char *client_origin_host(const struct target *target)
{
	return target && target->to.path ? target->to.authority : NULL;
}

/* Adds what only some formats show. */
static void client_log_more(struct client *c, struct access_log_entry *entry)
{
	struct exchange *exchange = c->exchange;
	const struct target *target = answer_target(&exchange->answer);
	bool complete = exchange->ctx.settings;       /* the request's head */

	entry->wall_ms = loop_wall_ms(client_loop(c));
	entry->received_bytes = !complete ? exchange->in_len : exchange->msg.head_len + exchange->upload_bytes +
	    (c->tunnel ? tunnel_bytes(c->tunnel, TUNNEL_CLIENT) : 0);
	entry->sent_bytes = c->tunnel ? tunnel_bytes(c->tunnel, TUNNEL_ORIGIN) : exchange->sender.bytes;
	entry->way = answer_way_names[client_way(c)];
	entry->cache = answer_status(&exchange->answer);
	entry->first_byte_us = exchange->first_us ? (int64_t)(exchange->first_us - exchange->start_us) : -1;
	entry->timing = client_timing(exchange);
	entry->origin_host = client_origin_host(target);
	if (complete) {
		entry->version = exchange->msg.h2 ? "2.0" : exchange->msg.minor ? "1.1" : "1.0";
		entry->referer = http_msg_get(&exchange->msg, H_REFERER);
		entry->user_agent = http_msg_get(&exchange->msg, H_USER_AGENT);
	}
	if (client_times(c))
		entry->traceparent = trace_own(&exchange->trace, complete ? &exchange->msg : NULL);
}

/* The target as it is logged: that of a request inside an opened CONNECT is a path, and logged as the URL that it
 * means, in room. */
static struct slice client_target(const struct client *c, struct text *room)
{
	struct slice target = http_msg_target(&c->exchange->msg);

	/* What stands there may be the beginning of a password. */
	if (!c->exchange->ctx.settings && client_conf(c)->users.count)
		return (struct slice){ "", 0 };
	if (!c->opened || !target.len || target.at[0] != '/')
		return target;
	text_puts(room, "https://");
	text_puts(room, c->opened->to.authority);
	text_add(room, target.at, target.len < ACCESS_TARGET_MAX ? target.len : ACCESS_TARGET_MAX);
	return room->failed ? target : (struct slice){ room->bytes, room->len };
}

void client_log_malformed(struct client *c)
{
	stats_add(loop_stats(client_loop(c)), STAT_REQUESTS_BAD, 1);
	c->exchange->status = 400;
	client_log(c, "done");
}

void client_log_line(struct client *c, const char *end)
{
	enum conf_log_format format = client_conf(c)->log_format;
	struct exchange *exchange = c->exchange;
	const struct target *target = answer_target(&exchange->answer);
	char line[ACCESS_LOG_LINE_MAX];
	char who[REQUESTER_TEXT_MAX];
	struct object_report report;
	char url[ACCESS_TARGET_MAX + DESTINATION_AUTHORITY_MAX + sizeof "https://"];
	struct text room = text_on(url, sizeof url);
	char cause[FAILURE_CAUSE_MAX];
	struct access_log_entry e = {
		.when = loop_log_time(client_loop(c)),
		.client = exchange->who.told ? requester_text(&exchange->who, who) : conn_peer(c->conn),
		.target = client_target(c, &room),
		.method = { exchange->in + exchange->msg.method_at, exchange->msg.method_len },
		.status = exchange->status,
		.body_bytes = c->tunnel ? tunnel_bytes(c->tunnel, TUNNEL_ORIGIN) : exchange->sender.body_bytes,
		.tunnel = c->tunnel,
		.received_bytes = c->tunnel ? tunnel_bytes(c->tunnel, TUNNEL_CLIENT) : 0,
		.report = c->reader.object ? object_snapshot(c->reader.object, &report) : NULL,
		.kept = target ? answer_kept_cause(&exchange->answer, cause) : NULL,
		.duration_us = loop_now_us(client_loop(c)) - exchange->start_us,
		.end = end,
		.id = exchange->id,
		.route = target ? target->route->name : NULL,
		.user = exchange->user,
		.origin_host = target && target->mode == TARGET_ROUTE ? client_origin_host(target) : NULL,
	};

	if (format != CONF_LOG_TEXT)
		client_log_more(c, &e);
	loop_access(client_loop(c), line, access_log_formats[format](line, &e));
}
