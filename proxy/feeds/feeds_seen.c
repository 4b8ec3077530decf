/* The list of feeds that clients asked for; see feeds_seen.h. It is cut into shards with a lock each, and each worker
 * has notes of its own (feed_notes.h), so that workers hardly ever wait for each other. */
#include "proxy/feeds/feeds_seen.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

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
	struct feeds_seen *f = calloc(1, sizeof *f + workers * sizeof *f->notes);

	if (!f)
		return NULL;
	f->n_notes = workers;
	f->max = (max + SEEN_SHARDS - 1) / SEEN_SHARDS;
	for (f->n_chains = 1; f->n_chains < f->max;)
		f->n_chains *= 2;
	for (size_t i = 0; i < SEEN_SHARDS; i++) {
		pthread_mutex_init(&f->shards[i].lock, NULL);
		TAILQ_INIT(&f->shards[i].ages);
		if (!(f->shards[i].chains = calloc(f->n_chains, sizeof *f->shards[i].chains))) {
			feeds_seen_free(&f);
			return NULL;
		}
	}
	for (size_t i = 0; i < workers; i++)
		if (!(f->notes[i] = feed_notes_new(seen_put, f))) {
			feeds_seen_free(&f);
			return NULL;
		}
	return f;
}

static void seen_remove(struct seen_shard *s, struct seen *e)
{
	TAILQ_REMOVE(&s->ages, e, age);
	LIST_REMOVE(e, chain);
	s->n--;
	free(e);
}

void feeds_seen_free(struct feeds_seen **fp)
{
	struct feeds_seen *f = *fp;

	if (!f)
		return;
	for (size_t i = 0; i < f->n_notes; i++)
		feed_notes_free(&f->notes[i]);
	for (size_t i = 0; i < SEEN_SHARDS && f->shards[i].chains; i++) {
		while (!TAILQ_EMPTY(&f->shards[i].ages))
			seen_remove(&f->shards[i], TAILQ_FIRST(&f->shards[i].ages));
		free(f->shards[i].chains);
		pthread_mutex_destroy(&f->shards[i].lock);
	}
	free(f);
	*fp = NULL;
}

static struct seen_chain *seen_chain_of(const struct feeds_seen *f, struct seen_shard *s, uint64_t hash)
{
	return &s->chains[hash / SEEN_SHARDS & (f->n_chains - 1)];
}

static struct seen *seen_find(const struct feeds_seen *f, struct seen_shard *s, struct slice url, uint64_t hash)
{
	struct seen *e;

	LIST_FOREACH(e, seen_chain_of(f, s, hash), chain)
	if (e->hash == hash && e->url_len == url.len && memcmp(e->feed.url, url.at, url.len) == 0)
		return e;
	return NULL;
}

static struct seen *seen_add(struct feeds_seen *f, struct seen_shard *s, struct slice url, uint64_t hash)
{
	struct seen *e = malloc(offsetof(struct seen, feed.url) + url.len + 1);

	if (!e)
		return NULL;
	memset(e, 0, offsetof(struct seen, feed.url));
	memcpy(e->feed.url, url.at, url.len);
	e->feed.url[url.len] = '\0';
	e->url_len = url.len;
	e->hash = hash;
	e->feed.id = atomic_fetch_add(&f->ids, 1) + 1;
	e->feed.outdated_us = atomic_load(&f->outdated_us);
	if (s->n == f->max)
		seen_remove(s, TAILQ_LAST(&s->ages, seen_ages));
	LIST_INSERT_HEAD(seen_chain_of(f, s, hash), e, chain);
	TAILQ_INSERT_HEAD(&s->ages, e, age);
	s->n++;
	return e;
}

static void seen_take_verdict(struct feed_seen *feed, const struct feed_sum *from)
{
	const struct verdict *v = &from->verdict;

	verdict_rule(v, feed->rule, sizeof feed->rule);
	feed->charset = v->named;
	feed->was = v->was;
	feed->reason = v->kind == VERDICT_NONE ? verdict_reason_name(v->reason)
	    : v->kind == VERDICT_ERROR         ? verdict_error_name(v->error)
	                                       : NULL;
	feed->repairs = from->repairs;
	feed->malformed = from->malformed;
}

/* What one worker noted may come after what another noted later: the later of both is the latest. */
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
}

static void seen_put(void *list, struct slice url, const struct feed_sum *from)
{
	struct feeds_seen *f = list;
	uint64_t hash = hash_keyed(url.at, url.len);
	struct seen_shard *s = &f->shards[hash % SEEN_SHARDS];
	struct seen *e;

	pthread_mutex_lock(&s->lock);
	e = seen_find(f, s, url, hash);
	if (e && e != TAILQ_FIRST(&s->ages)) {
		TAILQ_REMOVE(&s->ages, e, age);
		TAILQ_INSERT_HEAD(&s->ages, e, age);
	}
	if (e || (from->listed && (e = seen_add(f, s, url, hash))))
		seen_take(&e->feed, from);
	pthread_mutex_unlock(&s->lock);
}

void feeds_seen_note(struct feeds_seen *f, size_t worker, const void *hint, struct slice url,
    const struct feed_answer *a)
{
	if (url.len < FEEDS_SEEN_URL_MAX)
		feed_notes_add(f->notes[worker], hint, url, a);
}

static void seen_outdate(struct feed_seen *feed, uint64_t now_us)
{
	feed->outdated_us = now_us;
	feed->expires = 0;
}

static void seen_outdate_prefix(struct feeds_seen *f, struct slice url, uint64_t now_us)
{
	for (size_t i = 0; i < SEEN_SHARDS; i++) {
		struct seen_shard *s = &f->shards[i];
		struct seen *e;

		pthread_mutex_lock(&s->lock);
		TAILQ_FOREACH(e, &s->ages, age)
		if (e->url_len >= url.len && memcmp(e->feed.url, url.at, url.len) == 0)
			seen_outdate(&e->feed, now_us);
		pthread_mutex_unlock(&s->lock);
	}
}

static void seen_outdate_one(struct feeds_seen *f, struct slice url, uint64_t now_us)
{
	uint64_t hash = hash_keyed(url.at, url.len);
	struct seen_shard *s = &f->shards[hash % SEEN_SHARDS];
	struct seen *e;

	pthread_mutex_lock(&s->lock);
	if ((e = seen_find(f, s, url, hash)))
		seen_outdate(&e->feed, now_us);
	pthread_mutex_unlock(&s->lock);
}

void feeds_seen_outdate(struct feeds_seen *f, struct slice url, bool prefix, uint64_t now_us)
{
	atomic_store(&f->outdated_us, now_us);
	(prefix ? seen_outdate_prefix : seen_outdate_one)(f, url, now_us);
}

bool feed_is_kept(const struct feed_seen *s, int64_t now)
{
	return s->state.kept_us && s->state.kept_asked_us >= s->outdated_us && now < s->state.kept_until;
}

static void seen_collect(struct feeds_seen *f)
{
	for (size_t i = 0; i < f->n_notes; i++)
		feed_notes_collect(f->notes[i]);
}

size_t feeds_seen_count(struct feeds_seen *f)
{
	size_t n = 0;

	seen_collect(f);
	for (size_t i = 0; i < SEEN_SHARDS; i++) {
		pthread_mutex_lock(&f->shards[i].lock);
		n += f->shards[i].n;
		pthread_mutex_unlock(&f->shards[i].lock);
	}
	return n;
}

/* How two feeds stand to each other in a list whose first one is the nearest to the edge. */
static int seen_compare(const struct feeds_query *q, const struct feed_seen *a, const struct feed_seen *b)
{
	return q->backwards ? q->compare(b, a) : q->compare(a, b);
}

static bool seen_is_on_side(const struct feeds_query *q, const struct feed_seen *feed)
{
	return !q->edge || seen_compare(q, q->edge, feed) < 0;
}

/* The place of a feed in a list of n that is in the query's order. */
static size_t seen_place(const struct feeds_query *q, struct feed_seen *const *list, size_t n,
    const struct feed_seen *feed)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if (seen_compare(q, list[middle], feed) <= 0)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* Puts a copy of the feed into the list, whose last one leaves where it is full. Returns the new length. */
static size_t seen_insert(const struct feeds_query *q, struct feed_seen **list, size_t n, const struct seen *e)
{
	size_t at = seen_place(q, list, n, &e->feed), len = offsetof(struct feed_seen, url) + e->url_len + 1;
	struct feed_seen *copy = at < q->max ? malloc(len) : NULL;

	if (!copy)
		return n;
	memcpy(copy, &e->feed, len);
	if (n == q->max)
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

size_t feeds_seen_first(struct feeds_seen *f, const struct feeds_query *q, struct feed_seen **list,
    struct feeds_count *count)
{
	size_t n = 0, side = 0;

	seen_collect(f);
	count->total = 0;
	for (size_t i = 0; i < SEEN_SHARDS; i++) {
		struct seen_shard *s = &f->shards[i];
		struct seen *e;

		pthread_mutex_lock(&s->lock);
		TAILQ_FOREACH(e, &s->ages, age)
		if (q->want(q, &e->feed)) {
			count->total++;
			if (seen_is_on_side(q, &e->feed)) {
				side++;
				n = seen_insert(q, list, n, e);
			}
		}
		pthread_mutex_unlock(&s->lock);
	}
	if (q->backwards)
		seen_reverse(list, n);
	count->first = q->backwards ? side - n : count->total - side;
	return n;
}

void feeds_seen_stats(struct feeds_seen *f, int64_t now, struct stats_gauges *to)
{
	uint64_t kept = 0;
	int64_t first = now;

	if (!f)
		return;
	seen_collect(f);
	for (size_t i = 0; i < SEEN_SHARDS; i++) {
		struct seen *e;

		pthread_mutex_lock(&f->shards[i].lock);
		TAILQ_FOREACH(e, &f->shards[i].ages, age)
		if (feed_is_kept(&e->feed, now)) {
			kept++;
			if (e->feed.state.kept_since < first)
				first = e->feed.state.kept_since;
		}
		pthread_mutex_unlock(&f->shards[i].lock);
	}
	stats_tell(to, GAUGE_FEEDS_KEPT, kept);
	stats_tell(to, GAUGE_FEEDS_KEPT_LONGEST, (uint64_t)(now - first));
}
