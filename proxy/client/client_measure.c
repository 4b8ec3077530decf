/* What an answer adds to the histograms and the counts by label; see client_internal.h. Nothing here runs where there
 * is no admin listener. */
#include "proxy/client/client_internal.h"

/* The way by which the request came in; WAY_NONE: it was refused before a way was found. */
static enum answer_way client_way(const struct client *c)
{
	static const enum answer_way
	    ways[] = { [TARGET_ROUTE] = WAY_ROUTE, [TARGET_GATEWAY] = WAY_GATEWAY, [TARGET_FORWARD] = WAY_FORWARD };
	const struct lookup *l = &c->x->lookup;

	if (c->x->msg.method == METHOD_CONNECT)
		return WAY_CONNECT;
	if (!l->ctx || (l->target.mode == TARGET_ROUTE && l->target.route == &l->ctx->conf->direct))
		return WAY_NONE;
	return ways[l->target.mode];
}

static void client_measure_verdict(struct answers *a, struct object *o)
{
	struct object_report report;
	const struct object_report *r = object_snapshot(o, &report);
	char rule[VERDICT_FORMAT_MAX];

	if (!r->decided)
		return;
	verdict_rule(&r->verdict, rule, sizeof rule);
	answers_add_rule(a, rule);
	if (r->verdict.charset != CS_NONE)
		stats_count(&a->charsets[r->verdict.charset], 1);
}

void client_measure(struct client *c)
{
	struct exchange *x = c->x;
	struct stats *s = loop_stats(client_loop(c));

	answers_add(&s->answers, client_way(c), x->lookup.ctx ? lookup_answer(&x->lookup) : ANSWER_NONE, x->status);
	if (c->reader.object)
		client_measure_verdict(&s->answers, c->reader.object);
	if (c->tunnel || !x->first_us)
		return;
	stats_observe(s, HISTOGRAM_FIRST_BYTE, x->first_us - x->start_us);
	stats_observe(s, HISTOGRAM_REQUEST_DURATION, loop_now_us(client_loop(c)) - x->start_us);
	stats_observe(s, HISTOGRAM_RESPONSE_SIZE, x->sender.body_bytes);
}
