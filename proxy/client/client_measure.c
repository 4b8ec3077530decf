/* Adding an answer to the histograms and the counts by label; see client_internal.h. Nothing here runs without an admin
 * listener. */
#include "proxy/client/client_internal.h"
#include "proxy/feeds/feeds_seen.h"

enum answer_way client_way(const struct client *c)
{
	static const enum answer_way
	    ways[] = { [TARGET_ROUTE] = WAY_ROUTE, [TARGET_GATEWAY] = WAY_GATEWAY, [TARGET_FORWARD] = WAY_FORWARD };
	const struct target *target = answer_target(&c->x->answer);

	if (c->x->msg.method == METHOD_CONNECT)
		return WAY_CONNECT;
	if (!target || (target->mode == TARGET_ROUTE && target->route == &client_conf(c)->direct))
		return WAY_NONE;
	return ways[target->mode];
}

/* Notes the answer in the list of feeds. An error is listed for every URL of a route or the gateway, which are there
 * for feeds. A client may ask the forward proxy for anything, so its errors are listed only if the URL was a feed
 * before. */
static void client_note_feed(struct client *c, const struct object_report *all, bool cut)
{
	struct exchange *x = c->x;
	const struct cache_status *s = answer_status(&x->answer);
	int64_t next_fetch = all ? answer_next_fetch(&x->answer, c->reader.object) : 0;
	const struct object_report *r = all && all->decided ? all : NULL;
	char room[FEEDS_SEEN_URL_MAX];
	struct text written = text_on(room, sizeof room);
	struct slice url = answer_url(&x->answer, &written);
	struct feed_answer a = { .now = loop_wall_ms(client_loop(c)) / 1000,
		.status = x->status,
		.hit = s->hit || s->kept,
		.failed = cut || x->status >= 500,
		.has_ttl = next_fetch && !cut,
		.asked_us = x->start_us,
		.bytes = x->sender.body_bytes };

	a.ttl = next_fetch - a.now;
	a.listed = a.failed && answer_target(&x->answer)->mode != TARGET_FORWARD;
	if (r) {
		a.verdict = &r->verdict;
		a.repairs = r->repairs;
		a.malformed = r->malformed;
	}
	if (all) {
		struct answer_ended end = { x->status, x->start_us, cut, FAILURE_NONE };

		if (cut && object_phase(c->reader.object) == OBJECT_FAILED)
			end.why = object_failure(c->reader.object)->error;
		answer_account(&x->answer, all, &end, &a.state);
	}
	if (url.at)
		feeds_seen_note(x->ctx.feeds, x->ctx.worker, c->reader.object, url, &a);
}

void client_measure(struct client *c, bool cut)
{
	struct exchange *x = c->x;
	struct stats *s = loop_stats(client_loop(c));
	struct object_report report;
	const struct object_report *all = c->reader.object ? object_snapshot(c->reader.object, &report) : NULL;
	const struct object_report *r = all && all->decided ? all : NULL;
	const struct target *target = answer_target(&x->answer);
	enum answer_outcome outcome = target ? answer_outcome(&x->answer) : ANSWER_NONE;

	answers_add(&s->answers, client_way(c), outcome, x->status);
	if (r)
		answers_add_verdict(&s->answers, &r->verdict);
	if (c->tunnel || !x->first_us)
		return;
	if (target && target->to.path)
		client_note_feed(c, all, cut);
	stats_observe(s, HISTOGRAM_FIRST_BYTE, outcome, x->first_us - x->start_us);
	stats_observe(s, HISTOGRAM_RESPONSE_SIZE, outcome, x->sender.body_bytes);
	stats_observe(s, HISTOGRAM_REQUEST_DURATION, outcome, x->sent_us - x->start_us);
}
