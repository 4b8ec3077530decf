/* How a feed stands now, and sums over all; see feed_standing.h. */
#include "proxy/admin/feed_standing.h"

#include <stdlib.h>
#include <string.h>

#include "core/policy/policy_words.h"
#include "proxy/base/container_of.h"
#include "proxy/base/hash.h"
#include "proxy/net/loop.h"

struct feeds_now feeds_now(struct loop *loop, struct backoff *backoff)
{
	return (struct feeds_now){ loop_wall_ms(loop) / 1000, loop_now_ms(loop), backoff };
}

bool feed_is_mislabelled(const struct feed_seen *feed)
{
	return rule_is_mislabelled(feed->rule, feed->charset, feed->was);
}

static const struct { const char *name, *why; } feed_protocols[] = {
	[BACKOFF_PROTOCOL_ANY] = { NULL, NULL },
	[BACKOFF_PROTOCOL_HTTP_1] = { "HTTP/1.1", "better" },
	[BACKOFF_PROTOCOL_HTTP_2] = { "HTTP/2", "better" },
	[BACKOFF_PROTOCOL_REQUIRED] = { "HTTP/1.1", "required" },
};

void feed_standing_read(struct feed_standing *standing, const struct feed_seen *feed, const struct feeds_now *now)
{
	struct backoff_shown pause;
	struct slice url = { feed->url, strlen(feed->url) };

	enum backoff_protocol protocol = backoff_protocol_shown(now->backoff, url, now->steady_ms);

	*standing = (struct feed_standing){ .next_fetch = feed->expires, .protocol = feed_protocols[protocol].name,
		.protocol_why = feed_protocols[protocol].why };
	if (feed_history_count(&feed->history) && feed_event_fails(feed_history_event(&feed->history, 0)))
		standing->word = FEED_FAILS;
	if (backoff_find(now->backoff, url, now->steady_ms, &pause)) {
		standing->word = FEED_PAUSED;
		standing->paused = pause.cause;
		standing->paused_until = now->wall_s + (int64_t)((pause.until_ms - now->steady_ms + 999) / 1000);
		if (standing->paused_until > feed->expires)
			standing->next_fetch = standing->paused_until;
	}
	if (feed_is_kept(feed, now->wall_s)) {
		standing->word = FEED_KEPT;
		standing->kept_since = feed->state.kept_since;
	}
}

const char *feed_standing_word(enum feed_state_word word)
{
	static const char *const words[] = {
		[FEED_FINE] = "fine", [FEED_FAILS] = "failing", [FEED_PAUSED] = "paused", [FEED_KEPT] = "kept"
	};

	return words[word];
}

/* ---- sums ---- */

struct tally_walk {
	struct feeds_query query;
	struct feeds_tally *tally;
	int64_t now;
	uint64_t *hosts; /* hashes of the hosts of mislabelled feeds, in no order */
	size_t n, cap;
};

/* Out of memory: the host is not counted. */
static void tally_host(struct tally_walk *walk, const char *url)
{
	const char *host = strstr(url, "://");

	if (walk->n == walk->cap) {
		size_t cap = walk->cap ? 2 * walk->cap : 64;
		uint64_t *grown = realloc(walk->hosts, cap * sizeof *grown);

		if (!grown)
			return;
		walk->hosts = grown;
		walk->cap = cap;
	}
	host = host ? host + 3 : url;
	walk->hosts[walk->n++] = hash_keyed(host, strcspn(host, "/"));
}

/* Wants no feed, and counts each. */
static bool tally_feed(const struct feeds_query *query, const struct feed_seen *feed)
{
	struct tally_walk *walk = container_of(query, struct tally_walk, query);
	struct feeds_tally *tally = walk->tally;

	tally->feeds++;
	if (feed_is_mislabelled(feed)) {
		tally->mislabelled++;
		tally_host(walk, feed->url);
	}
	if (feed_is_kept(feed, walk->now)) {
		if (!tally->kept++ || feed->state.kept_since < tally->kept_since)
			tally->kept_since = feed->state.kept_since;
	}
	return false;
}

static int tally_compare(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

void feeds_tally_read(struct feeds_tally *tally, struct feeds_seen *feeds, int64_t now)
{
	struct tally_walk walk = { .query.want = tally_feed, .tally = tally, .now = now };
	struct feeds_count none;

	*tally = (struct feeds_tally){ 0 };
	(void)feeds_seen_first(feeds, &walk.query, NULL, &none);
	if (walk.n)
		qsort(walk.hosts, walk.n, sizeof *walk.hosts, tally_compare);
	for (size_t i = 0; i < walk.n; i++)
		tally->publishers += !i || walk.hosts[i] != walk.hosts[i - 1];
	free(walk.hosts);
}
