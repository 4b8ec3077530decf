/* Adding an answer to the histograms and the counts by label; see client_internal.h. Nothing here runs without an admin
 * listener. */
#include "proxy/client/client_internal.h"
#include "proxy/feeds/feeds_seen.h"

enum answer_way client_way(const struct client *c)
{
	static const enum answer_way
	    ways[] = { [TARGET_ROUTE] = WAY_ROUTE, [TARGET_GATEWAY] = WAY_GATEWAY, [TARGET_FORWARD] = WAY_FORWARD };
	const struct target *target = answer_target(&c->exchange->answer);

	if (c->exchange->msg.method == METHOD_CONNECT)
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
	struct exchange *exchange = c->exchange;
	const struct cache_status *status = answer_status(&exchange->answer);
	int64_t next_fetch = all ? answer_next_fetch(&exchange->answer, c->reader.object) : 0;
	const struct object_report *report = all && all->decided ? all : NULL;
	char room[FEEDS_SEEN_URL_MAX];
	struct text written = text_on(room, sizeof room);
	struct slice url = answer_url(&exchange->answer, &written);
	struct feed_answer a = { .now = loop_wall_ms(client_loop(c)) / 1000,
		.status = exchange->status,
		.hit = status->hit || status->kept,
		.failed = cut || exchange->status >= 500,
		.has_ttl = next_fetch && !cut,
		.asked_us = exchange->start_us,
		.bytes = exchange->sender.body_bytes };

	a.ttl = next_fetch - a.now;
	a.listed = a.failed && answer_target(&exchange->answer)->mode != TARGET_FORWARD;
	if (report) {
		a.verdict = &report->verdict;
		a.repairs = report->repairs;
		a.malformed = report->malformed;
	}
	if (all) {
		struct answer_ended end = { exchange->status, exchange->start_us, cut, FAILURE_NONE };

		if (cut && object_phase(c->reader.object) == OBJECT_FAILED)
			end.why = object_failure(c->reader.object)->error;
		answer_account(&exchange->answer, all, &end, &a.state);
	}
	if (url.at)
		feeds_seen_note(exchange->ctx.feeds, exchange->ctx.worker, c->reader.object, url, &a);
}

void client_measure(struct client *c, bool cut)
{
	struct exchange *exchange = c->exchange;
	struct stats *stats = loop_stats(client_loop(c));
	struct object_report report;
	const struct object_report *all = c->reader.object ? object_snapshot(c->reader.object, &report) : NULL;
	const struct object_report *object_report = all && all->decided ? all : NULL;
	const struct target *target = answer_target(&exchange->answer);
	enum answer_outcome outcome = target ? answer_outcome(&exchange->answer) : ANSWER_NONE;

	answers_add(&stats->answers, client_way(c), outcome, exchange->status);
	if (object_report)
		answers_add_verdict(&stats->answers, &object_report->verdict);
	if (c->tunnel || !exchange->first_us)
		return;
	if (target && target->to.path)
		client_note_feed(c, all, cut);
	stats_observe(stats, HISTOGRAM_FIRST_BYTE, outcome, exchange->first_us - exchange->start_us);
	stats_observe(stats, HISTOGRAM_RESPONSE_SIZE, outcome, exchange->sender.body_bytes);
	stats_observe(stats, HISTOGRAM_REQUEST_DURATION, outcome, exchange->sent_us - exchange->start_us);
}
