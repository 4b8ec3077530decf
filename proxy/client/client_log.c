/* What the access log says of a request, gathered when it ends; see client_internal.h. */
#include "proxy/client/client_internal.h"

#include "proxy/client/access_log.h"
#include "proxy/client/client_intercept.h"
#include "proxy/net/conn.h"
#include "proxy/net/tunnel.h"

/* The times and the address of a fetch belong to the request that began the fetch and gets its response. A hit has
 * none, even if a refresh runs behind it. */
static const struct fetch_timing *client_timing(const struct exchange *x)
{
	const struct cache_status *s = answer_status(&x->answer);

	return s && s->hit ? NULL : x->timing;
}

/* Adds what only some formats show. */
static void client_log_more(struct client *c, struct access_log_entry *e)
{
	struct exchange *x = c->x;
	const struct target *target = answer_target(&x->answer);
	bool complete = x->ctx.settings;       /* the request's head */

	e->wall_ms = loop_wall_ms(client_loop(c));
	e->received_bytes = !complete ? x->in_len : x->msg.head_len + x->upload_bytes +
	    (c->tunnel ? tunnel_bytes(c->tunnel, TUNNEL_CLIENT) : 0);
	e->sent_bytes = c->tunnel ? tunnel_bytes(c->tunnel, TUNNEL_ORIGIN) : x->sender.bytes;
	e->way = answer_way_names[client_way(c)];
	e->cache = answer_status(&x->answer);
	e->first_byte_us = x->first_us ? (int64_t)(x->first_us - x->start_us) : -1;
	e->timing = client_timing(x);
	e->origin_host = target && target->to.path ? target->to.authority : NULL;
	if (complete) {
		e->version = x->msg.minor ? "1.1" : "1.0";
		e->referer = http_msg_get(&x->msg, H_REFERER);
		e->user_agent = http_msg_get(&x->msg, H_USER_AGENT);
	}
	if (client_times(c))
		e->traceparent = trace_own(&x->trace, complete ? &x->msg : NULL);
}

/* The target as it is logged: that of a request inside an opened CONNECT is a path, and logged as the URL that it
 * means, in room. */
static struct slice client_target(const struct client *c, struct text *room)
{
	struct slice target = http_msg_target(&c->x->msg);

	if (!c->opened || !target.len || target.at[0] != '/')
		return target;
	text_puts(room, "https://");
	text_puts(room, c->opened->to.authority);
	text_add(room, target.at, target.len < ACCESS_TARGET_MAX ? target.len : ACCESS_TARGET_MAX);
	return room->failed ? target : (struct slice){ room->bytes, room->len };
}

void client_log_line(struct client *c, const char *end)
{
	enum conf_log_format format = client_conf(c)->log_format;
	struct exchange *x = c->x;
	const struct target *target = answer_target(&x->answer);
	char line[ACCESS_LOG_LINE_MAX];
	char who[REQUESTER_TEXT_MAX];
	struct object_report report;
	char url[ACCESS_TARGET_MAX + DESTINATION_AUTHORITY_MAX + sizeof "https://"];
	struct text room = text_on(url, sizeof url);
	char cause[FAILURE_CAUSE_MAX];
	struct access_log_entry e = {
		.when = loop_log_time(client_loop(c)), .client = x->who.told ? requester_text(&x->who,
		    who) : conn_peer(c->conn),
		.target = client_target(c, &room),
		.method = { x->in + x->msg.method_at, x->msg.method_len }, .status = x->status,
		.body_bytes = c->tunnel ? tunnel_bytes(c->tunnel, TUNNEL_ORIGIN) : x->sender.body_bytes,
		.tunnel = c->tunnel, .received_bytes = c->tunnel ? tunnel_bytes(c->tunnel, TUNNEL_CLIENT) : 0,
		.report = c->reader.object ? object_snapshot(c->reader.object, &report) : NULL,
		.kept = target ? answer_kept_cause(&x->answer, cause) : NULL,
		.duration_us = loop_now_us(client_loop(c)) - x->start_us, .end = end, .id = x->id,
		.route = target ? target->route->name : NULL,
	};

	if (format != CONF_LOG_TEXT)
		client_log_more(c, &e);
	loop_access(client_loop(c), line, access_log_formats[format](line, &e));
}
