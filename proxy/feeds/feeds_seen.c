/* The list of feeds that clients asked for; see feeds_seen.h. It is cut into shards with a lock each, and each worker
 * has notes of its own (feed_notes.h), so that workers hardly ever wait for each other. */
#include "proxy/feeds/feeds_seen.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "core/policy/policy_words.h"
#include "proxy/base/hash.h"
#include "proxy/base/stats.h"

enum { SEEN_SHARDS = 16 };

/* A feed with its URL behind it, as long as it is. */
struct seen {
	TAILQ_ENTRY(seen) age;
	LIST_ENTRY(seen) chain;
	uint64_t hash;
	size_t url_len;
	struct feed_seen feed; /* allocated up to the URL's end */
};

LIST_HEAD(seen_chain, seen);

struct seen_shard {
	pthread_mutex_t lock;
	TAILQ_HEAD(seen_ages, seen) ages; /* that which was asked for last comes first */
	struct seen_chain *chains;
	size_t n;
};

struct feeds_seen {
	_Atomic uint64_t ids; /* given out so far */
	_Atomic uint64_t outdated_us; /* when anything was outdated last; for a feed that joins the list later */
	size_t max, n_chains; /* of a shard; n_chains is a power of two */
	struct seen_shard shards[SEEN_SHARDS];
	size_t n_notes;
	struct feed_notes *notes[]; /* one of each worker */
};

static feed_put seen_put;

struct feeds_seen *feeds_seen_new(size_t max, size_t workers)
{
	struct feeds_seen *feeds = calloc(1, sizeof *feeds + workers * sizeof *feeds->notes);

	if (!feeds)
		return NULL;
	feeds->n_notes = workers;
	feeds->max = (max + SEEN_SHARDS - 1) / SEEN_SHARDS;
	for (feeds->n_chains = 1; feeds->n_chains < feeds->max;)
		feeds->n_chains *= 2;
	for (size_t i = 0; i < SEEN_SHARDS; i++) {
		pthread_mutex_init(&feeds->shards[i].lock, NULL);
		TAILQ_INIT(&feeds->shards[i].ages);
		if (!(feeds->shards[i].chains = calloc(feeds->n_chains, sizeof *feeds->shards[i].chains))) {
			feeds_seen_free(&feeds);
			return NULL;
		}
	}
	for (size_t i = 0; i < workers; i++)
		if (!(feeds->notes[i] = feed_notes_new(seen_put, feeds))) {
			feeds_seen_free(&feeds);
			return NULL;
		}
	return feeds;
}

static void seen_remove(struct seen_shard *shard, struct seen *seen)
{
	TAILQ_REMOVE(&shard->ages, seen, age);
	LIST_REMOVE(seen, chain);
	shard->n--;
	free(seen);
}

void feeds_seen_free(struct feeds_seen **fp)
{
	struct feeds_seen *feeds = *fp;

	if (!feeds)
		return;
	for (size_t i = 0; i < feeds->n_notes; i++)
		feed_notes_free(&feeds->notes[i]);
	for (size_t i = 0; i < SEEN_SHARDS && feeds->shards[i].chains; i++) {
		while (!TAILQ_EMPTY(&feeds->shards[i].ages))
			seen_remove(&feeds->shards[i], TAILQ_FIRST(&feeds->shards[i].ages));
		free(feeds->shards[i].chains);
		pthread_mutex_destroy(&feeds->shards[i].lock);
	}
	free(feeds);
	*fp = NULL;
}

static struct seen_chain *seen_chain_of(const struct feeds_seen *feeds, struct seen_shard *shard, uint64_t hash)
{
	return &shard->chains[hash / SEEN_SHARDS & (feeds->n_chains - 1)];
}

static struct seen *seen_find(const struct feeds_seen *feeds, struct seen_shard *shard, struct slice url, uint64_t hash)
{
	struct seen *seen;

	LIST_FOREACH(seen, seen_chain_of(feeds, shard, hash), chain)
	if (seen->hash == hash && seen->url_len == url.len && memcmp(seen->feed.url, url.at, url.len) == 0)
		return seen;
	return NULL;
}

static struct seen *seen_add(struct feeds_seen *feeds, struct seen_shard *shard, struct slice url, uint64_t hash)
{
	struct seen *seen = malloc(offsetof(struct seen, feed.url) + url.len + 1);

	if (!seen)
		return NULL;
	memset(seen, 0, offsetof(struct seen, feed.url));
	memcpy(seen->feed.url, url.at, url.len);
	seen->feed.url[url.len] = '\0';
	seen->url_len = url.len;
	seen->hash = hash;
	seen->feed.id = atomic_fetch_add(&feeds->ids, 1) + 1;
	seen->feed.outdated_us = atomic_load(&feeds->outdated_us);
	if (shard->n == feeds->max)
		seen_remove(shard, TAILQ_LAST(&shard->ages, seen_ages));
	LIST_INSERT_HEAD(seen_chain_of(feeds, shard, hash), seen, chain);
	TAILQ_INSERT_HEAD(&shard->ages, seen, age);
	shard->n++;
	return seen;
}

static void seen_take_verdict(struct feed_seen *feed, const struct feed_sum *from)
{
	const struct verdict *v = &from->verdict;

	verdict_rule(v, feed->rule, sizeof feed->rule);
	feed->charset = v->named;
	feed->was = v->was;
	feed->unlabelled = rule_is_default(feed->rule);
	feed->reason = v->kind == VERDICT_NONE ? verdict_reason_name(v->reason)
	    : v->kind == VERDICT_ERROR         ? verdict_error_name(v->error)
	    : NULL;
	feed->repairs = from->repairs;
	feed->malformed = from->malformed;
}

/* One worker's notes may come after later ones of another: the later answer is the latest. */
static void seen_take(struct feed_seen *feed, const struct feed_sum *from)
{
	bool latest = from->last >= feed->last;

	if (!feed->requests || from->first < feed->first)
		feed->first = from->first;
	feed->requests += from->requests;
	feed->hits += from->hits;
	feed->errors += from->errors;
	feed->bytes += from->bytes;
	feed_state_add(&feed->state, &from->state);
	if (!latest)
		return;
	feed->last = from->last;
	feed->status = from->status;
	if (from->has_expires && from->expires_asked_us >= feed->outdated_us)
		feed->expires = from->expires;
	if (from->decided)
		seen_take_verdict(feed, from);
	feed_history_note(&feed->history,
	    &(struct feed_event){ .at = from->last,
	        .charset = feed->charset,
	        .was = feed->was,
	        .unlabelled = feed->unlabelled,
	        .status = from->status,
	        .kept = feed->state.kept_us != 0 });
}

static void seen_put(void *list, struct slice url, const struct feed_sum *from)
{
	struct feeds_seen *feeds = list;
	uint64_t hash = hash_keyed(url.at, url.len);
	struct seen_shard *shard = &feeds->shards[hash % SEEN_SHARDS];

	pthread_mutex_lock(&shard->lock);
	struct seen *seen = seen_find(feeds, shard, url, hash);
	if (seen && seen != TAILQ_FIRST(&shard->ages)) {
		TAILQ_REMOVE(&shard->ages, seen, age);
		TAILQ_INSERT_HEAD(&shard->ages, seen, age);
	}
	if (seen || (from->listed && (seen = seen_add(feeds, shard, url, hash))))
		seen_take(&seen->feed, from);
	pthread_mutex_unlock(&shard->lock);
}

void feeds_seen_note(struct feeds_seen *feeds, size_t worker, const void *hint, struct slice url,
    const struct feed_answer *answer)
{
	if (url.len < FEEDS_SEEN_URL_MAX)
		feed_notes_add(feeds->notes[worker], hint, url, answer);
}

static void seen_outdate(struct feed_seen *feed, uint64_t now_us)
{
	feed->outdated_us = now_us;
	feed->expires = 0;
}

static void seen_outdate_prefix(struct feeds_seen *feeds, struct slice url, uint64_t now_us)
{
	for (size_t i = 0; i < SEEN_SHARDS; i++) {
		struct seen_shard *shard = &feeds->shards[i];
		struct seen *seen;

		pthread_mutex_lock(&shard->lock);
		TAILQ_FOREACH(seen, &shard->ages, age)
		if (seen->url_len >= url.len && memcmp(seen->feed.url, url.at, url.len) == 0)
			seen_outdate(&seen->feed, now_us);
		pthread_mutex_unlock(&shard->lock);
	}
}

static void seen_outdate_one(struct feeds_seen *feeds, struct slice url, uint64_t now_us)
{
	uint64_t hash = hash_keyed(url.at, url.len);
	struct seen_shard *shard = &feeds->shards[hash % SEEN_SHARDS];
	struct seen *seen;

	pthread_mutex_lock(&shard->lock);
	if ((seen = seen_find(feeds, shard, url, hash)))
		seen_outdate(&seen->feed, now_us);
	pthread_mutex_unlock(&shard->lock);
}

void feeds_seen_outdate(struct feeds_seen *feeds, struct slice url, bool prefix, uint64_t now_us)
{
	atomic_store(&feeds->outdated_us, now_us);
	(prefix ? seen_outdate_prefix : seen_outdate_one)(feeds, url, now_us);
}

bool feed_is_kept(const struct feed_seen *feed, int64_t now)
{
	return feed->state.kept_us && feed->state.kept_asked_us >= feed->outdated_us && now < feed->state.kept_until;
}

static void seen_collect(struct feeds_seen *feeds)
{
	for (size_t i = 0; i < feeds->n_notes; i++)
		feed_notes_collect(feeds->notes[i]);
}

/* How two feeds stand to each other in a list whose first one is the nearest to the edge. */
static int seen_compare(const struct feeds_query *query, const struct feed_seen *a, const struct feed_seen *b)
{
	return query->backwards ? query->compare(b, a) : query->compare(a, b);
}

/* The place of a feed in a list of n that is in the query's order. */
static size_t seen_place(const struct feeds_query *query, struct feed_seen *const *list, size_t n,
    const struct feed_seen *feed)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if (seen_compare(query, list[middle], feed) <= 0)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* Puts a copy of the feed into the list, whose last one leaves where it is full. Returns the new length. */
static size_t seen_insert(const struct feeds_query *query, struct feed_seen **list, size_t n, const struct seen *seen)
{
	size_t at = seen_place(query, list, n, &seen->feed), len = offsetof(struct feed_seen, url) + seen->url_len + 1;
	struct feed_seen *copy = at < query->max ? malloc(len) : NULL;

	if (!copy)
		return n;
	memcpy(copy, &seen->feed, len);
	if (n == query->max)
		free(list[--n]);
	memmove(list + at + 1, list + at, (n - at) * sizeof *list);
	list[at] = copy;
	return n + 1;
}

static void seen_reverse(struct feed_seen **list, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct feed_seen *other = list[n - 1 - i];

		list[n - 1 - i] = list[i];
		list[i] = other;
	}
}

size_t feeds_seen_first(struct feeds_seen *feeds, const struct feeds_query *query, struct feed_seen **list,
    struct feeds_count *count)
{
	size_t n = 0, side = 0;

	seen_collect(feeds);
	count->total = 0;
	for (size_t i = 0; i < SEEN_SHARDS; i++) {
		struct seen_shard *shard = &feeds->shards[i];
		struct seen *seen;

		pthread_mutex_lock(&shard->lock);
		TAILQ_FOREACH(seen, &shard->ages, age)
		if (query->want(query, &seen->feed)) {
			count->total++;
			if (!query->edge || seen_compare(query, query->edge, &seen->feed) < 0) {
				side++;
				n = seen_insert(query, list, n, seen);
			}
		}
		pthread_mutex_unlock(&shard->lock);
	}
	if (query->backwards)
		seen_reverse(list, n);
	count->first = query->backwards ? side - n : count->total - side;
	return n;
}

void feeds_seen_stats(struct feeds_seen *feeds, int64_t now, struct stats_gauges *to)
{
	uint64_t kept = 0;
	int64_t first = now;

	if (!feeds)
		return;
	seen_collect(feeds);
	for (size_t i = 0; i < SEEN_SHARDS; i++) {
		struct seen *seen;

		pthread_mutex_lock(&feeds->shards[i].lock);
		TAILQ_FOREACH(seen, &feeds->shards[i].ages, age)
		if (feed_is_kept(&seen->feed, now)) {
			kept++;
			if (seen->feed.state.kept_since < first)
				first = seen->feed.state.kept_since;
		}
		pthread_mutex_unlock(&feeds->shards[i].lock);
	}
	stats_tell(to, GAUGE_FEEDS_KEPT, kept);
	stats_tell(to, GAUGE_FEEDS_KEPT_LONGEST, (uint64_t)(now - first));
}
